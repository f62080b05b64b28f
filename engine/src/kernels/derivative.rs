//! Forward mode of row formulas: the derivative of a formula's result along tangents of its operands.
//!
//! With `v̇` the tangents of the basis vectors and `Ġ` those of the invariants, the coefficients have tangents
//! `ȧ = (∂a/∂G) Ġ`, from the formula on dual numbers, and the result `Σ ȧ_b v_b + a_b v̇_b`. The reverse pass of
//! that, which makes Hessian-vector products, takes the formula on nested dual numbers. Row by row in `f64`:
//! second derivatives are for checking and for small problems, not for speed.

use std::marker::PhantomData;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::kernels::gram::survey::{Rows, Survey};
use crate::kernels::operands::{Operands, row_shape};
use crate::lanes::array;
use crate::operation::{Operation, Outcome, View, shapes};
use crate::row_formula::{Invariant, Metric, RowFormula, Vector, has_invariant};
use crate::simd::Portable;
use crate::{Dual, Float, Scalar, Shape, Tensor, Var};

/// Records the derivative of a row formula.
#[track_caller]
pub(crate) fn record<'t, F, T, const V: usize, const B: usize, const I: usize, const O: usize>(
    inputs: &[Var<'t, T>],
    tangents: &[Option<Var<'t, T>>],
) -> Var<'t, T>
where
    F: RowFormula<V, B, I, O>,
    T: Float,
{
    let mut operands: SmallVec<[Var<'t, T>; 6]> = SmallVec::from_slice(inputs);
    operands.extend(tangents.iter().flatten().copied());
    let present = tangents.iter().map(Option::is_some).collect();
    let operation = RowDerivative::<F, V, B, I, O> { present, formula: PhantomData };
    inputs[0].tape().shared_operation(Arc::new(operation), &operands)
}

/// The operands, then the tangents of those that have one.
struct RowDerivative<F, const V: usize, const B: usize, const I: usize, const O: usize> {
    present: Vec<bool>,
    formula: PhantomData<fn() -> F>,
}

/// A number with its tangent.
type Moving = Dual<f64, 1>;

/// One row: what the formula sees of it.
struct Row<const B: usize, const I: usize> {
    /// The basis vectors, coordinate by coordinate.
    basis: Vec<[Moving; B]>,
    params: Vec<Moving>,
    invariants: [Moving; I],
    /// `‖v‖²` behind each margin; `‖b‖` behind each component along b; the products behind each wedge.
    products: [[Moving; 4]; I],
}

/// Cotangents of a row's operands: dual numbers whose value is the cotangent of the tangent, and whose partial is
/// that of the operand itself.
struct Cotangents {
    /// For each vector, coordinate by coordinate.
    vectors: Vec<Vec<Moving>>,
    params: Vec<Moving>,
}

const ZERO: Moving = Dual { value: 0.0, partials: [0.0] };

fn still(value: f64) -> Moving {
    Dual { value, partials: [0.0] }
}

fn lower(metric: Metric, c: usize, width: usize) -> Moving {
    still(match (metric, c) {
        (Metric::Minkowski, 0) => -1.0,
        (Metric::Space, 0) => 0.0,
        (Metric::Horizontal, c) if c + 1 == width => 0.0,
        _ => 1.0,
    })
}

/// A vector's component ⟨a, b⟩/‖b‖ and the norm ‖b‖, in units of the largest coordinates.
fn component(pairs: impl Iterator<Item = (Moving, Moving)> + Clone) -> (Moving, Moving) {
    let largest = |sum: f64, x: Moving| sum.max(x.value.abs());
    let unit_a = pairs.clone().fold(f64::MIN_POSITIVE, |sum, (a, _)| largest(sum, a));
    let unit_b = pairs.clone().fold(f64::MIN_POSITIVE, |sum, (_, b)| largest(sum, b));
    let (mut dot, mut square) = (ZERO, ZERO);
    for (a, b) in pairs {
        let b = b / still(unit_b);
        dot = dot + a / still(unit_a) * b;
        square = square + b * b;
    }
    let norm = square.sqrt();
    // Of a vector b of length 0 the component is 0, of one with NaN in it NaN.
    let along = if norm.value > 0.0 { dot / norm * still(unit_a) } else { norm };
    (along, norm * still(unit_b))
}

impl<F, const V: usize, const B: usize, const I: usize, const O: usize> RowDerivative<F, V, B, I, O>
where
    F: RowFormula<V, B, I, O>,
{
    /// The operand that holds the tangent of operand `i`.
    fn tangent(&self, i: usize) -> Option<usize> {
        let before = self.present[..i].iter().filter(|p| **p).count();
        self.present[i].then_some(self.present.len() + before)
    }

    fn is_vector(&self, i: usize) -> bool {
        match i.checked_sub(self.present.len()) {
            None => i < V,
            Some(k) => {
                let of = self.present.iter().enumerate().filter(|(_, p)| **p).nth(k);
                of.is_some_and(|(i, _)| i < V)
            }
        }
    }

    /// The vectors, coordinate by coordinate, and the parameters of a row position.
    fn read<T: Float>(&self, operands: &Operands<'_, T>, p: usize) -> (Vec<Vec<Moving>>, Vec<Moving>) {
        let (all, width) = (&operands.all, operands.width);
        let vector = |i: usize| {
            let tangent = self.tangent(i).map(|j| all[j].row(p, width));
            let at = |c: usize| tangent.map_or(0.0, |t| t[c].to_f64());
            let coordinates = all[i].row(p, width).iter().enumerate();
            coordinates.map(|(c, x)| Dual { value: x.to_f64(), partials: [at(c)] }).collect()
        };
        let param = |i: usize| Dual {
            value: all[i].param(p),
            partials: [self.tangent(i).map_or(0.0, |j| all[j].param(p))],
        };
        ((0..V).map(vector).collect(), (V..self.present.len()).map(param).collect())
    }

    fn row(vectors: &[Vec<Moving>], params: Vec<Moving>, epsilon: f64) -> Row<B, I> {
        let width = vectors[0].len();
        let basis: Vec<[Moving; B]> = (0..width)
            .map(|c| {
                array(ZERO, |b| match F::BASIS[b] {
                    Vector::Time => still(f64::from(c == 0)),
                    Vector::Height => still(f64::from(c + 1 == width)),
                    _ if F::METRIC == Metric::Horizontal && c + 1 == width => ZERO,
                    Vector::Input(i) => vectors[i][c],
                    Vector::Sum(i, j) => vectors[i][c] + vectors[j][c],
                    Vector::Difference(i, j) => vectors[i][c] - vectors[j][c],
                    Vector::Flip(i) if c == 0 => -vectors[i][c],
                    Vector::Flip(i) => vectors[i][c],
                })
            })
            .collect();
        let mut accurate = [0.0; I];
        // Of these the kernel gives the formula more digits than their expansions have.
        if has_invariant!(F, Invariant::Margin(_) | Invariant::Wedge(..)) {
            let values: [Vec<f64>; V] = std::array::from_fn(|i| vectors[i].iter().map(|x| x.value).collect());
            let mut read = Rows::new();
            for (own, param) in read.params.iter_mut().zip(&params) {
                own.set(0, param.value);
            }
            let row = values.each_ref().map(Vec::as_slice);
            Survey::<Portable, B, I, O, 1>::new().read::<F, f64, V>(&[row], width, None, &mut read);
            accurate = read.values.map(|value| value.get(0));
        }

        let mut products = [[ZERO; 4]; I];
        let mut invariants = [ZERO; I];
        for k in 0..I {
            let dot = |a: usize, b: usize| {
                let terms = basis.iter().enumerate().map(|(c, v)| v[a] * v[b] * lower(F::METRIC, c, width));
                terms.fold(ZERO, |sum, x| sum + x)
            };
            invariants[k] = match F::INVARIANTS[k] {
                Invariant::Dot(a, b) | Invariant::Accurate(a, b) => dot(a, b),
                Invariant::Wedge(a, b, c) => {
                    let [aa, ab, ac, bc] = [dot(a, a), dot(a, b), dot(a, c), dot(b, c)];
                    products[k] = [aa, ab, ac, bc];
                    Dual { value: accurate[k], ..aa * bc - ab * ac }
                }
                Invariant::Along(a, b) => {
                    let pairs =
                        basis.iter().enumerate().map(|(c, v)| (v[a], v[b] * lower(F::METRIC, c, width)));
                    let (along, norm) = component(pairs);
                    products[k][0] = norm;
                    along
                }
                Invariant::First(i) => vectors[i][0],
                Invariant::Last(i) => vectors[i][width - 1],
                Invariant::Margin(a) => {
                    products[k][0] = basis.iter().fold(ZERO, |sum, v| sum + v[a] * v[a]);
                    Dual { value: accurate[k], ..still(1.0) + params[0] * products[k][0] }
                }
                Invariant::Param(q) => params[q],
                Invariant::Epsilon => still(epsilon),
            };
        }
        Row { basis, params, invariants, products }
    }

    /// The tangent of the result.
    fn result(row: &Row<B, I>) -> Vec<f64> {
        let outputs = F::eval(row.invariants);
        if !F::VECTOR {
            return vec![outputs[0].partials[0]];
        }
        let at = |v: &[Moving; B]| (0..B).fold(ZERO, |sum, b| sum + outputs[b] * v[b]).partials[0];
        row.basis.iter().map(at).collect()
    }

    /// With L = Σ ȧ_b ⟨g, v_b⟩ + a_b ⟨g, v̇_b⟩ and the dual number u_b = ⟨g, v_b⟩, the invariants have the cotangents
    /// Σ_b u_b ∂a_b/∂G.
    fn cotangents(row: &Row<B, I>, g: &[f64]) -> Cotangents {
        let outputs = F::eval(Dual::variables(row.invariants));
        let upstream: [Moving; O] = array(ZERO, |b| {
            if !F::VECTOR {
                return still(g[0]);
            }
            row.basis.iter().zip(g).fold(ZERO, |sum, (v, &g)| sum + v[b] * still(g))
        });
        let of_invariants: [Moving; I] =
            array(ZERO, |k| (0..O).fold(ZERO, |sum, o| sum + upstream[o] * outputs[o].partials[k]));
        let mut params = vec![ZERO; row.params.len()];
        for k in 0..I {
            match F::INVARIANTS[k] {
                Invariant::Param(q) => params[q] = params[q] + of_invariants[k],
                Invariant::Margin(_) => params[0] = params[0] + of_invariants[k] * row.products[k][0],
                _ => {}
            }
        }
        let width = row.basis.len();
        let mut vectors = vec![vec![ZERO; width]; V];
        for (c, v) in row.basis.iter().enumerate() {
            let mut of_basis = [ZERO; B];
            for k in 0..I {
                match F::INVARIANTS[k] {
                    Invariant::Dot(a, b) | Invariant::Accurate(a, b) => {
                        let w = of_invariants[k] * lower(F::METRIC, c, width);
                        of_basis[a] = of_basis[a] + w * v[b];
                        of_basis[b] = of_basis[b] + w * v[a];
                    }
                    Invariant::Margin(a) => {
                        let w = of_invariants[k] * still(2.0) * row.params[0];
                        of_basis[a] = of_basis[a] + w * v[a];
                    }
                    Invariant::Wedge(a, b, d) => {
                        let [aa, ab, ac, bc] = row.products[k];
                        for (i, j, y) in [(a, a, bc), (b, d, aa), (a, b, -ac), (a, d, -ab)] {
                            let w = of_invariants[k] * y * lower(F::METRIC, c, width);
                            of_basis[i] = of_basis[i] + w * v[j];
                            of_basis[j] = of_basis[j] + w * v[i];
                        }
                    }
                    Invariant::Along(a, b) if row.products[k][0].value != 0.0 => {
                        let norm = row.products[k][0];
                        let w = of_invariants[k] * lower(F::METRIC, c, width) / norm;
                        of_basis[a] = of_basis[a] + w * v[b];
                        of_basis[b] = of_basis[b] + w * (v[a] - row.invariants[k] / norm * v[b]);
                    }
                    Invariant::First(i) if c == 0 => vectors[i][c] = vectors[i][c] + of_invariants[k],
                    Invariant::Last(i) if c + 1 == width => vectors[i][c] = vectors[i][c] + of_invariants[k],
                    _ => {}
                }
            }
            for b in 0..B {
                let mut w = of_basis[b];
                if F::VECTOR {
                    w = w + outputs[b].value * still(g[c]);
                }
                if F::METRIC == Metric::Horizontal && c + 1 == width {
                    continue;
                }
                let mut give = |i: usize, w: Moving| vectors[i][c] = vectors[i][c] + w;
                match F::BASIS[b] {
                    Vector::Flip(i) if c == 0 => give(i, -w),
                    Vector::Input(i) | Vector::Flip(i) => give(i, w),
                    Vector::Sum(i, j) => {
                        give(i, w);
                        give(j, w);
                    }
                    Vector::Difference(i, j) => {
                        give(i, w);
                        give(j, -w);
                    }
                    Vector::Time | Vector::Height => {}
                }
            }
        }
        Cotangents { vectors, params }
    }
}

impl<F, T, const V: usize, const B: usize, const I: usize, const O: usize> Operation<T>
    for RowDerivative<F, V, B, I, O>
where
    F: RowFormula<V, B, I, O>,
    T: Float,
{
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        row_shape(inputs, &|i| self.is_vector(i), F::VECTOR)
    }

    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let operands = Operands::of(inputs, &|i| self.is_vector(i));
        for (p, out) in out.chunks_exact_mut(if F::VECTOR { operands.width } else { 1 }).enumerate() {
            let (vectors, params) = self.read(&operands, p);
            for (y, x) in out.iter_mut().zip(Self::result(&Self::row(&vectors, params, T::EPSILON))) {
                *y = T::nearest(x);
            }
        }
    }

    fn backward(
        &self,
        inputs: &[View<'_, T>],
        _outcome: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        let operands = Operands::of(inputs, &|i| self.is_vector(i));
        let width = operands.width;
        grads.iter_mut().flatten().for_each(|grad| grad.fill(T::zero()));
        for (p, g) in g.chunks_exact(if F::VECTOR { width } else { 1 }).enumerate() {
            let (vectors, params) = self.read(&operands, p);
            let g: Vec<f64> = g.iter().map(|g| g.to_f64()).collect();
            let of = Self::cotangents(&Self::row(&vectors, params, T::EPSILON), &g);
            let mut add = |j: usize, at: usize, x: f64| {
                if let Some(grad) = grads[j].as_deref_mut() {
                    grad[at] = grad[at] + T::nearest(x);
                }
            };
            let elements = of.vectors.into_iter().chain(of.params.into_iter().map(|w| vec![w]));
            for (i, cotangents) in elements.enumerate() {
                for (c, w) in cotangents.iter().enumerate() {
                    let row = |j: usize| operands.all[j].rows.at(p) * if i < V { width } else { 1 } + c;
                    add(i, row(i), w.partials[0]);
                    if let Some(j) = self.tangent(i) {
                        add(j, row(j), w.value);
                    }
                }
            }
        }
    }
}

/// A row formula's derivative along tangents of its vectors, off the tape. The parameters are constants.
#[track_caller]
pub(crate) fn of_tensors<F, T, const V: usize, const B: usize, const I: usize, const O: usize>(
    vectors: &[&Tensor<T>],
    tangents: &[&Tensor<T>],
    constants: &[f64],
) -> Tensor<T>
where
    F: RowFormula<V, B, I, O>,
    T: Float,
{
    let mut present = vec![true; V];
    present.resize(V + constants.len(), false);
    let operation = RowDerivative::<F, V, B, I, O> { present, formula: PhantomData };
    let number = Shape::default();
    let rounded: Vec<[T; 1]> = constants.iter().map(|&value| [T::nearest(value)]).collect();
    let views: SmallVec<[View<'_, T>; 6]> = vectors
        .iter()
        .map(|t| View { shape: t.shape(), data: t.data(), constant: None })
        .chain(constants.iter().zip(&rounded).map(|(&value, rounded)| View {
            shape: &number,
            data: rounded,
            constant: Some(value),
        }))
        .chain(tangents.iter().map(|t| View { shape: t.shape(), data: t.data(), constant: None }))
        .collect();
    let shapes = shapes(&views);
    let shape = match Operation::<T>::shape(&operation, &shapes) {
        Ok(shape) => shape,
        Err(message) => panic!("{}: {message}", F::NAME),
    };
    let mut out = Tensor::zeros(shape);
    operation.forward(&views, out.data_mut(), &mut []);
    out
}
