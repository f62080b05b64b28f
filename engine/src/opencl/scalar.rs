//! The type `scalar` of a row's inner products, margins and coefficients. It is `f64` where the device has
//! it (`plain.cl`), else a compensated sum of two `f32` (`compensated.cl`). Kernels are
//! written once and compiled with either.

use ocl::core::ArgVal;
use ocl::prm::Float2;

use crate::numbers::trace::{Expression, parts};
use crate::tensor::device::program::functions;
use crate::tensor::device::queue::{Launch, Queue};

/// `scalar` as another name of `wide`.
pub(super) const PLAIN: &str = include_str!("plain.cl");

impl Queue {
    /// The type `scalar`, its arithmetic and its elementary functions.
    pub fn row_scalars(&self) -> String {
        if self.has_f64() {
            functions("double", &[]) + PLAIN
        } else {
            functions("float", &[]) + include_str!("compensated.cl")
        }
    }

    /// A function of type `scalar`, printed from an expression.
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
