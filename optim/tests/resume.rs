//! Law 62: a run that is resumed from a checkpoint equals the run without a stop, to the bit.

// The name by which `#[derive(Module)]` looks for the trait.
extern crate cotangent_manifolds as cotangent;

use std::path::Path;

use cotangent_engine::{Float, Tape, Tensor, rng};
use cotangent_manifolds::{Euclidean, Lorentz, Module, Param, PoincareBall, Point};
use cotangent_optim::{
    Algorithm, Average, AverageState, Optimiser, RiemannianAdam, RiemannianSgd, Schedule, checkpoint,
};
use rand::RngExt;
use serde::{Deserialize, Serialize};

#[derive(Module)]
struct Model<T: Float> {
    table: Param<PoincareBall, T>,
    hyperboloid: Vec<Param<Lorentz, T>>,
    weight: Param<Euclidean, T>,
}

impl<T: Float> Model<T> {
    fn new(nodes: usize) -> Self {
        let (ball, lorentz) = (PoincareBall::new(-1.0), Lorentz::new(-1.0));
        let wave = |shape: [usize; 2]| Tensor::from_fn(shape, |i| T::nearest((i as f64 * 0.7).sin() * 0.3));
        let origin = Tensor::from_fn([3, 3], |i| T::nearest(if i % 3 == 0 { 1.0 } else { 0.0 }));
        Model {
            table: Param::new("table", ball, wave([nodes, 2])),
            hyperboloid: vec![Param::new("hyperboloid", lorentz, origin)],
            weight: Param::new("weight", Euclidean, wave([2, 2])),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Progress {
    step: u64,
    /// Seed of the random streams that each step makes anew.
    seed: u64,
    /// A random stream that all steps share.
    random: rng::Rng,
    schedule: Schedule,
    average: AverageState,
}

/// Steps from `progress.step` up to `end`.
fn train<A: Algorithm, T: Float>(
    model: &mut Model<T>,
    optimiser: &mut Optimiser<A, T>,
    average: &mut Average<T>,
    progress: &mut Progress,
    end: u64,
) {
    let mut tape = Tape::new();
    while progress.step < end {
        let mut rng = rng::stream(progress.seed, 1, progress.step);
        let rows: [u32; 4] = std::array::from_fn(|_| rng.random_range(0..20));
        tape.reset();
        let lorentz = *model.hyperboloid[0].manifold();
        let to = lorentz_point(&lorentz);
        let points = model.table.on(&tape).rows(&rows);
        let images = points.coordinates().matmul(model.weight.on(&tape));
        let distances = model.hyperboloid[0].on(&tape).dist(&Point::new(lorentz, tape.constant(&to)));
        let weight = progress.random.random_range(0.5..1.5);
        let loss = weight * images.square().sum() + (distances.square().sum() - 1.0).square();
        optimiser.set_rate(0.05 * progress.schedule.factor(progress.step)).unwrap();
        optimiser.step(model, &tape.backward(loss)).unwrap();
        average.update(model).unwrap();
        progress.step += 1;
    }
    progress.average = average.state(model);
}

fn lorentz_point<T: Float>(m: &Lorentz) -> Tensor<T> {
    use cotangent_manifolds::Manifold;
    let point = m.project(&cotangent_engine::Row::from([1.0, 0.3, -0.4].map(T::nearest)));
    Tensor::new([3], point.to_vec())
}

fn resumes<A: Algorithm, T: Float>(file: &Path, optimiser: &Optimiser<A, T>) {
    let schedule = Schedule::Constant.cosine(30, 0.0).warm_up(5);
    let mut averages = [(); 2].map(|_| Average::exponential(0.9).unwrap());
    let fresh = || Progress {
        step: 0,
        seed: 9,
        random: rng::stream(9, 2, 0),
        schedule: schedule.clone(),
        average: Average::<T>::uniform().state(&Model::<T>::new(20)),
    };
    // A run without a stop.
    let (mut model, mut whole, mut progress) = (Model::new(20), optimiser.clone(), fresh());
    train(&mut model, &mut whole, &mut averages[0], &mut progress, 20);
    // A run that is stopped, and resumed in a new model.
    let (mut first, mut half, mut part) = (Model::new(20), optimiser.clone(), fresh());
    train(&mut first, &mut half, &mut averages[1], &mut part, 11);
    checkpoint::save(file, &first, &half, &part).unwrap();
    let (mut second, mut resumed) = (Model::new(20), optimiser.clone());
    assert_eq!(checkpoint::progress::<Progress>(file).unwrap().step, 11);
    let mut part: Progress = checkpoint::load(file, &mut second, &mut resumed).unwrap();
    let mut average = Average::exponential(0.9).unwrap();
    average.load_state(&second, &part.average).unwrap();
    train(&mut second, &mut resumed, &mut average, &mut part, 20);
    assert_eq!(model.state(), second.state());
    assert!(progress.average == part.average && progress.random == part.random);
    assert_ne!(model.state(), first.state());
}

#[test]
fn a_resumed_run_is_the_run_to_the_bit() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("checkpoint.bin");
    resumes(&file, &RiemannianAdam::<f64>::new(0.05).unwrap().amsgrad());
    resumes(&file, &RiemannianAdam::<f32>::new(0.05).unwrap().decay(0.01).unwrap());
    let mixed = RiemannianAdam::<f64>::new(0.05).unwrap().sgd_on_curved(2.0).unwrap();
    resumes(&file, &mixed.clip_each(1.0).unwrap());
    resumes(&file, &RiemannianSgd::<f32>::new(0.05).unwrap().nesterov(0.9).unwrap().clip(1.0).unwrap());
}

#[test]
fn checkpoints_of_something_else_are_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("checkpoint.bin");
    let adam = || RiemannianAdam::<f64>::new(0.05).unwrap();
    let (mut model, mut optimiser) = (Model::new(20), adam());
    let mut progress = Progress {
        step: 0,
        seed: 1,
        random: rng::stream(1, 2, 0),
        schedule: Schedule::Constant,
        average: Average::<f64>::uniform().state(&model),
    };
    train(&mut model, &mut optimiser, &mut Average::uniform(), &mut progress, 2);
    checkpoint::save(&file, &model, &optimiser, &5_u64).unwrap();

    fn message<A: Algorithm, T: Float>(
        file: &Path,
        model: &mut Model<T>,
        optimiser: &mut Optimiser<A, T>,
    ) -> String {
        let before = model.state();
        let message = checkpoint::load::<A, T, _, u64>(file, model, optimiser).unwrap_err().to_string();
        assert_eq!(model.state(), before);
        assert!(message.contains("checkpoint.bin"));
        message
    }
    let found = message(&file, &mut Model::new(21), &mut adam());
    assert!(
        found.contains("parameter \"table\": of shape [20, 2] in the checkpoint, [21, 2] here"),
        "{found}"
    );
    let found = message(&file, &mut Model::<f64>::new(20), &mut RiemannianSgd::new(0.1).unwrap());
    assert!(found.contains("optimiser \"adam\", this run has \"sgd\""), "{found}");
    let found = message(&file, &mut Model::<f32>::new(20), &mut RiemannianAdam::new(0.1).unwrap());
    assert!(found.contains("elements \"f64\", this run has \"f32\""), "{found}");
    let mut other = Model::new(20);
    other.table = Param::new("table", PoincareBall::new(-0.5), other.table.value().clone());
    let found = message(&file, &mut other, &mut adam());
    assert!(
        found.contains("parameter \"table\": on PoincareBall { kappa: -1.0 } in the checkpoint"),
        "{found}"
    );
    let mut other = Model::new(20);
    other.hyperboloid.clear();
    let found = message(&file, &mut other, &mut adam());
    assert!(
        found.contains("parameter \"weight\": the checkpoint has \"hyperboloid.0\" in its place"),
        "{found}"
    );
}

/// A run resumed with another setting would get another result. So every setting is compared, except the
/// rate.
#[test]
fn checkpoints_of_other_settings_are_refused_by_name() {
    type Changed<A> = (&'static str, fn(Optimiser<A, f64>) -> Optimiser<A, f64>);
    fn refused<A: Algorithm>(fresh: impl Fn() -> Optimiser<A, f64>, all: &[Changed<A>]) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("checkpoint.bin");
        let mut model = Model::<f64>::new(5);
        let load =
            |model: &mut _, optimiser: &mut _| checkpoint::load::<A, _, _, u64>(&file, model, optimiser);
        for &(want, change) in all {
            // The changed setting may be in either run.
            checkpoint::save(&file, &model, &fresh(), &5_u64).unwrap();
            let found = load(&mut model, &mut change(fresh())).unwrap_err().to_string();
            assert!(found.ends_with(&format!("optimiser with {want} in this run")), "{found}");
            checkpoint::save(&file, &model, &change(fresh()), &5_u64).unwrap();
            let found = load(&mut model, &mut fresh()).unwrap_err().to_string();
            let name = want.split(": ").next().unwrap();
            assert!(found.contains(&format!("optimiser with {name}: ")), "{found}");
            load(&mut model, &mut change(fresh())).unwrap();
        }
        // The order of groups does not matter.
        let mut other_rate = fresh();
        other_rate.set_rate(0.7).unwrap();
        let ordered = |a: &str, b: &str| fresh().group(a, 0.5, 0.0).unwrap().group(b, 0.5, 0.0).unwrap();
        checkpoint::save(&file, &model, &ordered("table", "weight"), &5_u64).unwrap();
        load(&mut model, &mut ordered("weight", "table")).unwrap();
        checkpoint::save(&file, &model, &fresh(), &5_u64).unwrap();
        assert_eq!(load(&mut model, &mut other_rate).unwrap(), 5);
        assert_eq!(other_rate.rate(), 0.7);
    }
    fn everywhere<A: Algorithm>() -> [Changed<A>; 5] {
        [
            ("weight decay: 0 in the checkpoint, 0.01", |o| o.decay(0.01).unwrap()),
            ("largest gradient norm: none in the checkpoint, 1.5", |o| o.clip(1.5).unwrap()),
            ("retraction: false in the checkpoint, true", |o| o.by_retraction()),
            ("group \"table\": none in the checkpoint, rate factor 0.5, weight decay 0.1", |o| {
                o.group("table", 0.5, 0.1).unwrap()
            }),
            ("group \"\": none in the checkpoint, rate factor 1, weight decay 0", |o| {
                o.group("", 2.0, 0.1).unwrap().group("", 1.0, 0.0).unwrap()
            }),
        ]
    }
    let adam: [Changed<_>; 4] = [
        ("beta1: 0.9 in the checkpoint, 0.8", |o| o.betas(0.8, 0.999).unwrap()),
        ("beta2: 0.999 in the checkpoint, 0.99", |o| o.betas(0.9, 0.99).unwrap()),
        ("epsilon: 0.00000001 in the checkpoint, 0.001", |o| o.epsilon(1e-3).unwrap()),
        ("amsgrad: false in the checkpoint, true", |o| o.amsgrad()),
    ];
    refused(|| RiemannianAdam::new(0.05).unwrap(), &[&adam[..], &everywhere()].concat());
    let sgd: [Changed<_>; 2] = [
        ("momentum: 0.5 in the checkpoint, 0.9", |o| o.momentum(0.9).unwrap()),
        ("Nesterov: false in the checkpoint, true", |o| o.nesterov(0.5).unwrap()),
    ];
    refused(|| RiemannianSgd::new(0.05).unwrap().momentum(0.5).unwrap(), &[&sgd[..], &everywhere()].concat());
}

/// A checkpoint says on which instruction set it was written. A run resumed on another one may get other
/// bits, and says so. The variable that lowers the instruction set is read once per process, so the test
/// starts itself again in other processes.
#[test]
fn another_instruction_set_is_said() {
    const FILE: &str = "COTANGENT_TEST_CHECKPOINT";
    let mut model = Model::<f64>::new(5);
    let mut adam = RiemannianAdam::new(0.05).unwrap();
    if let Ok(file) = std::env::var(FILE) {
        assert_eq!(checkpoint::load::<_, _, _, u64>(file.as_ref(), &mut model, &mut adam).unwrap(), 5);
        println!("on {:?}", cotangent_engine::instruction_set());
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("checkpoint.bin");
    checkpoint::save(&file, &model, &adam, &5_u64).unwrap();
    let here = cotangent_engine::instruction_set();
    assert_eq!(checkpoint::instruction_set::<u64>(&file).unwrap(), here);
    for level in [None, Some("baseline")] {
        let mut other = std::process::Command::new(std::env::current_exe().unwrap());
        other.args(["--exact", "another_instruction_set_is_said", "--nocapture"]).env(FILE, &file);
        if let Some(level) = level {
            other.env("COTANGENT_SIMD", level);
        }
        let output = other.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        let said = err.contains(&format!("checkpoint.bin: written on the instruction set {here:?}; on "));
        assert!(said != out.contains(&format!("on {here:?}")), "{out}{err}");
        assert!(said || level.is_some() || !err.contains("checkpoint.bin"), "{err}");
    }
}

#[test]
fn damaged_and_hostile_checkpoints_are_refused_and_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("checkpoint.bin");
    let (mut model, mut optimiser) = (Model::<f64>::new(5), RiemannianAdam::new(0.05).unwrap());
    let before = model.state();
    let mut message = || {
        let message =
            checkpoint::load::<_, _, _, u64>(&file, &mut model, &mut optimiser).unwrap_err().to_string();
        assert_eq!(model.state(), before);
        assert!(message.contains("checkpoint.bin"));
        message
    };
    checkpoint::save(&file, &Model::<f64>::new(5), &RiemannianAdam::new(0.05).unwrap(), &5_u64).unwrap();
    let whole = std::fs::read(&file).unwrap();
    for cut in (0..whole.len()).step_by(11) {
        std::fs::write(&file, &whole[..cut]).unwrap();
        let found = message();
        assert!(found.contains("damaged") || found.contains("not a Cotangent"), "{cut}: {found}");
    }
    for at in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        std::fs::write(&file, damaged).unwrap();
        message();
    }
    // Files with a correct checksum: one with a name of 2⁵⁰ bytes, one with a point off its manifold.
    cotangent_engine::files::checkpoint::save(&file, 9, &(1_u64 << 50)).unwrap();
    assert!(message().ends_with("LimitExceeded"));
    // A file of an earlier version.
    for version in [1, 2, 3, 4, 5, 6, 7, 8] {
        cotangent_engine::files::checkpoint::save(&file, version, &(1_u64 << 50)).unwrap();
        let found = message();
        let want = format!("checkpoint of version {version}, this program reads version 9");
        assert!(found.ends_with(&want), "{found}");
    }
    let mut other = Model::<f64>::new(5);
    other.table.value_mut().row_mut(3)[0] = 1.5;
    checkpoint::save(&file, &other, &RiemannianAdam::new(0.05).unwrap(), &5_u64).unwrap();
    let found = message();
    assert!(found.contains("parameter \"table\": row 3: not a point of the Poincaré ball"), "{found}");
}
