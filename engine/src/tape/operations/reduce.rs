//! Reductions on the tape: sum, mean, maximum, log-sum-exp and norm.

use crate::formula::map::MapFormula;
use crate::kernels::reduce::{Axis, Reduce, Reduction};
use crate::numbers::scalar::Scalar;
use crate::tape::arena::Op;
use crate::tape::float::Float;
use crate::tape::operation::Operation;
use crate::tape::var::Var;

impl<T: Float> Var<'_, T> {
    #[track_caller]
    fn reduce(self, reduction: Reduction, axis: Option<isize>) -> Self {
        self.tape().record(Op::Reduce(Reduce { reduction, axis }), &[self])
    }

    /// The sum of all elements.
    #[track_caller]
    pub fn sum(self) -> Self {
        self.reduce(Reduction::Sum, None)
    }
    /// The mean of all elements.
    #[track_caller]
    pub fn mean(self) -> Self {
        self.reduce(Reduction::Mean, None)
    }
    /// The largest element; NaN if there is one. The gradient is as for [`max_axis`](Self::max_axis).
    #[track_caller]
    pub fn max(self) -> Self {
        self.reduce(Reduction::Max, None)
    }
    /// Sums along an axis, which disappears; a negative axis counts from the last.
    ///
    /// # Panics
    /// If there is no such axis.
    #[track_caller]
    pub fn sum_axis(self, axis: isize) -> Self {
        self.reduce(Reduction::Sum, Some(axis))
    }
    /// Means along an axis, which disappears. NaN if the axis is empty.
    ///
    /// # Panics
    /// If there is no such axis.
    #[track_caller]
    pub fn mean_axis(self, axis: isize) -> Self {
        self.reduce(Reduction::Mean, Some(axis))
    }
    /// Maxima along an axis, which disappears; −∞ for an empty line, NaN for a line with NaN in it. The
    /// gradient goes to the first maximum; a line with NaN in it has the gradient NaN everywhere.
    ///
    /// # Panics
    /// If there is no such axis.
    #[track_caller]
    pub fn max_axis(self, axis: isize) -> Self {
        self.reduce(Reduction::Max, Some(axis))
    }
    /// `ln Σ eˣ` along an axis, which disappears; −∞ if it is empty. Never overflows.
    ///
    /// # Panics
    /// If there is no such axis.
    #[track_caller]
    pub fn logsumexp(self, axis: isize) -> Self {
        self.reduce(Reduction::LogSumExp, Some(axis))
    }
    /// `√(Σ x²)` along an axis, which disappears, also where the squares overflow or underflow. The
    /// gradient at a zero vector is 0; it is NaN where the norm itself is infinite.
    ///
    /// # Panics
    /// If there is no such axis.
    #[track_caller]
    pub fn norm_axis(self, axis: isize) -> Self {
        self.reduce(Reduction::Norm, Some(axis))
    }
}

impl<T: Float> Operation<T> for Reduce {
    fn name(&self) -> &'static str {
        match self.reduction {
            Reduction::Sum => "sum",
            Reduction::Mean => "mean",
            Reduction::Max => "max",
            Reduction::LogSumExp => "logsumexp",
            Reduction::Norm => "norm",
        }
    }

    kernel_passes!(Reduce);

    #[track_caller]
    fn jvp<'t>(&self, inputs: &[Var<'t, T>], out: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        let (x, dx) = (inputs[0], tangents[0].expect("one input, one tangent"));
        let shape = x.shape();
        let axis = self.axis;
        let sum = |v: Var<'t, T>| v.reduce(Reduction::Sum, axis);
        let spread = |v: Var<'t, T>| {
            let Some(axis) = axis else { return v };
            let (at, _) = Axis::new(&shape, axis).expect("checked");
            v.insert_axis(at)
        };
        match self.reduction {
            Reduction::Sum | Reduction::Mean => dx.reduce(self.reduction, axis),
            Reduction::LogSumExp => sum(x.tape().map(LogSumExpSlope, [x, spread(out)]) * dx),
            Reduction::Norm => sum(x.tape().map(NormSlope, [x, spread(out)]) * dx),
            Reduction::Max => panic!("max: forward mode is not offered for this operation"),
        }
    }
}

/// The derivative `e^(x − y)` of y = `ln Σ eˣ` with respect to an element x. It is 0 where the whole line
/// is −∞.
#[derive(Clone, Copy)]
struct LogSumExpSlope;

impl MapFormula<2> for LogSumExpSlope {
    const NAME: &'static str = "logsumexp_slope";
    #[inline(always)]
    fn eval<S: Scalar>([x, y]: [S; 2]) -> S {
        let is_above = S::constant(f64::NEG_INFINITY).lt(y);
        // Where y is −∞ or NaN, its exponential is the wanted 0 or NaN.
        S::select(is_above, x - y, y.detached()).exp()
    }
}

/// The derivative `x/y` of a norm y with respect to an element x; 0 where the norm is 0, NaN where it is not
/// finite.
#[derive(Clone, Copy)]
struct NormSlope;

impl MapFormula<2> for NormSlope {
    const NAME: &'static str = "norm_slope";
    #[inline(always)]
    fn eval<S: Scalar>([x, y]: [S; 2]) -> S {
        let is_finite = y.lt(S::constant(f64::INFINITY));
        S::select(S::zero().lt(y), S::select(is_finite, x / y, S::constant(f64::NAN)), y.detached())
    }
}
