//! Shapes, and the ways in which one shape is broadcast over another.

use smallvec::SmallVec;

/// The extent of each axis, outermost first. A scalar has no axes.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Shape(SmallVec<[usize; 4]>);

impl Shape {
    /// The shape with these axes.
    pub fn new(axes: &[usize]) -> Self {
        Shape(SmallVec::from_slice(axes))
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.0.iter().product()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
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
        Shape::new(&self.0[..self.0.len().saturating_sub(1)])
    }

    /// This shape with another axis of extent `width` appended.
    pub fn with_width(&self, width: usize) -> Shape {
        let mut axes = self.0.clone();
        axes.push(width);
        Shape(axes)
    }
}

impl std::ops::Deref for Shape {
    type Target = [usize];
    fn deref(&self) -> &[usize] {
        &self.0
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
/// `(p / repeat) % len`.
///
/// Four kinds, for an operand of `len` positions over `n`: *full* (`repeat = 1, len = n`), *scalar*
/// (`len = 1`), *row* (`repeat = 1`: the operand is cycled, as a bias over the rows of a matrix) and
/// *column* (`repeat · len = n`: each position is held for a while, as a factor for each row).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broadcast {
    /// Consecutive output positions that read the same operand position.
    pub repeat: usize,
    /// Number of operand positions.
    pub len: usize,
}

impl Broadcast {
    /// How `operand` is read over `output`, if its axes, aligned at the last one, are ones, then a
    /// run of axes equal to the output's, then ones.
    pub fn new(operand: &[usize], output: &[usize]) -> Option<Broadcast> {
        if operand.len() > output.len() {
            return None;
        }
        let tail = &output[output.len() - operand.len()..];
        let first = operand.iter().position(|&n| n != 1).unwrap_or(operand.len());
        let last = operand.iter().rposition(|&n| n != 1).map_or(first, |i| i + 1);
        if operand[first..last] != tail[first..last] {
            return None;
        }
        Some(Broadcast { repeat: tail[last..].iter().product(), len: operand.iter().product() })
    }

    /// Whether every output position reads the operand position of the same number.
    pub fn is_full(self, positions: usize) -> bool {
        self.repeat == 1 && self.len == positions
    }

    /// The operand position that output position `p` reads.
    #[inline(always)]
    pub fn at(self, p: usize) -> usize {
        if self.len == 1 {
            0
        } else if self.repeat == 1 {
            if p < self.len { p } else { p % self.len }
        } else {
            let q = p / self.repeat;
            if q < self.len { q } else { q % self.len }
        }
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
        shapes.iter().all(|s| Broadcast::new(s, &common).is_some()).then_some(Shape(common))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        let b =
            |operand: &[usize], output: &[usize]| Broadcast::new(operand, output).map(|b| (b.repeat, b.len));
        assert_eq!(b(&[3, 4], &[3, 4]), Some((1, 12)));
        assert_eq!(b(&[], &[3, 4]), Some((1, 1)));
        assert_eq!(b(&[1], &[3, 4]), Some((1, 1)));
        assert_eq!(b(&[4], &[3, 4]), Some((1, 4)));
        assert_eq!(b(&[3, 1], &[3, 4]), Some((4, 3)));
        assert_eq!(b(&[3, 1], &[2, 3, 4]), Some((4, 3)));
        assert_eq!(b(&[2, 1, 4], &[2, 3, 4]), None);
        assert_eq!(b(&[5], &[3, 4]), None);
        assert_eq!(b(&[0, 4], &[0, 4]), Some((1, 0)));
    }

    #[test]
    fn common_shapes() {
        let c = |shapes: &[&[usize]]| Broadcast::common(shapes).map(|s| s.to_vec());
        assert_eq!(c(&[&[3, 1], &[3, 4]]), Some(vec![3, 4]));
        assert_eq!(c(&[&[3, 1], &[1, 4]]), Some(vec![3, 4]));
        assert_eq!(c(&[&[], &[4]]), Some(vec![4]));
        assert_eq!(c(&[&[3], &[4]]), None);
    }

    #[test]
    fn positions() {
        let column = Broadcast::new(&[3, 1], &[2, 3, 4]).unwrap();
        let read: Vec<usize> = (0..24).map(|p| column.at(p)).collect();
        assert_eq!(read[..13], [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 0]);
    }
}
