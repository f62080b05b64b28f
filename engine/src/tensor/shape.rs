//! Shapes, and the ways in which one shape is broadcast over another.

use std::ops::Range;

use smallvec::SmallVec;

/// The product of sizes, if there can be so many elements: the product of the sizes other than 0 must
/// not overflow, and that many `f64` must be addressable. Then the product of any of the sizes fits too,
/// in any order, and so do their bytes.
pub(crate) fn product(sizes: &[usize]) -> Option<usize> {
    const LIMIT: usize = isize::MAX as usize / size_of::<f64>();
    let mut others = sizes.iter().filter(|&&n| n > 0);
    let product = others.try_fold(1_usize, |product, &n| product.checked_mul(n).filter(|&p| p <= LIMIT))?;
    Some(if sizes.contains(&0) { 0 } else { product })
}

/// As [`product`], but panics if there cannot be so many.
#[track_caller]
pub(crate) fn elements(sizes: &[usize]) -> usize {
    product(sizes).unwrap_or_else(|| panic!("shape {sizes:?} has more elements than memory can hold"))
}

/// The extent of each axis, outermost first. A scalar has no axes.
///
/// ```
/// use cotangent_engine::Shape;
/// let shape = Shape::from([2, 3, 4]);
/// assert_eq!((shape.elements(), shape.rank(), shape.width()), (24, 3, 4));
/// assert_eq!((shape[1], shape.axes()), (3, &[2, 3, 4][..]));
/// assert_eq!((Shape::default().elements(), Shape::default().rank()), (1, 0));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Shape(SmallVec<[usize; 4]>);

/// Why shapes do not fit an operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ShapeError(String);

impl ShapeError {
    /// The message follows the operation's name in what the user sees. It names the shapes.
    pub fn new(message: impl Into<String>) -> Self {
        ShapeError(message.into())
    }
}

impl Shape {
    /// The shape with these axes.
    pub fn new(axes: &[usize]) -> Self {
        Shape(SmallVec::from_slice(axes))
    }

    /// Number of elements: the product of the extents.
    ///
    /// # Panics
    /// If the extents other than 0 have a product of more elements than memory can hold. No tensor has
    /// such a shape.
    #[track_caller]
    pub fn elements(&self) -> usize {
        elements(&self.0)
    }

    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// The shape, if there can be a tensor of it.
    pub(crate) fn checked(self) -> Result<Self, ShapeError> {
        match product(&self.0) {
            Some(_) => Ok(self),
            None => Err(ShapeError::new(format!("shape {self} has more elements than memory can hold"))),
        }
    }

    /// The extents.
    pub fn axes(&self) -> &[usize] {
        &self.0
    }

    /// Extent of the last axis: the width of a row. 1 for a scalar.
    pub fn width(&self) -> usize {
        self.0.last().copied().unwrap_or(1)
    }

    /// The shape without its last axis: one entry per row.
    pub fn rows(&self) -> Shape {
        Shape::new(&self.0[..self.rank().saturating_sub(1)])
    }

    /// The shape without axis `at`.
    ///
    /// # Panics
    /// If there is no such axis.
    pub fn without(&self, at: usize) -> Shape {
        let mut axes = self.0.clone();
        axes.remove(at);
        Shape(axes)
    }

    /// The shape with the extent of axis `at` replaced.
    ///
    /// # Panics
    /// If there is no such axis.
    pub fn with(&self, at: usize, extent: usize) -> Shape {
        let mut axes = self.0.clone();
        axes[at] = extent;
        Shape(axes)
    }

    /// The shape with an axis of extent 1 inserted before axis `at`.
    ///
    /// # Panics
    /// If `at` is larger than the number of axes.
    pub fn insert(&self, at: usize) -> Shape {
        let mut axes = self.0.clone();
        axes.insert(at, 1);
        Shape(axes)
    }

    /// This shape with another axis of extent `width` appended.
    pub fn with_width(&self, width: usize) -> Shape {
        let mut axes = self.0.clone();
        axes.push(width);
        Shape(axes)
    }
}

/// The extent of an axis.
impl std::ops::Index<usize> for Shape {
    type Output = usize;
    #[track_caller]
    fn index(&self, axis: usize) -> &usize {
        &self.0[axis]
    }
}

impl std::fmt::Debug for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.axes())
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.axes())
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(axes: [usize; N]) -> Self {
        Shape::new(&axes)
    }
}

impl From<&[usize]> for Shape {
    fn from(axes: &[usize]) -> Self {
        Shape::new(axes)
    }
}

/// How an operand is read over an output: output position `p` reads operand position
/// `(q / (inner · hold) · inner + q % inner) % len` with `q = p / repeat`.
///
/// Five kinds, for an operand of `len` positions over `n`:
/// - *full*: `len = n`;
/// - *scalar*: `len = 1`;
/// - *row*: the operand is cycled, as a bias over the rows of a matrix;
/// - *column*: `repeat > 1`, each position is held for a while, as a factor for each row;
/// - *held*: `hold > 1`, each run of `inner` positions is read several times before the next,
///   `[a, 1, b]` over `[a, hold, b]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broadcast {
    /// Consecutive output positions that read the same operand position.
    pub repeat: usize,
    /// Number of operand positions.
    pub len: usize,
    /// Operand positions of a run.
    pub inner: usize,
    /// How many times each run is read before the next.
    pub hold: usize,
}

impl Broadcast {
    /// Rows of `len` positions, cycled; full if there are as many output positions.
    pub(crate) fn cycled(len: usize) -> Self {
        Broadcast { repeat: 1, len, inner: len, hold: 1 }
    }

    /// How `operand` is read over `output`. Its axes, aligned at the last one, must be ones, a run of
    /// axes equal to the output's, ones, another run, and ones again; any of the five may be missing.
    pub fn new(operand: &[usize], output: &[usize]) -> Option<Broadcast> {
        let [run, held] = Broadcast::runs_of(operand, output)?;
        let tail = &output[output.len() - operand.len()..];
        let len = elements(operand);
        let repeat = elements(&tail[run.end..]);
        Some(if held.is_empty() {
            Broadcast { repeat, len, inner: len, hold: 1 }
        } else {
            Broadcast { repeat, len, inner: elements(&operand[run]), hold: elements(&tail[held]) }
        })
    }

    /// The axes of an operand that fits an output, as [`new`](Self::new) reads it: those of its last run of
    /// axes equal to the output's, and the ones before that, along which it is held.
    fn runs_of(operand: &[usize], output: &[usize]) -> Option<[Range<usize>; 2]> {
        let tail = &output[output.len().checked_sub(operand.len())?..];
        let differs = |i: &usize| operand[*i] != tail[*i];
        // If all axes are ones, the run ends at the last axis.
        let run_end = (0..operand.len()).rev().find(|i| operand[*i] != 1).map_or(operand.len(), |i| i + 1);
        let run_start = (0..run_end).rev().find(differs).map_or(0, |i| i + 1);
        let hold_start = (0..run_start).rev().find(|i| operand[*i] != 1).map_or(0, |i| i + 1);
        if hold_start == 0 {
            let ones = operand[..run_start].iter().all(|&n| n == 1);
            return ones.then_some([run_start..run_end, 0..0]);
        }
        let outer_start = (0..hold_start).rev().find(differs).map_or(0, |i| i + 1);
        let fits = operand[..outer_start].iter().all(|&n| n == 1)
            && operand[hold_start..run_start].iter().all(|&n| n == 1);
        fits.then_some([run_start..run_end, hold_start..run_start])
    }

    /// Whether every output position reads the operand position of the same number.
    pub fn is_full(self, positions: usize) -> bool {
        self.repeat == 1 && self.hold == 1 && self.len == positions
    }

    /// Whether every output position before `end` reads the operand position of the same number.
    #[inline(always)]
    pub fn in_step(self, end: usize) -> bool {
        self.repeat == 1 && self.hold == 1 && end <= self.len
    }

    /// The operand position that output position `p` reads.
    #[inline(always)]
    pub fn at(self, p: usize) -> usize {
        if self.len == 1 {
            return 0;
        }
        let mut q = if self.repeat == 1 { p } else { p / self.repeat };
        if self.hold > 1 {
            q = q / (self.inner * self.hold) * self.inner + q % self.inner;
        }
        if q < self.len { q } else { q % self.len }
    }

    /// Whether a run of output positions reads one operand position rather than as many consecutive ones.
    pub fn holds(self) -> bool {
        self.len == 1 || self.repeat > 1
    }

    /// Output positions as runs (see [`holds`](Self::holds)): the first operand position that each
    /// reads, and its length.
    pub fn runs(self, positions: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
        let longest = match self.len {
            1 => usize::MAX,
            _ if self.repeat > 1 => self.repeat,
            _ => self.inner,
        };
        let mut p = positions.start;
        std::iter::from_fn(move || {
            (p < positions.end).then(|| {
                let (first, count) = (self.at(p), (longest - p % longest).min(positions.end - p));
                p += count;
                (first, count)
            })
        })
    }

    /// Whether `count` output positions from `p` on read `count` consecutive operand positions.
    #[inline(always)]
    pub fn consecutive(self, p: usize, count: usize) -> bool {
        self.repeat == 1 && p % self.inner + count <= self.inner
    }

    /// The common shape of several operands, each broadcastable over it; `None` where they do not fit.
    pub fn common(shapes: &[&[usize]]) -> Option<Shape> {
        let axes = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
        let mut common: SmallVec<[usize; 4]> = smallvec::smallvec![1; axes];
        for shape in shapes {
            for (i, &n) in shape.iter().enumerate() {
                let out = &mut common[axes - shape.len() + i];
                if *out == 1 {
                    *out = n;
                } else if n != 1 && n != *out {
                    return None;
                }
            }
        }
        shapes.iter().all(|s| Broadcast::runs_of(s, &common).is_some()).then_some(Shape(common))
    }
}

/// The numbers of `n` rows, `0..n`.
///
/// # Panics
/// If `n` is 2³² or more: the numbers of rows are `u32`.
#[track_caller]
pub fn row_numbers(n: usize) -> std::ops::Range<u32> {
    match u32::try_from(n) {
        Ok(n) => 0..n,
        Err(_) => panic!("{n} rows: their numbers are u32"),
    }
}
