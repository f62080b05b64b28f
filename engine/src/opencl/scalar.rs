//! The scalars of rows: inner products, margins, coefficients. They are `f64` where the device has it
//! (`plain.cl`), else compensated sums of two `f32` (`compensated.cl`). The skeletons are the same.

use ocl::core::ArgVal;
use ocl::prm::Float2;

use crate::numbers::trace::{Expression, parts};
use crate::tensor::device::program::functions;
use crate::tensor::device::queue::{Launch, Queue};

/// Scalars that are a `wide` each.
pub(super) const PLAIN: &str = include_str!("plain.cl");

impl Queue {
    /// The type of the scalars of rows, and the elementary functions of it.
    pub fn row_scalars(&self) -> String {
        if self.has_f64() {
            functions("double", &[]) + PLAIN
        } else {
            functions("float", &[]) + include_str!("compensated.cl")
        }
    }

    /// A function of the scalars of rows.
    pub fn row_function(&self, name: &str, expression: &Expression) -> String {
        let printed = if self.has_f64() {
            expression.to_c(name, "scalar")
        } else {
            expression.to_compensated_c(name, "scalar")
        };
        "static ".to_owned() + &printed
    }
}

impl Launch<'_> {
    /// A number of type `scalar`, in programs of [`row_scalars`](Queue::row_scalars).
    pub(super) fn scalar(self, number: f64) -> Self {
        if self.queue.has_f64() {
            return self.number(number);
        }
        let [high, low] = parts(number);
        self.argument(ArgVal::vector(&Float2::new(low, high)))
    }
}
