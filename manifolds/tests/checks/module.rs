//! Modules: the names of their parameters, and states that do not fit.

use cotangent_engine::Tensor;
use cotangent_manifolds::{Euclidean, Manifold, Module, Param, Path, PoincareBall, VisitorMut, module};

type State = Vec<(String, Tensor<f64>)>;

struct Layer {
    weight: Param<Euclidean, f64>,
    points: Option<Param<PoincareBall, f64>>,
}
module!(impl[] Module<f64> for Layer { weight, points });

fn layer(fill: f64) -> Layer {
    let ball = PoincareBall::ball(-1.0).unwrap();
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
    struct Seen(Vec<String>);
    impl VisitorMut<f64> for Seen {
        fn param<M: Manifold>(&mut self, path: &str, _: &mut Param<M, f64>) {
            self.0.push(path.to_owned());
        }
    }
    let mut seen = Seen(Vec::new());
    many.visit_mut(&mut Path::root(), &mut seen);
    assert_eq!(seen.0, ours);
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
    assert!(off.starts_with("parameter \"1.points\", row 2: not a point of stereographic"), "{off}");
    let other = [layer(0.1)].load(&file).unwrap_err().to_string();
    assert!(other.contains("weights.safetensors") && other.contains("1.points"), "{other}");
}
