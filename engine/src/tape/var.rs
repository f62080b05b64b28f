//! Variables of a tape: values, arithmetic, row formulas. Other operations are in `operations/`.

use smallvec::SmallVec;

use crate::formula::map::MapFormula;
use crate::formula::row::{RowFormula, check_params};
use crate::tape::Tape;
use crate::tape::arena::Op;
use crate::tape::float::Float;
use crate::tape::formulas as f;
use crate::tape::operations::derivative;
use crate::tape::row_function::{self, RowFunction};
use crate::tape::rows::Rows;
use crate::tensor::Tensor;
use crate::tensor::shape::{Broadcast, Shape};

/// A value of some [`shape`](Self::shape) on a [`Tape`]: the id of a node, which is `Copy`.
///
/// `+ − × ÷` work element by element and broadcast; the other operand may be a number. They panic if the
/// shapes do not broadcast or the operands are on different tapes.
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

    /// Whether the two are the same variable of a tape, or reshapes of the same variable. Equal values alone
    /// do not make them the same.
    pub fn same_elements(self, other: Self) -> bool {
        std::ptr::eq(self.tape, other.tape) && self.tape.source(self.id) == other.tape.source(other.id)
    }

    pub(crate) fn id(self) -> u32 {
        self.id
    }

    /// The tape that the variable is on.
    pub fn tape(self) -> &'t Tape<T> {
        self.tape
    }

    /// The shape.
    pub fn shape(self) -> Shape {
        self.tape.shape(self.id)
    }

    /// A copy of the value. On a device the copy stays there, and is read back when the host needs it.
    ///
    /// # Panics
    /// If a backward pass has released the value.
    pub fn to_tensor(self) -> Tensor<T> {
        self.tape.copy(self.id)
    }

    /// Calls `read` with the elements, row-major. Nothing is copied on the processor.
    ///
    /// # Panics
    /// If a backward pass has released the value, or `read` records something on the tape.
    pub fn with_data<R>(self, read: impl FnOnce(&[T]) -> R) -> R {
        self.tape.read(self.id, |data, _| read(data))
    }

    /// The value of a variable of one element, of any number of axes, as an `f64` whatever `T` is.
    ///
    /// # Panics
    /// If there is not exactly one element, or a backward pass has released the value.
    #[track_caller]
    pub fn item(self) -> f64 {
        self.tape.read(self.id, |data, shape| {
            assert_eq!(data.len(), 1, "item: {shape} is not a single number");
            data[0].to_f64()
        })
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
        self.tape.map(f::Neg, [self])
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
        const { check_params(&F::INVARIANTS, F::DOMAIN, P) };
        vectors[0].tape.record(Op::Row(F::plan()), &operands(vectors, params))
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
        const { check_params(&F::INVARIANTS, F::DOMAIN, P) };
        vectors[0].tape.record(Op::Row(F::plan()), &operands(vectors, params))
    }
    #[track_caller]
    fn differential<F, const V: usize, const P: usize, const B: usize, const I: usize>(
        _formula: F,
        vectors: [&Self; V],
        tangents: [&Self; V],
        constants: [f64; P],
    ) -> Self
    where
        F: RowFormula<V, B, I, B>,
    {
        const { check_params(&F::INVARIANTS, F::DOMAIN, P) };
        let tape = vectors[0].tape;
        let mut inputs: SmallVec<[Self; 6]> = vectors.into_iter().copied().collect();
        inputs.extend(constants.map(|value| tape.scalar(value)));
        let mut along: SmallVec<[Option<Self>; 6]> = tangents.into_iter().map(|v| Some(*v)).collect();
        along.resize(V + P, None);
        derivative::record(F::plan(), &inputs, &along)
    }
    #[track_caller]
    fn map<F: MapFormula<K>, const K: usize>(formula: F, scalars: [&Self; K]) -> Self {
        scalars[0].tape.map(formula, scalars.map(|x| *x))
    }
    fn width(&self) -> usize {
        self.shape().width()
    }
    #[track_caller]
    fn columns(&self, range: std::ops::Range<usize>) -> Self {
        self.slice(-1, range)
    }
    #[track_caller]
    fn concat(left: &Self, right: &Self) -> Self {
        let leading = [left, right].map(|x| x.shape().rows());
        let Some(rows) = Broadcast::common(&leading.each_ref().map(|shape| shape.axes())) else {
            panic!("concat: the rows of shapes {} and {} do not broadcast", left.shape(), right.shape())
        };
        let spread = |x: &Self| {
            let shape = rows.with_width(x.width());
            if x.shape() == shape { *x } else { x.broadcast_to(shape) }
        };
        Var::concat(&[spread(left), spread(right)], -1)
    }
    #[track_caller]
    fn zeros(&self, width: usize) -> Self {
        self.tape.zeros(self.shape().rows().with_width(width))
    }
    #[track_caller]
    fn row_function<F: RowFunction<V>, const V: usize>(function: F, rows: [&Self; V]) -> Self {
        row_function::record(function, rows, false)
    }
    #[track_caller]
    fn scalar_function<F: RowFunction<V>, const V: usize>(function: F, rows: [&Self; V]) -> Self {
        row_function::record(function, rows, true)
    }
}

/// The operands of a row formula: vectors first, then parameters.
fn operands<'t, T: Float>(
    vectors: impl IntoIterator<Item = impl std::ops::Deref<Target = Var<'t, T>>>,
    params: impl IntoIterator<Item = impl std::ops::Deref<Target = Var<'t, T>>>,
) -> SmallVec<[Var<'t, T>; 6]> {
    let mut all: SmallVec<[Var<'t, T>; 6]> = vectors.into_iter().map(|v| *v).collect();
    all.extend(params.into_iter().map(|p| *p));
    all
}
