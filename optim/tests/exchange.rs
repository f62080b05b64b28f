//! Ranks: the same bits as one process, and errors instead of waiting.

// The name by which `#[derive(Module)]` looks for the trait.
extern crate cotangent_manifolds as cotangent;

use std::sync::Arc;

use cotangent_engine::{Device, Tape, Tensor, Var};
use cotangent_manifolds::{Euclidean, Module, Param, PoincareBall};
use cotangent_optim::exchange::{Exchange, Threads};
use cotangent_optim::train::{Shuffled, Trainer};
use cotangent_optim::{DataParallel, OptimError, RiemannianAdam, Schedule};

/// A table of which parts read some rows, one that the second part reads whole, a matrix, and a parameter
/// that no part reads.
#[derive(Clone, Module)]
struct Model {
    points: Param<PoincareBall, f32>,
    mixed: Param<Euclidean, f32>,
    matrix: Param<Euclidean, f32>,
    unread: Param<Euclidean, f32>,
}

impl Model {
    fn new() -> Self {
        let wave = |axes: [usize; 2]| Tensor::from_fn(axes, |i| 0.3 * (1.7 * i as f32).sin());
        Model {
            points: Param::new("points", PoincareBall::new(-1.0), wave([17, 3])),
            mixed: Param::new("mixed", Euclidean, wave([17, 3])),
            matrix: Param::new("matrix", Euclidean, wave([3, 5])),
            unread: Param::new("unread", Euclidean, wave([2, 2])),
        }
    }

    /// `items[0]` is the number of the part. The first one does not read the matrix.
    fn loss<'t>(&self, tape: &'t Tape<f32>, items: &[u32]) -> Var<'t, f32> {
        let mixed = self.mixed.on(tape);
        let points = self.points.on(tape).coordinates().gather(items);
        let rows = if items[0] == 1 {
            mixed.matmul_nt(*mixed).sum_axis(-1)
        } else {
            mixed.gather(items).sum_axis(-1)
        };
        let loss = points.square().sum() * 0.7 + rows.square().mean();
        if items[0] == 0 { loss } else { loss + points.matmul(*self.matrix.on(tape)).tanh().sum() }
    }

    fn bits(&self) -> Vec<u32> {
        self.state().iter().flat_map(|(_, value)| value.data().iter().map(|x| x.to_bits())).collect()
    }
}

const PARTS: [&[u32]; 5] = [&[0, 3, 16], &[1, 8, 2], &[2, 3, 1], &[5], &[4, 0, 7]];

/// Three steps, with a clipping that depends on the norm of all gradients.
fn train(parts: &[&[u32]], mut parallel: DataParallel) -> Result<(Vec<u64>, Vec<u32>), OptimError> {
    let (mut model, mut adam) = (Model::new(), RiemannianAdam::new(0.1)?.clip(0.5)?);
    let mut losses = Vec::new();
    for _ in 0..3 {
        losses.push(
            parallel
                .step(&mut model, &mut adam, parts, |model, tape, items| model.loss(tape, items))?
                .to_bits(),
        );
    }
    Ok((losses, model.bits()))
}

#[test]
fn ranks_have_the_bits_of_one_process() {
    for parts in [&PARTS[..], &PARTS[..2]] {
        let alone = train(parts, DataParallel::new(Device::cpu())).unwrap();
        for size in [1, 2, 3, 4, 7] {
            let all = Threads::run(size, |ranks| train(parts, DataParallel::new(Device::cpu()).over(ranks)));
            all.into_iter().for_each(|rank| assert_eq!(rank.unwrap(), alone, "{size} ranks"));
        }
    }
}

#[test]
fn a_rank_that_ends_is_an_error_of_the_others() {
    let all = Threads::run(3, |ranks| match ranks.rank() {
        1 => Ok(Default::default()),
        _ => train(&PARTS, DataParallel::new(Device::cpu()).over(ranks)),
    });
    // Whichever of the others is waited for: the rank that ended, or the one that saw it first.
    for (rank, other) in [(0, 2), (2, 0)] {
        let error = all[rank].as_ref().unwrap_err().to_string();
        let seen = [1, other].map(|ended| format!("rank {rank} of 3: rank {ended} has ended"));
        assert!(seen.contains(&error), "{error}");
    }
}

/// Blocks are empty and of different lengths.
#[test]
fn blocks_arrive_from_every_rank() {
    let block = |from: usize, to: usize| vec![(10 * from + to) as u8; from * to];
    let all = Threads::run(4, |ranks| {
        let own = ranks.rank();
        let blocks: Vec<Vec<u8>> = (0..4).map(|to| block(own, to)).collect();
        let blocks: Vec<&[u8]> = blocks.iter().map(Vec::as_slice).collect();
        assert_eq!(ranks.all_to_all(&blocks)?, (0..4).map(|from| block(from, own)).collect::<Vec<_>>());
        let gathered = ranks.gather(2, &[own as u8])?;
        assert_eq!(gathered, (own == 2).then(|| (0..4).map(|rank| vec![rank]).collect()));
        assert_eq!(ranks.broadcast(3, &[own as u8, 9])?, [3, 9]);
        ranks.barrier()?;
        match own {
            0 => ranks.send(3, &[1, 2]).map(|()| Vec::new()),
            3 => ranks.receive(0),
            _ => Ok(Vec::new()),
        }
    });
    assert_eq!(all, [Ok(vec![]), Ok(vec![]), Ok(vec![]), Ok(vec![1, 2])]);
}

fn adam(rate: f64) -> RiemannianAdam<f32> {
    RiemannianAdam::new(rate).unwrap()
}

/// Trains as a rank: the losses of all epochs, the bits of the weights, and the last error.
fn trained(
    ranks: Option<Arc<dyn Exchange>>,
    (trainer, mut adam): (Trainer<'_>, RiemannianAdam<f32>),
) -> Result<(Vec<u64>, Vec<u32>), String> {
    let (mut model, mut trainer) = (Model::new(), trainer.parts(4, 2));
    if let Some(ranks) = ranks {
        trainer = trainer.ranks(ranks);
    }
    let batches = Shuffled { items: 9, batch: 7, seed: 1 };
    let history = trainer.run(&mut model, &mut adam, &batches, Model::loss, |_, _| Ok(0.0));
    let history = history.map_err(|error| error.to_string())?;
    Ok((history.epochs.iter().map(|epoch| epoch.loss.to_bits()).collect(), model.bits()))
}

#[test]
fn a_training_of_ranks_is_that_of_one_process() {
    let usual = || (Trainer::new(2), adam(0.05));
    let alone = trained(None, usual());
    for size in [1, 2, 3] {
        let all = Threads::run(size, |ranks| trained(Some(ranks), usual()));
        all.into_iter().for_each(|rank| assert_eq!(rank, alone, "{size} ranks"));
    }
}

#[test]
fn ranks_with_other_settings_are_refused() {
    let others = [
        || (Trainer::new(2).seed(43), adam(0.05)),
        || (Trainer::new(2).schedule(Schedule::Constant.warm_up(3)), adam(0.05)),
        || (Trainer::new(2), adam(0.01)),
        || (Trainer::new(2), adam(0.05).decay(0.1).unwrap()),
    ];
    let all = others.map(|other| {
        Threads::run(3, |ranks| {
            let is_other = ranks.rank() == 2;
            trained(Some(ranks), if is_other { other() } else { (Trainer::new(2), adam(0.05)) })
        })
    });
    for (rank, result) in all.into_iter().flat_map(|all| all.into_iter().enumerate()) {
        let message = "rank 2 has another version, other settings, data or weights than rank 0";
        assert_eq!(result.unwrap_err(), format!("rank {rank} of 3: {message}"));
    }
}
