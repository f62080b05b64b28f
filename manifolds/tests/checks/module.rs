//! Modules: the names of their parameters, and states that do not fit.

use cotangent_engine::{Float, Tensor};
use cotangent_manifolds::{Euclidean, Module, Param, PoincareBall, Product, Sphere};

type State = Vec<(String, Tensor<f64>)>;

#[derive(Module)]
struct Layer {
    weight: Param<Euclidean, f64>,
    points: Option<Param<PoincareBall, f64>>,
}

fn layer(fill: f64) -> Layer {
    let ball = PoincareBall::new(-1.0);
    Layer {
        weight: Param::new("weight", Euclidean, Tensor::from_fn([2, 3], |_| fill)),
        points: (fill > 0.0).then(|| Param::new("points", ball, Tensor::from_fn([4, 2], |_| fill))),
    }
}

fn names(module: &impl Module<f64>) -> Vec<String> {
    module.state().into_iter().map(|(name, _)| name).collect()
}

#[test]
fn paths_are_names_in_order() {
    let mut many: Vec<Layer> = (0..12).map(|i| layer(f64::from(i % 2) * 0.1)).collect();
    let ours = names(&many);
    assert_eq!(ours[..4], ["0.weight", "1.weight", "1.points", "2.weight"]);
    assert_eq!(ours[17], "11.points");
    let mut seen = Vec::new();
    many.each_mut(|path, _| seen.push(path.to_owned()));
    assert_eq!(seen, ours);
    let pair = (Box::new(layer(0.1)), [layer(0.0)]);
    assert_eq!(names(&pair), ["0.weight", "0.points", "1.0.weight"]);
    assert_eq!(names(&layer(0.0).weight), ["weight"]);
}

#[test]
fn weights_travel_and_wrong_ones_are_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("weights.safetensors");
    let (source, mut target) = ([layer(0.1), layer(0.2)], [layer(0.3), layer(0.4)]);
    source.save(&file).unwrap();
    target.load(&file).unwrap();
    assert_eq!(source.state(), target.state());

    let message = |mut state: State, change: &dyn Fn(&mut State)| {
        change(&mut state);
        let mut target = [layer(0.3), layer(0.4)];
        let before = target.state();
        let message = target.load_state(state).unwrap_err().to_string();
        assert_eq!(target.state(), before);
        message
    };
    let state = || source.state();
    assert_eq!(message(state(), &|s| drop(s.remove(1))), "no value for parameter \"0.points\"");
    assert_eq!(
        message(state(), &|s| s.push(("2.weight".into(), Tensor::zeros([1])))),
        "\"2.weight\" is no parameter here"
    );
    assert_eq!(
        message(state(), &|s| s[0].1 = Tensor::zeros([3, 2])),
        "parameter \"0.weight\": a value of shape [3, 2] for one of [2, 3]"
    );
    let off = message(state(), &|s| s[3].1.row_mut(2)[0] = 3.0);
    assert!(off.starts_with("parameter \"1.points\", row 2: not a point of the Poincaré ball"), "{off}");
    let other = [layer(0.1)].load(&file).unwrap_err().to_string();
    assert!(other.contains("weights.safetensors") && other.contains("1.points"), "{other}");
}

type Weight<T> = Param<Euclidean, T>;

fn weight<T: Float>(n: usize) -> Weight<T> {
    Param::new("weight", Euclidean, Tensor::zeros([n]))
}

struct Opaque;

#[derive(Module)]
#[module(crate = cotangent_manifolds)]
struct Derived<M, C, T>
where
    T: Float,
{
    r#type: Weight<T>,
    space: M,
    layers: Vec<Option<C>>,
    #[module(skip)]
    _opaque: Opaque,
    size: usize,
}

#[derive(Module)]
enum Encoder<C> {
    Nothing,
    One(C),
    Two(C, #[module(skip)] Opaque, C),
    Named { first: C, second: [C; 2] },
}

#[derive(Module)]
struct Pair(Weight<f64>, Encoder<Weight<f64>>);

/// What the derived walk calls the parameters; and that it shows them for writing in the same order.
#[test]
fn derived_walks_name_fields() {
    fn check(mut module: impl Module<f64>, expected: &[&str]) {
        assert_eq!(names(&module), expected);
        let mut number = 0.0;
        module.each_mut(|_, param| {
            number += 1.0;
            param.value_mut().data_mut().fill(number);
        });
        let found: Vec<f64> = module.state().iter().map(|(_, value)| value.data()[0]).collect();
        assert_eq!(found, (1..=expected.len()).map(|i| i as f64).collect::<Vec<_>>());
    }
    let layers = vec![None, Some(Encoder::One(weight(1))), Some(Encoder::Nothing)];
    let ball = PoincareBall::new(-1.0);
    let derived = Derived { r#type: weight(2), space: ball, layers, _opaque: Opaque, size: 3 };
    assert_eq!(derived.size, 3);
    check(derived, &["type", "layers.1"]);
    check(Encoder::<Weight<f64>>::Nothing, &[]);
    check(Encoder::Two(weight(1), Opaque, weight(1)), &["0", "2"]);
    let named = Encoder::Named { first: weight(1), second: [weight(1), weight(1)] };
    check(Pair(weight(1), named), &["0", "1.first", "1.second.0", "1.second.1"]);
    let product = Product::<PoincareBall, Euclidean>::new(ball, 2, Euclidean);
    check((product, (weight(1), Sphere::new(1.0))), &["1.0"]);
}
