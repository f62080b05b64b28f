//! The `matmul` kernel: products of matrices, batched, with transposes and a bias.

use crate::kernels::gemm::{Matrix, Onto, gemm, serial};
use crate::kernels::pieces::sum_over_readers;
use crate::numbers::parallel;
use crate::numbers::storage::Storage;
use crate::tensor::shape::{Broadcast, Shape, ShapeError};
use crate::tensor::view::{Outcome, View};

/// A product; either factor may be stored transposed. Inputs: the factors, and perhaps a bias, which is added
/// to each row.
#[derive(Clone, Copy)]
pub(crate) struct Matmul {
    pub(crate) transpose_a: bool,
    pub(crate) transpose_b: bool,
}

/// The sizes of a batched product.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) batch: usize,
    pub(crate) m: usize,
    pub(crate) k: usize,
    pub(crate) n: usize,
    /// Whether one `A` serves the whole batch.
    pub(crate) one_a: bool,
    /// Whether one `B` does.
    pub(crate) one_b: bool,
}

impl Sizes {
    /// Multiplications of one product.
    fn work(self) -> usize {
        self.m.saturating_mul(self.k).saturating_mul(self.n)
    }

    /// Elements from one `A` of the batch to the next.
    pub(crate) fn stride_a(self) -> usize {
        if self.one_a { 0 } else { self.m * self.k }
    }

    /// Elements from one `B` of the batch to the next.
    pub(crate) fn stride_b(self) -> usize {
        if self.one_b { 0 } else { self.k * self.n }
    }
}

impl Matmul {
    pub(crate) fn sizes(self, a: &Shape, b: &Shape) -> Result<(Sizes, Shape), ShapeError> {
        let error = || {
            let named = |shape: &Shape, t: bool| format!("{shape}{}", if t { " transposed" } else { "" });
            let (a, b) = (named(a, self.transpose_a), named(b, self.transpose_b));
            Err(ShapeError::new(format!(
                "{a} × {b}: matrices […, m, k] × […, k, n] of equal leading axes are needed"
            )))
        };
        let (&[ref lead_a @ .., mut m, mut k], &[ref lead_b @ .., mut l, mut n]) = (a.axes(), b.axes())
        else {
            return error();
        };
        if self.transpose_a {
            (m, k) = (k, m);
        }
        if self.transpose_b {
            (l, n) = (n, l);
        }
        if k != l || !(lead_a == lead_b || lead_a.is_empty() || lead_b.is_empty()) {
            return error();
        }
        let lead = if lead_a.is_empty() { lead_b } else { lead_a };
        let batch = lead.iter().product();
        let shape = Shape::new(lead).with_width(m).with_width(n);
        let sizes = Sizes { batch, m, k, n, one_a: lead_a.is_empty(), one_b: lead_b.is_empty() };
        Ok((self.collapsed(sizes), shape))
    }

    /// A batch with one common B is a single product of all the batch's rows.
    fn collapsed(self, s: Sizes) -> Sizes {
        if s.one_b && !self.transpose_a && s.batch != 1 {
            return Sizes { batch: 1, m: s.batch * s.m, one_a: true, ..s };
        }
        s
    }

    fn a<'a, T: Storage>(self, a: &'a [T], s: Sizes, i: usize) -> Matrix<'a, T> {
        let (rows, columns) = if self.transpose_a { (s.k, s.m) } else { (s.m, s.k) };
        Matrix::stored(&a[i * s.stride_a()..], rows, columns, self.transpose_a)
    }

    fn b<'a, T: Storage>(self, b: &'a [T], s: Sizes, i: usize) -> Matrix<'a, T> {
        let (rows, columns) = if self.transpose_b { (s.n, s.k) } else { (s.k, s.n) };
        Matrix::stored(&b[i * s.stride_b()..], rows, columns, self.transpose_b)
    }
}

/// Computes a product: [`gemm`] or [`serial`].
type Gemm<T> = fn(Matrix<'_, T>, Matrix<'_, T>, Onto<'_, T>, &mut [T]);

/// Runs the products of a batch: in parallel over the batch, or within the product if there is only one.
/// `product(i, out, gemm)` writes the product of batch entry `i` to its part of `out` by `gemm`.
fn batched<T: Storage>(
    out: &mut [T],
    batch: usize,
    size: usize,
    work: usize,
    product: impl Fn(usize, &mut [T], Gemm<T>) + Sync,
) {
    if batch == 1 {
        return product(0, out, gemm::<T>);
    }
    parallel::for_each_part(out, size, 1, work / 50, |range, out| {
        for (i, out) in range.zip(out.chunks_exact_mut(size.max(1))) {
            product(i, out, serial::<T>);
        }
    });
}

impl Matmul {
    pub(crate) fn result_shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        let (Sizes { n, .. }, shape) = self.sizes(inputs[0], inputs[1])?;
        match inputs.get(2) {
            Some(bias) if bias.axes() != [n] => {
                Err(ShapeError::new(format!("a product {shape} needs a bias [{n}], not {bias}")))
            }
            _ => Ok(shape),
        }
    }

    pub(crate) fn compute<T: Storage>(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let (s, _) = self.sizes(inputs[0].shape, inputs[1].shape).expect("checked");
        let (a, b) = (inputs[0].data, inputs[1].data);
        let onto = inputs.get(2).map_or(Onto::Nothing, |bias| Onto::Row(bias.data));
        batched(out, s.batch, s.m * s.n, s.work(), |i, c, gemm| {
            gemm(self.a(a, s, i), self.b(b, s, i), onto, c);
        });
    }

    /// With `C = A B + c`: `dA = G Bᵀ` and `dB = Aᵀ G`, each transposed where its factor is stored so;
    /// `dc` is the sum of the rows of G.
    pub(crate) fn pullback<T: Storage>(
        &self,
        inputs: &[View<'_, T>],
        _: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        let (s, _) = self.sizes(inputs[0].shape, inputs[1].shape).expect("checked");
        let (a, b) = (inputs[0].data, inputs[1].data);
        let gradient = |i: usize| Matrix::new(&g[i * s.m * s.n..], s.m, s.n);
        let earlier = |i: usize| if i > 0 { Onto::Held } else { Onto::Nothing };
        let work = s.work();
        if let Some(da) = grads[0].as_deref_mut() {
            let product = |i, da: &mut [T], onto, gemm: Gemm<T>| {
                let (g, b) = (gradient(i), self.b(b, s, i));
                if self.transpose_a {
                    gemm(b, g.transposed(), onto, da)
                } else {
                    gemm(g, b.transposed(), onto, da)
                }
            };
            if s.one_a {
                (0..s.batch).for_each(|i| product(i, da, earlier(i), gemm));
                if s.batch == 0 {
                    da.fill(T::zero());
                }
            } else {
                batched(da, s.batch, s.m * s.k, work, |i, da, gemm| product(i, da, Onto::Nothing, gemm));
            }
        }
        if let Some(db) = grads[1].as_deref_mut() {
            let product = |i, db: &mut [T], onto, gemm: Gemm<T>| {
                let (g, a) = (gradient(i), self.a(a, s, i));
                if self.transpose_b {
                    gemm(g.transposed(), a, onto, db)
                } else {
                    gemm(a.transposed(), g, onto, db)
                }
            };
            if s.one_b {
                (0..s.batch).for_each(|i| product(i, db, earlier(i), gemm));
                if s.batch == 0 {
                    db.fill(T::zero());
                }
            } else {
                batched(db, s.batch, s.k * s.n, work, |i, db, gemm| product(i, db, Onto::Nothing, gemm));
            }
        }
        if let Some(bias) = grads.get_mut(2) {
            sum_over_readers(Broadcast::cycled(s.n), g, bias);
        }
    }
}
