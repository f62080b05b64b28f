//! Layer normalisation.

use std::sync::Arc;

use super::fold::{Broadcasted, SUM};
use super::form::{Forward, OnDevice, Reverse};
use super::scalar::PLAIN;
use super::team::Team;
use crate::kernels::layer_norm::LayerNorm;
use crate::numbers::storage::Storage;
use crate::tensor::device::program::{Key, Program};
use crate::tensor::device::queue::Queue;
use crate::tensor::shape::Broadcast;

fn program<T: Storage>(queue: &Queue, team: Team) -> Arc<Program> {
    let source = || PLAIN.to_owned() + &team.source() + include_str!("layer_norm.cl");
    queue.program::<T>(Key::new::<T>("layer_norm", None), source)
}

impl<T: Storage> OnDevice<T> for LayerNorm {
    fn forward(&self, queue: &Queue, forward: &Forward<'_, T>) {
        let &Forward { inputs, shape, out, .. } = forward;
        let rows = shape.elements() / shape.width();
        let team = queue.team(0);
        let mut launch = queue.launch(&program::<T>(queue, team), "forward");
        launch = launch.size(rows).size(shape.width()).number(self.epsilon);
        for input in inputs {
            launch = launch.keep(input.on(queue));
        }
        launch.memory(out).over_rows(team, rows);
    }

    fn backward(&self, queue: &Queue, reverse: &Reverse<'_, T>) {
        let (shape, [x, gain, _]) = (reverse.out.shape, [0, 1, 2].map(|i| &reverse.inputs[i]));
        let (width, rows) = (shape.width(), shape.elements() / shape.width());
        let of_gain = reverse.grads[1].as_ref().map(|_| queue.take_for::<T>(shape.axes()));
        let team = queue.team(0);
        let launch = queue.launch(&program::<T>(queue, team), "backward");
        let launch = launch.size(rows).size(width).number(self.epsilon);
        let launch = launch.keep(x.on(queue)).keep(gain.on(queue)).memory(reverse.g);
        launch.optional(reverse.grads[0].as_deref()).optional(of_gain.as_deref()).over_rows(team, rows);
        let all = Broadcasted { read: Broadcast::cycled(width), n: shape.elements(), width: 1 };
        if let Some((all_of_gain, grad)) = of_gain.zip(reverse.grads[1].as_ref()) {
            SUM.run::<T>(queue, &all_of_gain, all, None, grad);
        }
        if let Some(grad) = &reverse.grads[2] {
            SUM.run::<T>(queue, reverse.g, all, None, grad);
        }
    }
}
