//! Variables of a tape: arithmetic, reductions, indexing, row formulas.

use crate::formulas as f;
use crate::kernels::gram::Erased;
use crate::kernels::map::ErasedMap;
use crate::kernels::reduce::Reduction;
use crate::{Float, MapFormula, RowFormula, Rows, Shape, Tape, Tensor};

/// A node of a [`Tape`]: an id, `Copy`, to be computed with.
///
/// `+ − × ÷` work element by element and broadcast; the other operand may be a number.
pub struct Var<'t, T: Float> {
    tape: &'t Tape<T>,
    id: u32,
}

impl<T: Float> Clone for Var<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Float> Copy for Var<'_, T> {}

impl<T: Float> std::fmt::Debug for Var<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Var {} {}", self.id, self.to_tensor())
    }
}

impl<'t, T: Float> Var<'t, T> {
    pub(crate) fn new(tape: &'t Tape<T>, id: u32) -> Self {
        Var { tape, id }
    }
    pub(crate) fn id(self) -> u32 {
        self.id
    }

    /// The tape it is on.
    pub fn tape(self) -> &'t Tape<T> {
        self.tape
    }

    /// Its shape.
    pub fn shape(self) -> Shape {
        self.tape.read(self.id, |_, shape| shape.clone())
    }

    /// A copy of its value.
    pub fn to_tensor(self) -> Tensor<T> {
        self.tape.read(self.id, |data, shape| Tensor::new(shape.clone(), data.to_vec()))
    }

    /// Its value, if it is a single number.
    ///
    /// # Panics
    /// If it has more than one element.
    #[track_caller]
    pub fn item(self) -> f64 {
        self.tape.read(self.id, |data, shape| {
            assert_eq!(data.len(), 1, "item: {shape} is not a single number");
            data[0].to_f64()
        })
    }

    #[track_caller]
    fn map1<F: MapFormula<1>>(self, formula: F) -> Self {
        self.tape.map(formula, [self])
    }

    /// `x²`.
    #[track_caller]
    pub fn square(self) -> Self {
        self.map1(f::Square)
    }
    /// `√x`, with derivative 0 at 0.
    #[track_caller]
    pub fn sqrt(self) -> Self {
        self.map1(f::Sqrt)
    }
    /// `eˣ`.
    #[track_caller]
    pub fn exp(self) -> Self {
        self.map1(f::Exp)
    }
    /// `ln x`.
    #[track_caller]
    pub fn ln(self) -> Self {
        self.map1(f::Ln)
    }
    /// `tanh x`.
    #[track_caller]
    pub fn tanh(self) -> Self {
        self.map1(f::Tanh)
    }
    /// `1/(1 + e⁻ˣ)`.
    #[track_caller]
    pub fn sigmoid(self) -> Self {
        self.map1(f::Sigmoid)
    }
    /// `ln(1 + eˣ)`.
    #[track_caller]
    pub fn softplus(self) -> Self {
        self.map1(f::Softplus)
    }

    /// The sum of all elements.
    #[track_caller]
    pub fn sum(self) -> Self {
        self.tape.record_reduce(Reduction::Sum, None, self)
    }
    /// The mean of all elements.
    #[track_caller]
    pub fn mean(self) -> Self {
        self.tape.record_reduce(Reduction::Mean, None, self)
    }
    /// Sums along an axis, which disappears; a negative axis counts from the last.
    #[track_caller]
    pub fn sum_axis(self, axis: isize) -> Self {
        self.tape.record_reduce(Reduction::Sum, Some(axis), self)
    }
    /// Means along an axis, which disappears.
    #[track_caller]
    pub fn mean_axis(self, axis: isize) -> Self {
        self.tape.record_reduce(Reduction::Mean, Some(axis), self)
    }
    /// `ln Σ eˣ` along an axis, which disappears. Never overflows.
    #[track_caller]
    pub fn logsumexp(self, axis: isize) -> Self {
        self.tape.record_reduce(Reduction::LogSumExp, Some(axis), self)
    }

    /// Rows of a table `[n, width]` by number: `[rows.len(), width]`. The gradient of an input table is
    /// row-sparse.
    #[track_caller]
    pub fn gather(self, rows: &[u32]) -> Self {
        self.tape.record_gather(self, rows)
    }
    /// The positions `range` of an axis; a negative axis counts from the last.
    #[track_caller]
    pub fn slice(self, axis: isize, range: std::ops::Range<usize>) -> Self {
        self.tape.record_slice(self, axis, range)
    }
    /// The same elements in another shape. Nothing is copied.
    #[track_caller]
    pub fn reshape(self, shape: impl Into<Shape>) -> Self {
        self.tape.record_reshape(self, shape.into())
    }
}

impl<T: Float> Tape<T> {
    /// Applies an elementwise formula; the operands broadcast.
    #[track_caller]
    pub fn map<'t, F: MapFormula<K>, const K: usize>(
        &'t self,
        _formula: F,
        operands: [Var<'t, T>; K],
    ) -> Var<'t, T> {
        self.record_map(ErasedMap::<F, K>::kernel(), &operands)
    }
}

macro_rules! operator {
    ($trait:ident $method:ident $formula:ident) => {
        impl<'t, T: Float> std::ops::$trait for Var<'t, T> {
            type Output = Var<'t, T>;
            #[track_caller]
            fn $method(self, other: Self) -> Self {
                self.tape.map(f::$formula, [self, other])
            }
        }
        impl<'t, T: Float> std::ops::$trait<f64> for Var<'t, T> {
            type Output = Var<'t, T>;
            #[track_caller]
            fn $method(self, other: f64) -> Self {
                self.tape.map(f::$formula, [self, self.tape.scalar(other)])
            }
        }
        impl<'t, T: Float> std::ops::$trait<Var<'t, T>> for f64 {
            type Output = Var<'t, T>;
            #[track_caller]
            fn $method(self, other: Var<'t, T>) -> Var<'t, T> {
                other.tape.map(f::$formula, [other.tape.scalar(self), other])
            }
        }
    };
}
operator!(Add add Add);
operator!(Sub sub Sub);
operator!(Mul mul Mul);
operator!(Div div Div);

impl<T: Float> std::ops::Neg for Var<'_, T> {
    type Output = Self;
    #[track_caller]
    fn neg(self) -> Self {
        self.map1(f::Neg)
    }
}

impl<T: Float> Rows for Var<'_, T> {
    type Scalar = Self;

    fn constant(&self, value: f64) -> Self {
        self.tape.scalar(value)
    }
    #[track_caller]
    fn scalar<F, const V: usize, const P: usize, const B: usize, const I: usize>(
        _formula: F,
        vectors: [&Self; V],
        params: [&Self; P],
    ) -> Self
    where
        F: RowFormula<V, B, I, 1>,
    {
        let kernel = Erased::<F, V, B, I, 1>::kernel();
        vectors[0].tape.record_gram(kernel, false, &vectors.map(|v| *v), &params.map(|p| *p))
    }
    #[track_caller]
    fn vector<F, const V: usize, const P: usize, const B: usize, const I: usize>(
        _formula: F,
        vectors: [&Self; V],
        params: [&Self; P],
    ) -> Self
    where
        F: RowFormula<V, B, I, B>,
    {
        let kernel = Erased::<F, V, B, I, B>::kernel();
        vectors[0].tape.record_gram(kernel, true, &vectors.map(|v| *v), &params.map(|p| *p))
    }
}
