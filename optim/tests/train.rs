//! The training loop: resuming, divergence, the best model, batches.

use std::cell::Cell;
use std::path::Path;

use cotangent_engine::{Tape, Tensor, Var};
use cotangent_manifolds::{Euclidean, Module, Param};
use cotangent_optim::train::{
    Batches, ByLength, CHECKPOINT, Goal, History, Shuffled, Taken, TrainError, Trainer,
};
use cotangent_optim::{OptimError, RiemannianAdam, Schedule};

type Weights = Param<Euclidean, f64>;

const ITEMS: usize = 50;
const BATCHES: Shuffled = Shuffled { items: ITEMS, batch: 20, seed: 3 };

fn start() -> (Weights, RiemannianAdam<f64>) {
    (Param::new("weights", Euclidean, Tensor::zeros([4, 1])), RiemannianAdam::new(0.05).unwrap())
}

/// The mean squared error of a linear model with dropout of its features.
fn loss<'t>(weights: &Weights, tape: &'t Tape<f64>, items: &[u32]) -> Var<'t, f64> {
    let x = tape.constant(&Tensor::from_fn([ITEMS, 4], |i| (i as f64 * 1.3).sin())).gather(items);
    let y = tape.constant(&Tensor::from_fn([ITEMS, 1], |i| (i as f64 * 5.2).cos())).gather(items);
    (x.dropout(0.2).matmul(weights.on(tape)) - y).square().mean()
}

fn run(mut trainer: Trainer<'_>, stop_after: Option<usize>) -> (Result<History, TrainError>, Weights) {
    let (mut weights, mut adam) = start();
    let history = trainer.run(&mut weights, &mut adam, &BATCHES, loss, |weights, history| {
        if stop_after.is_some_and(|epochs| history.epochs.len() == epochs) {
            return Err(TrainError::Other("stopped".into()));
        }
        Ok(weights.value().data()[0])
    });
    (history, weights)
}

fn trainer(epochs: u64) -> Trainer<'static> {
    Trainer::new(epochs).schedule(Schedule::Cosine { steps: 24, floor: 0.1 }).parts(3, 5)
}

/// A run that stops in its fourth epoch and is resumed gives the same bits as one that does not stop, and
/// so does a run with another number of threads.
#[test]
fn a_resumed_run_has_the_same_bits() {
    let (whole, weights) = run(trainer(8), None);
    let whole = whole.unwrap();
    assert_eq!((whole.epochs.len(), whole.steps), (8, 24));
    assert!(whole.epochs[7].loss < whole.epochs[0].loss);

    let directory = tempfile::tempdir().unwrap();
    let often = || trainer(8).directory(directory.path()).checkpoint_every(std::time::Duration::ZERO);
    let (stopped, _) = run(often(), Some(3));
    assert_eq!(stopped.unwrap_err().to_string(), "stopped");
    // It stopped in the evaluation after step 12. The last checkpoint is from step 11, and is good.
    let steps = Cell::new(0);
    let resuming = often().resume(true).display(|_| steps.set(steps.get() + 1));
    let (resumed, resumed_weights) = run(resuming, None);
    let resumed = resumed.unwrap();
    assert_eq!(steps.get(), 24 - 11);
    assert_eq!(resumed_weights.value(), weights.value());
    assert_eq!((&resumed.epochs, resumed.steps), (&whole.epochs, whole.steps));

    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    assert_eq!(pool.install(|| run(trainer(8), None)).1.value(), weights.value());
    // The seed of dropout matters.
    assert_ne!(run(trainer(8).seed(7), None).1.value(), weights.value());
}

/// The average is what is evaluated and what is left at the end; the steps are those without one. A resumed
/// run has the same bits.
#[test]
fn an_average_of_the_parameters_is_kept() {
    let (plain, last) = run(trainer(8), None);
    let (whole, weights) = run(trainer(8).average(0.9), None);
    let (plain, whole) = (plain.unwrap(), whole.unwrap());
    let losses = |history: &History| history.epochs.iter().map(|epoch| epoch.loss).collect::<Vec<_>>();
    assert_eq!(losses(&plain), losses(&whole));
    assert_eq!(whole.epochs[7].validation, weights.value().data()[0]);
    assert_ne!(weights.value(), last.value());
    let (_, newest) = run(trainer(8).average(0.0), None);
    let differences = newest.value().data().iter().zip(last.value().data()).map(|(a, b)| (a - b).abs());
    assert!(differences.fold(0.0, f64::max) < 1e-15);

    let directory = tempfile::tempdir().unwrap();
    let often = |decay| {
        trainer(8).average(decay).directory(directory.path()).checkpoint_every(std::time::Duration::ZERO)
    };
    run(often(0.9), Some(3)).0.unwrap_err();
    let (other, _) = run(often(0.8).resume(true), None);
    assert!(other.unwrap_err().to_string().ends_with("a run with another average of its parameters"));
    let (resumed, resumed_weights) = run(often(0.9).resume(true), None);
    assert_eq!((resumed.unwrap().epochs, resumed_weights.value()), (whole.epochs, weights.value()));
    assert!(run(trainer(8).average(1.0), None).0.unwrap_err().to_string().contains("decay of an average"));
}

/// A training that is stopped after an epoch has the bits of one that has so many epochs. So has the one that
/// goes on from its checkpoint, and stops at once.
#[test]
fn a_training_may_stop_before_its_last_epoch() {
    let directory = tempfile::tempdir().unwrap();
    let stopping = || Trainer::new(8).directory(directory.path()).stop(|history| history.epochs.len() == 3);
    let (short, short_weights) = run(Trainer::new(3), None);
    let short = short.unwrap();
    assert_eq!(short.steps, 9);
    for resumes in [false, true] {
        let (stopped, weights) = run(stopping().resume(resumes), None);
        let stopped = stopped.unwrap();
        assert_eq!((&stopped.epochs, stopped.steps), (&short.epochs, 9));
        assert_eq!(weights.value(), short_weights.value());
    }
}

/// A step that is not finite stops the training and is named. The checkpoint that is kept is a good one.
#[test]
fn a_divergence_keeps_the_last_good_checkpoint() {
    let directory = tempfile::tempdir().unwrap();
    let often =
        |epochs| Trainer::new(epochs).directory(directory.path()).checkpoint_every(std::time::Duration::ZERO);
    let (mut weights, mut adam) = start();
    let calls = std::sync::atomic::AtomicUsize::new(0);
    let factor =
        || if calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 9 { f64::NAN } else { 1.0 };
    let error = often(8)
        .parts(1, 1)
        .run(
            &mut weights,
            &mut adam,
            &BATCHES,
            |weights, tape, items| loss(weights, tape, items) * factor(),
            |_, _| Ok(0.0),
        )
        .unwrap_err()
        .to_string();
    let cause = "parameter \"weights\": the step of row 0 is not finite";
    assert!(error.starts_with(&format!("training stopped at step 10: {cause}")), "{error}");
    // Step 9 led to the loss that is not finite, so its checkpoint is not good. The one of step 8 is kept.
    assert!(error.ends_with("checkpoint.bin is the checkpoint after step 8"), "{error}");
    assert_eq!(adam.rate(), 0.05);
    // A run that splits its batches otherwise cannot resume.
    let (refused, _) = run(often(3).resume(true), None);
    assert!(refused.unwrap_err().to_string().ends_with("a run with another split of its batches"));
    let often = |epochs| often(epochs).parts(1, 1);
    let (history, _) = run(often(3).resume(true), None);
    assert_eq!(history.unwrap().steps, 9);
    for (other, message) in [
        (often(3).seed(1), "a run with another seed"),
        (often(3).best(Goal::Least), "a run with another goal for its best model"),
    ] {
        assert!(run(other.resume(true), None).0.unwrap_err().to_string().ends_with(message));
    }
    // Three epochs are done now: a run of two epochs cannot resume.
    let (refused, _) = run(often(2).resume(true), None);
    assert!(refused.unwrap_err().to_string().ends_with("3 epochs are done, and this run has only 2"));
}

/// A checkpoint of another run is refused with the reason that the caller gives.
#[test]
fn checkpoints_of_another_run_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let trainer_of = |name: &str| {
        let same = |found: &String, ours: &String| match found == ours {
            true => Ok(()),
            false => Err(format!("this is {found}, not {ours}")),
        };
        Trainer::for_run(1, name.to_owned(), same).directory(directory.path())
    };
    let train = |mut trainer: Trainer<'_>| {
        let (mut weights, mut adam) = start();
        trainer.run(&mut weights, &mut adam, &BATCHES, loss, |_, _| Ok(0.0))
    };
    train(trainer_of("one")).unwrap();
    let error = train(trainer_of("two").resume(true)).unwrap_err().to_string();
    assert!(error.contains(CHECKPOINT) && error.ends_with("this is one, not two"), "{error}");
    assert!(train(trainer_of("one").resume(true)).is_ok());
    let undescribed = Trainer::new(1).directory(directory.path()).resume(true);
    let error = train(undescribed).unwrap_err().to_string();
    assert!(error.contains("a run of another kind: invalid type: string \"one\", expected unit"), "{error}");
    let message =
        train(trainer_of("one").directory(directory.path().join(CHECKPOINT))).unwrap_err().to_string();
    assert!(message.contains(CHECKPOINT), "{message}");
}

/// JSON has no NaN: it would be read back as something else.
#[test]
#[should_panic(expected = "the description of a run is JSON that can be read back: invalid type: null")]
fn a_description_without_json_is_rejected() {
    let _ = Trainer::for_run(1, f64::NAN, |_, _| Ok(()));
}

/// After a training that keeps the best model, the model is the best one, in memory and in the file.
#[test]
fn the_best_model_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let read = |path: &Path| {
        let mut weights = start().0;
        weights.load(path).unwrap();
        weights.value().clone()
    };
    for (goal, best) in [(Goal::Least, 3), (Goal::Greatest, 2)] {
        let (mut weights, mut adam) = start();
        let mut seen = Vec::new();
        let validations = [0.5, 0.9, 0.1, 0.9, 0.1];
        let history = Trainer::new(5)
            .directory(directory.path())
            .best(goal)
            .run(&mut weights, &mut adam, &BATCHES, loss, |weights, history| {
                seen.push(weights.value().clone());
                Ok(validations[history.epochs.len()])
            })
            .unwrap();
        assert_eq!(history.best(goal), Some((best as u64, validations[best - 1])));
        let best_weights = &seen[best - 1];
        assert_eq!(weights.value(), best_weights);
        assert_eq!(&read(&directory.path().join("model.safetensors")), best_weights);
        let file = directory.path().join("history.json");
        history.write(&file).unwrap();
        let written: History = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert_eq!(written.epochs.iter().map(|epoch| epoch.validation).collect::<Vec<_>>(), validations);
    }
    // After a training, the optimiser has its own learning rate back.
    let (mut weights, mut adam) = start();
    trainer(2).run(&mut weights, &mut adam, &BATCHES, loss, |_, _| Ok(0.0)).unwrap();
    assert_eq!(adam.rate(), 0.05);
}

/// What an evaluation sets, a running statistic for example, is in the checkpoint and in the best model's
/// file, and no step moves it.
#[test]
fn an_evaluation_may_set_what_no_gradient_reaches() {
    let train = |directory: &Path, epochs: u64, resumes: bool| {
        let (weights, mut adam) = start();
        let mut model = (weights, Param::new("statistic", Euclidean, Tensor::zeros([1])));
        let mut trainer = trainer(epochs).directory(directory).best(Goal::Greatest).resume(resumes);
        trainer
            .run(
                &mut model,
                &mut adam,
                &BATCHES,
                |(weights, _), tape, items| loss(weights, tape, items),
                |(weights, statistic), history| {
                    statistic.value_mut().data_mut()[0] += weights.value().data()[0]; // a sum over the epochs
                    Ok(history.epochs.len() as f64)
                },
            )
            .unwrap();
        model.state()
    };
    let [whole, parts] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let state = train(whole.path(), 6, false);
    assert!(state[1].1.data()[0].abs() > 0.1);
    train(parts.path(), 2, false);
    assert_eq!(train(parts.path(), 6, true), state);
    let mut saved = (start().0, start().0);
    *saved.1.value_mut() = Tensor::zeros([1]);
    saved.load(&parts.path().join("model.safetensors")).unwrap();
    assert_eq!(saved.state(), state);
}

/// After a divergence, the best model on disk is not newer than the checkpoint: a run that resumes at another
/// learning rate may never reach the models of the lost steps.
#[test]
fn a_divergence_leaves_the_best_model_of_its_checkpoint() {
    let directory = tempfile::tempdir().unwrap();
    // The run is so short that only the checkpoint at the start is written.
    let trainer = || Trainer::new(3).directory(directory.path()).best(Goal::Least).named("one");
    let train = |mut trainer: Trainer<'_>, validations: [f64; 3]| {
        let (mut weights, mut adam) = start();
        let history = trainer
            .run(&mut weights, &mut adam, &BATCHES, loss, |_, history| Ok(validations[history.epochs.len()]));
        (history, weights)
    };
    let (stopped, _) = train(trainer(), [0.1, 0.2, f64::NAN]);
    assert!(stopped.unwrap_err().to_string().ends_with("checkpoint.bin is the checkpoint after step 0"));
    let exists = |name: &str| directory.path().join(name).exists();
    assert!(!exists("model.safetensors") && !exists("model.next"));
    let (history, weights) = train(trainer().resume(true), [0.7, 0.5, 0.9]);
    assert_eq!(history.unwrap().best(Goal::Least), Some((2, 0.5)));
    let (resumed, same) = train(trainer().resume(true), [0.0; 3]);
    assert_eq!((resumed.unwrap().steps, same.value()), (9, weights.value()));
    // The model of a run with another name is refused.
    let error = train(trainer().named("two").resume(true), [0.0; 3]).0.unwrap_err().to_string();
    assert!(error.ends_with("model.safetensors: the model of a run with other options or other data"));
}

/// Every item is in one batch, no batch is too large, and batches are of similar lengths.
#[test]
fn batches_by_length_have_little_padding() {
    let lengths: Vec<usize> = (0..500).map(|i| 1 + i * 7919 % 40).collect();
    let batches = ByLength { lengths: lengths.clone(), elements: 128, seed: 1 };
    let epoch = batches.epoch(4);
    let mut all = epoch.concat();
    all.sort();
    assert_eq!(all, (0..500).collect::<Vec<u32>>());
    let longest = |batch: &[u32]| batch.iter().map(|&i| lengths[i as usize]).max().unwrap();
    assert!(epoch.iter().all(|batch| batch.len() == 1 || batch.len() * longest(batch) <= 128));
    let padded: usize = epoch.iter().map(|batch| batch.len() * longest(batch)).sum();
    assert!((padded as f64) < 1.05 * lengths.iter().sum::<usize>() as f64);
    assert!(batches.epoch(4) == epoch && batches.epoch(5) != epoch);
}

/// A validation that is not finite stops a training, and so does an epoch without batches.
#[test]
fn a_training_that_cannot_continue_is_an_error() {
    let (mut weights, mut adam) = start();
    let error = trainer(2).run(&mut weights, &mut adam, &BATCHES, loss, |_, _| Ok(f64::NAN)).unwrap_err();
    assert_eq!(error.to_string(), "training stopped at step 3: the validation is NaN");
    let none = Shuffled { items: 0, ..BATCHES };
    let error = trainer(2).run(&mut weights, &mut adam, &none, loss, |_, _| Ok(0.0)).unwrap_err();
    assert_eq!(error.to_string(), "epoch 1: no batch is left to train on (0 batches, 0 of them done)");
    let done = trainer(0).run(&mut weights, &mut adam, &BATCHES, loss, |_, _| Ok(0.0)).unwrap();
    assert_eq!(done, History::default());
}

#[test]
#[should_panic(expected = "Trainer: resuming and the best model need a directory")]
fn the_best_model_needs_a_directory() {
    let (mut weights, mut adam) = start();
    let _ = trainer(1).best(Goal::Least).run(&mut weights, &mut adam, &BATCHES, loss, |_, _| Ok(0.0));
}

/// Steps of one's own: the weights grow by one each step. Step `wrong` has a loss that is no number, after a
/// first loss that is one if it `begins`.
fn grow(trainer: &mut Trainer<'_>, wrong: u64, begins: bool) -> (Result<History, TrainError>, Weights) {
    let (mut weights, mut adam) = start();
    let step = |weights: &mut Weights, _: &mut RiemannianAdam<f64>, taken: &mut Taken<'_>| {
        weights.value_mut().data_mut().iter_mut().for_each(|x| *x += 1.0);
        assert_eq!(weights.value().data()[0], taken.number as f64 + 1.0);
        if begins || taken.number != wrong {
            taken.goes_well();
        }
        Ok::<f64, OptimError>(if taken.number == wrong { f64::NAN } else { taken.items.len() as f64 })
    };
    (trainer.run_by(&mut weights, &mut adam, &BATCHES, step, |_, _| Ok(0.0)), weights)
}

#[test]
fn steps_of_ones_own_are_resumed_and_named() {
    let directory = tempfile::tempdir().unwrap();
    let trainer = || {
        let often = Trainer::new(3).unit("pass").directory(directory.path());
        often.checkpoint_every(std::time::Duration::ZERO)
    };
    // Batches of 20, 20 and 10 items: the mean over the items.
    let (history, weights) = grow(&mut Trainer::new(3), 99, true);
    assert_eq!((history.unwrap().epochs[2].loss, weights.value().data()[0]), (18.0, 9.0));
    // The checkpoint before a step is good if the step's first loss is a number, else the one before it is
    // kept.
    for (begins, kept) in [(true, 5), (false, 4)] {
        let error = grow(&mut trainer(), 5, begins).0.unwrap_err().to_string();
        let file = directory.path().join(CHECKPOINT);
        let wanted = format!(
            "training stopped at pass 6: the loss is NaN; {} is the checkpoint after pass {kept}",
            file.display()
        );
        assert_eq!(error, wanted);
        let (history, weights) = grow(&mut trainer().resume(true), 99, true);
        assert_eq!((history.unwrap().steps, weights.value().data()[0]), (9, 9.0));
    }
}
