use std::collections::BTreeSet;

use super::scene;
use crate::clevr::answer::Answer;
use crate::clevr::attribute::{Attribute, AttributeValue};
use crate::clevr::function::{Constant, Function, Value};
use crate::clevr::kind::QuestionKind;
use crate::clevr::metadata::{Signature, ValueType};
use crate::clevr::program::{FileNode, Program};
use crate::clevr::published::METADATA;
use crate::clevr::scene::Relation;

/// The program of lines such as `filter_size 0 large`: a function, its inputs, and its constants.
fn program(text: &str) -> Result<Program, String> {
    let node = |line: &'static str| {
        let mut words = line.split_whitespace();
        let function = words.next().unwrap().into();
        let (inputs, constants): (Vec<_>, Vec<_>) = words.partition(|word| word.parse::<usize>().is_ok());
        FileNode {
            function,
            inputs: inputs.iter().map(|word| word.parse().unwrap()).collect(),
            value_inputs: constants.into_iter().map(Into::into).collect(),
        }
    };
    let text: &'static str = text.to_owned().leak();
    Program::parse(&text.split(", ").filter(|line| !line.is_empty()).map(node).collect::<Vec<_>>())
}

/// What a program finds on the scene, or why it fails.
fn run(text: &str) -> String {
    match program(text).map(|program| program.run(&scene())) {
        Ok(Ok(answer)) => answer.to_string(),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error,
    }
}

#[test]
fn every_function_returns_what_is_known_of_the_scene() {
    let set = |objects: &[usize]| Value::Objects(objects.iter().copied().collect());
    let object = Value::Object;
    let number = |count| Value::Answer(Answer::Integer(count));
    let value = |attribute: Attribute, name| Value::Answer(Answer::Value(attribute.value(name).unwrap()));
    let (yes, no) = (Value::Answer(Answer::Bool(true)), Value::Answer(Answer::Bool(false)));
    let [size, colour, material, shape] = Attribute::ALL;
    let all = || set(&[0, 1, 2, 3]);
    let expected = [
        ("scene", vec![], None, all()),
        ("filter_size", vec![all()], Some("large"), set(&[0, 2])),
        ("filter_color", vec![set(&[1, 2])], Some("red"), set(&[1])),
        ("filter_material", vec![all()], Some("rubber"), set(&[1, 2])),
        ("filter_shape", vec![set(&[0, 1])], Some("cylinder"), set(&[])),
        ("unique", vec![set(&[2])], None, object(2)),
        ("relate", vec![object(1)], Some("left"), set(&[0])),
        ("relate", vec![object(1)], Some("right"), set(&[2, 3])),
        ("relate", vec![object(3)], Some("behind"), set(&[0, 2])),
        ("relate", vec![object(3)], Some("front"), set(&[1])),
        ("union", vec![set(&[0, 1]), set(&[1, 3])], None, set(&[0, 1, 3])),
        ("intersect", vec![set(&[0, 1]), set(&[1, 3])], None, set(&[1])),
        ("count", vec![set(&[0, 1, 3])], None, number(3)),
        ("exist", vec![set(&[3])], None, yes),
        ("exist", vec![set(&[])], None, no),
        ("query_size", vec![object(3)], None, value(size, "small")),
        ("query_color", vec![object(2)], None, value(colour, "blue")),
        ("query_material", vec![object(3)], None, value(material, "metal")),
        ("query_shape", vec![object(1)], None, value(shape, "sphere")),
        ("same_size", vec![object(0)], None, set(&[2])),
        ("same_color", vec![object(0)], None, set(&[1, 3])),
        ("same_material", vec![object(1)], None, set(&[2])),
        ("same_shape", vec![object(2)], None, set(&[])),
        ("equal_size", vec![value(size, "small"), value(size, "small")], None, yes),
        ("equal_color", vec![value(colour, "red"), value(colour, "blue")], None, no),
        ("equal_material", vec![value(material, "metal"), value(material, "metal")], None, yes),
        ("equal_shape", vec![value(shape, "cube"), value(shape, "sphere")], None, no),
        ("equal_integer", vec![number(2), number(2)], None, yes),
        ("equal_object", vec![object(1), object(2)], None, no),
        ("less_than", vec![number(2), number(3)], None, yes),
        ("less_than", vec![number(3), number(3)], None, no),
        ("greater_than", vec![number(3), number(2)], None, yes),
        ("greater_than", vec![number(2), number(2)], None, no),
    ];
    let scene = scene();
    for (name, inputs, constant, result) in &expected {
        let kind = Signature::find(name).unwrap().constants.first().copied();
        let constant = constant.map(|word| Constant::find(kind.unwrap(), word).unwrap());
        let function = Function::find(name).unwrap();
        assert_eq!(function.apply(&scene, inputs, constant), Ok(*result), "{name} {inputs:?}");
    }
    assert_eq!(Function::Unique.apply(&scene, &[set(&[0, 1])], None), Err(2));
    let names: BTreeSet<&str> = expected.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names.len(), 27);
}

#[test]
fn the_metadata_and_the_enumerations_agree() {
    let file: serde_json::Value = serde_json::from_str(METADATA).unwrap();
    let names = |value: &serde_json::Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    for attribute in Attribute::ALL {
        let values: Vec<_> = attribute.values().map(|value| value.name().to_owned()).collect();
        let listed = names(&file["types"][ValueType::Attribute(attribute).to_string()]);
        assert_eq!(values, listed);
        assert!(attribute.values().all(|value| value.attribute() == attribute));
    }
    let relations = Relation::ALL.map(|relation| relation.name().to_owned());
    assert_eq!(names(&file["types"]["Relation"]), relations);
    let functions = file["functions"].as_array().unwrap();
    assert_eq!(functions.len(), 35);
    let mut plain = 0;
    for function in functions {
        let name = function["name"].as_str().unwrap();
        let signature = Signature::find(name).unwrap();
        assert_eq!(Function::find(name).is_none(), signature.template_only, "{name}");
        plain += usize::from(!signature.template_only);
    }
    assert_eq!(plain, 27);
}

#[test]
fn answers_are_numbered() {
    let all: Vec<Answer> = Answer::all().collect();
    assert_eq!(all.len(), Answer::COUNT);
    assert!(all.iter().enumerate().all(|(number, answer)| answer.number() == number));
    assert!(all.iter().all(|answer| Answer::find(&answer.to_string()) == Some(*answer)));
    assert_eq!(Answer::find("10"), Some(Answer::Integer(10)));
    assert_eq!(Answer::find("cylinder").map(Answer::number), Some(27));
    assert_eq!((Answer::find("11"), Answer::find("pink")), (None, None));
    assert_eq!(AttributeValue::all().count(), 15);
}

#[test]
fn programs_find_known_answers() {
    let blue = "scene, filter_color 0 blue, unique 1";
    assert_eq!(run(&format!("{blue}, query_shape 2")), "cylinder");
    // The red things left of the blue one: the cube and the ball.
    assert_eq!(run(&format!("{blue}, relate 2 left, filter_color 3 red, count 4")), "2");
    assert_eq!(run(&format!("{blue}, relate 2 behind, exist 3")), "no");
    let ball = "scene 1, filter_shape 3 sphere, unique 4".replace("scene 1", "scene");
    assert_eq!(run(&format!("{blue}, {ball}, query_size 2, query_size 5, equal_size 6 7")), "no");
    assert_eq!(run(&format!("{blue}, {ball}, equal_object 2 5")), "no");
    let counts = "scene, filter_color 0 red, count 1, scene, filter_size 3 large, count 4";
    assert_eq!(run(&format!("{counts}, greater_than 2 5")), "yes");
    assert_eq!(run(&format!("{counts}, less_than 2 5")), "no");
}

#[test]
fn nodes_that_fail_say_why() {
    assert_eq!(run("scene, unique 0, query_size 1"), "node 1 (unique): 4 objects; exactly one is needed");
    let none = run("scene, filter_color 0 cyan, unique 1, query_size 2");
    assert_eq!(none, "node 2 (unique): 0 objects; exactly one is needed");
}

#[test]
fn wrong_programs_are_refused() {
    let fails = |text: &str, message: &str| assert_eq!(program(text).unwrap_err(), message, "{text}");
    fails("", "0 nodes; 1 to 256 are needed");
    fails("scene, colour 0", "node 1 (colour): an unknown function");
    let only = "node 1 (filter_count): a function that only templates have";
    fails("scene, filter_count 0 large red metal cube", only);
    fails("scene, count 0 0", "node 1 (count): number of inputs: 2; it takes 1");
    fails("scene, intersect 0", "node 1 (intersect): number of inputs: 1; it takes 2");
    fails(
        "scene, query_size 0",
        "node 1 (query_size): its input, node 0, is of type ObjectSet; it takes Object",
    );
    fails("scene, filter_size 0", "node 1 (filter_size): number of value inputs: 0; it takes 1");
    fails("scene red", "node 0 (scene): number of value inputs: 1; it takes 0");
    fails("scene, filter_color 0 pink", "node 1 (filter_color): \"pink\" is not of type Color");
    fails("scene, filter_color 0 large", "node 1 (filter_color): \"large\" is not of type Color");
    let cycle = "node 1 (count): its input is node 2, which is not before it: a cycle";
    fails("scene, count 2, filter_size 0 large", cycle);
    fails("count 0", "node 0 (count): its input is node 0, which is not before it: a cycle");
    fails("scene", "the last node returns a value of type ObjectSet, which is no answer");
    let long = "scene, ".repeat(256) + "count 0";
    fails(&long, "257 nodes; 1 to 256 are needed");
    assert!(program(&long.replacen("scene, ", "", 1)).is_ok());
}

#[test]
fn the_last_function_is_the_kind() {
    let kind = |text: &str| QuestionKind::find(&program(text).unwrap()).map(|kind| kind.to_string());
    let object = "scene, unique 0";
    assert_eq!(kind("scene, exist 0").as_deref(), Some("exist"));
    assert_eq!(kind("scene, count 0").as_deref(), Some("count"));
    for function in ["equal_integer", "less_than", "greater_than"] {
        assert_eq!(kind(&format!("scene, count 0, {function} 1 1")).as_deref(), Some("compare integer"));
    }
    assert_eq!(kind(&format!("{object}, query_color 1")).as_deref(), Some("query attribute"));
    let compared = format!("{object}, query_color 1, equal_color 2 2");
    assert_eq!(kind(&compared).as_deref(), Some("compare attribute"));
    assert_eq!(kind(&format!("{object}, equal_object 1 1")), None);
}
