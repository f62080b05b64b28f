//! Where a sparse matrix has elements.

/// The positions of a sparse matrix's elements, row by row: edges of a graph, words of documents.
///
/// Element `e` is at `pairs()[e] = (row, column)`. The values of the elements are a variable
/// `[elements]`, or `[elements, heads]` for several matrices with elements at the same places.
///
/// ```
/// use std::sync::Arc;
/// use cotangent_engine::{Sparsity, Tape, Tensor};
/// let edges = Arc::new(Sparsity::new(2, 3, &[(1, 0), (0, 2), (0, 1)])); // 2 rows, 3 columns
/// assert_eq!(edges.pairs(), [(0, 2), (0, 1), (1, 0)]); // row by row, else as given
/// let tape = Tape::<f64>::new();
/// let x = tape.constant(&Tensor::new([3, 1], vec![1.0, 10.0, 100.0]));
/// let w = tape.constant(&Tensor::new([3], vec![2.0, 3.0, 4.0]));
/// let y = w.sparse_matmul(&edges, x); // [2, 1]
/// assert_eq!(y.to_tensor().data(), [2.0 * 100.0 + 3.0 * 10.0, 4.0 * 1.0]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sparsity {
    pairs: Vec<(u32, u32)>,
    /// The row of each element.
    #[cfg(feature = "opencl")]
    rows: Indices,
    by_row: Lists,
    by_column: Lists,
}

/// For each row, the elements in it and the columns that they are in; or the same for each column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lists {
    /// Where each row's list begins, and the end of the last.
    pub(crate) starts: Indices,
    /// Elements, list after list.
    pub(crate) elements: Indices,
    /// The column of each listed element; its row in the lists of columns.
    pub(crate) others: Indices,
}

/// Numbers that stay on a device once they have been used there.
pub(crate) struct Indices {
    numbers: Vec<u32>,
    #[cfg(feature = "opencl")]
    device: crate::tensor::device::memory::Slot,
}

#[cfg(feature = "opencl")]
impl Indices {
    /// Their memory on a device.
    pub(crate) fn on(
        &self,
        device: &crate::tensor::device::queue::Queue,
    ) -> std::sync::Arc<crate::tensor::device::memory::Memory> {
        let bytes: &[u8] = bytemuck::cast_slice(&self.numbers);
        self.device.on(device, bytes.len(), |_| Some(bytes))
    }
}

impl From<Vec<u32>> for Indices {
    fn from(numbers: Vec<u32>) -> Self {
        Indices {
            numbers,
            #[cfg(feature = "opencl")]
            device: Default::default(),
        }
    }
}

impl std::ops::Deref for Indices {
    type Target = [u32];
    fn deref(&self) -> &[u32] {
        &self.numbers
    }
}

impl Clone for Indices {
    fn clone(&self) -> Self {
        self.numbers.clone().into()
    }
}

impl std::fmt::Debug for Indices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.numbers.fmt(f)
    }
}

impl PartialEq for Indices {
    fn eq(&self, other: &Self) -> bool {
        self.numbers == other.numbers
    }
}

impl Eq for Indices {}

impl Lists {
    /// The lists of `n` rows. The order within a list is that of the pairs.
    fn new(n: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut starts = vec![0; n + 1];
        pairs.clone().for_each(|(row, _)| starts[row as usize + 1] += 1);
        for i in 0..n {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let count = starts[n] as usize;
        let (mut elements, mut others) = (vec![0; count], vec![0; count]);
        for (element, (row, other)) in pairs.enumerate() {
            let position = &mut next[row as usize];
            (elements[*position as usize], others[*position as usize]) = (element as u32, other);
            *position += 1;
        }
        Lists { starts: starts.into(), elements: elements.into(), others: others.into() }
    }

    /// How many lists there are.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Where the list of row `i` is.
    pub(crate) fn range(&self, i: usize) -> std::ops::Range<usize> {
        self.starts[i] as usize..self.starts[i + 1] as usize
    }

    /// The listed elements of row `i`, each with its column.
    pub(crate) fn list(&self, i: usize) -> impl Iterator<Item = (usize, usize)> {
        let range = self.range(i);
        let elements = self.elements[range.clone()].iter().zip(&self.others[range]);
        elements.map(|(&element, &other)| (element as usize, other as usize))
    }
}

impl Sparsity {
    /// The positions in a matrix of `rows` rows and `columns` columns, from the (row, column) of its elements
    /// in any order. A pair may be listed more than once.
    ///
    /// # Panics
    /// If a pair is outside, or there are 2³² or more.
    #[track_caller]
    pub fn new(rows: usize, columns: usize, pairs: &[(u32, u32)]) -> Self {
        assert!(u32::try_from(pairs.len()).is_ok(), "a sparse matrix of {} elements", pairs.len());
        let outside = pairs.iter().find(|(i, j)| *i as usize >= rows || *j as usize >= columns);
        if let Some((i, j)) = outside {
            panic!("element ({i}, {j}) of a sparse matrix of {rows} rows and {columns} columns")
        }
        let mut pairs = pairs.to_vec();
        pairs.sort_by_key(|(row, _)| *row);
        let by_row = Lists::new(rows, pairs.iter().copied());
        let by_column = Lists::new(columns, pairs.iter().map(|&(i, j)| (j, i)));
        Sparsity {
            #[cfg(feature = "opencl")]
            rows: pairs.iter().map(|&(row, _)| row).collect::<Vec<u32>>().into(),
            pairs,
            by_row,
            by_column,
        }
    }

    /// (row, column) of each element.
    pub fn pairs(&self) -> &[(u32, u32)] {
        &self.pairs
    }

    /// The rows and the columns of all elements.
    #[cfg(feature = "opencl")]
    pub(crate) fn ends(&self) -> [&Indices; 2] {
        // Elements are listed row by row.
        [&self.rows, &self.by_row.others]
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.by_row.len()
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.by_column.len()
    }

    pub(crate) fn by_row(&self) -> &Lists {
        &self.by_row
    }

    pub(crate) fn by_column(&self) -> &Lists {
        &self.by_column
    }
}
