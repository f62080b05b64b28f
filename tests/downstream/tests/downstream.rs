//! What is one's own behaves as what is the library's.

use std::process::Command;

use cotangent::engine::check;
use cotangent::engine::compiled::{Compiled, Pair};
use cotangent::laws;
use cotangent::layers::loss::cross_entropy;
use cotangent::layers::score::{Numbers, Operand, Side};
use cotangent::prelude::*;
use downstream::layer::{Classifier, Residual};
use downstream::manifold::Stretched;
use downstream::score::Gaussian;

laws!(stretched in [Stretched(3.0), Stretched(0.2)]);

#[test]
fn a_param_of_ones_own_manifold_is_trained() {
    for scale in [0.25, 1.0, 2.0] {
        let mut x = Param::new("x", Stretched(scale), Tensor::new([1, 2], vec![1.0_f64, -2.0]));
        let mut sgd = RiemannianSgd::new(0.5).unwrap();
        let tape = Tape::new();
        let origin = Point::new(Stretched(scale), tape.zeros([1, 2]));
        let loss = x.on(&tape).squared_dist(&origin).sum() * 0.5;
        sgd.step(&mut x, &tape.backward(loss)).unwrap();
        assert_eq!(x.value().data(), [0.5, -1.0]); // halfway, whatever the scale
    }
}

#[test]
fn a_layer_of_ones_own_has_gradients_and_a_curvature() {
    let mut rng = rng::stream(1, 0, 0);
    let x = Tensor::from_fn([40, 3], |i| (i as f64 * 0.7).sin());
    let labels: Vec<u32> = (0..40).map(|i| u32::from(x.row(i)[0] * x.row(i)[1] > 0.0)).collect();
    let mut model = Classifier::<_, f64>::new(Curvature::new(-0.5), 3, 2, &mut rng);
    let names: Vec<String> = model.state().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names[..2], ["geometry.kappa", "residual.linear.weight"]);
    let (mut adam, mut losses) = (RiemannianAdam::new(0.05).unwrap(), Vec::new());
    for _ in 0..150 {
        let tape = Tape::new();
        let loss = cross_entropy(model.forward(&tape, &x), &labels, 0.0);
        losses.push(loss.item());
        adam.step(&mut model, &tape.backward(loss)).unwrap();
    }
    assert!(losses[149] < 0.3 * losses[0], "{} {}", losses[0], losses[149]);
    assert!((model.geometry.kappa.value().data()[0] + 0.5).abs() > 0.05);

    let ball = PoincareBall::new(-0.5);
    let layer = Residual::<_, f64>::new(ball, 3, &mut rng);
    let inputs = [Tensor::from_fn([4, 3], |i| 0.3 * (i as f64).cos())];
    let worst =
        check::gradients(&inputs, |x| layer.forward(Point::new(ball, x[0])).coordinates().square().sum());
    assert!(worst.relative < 1e-6, "{worst:?}");
}

/// A score of one's own gives the same whether scores are stored or not, and along edges.
#[test]
fn a_score_of_ones_own_is_computed_in_every_form() {
    let rows = |n: usize, seed: f64| Tensor::from_fn([n, 3], |i| (i as f64 * 1.3 + seed).sin());
    let (tape, attend) = (Tape::<f64>::new(), Attend::new(&Gaussian));
    let [q, k, v] = [rows(4, 0.0), rows(6, 1.0), rows(6, 2.0)].map(|x| tape.constant(&x));
    let stored = attend.weigh(q, k).matmul(v).to_tensor();
    let edges: Vec<(u32, u32)> = (0..24).map(|i| (i / 6, i % 6)).collect();
    let edges = std::sync::Arc::new(Sparsity::new(4, 6, &edges));
    for other in [attend.forward(q, k, v), attend.along_edges(q, k, v, &edges)] {
        let other = other.to_tensor();
        let differences = other.data().iter().zip(stored.data()).map(|(a, b)| (a - b).abs());
        assert!(differences.fold(0.0, f64::max) < 1e-14);
    }
    let square: f64 = (0..3).map(|i| (rows(4, 0.0).row(0)[i] - rows(6, 1.0).row(0)[i]).powi(2)).sum();
    assert!((attend.scores(q, k).to_tensor().data()[0] + square).abs() < 1e-14);
}

/// A score with a parameter of its own: `γ w⟨q, k⟩ − c`.
#[derive(Clone, Debug)]
struct Weighted([Param<Euclidean, f64>; 1]);

#[derive(Clone, Copy)]
struct WeightedDot;

impl PairFormula<0, 0, 3> for WeightedDot {
    const NAME: &'static str = "weighted";
    const PAIRING: Pairing = Pairing::Dot;
    fn eval<S: Scalar>(dot: S, _: [S; 0], _: [S; 0], [gamma, c, w]: [S; 3]) -> S {
        gamma * w * dot - c
    }
}

impl Score<f64> for Weighted {
    fn name(&self) -> &'static str {
        "weighted"
    }
    fn about(&self) -> &'static str {
        "Weighted dot product."
    }
    fn formula(&self) -> &'static Compiled<Pair> {
        <WeightedDot as PairFormula<0, 0, 3>>::compiled()
    }
    fn prepare<'t>(&self, x: Var<'t, f64>, _: Side) -> Operand<'t, f64> {
        Operand::from(x)
    }
    fn scalars<'t>(&self, x: Var<'t, f64>) -> Numbers<'t, f64> {
        Numbers::from_slice(&[*self.0[0].on(x.tape())])
    }
    fn parameters(&self) -> &[Param<Euclidean, f64>] {
        &self.0
    }
    fn parameters_mut(&mut self) -> &mut [Param<Euclidean, f64>] {
        &mut self.0
    }
}

#[test]
fn a_score_learns_parameters_of_its_own() {
    let weight = Param::new("w", Euclidean, Tensor::new([1], vec![2.0]));
    let mut attention = Attention::new(&Weighted([weight]), 3);
    let names: Vec<String> = attention.state().into_iter().map(|(name, _)| name).collect();
    assert!(names.contains(&"score.0".to_owned()), "{names:?}");
    let tape = Tape::new();
    let x = tape.constant(&Tensor::from_fn([4, 3], |i| (i as f64).sin()));
    let scores = attention.scores(x, x);
    let square: f64 = (0..3).map(|i| (i as f64).sin().powi(2)).sum();
    assert!((scores.to_tensor().data()[0] - 2.0 * square).abs() < 1e-14);
    let copied = attention.clone();
    let [original, copy] = [&attention, &copied].map(|layer| layer.score.parameters()[0].id());
    assert!(original != copy);
    let loss = attention.forward(x, x, x, Mask::None).square().sum();
    let gradients = tape.backward(loss);
    assert!(gradients.wrt(&attention.score.parameters()[0]).data()[0] != 0.0);
    let mut sgd = RiemannianSgd::new(0.1).unwrap();
    sgd.step(&mut attention, &gradients).unwrap();
    assert!(attention.score.parameters()[0].value().data()[0] != 2.0);
    assert_eq!(copied.score.parameters()[0].value().data(), [2.0]);
}

/// Generic functions are compiled in each crate that calls them, unless the library sees to it: see
/// `cotangent::engine::instances`. The example `model` is a crate that has no formula of its own. If a
/// kernel is compiled there, each user waits for it at every edit.
#[test]
fn nothing_of_the_library_is_compiled_again() {
    let program = std::env::current_exe().unwrap();
    let examples = program.parent().unwrap().parent().unwrap().join("examples");
    let library = examples.join("libmodel.rlib");
    let listed = Command::new("nm").args(["--defined-only", "--demangle"]).arg(&library).output();
    let Some(listed) = listed.ok().filter(|listed| listed.status.success()) else {
        return cotangent::engine::skipped(format_args!("nm cannot read the example"));
    };
    let symbols = String::from_utf8_lossy(&listed.stdout);
    assert!(symbols.contains("model::Model::step"), "{} is another library", library.display());
    let is_kernel = |symbol: &&str| {
        let is_entry = symbol.contains("simd::EntryOn<") || symbol.contains("simd::Entry<");
        let name = symbol.splitn(3, ' ').last().unwrap_or_default().trim_start_matches('<');
        // An elementwise formula is data: what is compiled for it makes its program.
        let is_data = name.starts_with("cotangent_engine::kernels::map::");
        // What is left of a row formula that is interpreted.
        let is_plan = ["plan", "functions"]
            .iter()
            .any(|file| name.starts_with(&format!("cotangent_engine::formula::{file}::")));
        is_entry || is_plan || (name.starts_with("cotangent_engine::kernels::") && !is_data)
    };
    let kernels: Vec<&str> = symbols.lines().filter(is_kernel).collect();
    assert!(kernels.is_empty(), "compiled again: {kernels:#?}");
}

/// The application trains with it, by its name.
#[test]
fn the_transformer_takes_a_score_of_ones_own() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let words = [("eins", "one"), ("zwei", "two"), ("drei", "three"), ("vier", "four")];
    for (name, count) in [("train", 200), ("val", 20), ("test", 20)] {
        let line = |i: usize| {
            let (a, b) = (words[i % 4], words[i * 7 / 3 % 4]);
            format!("{} {}\t{} {}\n", a.0, b.0, a.1, b.1)
        };
        std::fs::write(path(&format!("{name}.tsv")), (0..count).map(line).collect::<String>()).unwrap();
    }
    let run = |score: &str| {
        let options = "--layers 1 --width 16 --heads 2 --hidden 16 --vocabulary 300 --epochs 2 \
            --batch-tokens 128 --beam 1";
        let mut command = Command::new(env!("CARGO_BIN_EXE_gaussian_transformer"));
        command.args(["train", "--attention", score, "--path"]).arg(directory.path());
        command.arg("--out").arg(path("out")).args(options.split_whitespace()).output().unwrap()
    };
    let done = run("gaussian");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let metrics = std::fs::read_to_string(path("out").join("metrics.json")).unwrap();
    assert!(metrics.contains("\"attention\": \"gaussian\""), "{metrics}");
    let unknown = run("guassian");
    let message = String::from_utf8_lossy(&unknown.stderr);
    assert!(!unknown.status.success() && message.contains("gaussian"), "{message}");
}
