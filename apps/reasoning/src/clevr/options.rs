//! What the parameters of a template's node may be, so that its program succeeds on a scene and its question
//! is not silly: the rules of the published generator.

use cotangent::prelude::rng::Rng;
use rand::seq::SliceRandom;

use super::attribute::Attribute;
use super::function::{Constant, Function, Value};
use super::metadata::ValueType;
use super::scene::{ObjectSet, Relation, Scene};
use super::template::{Call, Choice, TemplateNode};

/// One option in so many may be a relation that makes no difference to what a description fits.
const TRIVIAL: usize = 10;

/// A description: the value of each attribute that it has.
type Filter = [Option<Constant>; 4];

/// All descriptions of objects.
pub(super) struct Descriptions {
    /// Those that fit objects of the scene, and which.
    fitting: Vec<(Filter, ObjectSet)>,
    /// Those that fit none.
    absent: Vec<Filter>,
}

impl Descriptions {
    /// The descriptions for a scene.
    pub(super) fn new(scene: &Scene) -> Self {
        let mut all = vec![(Filter::default(), scene.all())];
        for attribute in Attribute::ALL {
            let values: Vec<_> = attribute.values().map(|value| (value, scene.having(value))).collect();
            let with_value = |&(mut filter, set): &(Filter, ObjectSet), (value, having)| {
                filter[attribute as usize] = Some(Constant::Value(value));
                (filter, set & having)
            };
            let more = all.iter().flat_map(|one| values.iter().map(|&value| with_value(one, value)));
            let more: Vec<_> = more.collect();
            all.extend(more);
        }
        let (absent, fitting): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, set)| set.is_empty());
        Descriptions { fitting, absent: absent.into_iter().map(|(filter, _)| filter).collect() }
    }

    /// The descriptions for a node that filters a set.
    ///
    /// - With `unique`: those that fit one object of the set.
    /// - With `exist`: all, and as many that fit no object of the scene.
    /// - Otherwise: all, except that a filter alone has a value, and as many that fit no object of the scene
    ///   as there are that fit one object of the set.
    fn set_options(&self, set: ObjectSet, last: Option<Function>, rng: &mut Rng) -> Vec<Filter> {
        let found = self.fitting.iter().map(|&(filter, objects)| (filter, objects & set));
        let found = found.filter(|(filter, _)| last.is_some() || *filter != [None; 4]);
        let (single, others): (Vec<_>, Vec<_>) = found.partition(|(_, objects)| objects.len() == 1);
        let filters = |list: Vec<(Filter, ObjectSet)>| list.into_iter().map(|(filter, _)| filter);
        let (singles, all) = (single.len(), single.len() + others.len());
        if last == Some(Function::Unique) {
            return filters(single).collect();
        }
        let count = if last == Some(Function::Exist) { all } else { singles };
        let absent = draw(&mut self.absent.clone(), count, rng);
        filters(single).chain(filters(others)).chain(absent).collect()
    }

    /// The relations and descriptions for a node that filters what stands in a relation to an object: with
    /// `unique` those that fit one object, with `count` and `exist` all, and otherwise those that fit one or
    /// more. Where the relation makes no difference, only a tenth of the options are such.
    fn object_options(
        &self,
        scene: &Scene,
        object: usize,
        last: Option<Function>,
        rng: &mut Rng,
    ) -> Vec<Choice> {
        let (mut options, mut trivial) = (Vec::new(), Vec::new());
        for relation in Relation::ALL {
            let related = scene.related(relation, object);
            for &([size, colour, material, shape], objects) in &self.fitting {
                let found = (related & objects).len();
                let wanted = match last {
                    Some(Function::Unique) => found == 1,
                    Some(_) => true,
                    None => found > 0,
                };
                if wanted {
                    let choice = [Some(Constant::Relation(relation)), size, colour, material, shape];
                    let list = if found == objects.len() { &mut trivial } else { &mut options };
                    list.push(choice);
                }
            }
        }
        let count = (options.len() as f64 / (TRIVIAL - 1) as f64).round() as usize;
        options.extend(draw(&mut trivial, count, rng));
        options
    }

    /// What the parameters of a node may be, given its first input.
    pub(super) fn options(
        &self,
        scene: &Scene,
        node: &TemplateNode,
        parameters: &[(String, ValueType)],
        input: Option<Value>,
        rng: &mut Rng,
    ) -> Vec<Choice> {
        let none = Choice::default();
        let mut options = match (node.call, input) {
            (Call::Filter { last, .. }, Some(Value::Objects(set))) => {
                let choice = |[size, colour, material, shape]: Filter| [size, colour, material, shape, None];
                self.set_options(set, last, rng).into_iter().map(choice).collect()
            }
            (Call::Filter { last, .. }, Some(Value::Object(object))) => {
                self.object_options(scene, object, last, rng)
            }
            _ => match node.parameters[..] {
                [] => vec![none],
                [parameter, ..] => {
                    let constants = Constant::with_type(parameters[parameter].1).into_iter();
                    constants.map(|constant| [Some(constant), None, None, None, None]).collect()
                }
            },
        };
        options
            .retain(|choice| node.empty.iter().zip(choice).all(|(empty, value)| !empty || value.is_none()));
        options
    }
}

/// So many of a list, drawn at random, or all.
fn draw<E: Copy>(list: &mut [E], count: usize, rng: &mut Rng) -> Vec<E> {
    list.partial_shuffle(rng, count).0.to_vec()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use cotangent::prelude::rng;

    use super::*;
    use crate::clevr::attribute::AttributeValue::{Blue, Cube, Metal, Red};
    use crate::clevr::tests::scene;

    #[test]
    fn descriptions_that_fit_are_offered_with_as_many_that_do_not() {
        let (scene, rng) = (scene(), &mut rng::stream(1, "options", 0));
        let descriptions = Descriptions::new(&scene);
        assert_eq!(descriptions.fitting.len() + descriptions.absent.len(), 3 * 9 * 3 * 4);
        let value = |value| Some(Constant::Value(value));
        let red_cubes = [None, value(Red), None, value(Cube)];
        let fitting = |filter| descriptions.fitting.iter().find(|(other, _)| *other == filter);
        assert_eq!(fitting(red_cubes).unwrap().1.iter().collect::<Vec<_>>(), [0, 3]);
        assert_eq!(fitting([None, value(Blue), value(Metal), None]), None);
        let mut offered = |last| {
            let filters = descriptions.set_options(scene.all(), last, rng);
            let absent = filters.iter().filter(|filter| fitting(**filter).is_none()).count();
            let null = filters.contains(&Filter::default());
            assert_eq!(filters.iter().collect::<HashSet<_>>().len(), filters.len());
            (filters.len() - absent, absent, null)
        };
        let all = descriptions.fitting.len();
        let single = descriptions.fitting.iter().filter(|(_, set)| set.len() == 1).count();
        assert_eq!(offered(Some(Function::Unique)), (single, 0, false));
        assert_eq!(offered(Some(Function::Exist)), (all, all, true));
        assert_eq!(offered(Some(Function::Count)), (all, single, true));
        assert_eq!(offered(None), (all - 1, single, false));
    }

    #[test]
    fn few_relations_make_no_difference() {
        let (scene, rng) = (scene(), &mut rng::stream(1, "options", 0));
        let descriptions = Descriptions::new(&scene);
        for last in [Some(Function::Unique), Some(Function::Count), Some(Function::Exist), None] {
            let options = descriptions.object_options(&scene, 0, last, rng);
            let found = |choice: &Choice| {
                let Some(Constant::Relation(relation)) = choice[0] else { panic!("no relation") };
                let fits = |(filter, _): &&(Filter, ObjectSet)| filter[..] == choice[1..];
                let fitting = descriptions.fitting.iter().find(fits).unwrap().1;
                ((scene.related(relation, 0) & fitting).len(), fitting.len())
            };
            let trivial = options.iter().filter(|choice| found(choice).0 == found(choice).1).count();
            assert_eq!(trivial, ((options.len() - trivial) as f64 / 9.0).round() as usize, "{last:?}");
            let counts: HashSet<usize> = options.iter().map(|choice| found(choice).0).collect();
            match last {
                Some(Function::Unique) => assert_eq!(counts, HashSet::from([1])),
                None => assert!(!counts.contains(&0)),
                _ => assert!(counts.contains(&0) && counts.contains(&2)),
            }
        }
    }
}
