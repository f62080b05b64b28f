//! Single operations on columns of numbers: what a [`Program`](crate::program::Program) is made of. Kernels
//! of rows use the elementary functions, by [`apply`], and so do lanes, by [`elementary_of`], and registers.
//!
//! Each operation is a loop over whole registers, compiled once for each element type and instruction set.
//! So a formula is data here: nothing is compiled for it.

#[cfg(portable)]
use super::Baseline;
use super::{Dispatched, Level, Register, in_use};
use crate::elementary as e;
use crate::storage::Storage;
use crate::trace::Function;

/// Columns are computed in pieces of this many elements: the widest register of `f32`.
pub(crate) const PIECE: usize = 16;

/// A piece of a column, in one line of the cache or two.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Piece<T>([T; PIECE]);

/// Where an operation reads or writes numbers.
///
/// It is made from a slice that outlives the run, of at least as many elements as the run computes, rounded
/// up to whole registers; or from one piece that holds the same number throughout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<T> {
    start: *mut T,
    /// All ones; 0 for a column that is one piece, read again and again.
    mask: usize,
}

impl<T: Storage> Column<T> {
    /// Numbers that are read.
    pub(crate) fn of(numbers: &[T]) -> Self {
        Column { start: numbers.as_ptr().cast_mut(), mask: usize::MAX }
    }

    /// Numbers that are written, and may be read.
    pub(crate) fn from_mut(numbers: &mut [T]) -> Self {
        Column { start: numbers.as_mut_ptr(), mask: usize::MAX }
    }

    /// One number, repeated over a piece.
    pub(crate) fn from_number(piece: &mut [T; PIECE]) -> Self {
        Column { start: piece.as_mut_ptr(), mask: 0 }
    }

    /// # Safety
    /// The column has `count` elements from `at` on, or is one piece of at least as many.
    #[inline(always)]
    unsafe fn at<'a>(self, at: usize, count: usize) -> &'a [T] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.start.add(at & self.mask), count) }
    }

    /// # Safety
    /// As [`at`](Self::at), and nothing else reads or writes the column meanwhile.
    #[inline(always)]
    unsafe fn at_mut<'a>(self, at: usize, count: usize) -> &'a mut [T] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(at & self.mask), count) }
    }
}

/// The columns of an operation by their numbers: first what it writes, then what it reads.
pub(crate) type Operands = [u16; 6];

/// An operation on the first elements of columns, as many as the last argument says.
///
/// # Safety
/// The processor has the instruction set that it is compiled for. The columns exist, the result's can be
/// written, and each has that many elements, rounded up to whole registers.
pub(crate) type Kernel<T> = unsafe fn(&[Column<T>], &Operands, usize);

/// An operation of a program.
#[derive(Clone, Copy)]
pub(crate) struct Step<T> {
    pub(crate) kernel: Kernel<T>,
    pub(crate) operands: Operands,
}

/// Runs operations one after another on the first `count` elements of columns.
///
/// # Safety
/// As for each [`Kernel`].
pub(crate) unsafe fn run<T>(steps: &[Step<T>], columns: &[Column<T>], count: usize) {
    for step in steps {
        // SAFETY: the caller's promise.
        unsafe { (step.kernel)(columns, &step.operands, count) };
    }
}

/// Runs an operation of K numbers with M results, register by register. All numbers are read before the
/// results are written, so a result may take the place of an operand.
///
/// # Safety
/// As for a [`Kernel`].
#[inline(always)]
unsafe fn for_each<T: Storage, O: Register<T>, const K: usize, const M: usize>(
    columns: &[Column<T>],
    operands: &Operands,
    count: usize,
    operation: impl Fn([O; K]) -> [O; M],
) {
    // SAFETY: the caller's promise.
    let column = |k: usize| unsafe { *columns.get_unchecked(usize::from(operands[k])) };
    let (mut from, mut to) = ([column(0); K], [column(0); M]);
    for (k, to) in to.iter_mut().enumerate() {
        *to = column(k);
    }
    for (k, from) in from.iter_mut().enumerate() {
        *from = column(M + k);
    }
    let mut at = 0;
    // SAFETY: the caller's promise: the columns have whole registers up to `count`.
    unsafe {
        // Two narrow registers at once: a function is one long chain, which leaves half of the processor
        // idle.
        while O::WIDTH == 4 && at + 2 * O::WIDTH <= count {
            let next = at + O::WIDTH;
            let (x, y) = (load(&from, at), load(&from, next));
            let (x, y) = (operation(x), operation(y));
            store(&to, at, x);
            store(&to, next, y);
            at = next + O::WIDTH;
        }
        while at < count {
            store(&to, at, operation(load(&from, at)));
            at += O::WIDTH;
        }
    }
}

/// A register of each column.
///
/// # Safety
/// The columns have a whole register at `at`.
#[inline(always)]
unsafe fn load<T: Storage, O: Register<T>, const K: usize>(from: &[Column<T>; K], at: usize) -> [O; K] {
    let mut x = [O::zero(); K];
    for k in 0..K {
        // SAFETY: the caller's promise.
        x[k] = O::load(unsafe { from[k].at(at, O::WIDTH) });
    }
    x
}

/// Writes a register to each column.
///
/// # Safety
/// As for [`load`], and nothing else reads or writes the columns meanwhile.
#[inline(always)]
unsafe fn store<T: Storage, O: Register<T>, const M: usize>(to: &[Column<T>; M], at: usize, results: [O; M]) {
    for m in 0..M {
        // SAFETY: the caller's promise.
        results[m].store(unsafe { to[m].at_mut(at, O::WIDTH) });
    }
}

/// An operation, generic over the register type.
pub(super) trait Body<T: Storage> {
    /// # Safety
    /// As for a [`Kernel`].
    unsafe fn run<O: Register<T>>(columns: &[Column<T>], operands: &Operands, count: usize);
}

/// An operation compiled for an instruction set. These are methods, so that the compiler puts each into the
/// codegen unit of its operation, and the units compile in parallel.
pub(super) trait Entry<T: Storage>: Body<T> {
    /// # Safety
    /// As for a [`Kernel`].
    #[cfg(target_arch = "x86_64")]
    unsafe fn avx512(columns: &[Column<T>], operands: &Operands, count: usize);

    /// # Safety
    /// As for a [`Kernel`].
    #[cfg(target_arch = "x86_64")]
    unsafe fn avx2(columns: &[Column<T>], operands: &Operands, count: usize);

    /// # Safety
    /// As for a [`Kernel`].
    #[cfg(portable)]
    unsafe fn baseline(columns: &[Column<T>], operands: &Operands, count: usize);
}

impl<T: Storage, B: Body<T>> Entry<T> for B {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512vl")]
    unsafe fn avx512(columns: &[Column<T>], operands: &Operands, count: usize) {
        // SAFETY: the caller's promise.
        unsafe { B::run::<T::Avx512<Dispatched>>(columns, operands, count) }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn avx2(columns: &[Column<T>], operands: &Operands, count: usize) {
        // SAFETY: the caller's promise.
        unsafe { B::run::<T::Avx2<Dispatched>>(columns, operands, count) }
    }

    #[cfg(portable)]
    unsafe fn baseline(columns: &[Column<T>], operands: &Operands, count: usize) {
        // SAFETY: the caller's promise.
        unsafe { B::run::<Baseline<T>>(columns, operands, count) }
    }
}

/// The operation for the instruction set in use.
fn kernel<T: Storage, B: Entry<T>>() -> Kernel<T> {
    match in_use() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => B::avx512,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => B::avx2,
        #[cfg(portable)]
        _ => B::baseline,
        #[cfg(not(portable))]
        _ => super::without_vectors(),
    }
}

/// Declares operations: their operands and results, on registers `O`.
macro_rules! operations {
    (
        $(#[$enum_doc:meta])* $kind:ident, $kernels:ident;
        $($(#[$doc:meta])* $name:ident($($x:ident),*) = $results:expr;)*
    ) => {
        $(#[$enum_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $kind { $($(#[$doc])* $name,)* }

        /// A module for each operation: see [`Entry`].
        pub(super) mod $kernels {
            $(
                #[allow(non_snake_case)]
                pub(in crate::simd) mod $name {
                    pub(in crate::simd) struct Operation;
                }
            )*
        }

            $(
                impl<T: Storage> Body<T> for $kernels::$name::Operation {
                    #[inline(always)]
                    unsafe fn run<O: Register<T>>(
                        columns: &[Column<T>],
                        operands: &Operands,
                        count: usize,
                    ) {
                        // SAFETY: the caller's promise.
                        unsafe {
                            for_each(
                                columns,
                                operands,
                                count,
                                #[inline(always)]
                                |[$($x),*]: [O; [$(stringify!($x)),*].len()]| $results,
                            );
                        }
                    }
                }
            )*

        fn $kernels<T: Storage>(operation: $kind) -> Kernel<T> {
            match operation { $($kind::$name => kernel::<T, $kernels::$name::Operation>(),)* }
        }
    };
}

operations! {
    /// Arithmetic on numbers a, b, c, d, e. What takes several steps spares a column that would be written
    /// and read again; each step is rounded as by itself.
    Arithmetic, arithmetic;
    /// a
    Copy(a) = [a];
    /// −a
    Neg(a) = [-a];
    /// |a|
    Abs(a) = [a.abs()];
    /// a + b
    Add(a, b) = [a + b];
    /// a − b
    Sub(a, b) = [a - b];
    /// a b
    Mul(a, b) = [a * b];
    /// a/b
    Div(a, b) = [a / b];
    /// √a
    Sqrt(a) = [a.sqrt()];
    /// a b + c
    MulAdd(a, b, c) = [a * b + c];
    /// a b − c
    MulSub(a, b, c) = [a * b - c];
    /// c − a b
    SubMul(a, b, c) = [c - a * b];
    /// (a b) c
    MulMul(a, b, c) = [a * b * c];
    /// (a + b) c
    AddMul(a, b, c) = [(a + b) * c];
    /// (a − b) c
    DifferenceMul(a, b, c) = [(a - b) * c];
    /// a b + c d
    MulAddMul(a, b, c, d) = [a * b + c * d];
    /// a b − c d
    MulSubMul(a, b, c, d) = [a * b - c * d];
    /// c where a < b, else d
    SelectLess(a, b, c, d) = [O::select(a.lt(b), c, d)];
    /// c where a or b is NaN, else d
    SelectUnordered(a, b, c, d) = [O::select(a.unordered(b), c, d)];
    /// e where a or b is NaN, c where a < b, else d
    Choose(a, b, c, d, e) = [O::select(a.unordered(b), e, O::select(a.lt(b), c, d))];
}

operations! {
    /// Elementary functions, and pairs of functions that are computed together.
    Elementary, elementary;
    /// eˣ
    Exp(x) = [e::exp(x)];
    /// eˣ − 1
    ExpM1(x) = [e::exp_m1(x)];
    /// ln x
    Ln(x) = [e::ln(x)];
    /// ln(1 + x)
    Ln1p(x) = [e::ln_1p(x)];
    /// sin x
    Sin(x) = [e::sin(x)];
    /// cos x
    Cos(x) = [e::cos(x)];
    /// sin x and cos x
    SinCos(x) = <[O; 2]>::from(e::sin_cos(x));
    /// tan x
    Tan(x) = [e::tan(x)];
    /// arcsin x
    Asin(x) = [e::asin(x)];
    /// arctan x
    Atan(x) = [e::atan(x)];
    /// sinh x
    Sinh(x) = [e::sinh(x)];
    /// cosh x
    Cosh(x) = [e::cosh(x)];
    /// sinh x and cosh x
    SinhCosh(x) = <[O; 2]>::from(e::sinh_cosh(x));
    /// tanh x
    Tanh(x) = [e::tanh(x)];
    /// sech² x
    TanhSlope(x) = [e::tanh_with_slope(x).1];
    /// tanh x and sech² x
    TanhWithSlope(x) = <[O; 2]>::from(e::tanh_with_slope(x));
    /// arsinh x
    Asinh(x) = [e::asinh(x)];
    /// arcosh x
    Acosh(x) = [e::acosh(x)];
    /// artanh x
    Atanh(x) = [e::atanh(x)];
    /// The error function.
    Erf(x) = [e::erf(x)];
    /// x Φ(x)
    Gelu(x) = [e::gelu(x)];
    /// The derivative of x Φ(x).
    GeluSlope(x) = [e::gelu_with_slope(x).1];
    /// x Φ(x) and its derivative
    GeluWithSlope(x) = <[O; 2]>::from(e::gelu_with_slope(x));
    /// The logistic function.
    Sigmoid(x) = [e::sigmoid(x)];
    /// The derivative of the logistic function.
    SigmoidSlope(x) = [e::sigmoid_with_slope(x).1];
    /// The logistic function and its derivative
    SigmoidWithSlope(x) = <[O; 2]>::from(e::sigmoid_with_slope(x));
    /// ln(1 + eˣ)
    Softplus(x) = [e::softplus(x)];
    /// tan(√x)/√x
    Tanc(x) = [e::tanc(x)];
    /// sec²(√x)
    Secant(x) = [e::tanc_secant(x).1];
    /// tan(√x)/√x and sec²(√x)
    TancSecant(x) = <[O; 2]>::from(e::tanc_secant(x));
    /// arctan(√x)/√x
    Arctanc(x) = [e::arctanc(x)];
    /// sin(√x)/√x
    Sinc(x) = [e::sinc(x)];
    /// cos(√x)
    Cosc(x) = [e::cosc(x)];
    /// sin(√x)/√x and cos(√x)
    SincCosc(x) = <[O; 2]>::from(e::sinc_cosc(x));
    /// arcsin(√x)/√x
    Arcsinc(x) = [e::arcsinc(x)];
}

/// Calls a macro with what stands before, and the elementary functions of a [`Scalar`](crate::scalar::Scalar)
/// with their operations: single functions, then pairs.
macro_rules! with_elementary {
    ($macro:ident! $($before:tt)*) => {
        $macro! {
            $($before)*
            exp Exp exp_m1 ExpM1 ln Ln ln_1p Ln1p sin Sin cos Cos tan Tan asin Asin atan Atan
            sinh Sinh cosh Cosh tanh Tanh asinh Asinh acosh Acosh atanh Atanh erf Erf gelu Gelu
            sigmoid Sigmoid softplus Softplus
            tanc Tanc arctanc Arctanc sinc Sinc cosc Cosc arcsinc Arcsinc;
            sin_cos SinCos sinh_cosh SinhCosh tanh_with_slope TanhWithSlope
            gelu_with_slope GeluWithSlope sigmoid_with_slope SigmoidWithSlope
            sinc_cosc SincCosc tanc_secant TancSecant
        }
    };
}
pub(crate) use with_elementary;

/// What a step of a program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Arithmetic.
    Arithmetic(Arithmetic),
    /// Elementary functions.
    Elementary(Elementary),
}

impl Operation {
    /// How many results it has.
    pub(crate) fn results(self) -> usize {
        use Elementary::*;
        let pair = matches!(
            self,
            Operation::Elementary(
                SinCos | SinhCosh | TanhWithSlope | GeluWithSlope | SigmoidWithSlope | TancSecant | SincCosc
            )
        );
        1 + usize::from(pair)
    }
}

/// The operation that computes a function.
impl From<Function> for Operation {
    fn from(function: Function) -> Self {
        macro_rules! same {
            ($($name:ident)*) => {
                match function {
                    Function::Abs => Operation::Arithmetic(Arithmetic::Abs),
                    Function::Sqrt => Operation::Arithmetic(Arithmetic::Sqrt),
                    $(Function::$name => Operation::Elementary(Elementary::$name),)*
                }
            };
        }
        same! {
            Exp ExpM1 Ln Ln1p Sin Cos Tan Asin Atan Sinh Cosh Tanh TanhSlope Asinh Acosh Atanh
            Erf Gelu GeluSlope Sigmoid SigmoidSlope Softplus Tanc Secant Arctanc Sinc Cosc Arcsinc
        }
    }
}

/// Functions of one argument that are computed together.
pub(crate) const PAIRS: [([Function; 2], Elementary); 7] = [
    ([Function::Sin, Function::Cos], Elementary::SinCos),
    ([Function::Sinh, Function::Cosh], Elementary::SinhCosh),
    ([Function::Tanh, Function::TanhSlope], Elementary::TanhWithSlope),
    ([Function::Gelu, Function::GeluSlope], Elementary::GeluWithSlope),
    ([Function::Sigmoid, Function::SigmoidSlope], Elementary::SigmoidWithSlope),
    ([Function::Tanc, Function::Secant], Elementary::TancSecant),
    ([Function::Sinc, Function::Cosc], Elementary::SincCosc),
];

/// The kernel of an operation. Only [`Storage`] calls it, so it is compiled in this crate alone.
pub(crate) fn kernel_of<T: Storage>(operation: Operation) -> Kernel<T> {
    match operation {
        Operation::Arithmetic(operation) => arithmetic(operation),
        Operation::Elementary(operation) => elementary(operation),
    }
}

/// An elementary function of a few numbers; a pair of functions has two results.
#[inline(always)]
pub(crate) fn elementary_of<T: Storage, const R: usize, const M: usize>(
    function: Elementary,
    x: [T; R],
) -> [[T; R]; M] {
    let operation = Operation::Elementary(function);
    assert_eq!(operation.results(), M, "a result for each function");
    let kernel = T::kernel_of(operation);
    let mut results = [x; M];
    for start in (0..R).step_by(PIECE) {
        let end = R.min(start + PIECE);
        let pieces: [Piece<T>; M] = in_a_piece(kernel, &x[start..end]);
        for (result, piece) in results.iter_mut().zip(&pieces) {
            result[start..end].copy_from_slice(&piece.0[..end - start]);
        }
    }
    results
}

/// The results of a function for a few numbers, at most a piece, at the front of a piece each.
#[inline(always)]
fn in_a_piece<T: Storage, const M: usize>(kernel: Kernel<T>, x: &[T]) -> [Piece<T>; M] {
    let mut pieces = [Piece([T::zero(); PIECE]); M];
    pieces[0].0[..x.len()].copy_from_slice(x);
    let columns = pieces.each_mut().map(|piece| Column::from_mut(&mut piece.0));
    // SAFETY: the kernel is for the instruction set in use. It writes the columns 0 to M - 1 and reads column
    // 0, which the operands name. Each column is a piece, which has room for whole registers.
    unsafe { kernel(&columns, &in_place(M), x.len()) };
    pieces
}

/// The operands of a function of column 0 that writes so many `results`, to column 0 and those after it.
pub(super) const fn in_place(results: usize) -> Operands {
    if results == 1 { [0; 6] } else { [0, 1, 0, 0, 0, 0] }
}

/// Replaces the elements of a line by an elementary function of them. A pair of functions has a second line,
/// which is only written.
///
/// The function itself is compiled in this crate alone. A line of some registers takes much longer than the
/// call.
///
/// # Panics
/// If there are not as many lines as the function has results, or if they differ in length.
#[inline(never)]
pub(crate) fn apply<T: Storage, const M: usize>(function: Elementary, mut lines: [&mut [T]; M]) {
    let operation = Operation::Elementary(function);
    let len = lines[0].len();
    assert!(operation.results() == M && lines.iter().all(|line| line.len() == len), "a line for each result");
    let kernel = T::kernel_of(operation);
    let whole = len / PIECE * PIECE;
    let columns = lines.each_mut().map(|line| Column::from_mut(&mut line[..whole]));
    // SAFETY: the kernel is for the instruction set in use. It writes the columns 0 to M - 1 and reads column
    // 0, which the operands name. The columns are lines of their own, and each has `whole` elements, a number
    // of whole pieces.
    unsafe { kernel(&columns, &in_place(M), whole) };
    if len > whole {
        let pieces: [Piece<T>; M] = in_a_piece(kernel, &lines[0][whole..]);
        for (line, piece) in lines.into_iter().zip(&pieces) {
            line[whole..].copy_from_slice(&piece.0[..len - whole]);
        }
    }
}
