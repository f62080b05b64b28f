//! The training loop: epochs and batches, the schedule of the learning rate, evaluation, the best model,
//! checkpoints, and resuming.
//!
//! ```
//! use cotangent_engine::{Tensor, rng};
//! use cotangent_manifolds::{Euclidean, Param};
//! use cotangent_optim::RiemannianAdam;
//! use cotangent_optim::train::{Goal, Shuffled, Trainer};
//! let out = tempfile::tempdir()?;
//! let x = Tensor::from_fn([40, 1], |i| i as f64 / 40.0); // y = 3x, so the weight must become 3
//! let mut weight = Param::new("weight", Euclidean, Tensor::zeros([1, 1]));
//!
//! let mut adam = RiemannianAdam::new(0.1)?;
//! let mut trainer = Trainer::new(60).directory(out.path()).best(Goal::Least);
//! let batches = Shuffled { items: 40, batch: 8, seed: 42 };
//! let error = |weight: &Param<_, f64>| (weight.value().data()[0] - 3.0).abs();
//! let history = trainer.run(&mut weight, &mut adam, &batches, |weight, tape, items| {
//!     let x = tape.constant(&x).gather(items);
//!     (x.matmul(weight.on(tape)) - x * 3.0).square().mean()
//! }, |weight, _| Ok(error(weight)))?;
//! assert!(history.epochs.len() == 60 && error(&weight) < 1e-2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batches;
mod checkpoints;
mod course;
mod each_batch;
mod error;
mod model_file;
mod trainer;

pub use batches::{Batches, ByLength, Repeated, Shuffled};
pub use checkpoints::{CHECKPOINT, MODEL};
pub use course::Taken;
pub use each_batch::each_batch;
pub use error::{Cause, Kept, TrainError};
pub use model_file::{load_model, save_model};
pub use trainer::{Epoch, Goal, History, Progress, Trainer};
