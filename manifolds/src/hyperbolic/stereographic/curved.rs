//! The operations of the model with the curvature as a number for each row, which can be learned.

use cotangent_engine::{Float, Rows, Tensor, Var};

use super::formulas as f;
use super::matvec::MatVec;
use super::{KappaStereographic, Sign};
use crate::manifold;
use crate::point::Point;

/// The operations of the κ-stereographic model at some curvature. It may be a variable of a tape and
/// then has a gradient, also at κ = 0.
///
/// [`Stereographic`](crate::Stereographic) is this with a constant. The curvature is one number for all
/// rows, or one for each.
///
/// ```
/// use cotangent_engine::{Tape, Tensor};
/// use cotangent_manifolds::Curved;
/// let tape = Tape::<f64>::new();
/// let kappa = tape.variable(&Tensor::scalar(0.0)); // flat, to begin with
/// let [x, y] = [[0.3, 0.0], [0.0, 0.4]].map(|p| tape.constant(&Tensor::new([1, 2], p.to_vec())));
/// let d = Curved::new(kappa).dist(&x, &y); // [1]
/// assert!((d.to_tensor().data()[0] - 1.0).abs() < 1e-15); // 2‖x − y‖
/// let slope = tape.backward(d.sum()).wrt(kappa).data()[0];
/// let expected = -2.0 * 0.5_f64.powi(3) / 3.0; // −2(⟨x, y⟩‖x − y‖ + ‖x − y‖³/3)
/// assert!((slope - expected).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Curved<R: Rows> {
    kappa: R::Scalar,
}

impl<R: Rows> Curved<R> {
    /// The operations at this sectional curvature.
    pub fn new(kappa: R::Scalar) -> Self {
        Curved { kappa }
    }

    /// Sectional curvature.
    pub fn kappa(&self) -> &R::Scalar {
        &self.kappa
    }

    /// The gyrovector inverse ⊖x = −x.
    pub fn neg(&self, x: &R) -> R {
        R::vector(manifold::Scale, [x], [&x.constant(-1.0)])
    }

    /// Möbius subtraction x ⊖ y = x ⊕ (⊖y).
    pub fn sub(&self, x: &R, y: &R) -> R {
        self.add(x, &self.neg(y))
    }

    /// The Möbius version `exp₀(f(log₀ x))` of a function of vectors, such as a pointwise nonlinearity
    /// or a linear map. The width may change. Ganea et al. 2018, eq. 24.
    pub fn map(&self, x: &R, f: impl FnOnce(&R) -> R) -> R {
        self.exp0(&f(&self.log0(x)))
    }

    /// Möbius matrix multiplication M ⊗ x of rows x, `[…, n]`, and a matrix `[m, n]`: `[…, m]`. Ganea
    /// et al. 2018, eq. 25.
    ///
    /// # Panics
    /// If the matrix is not `[m, n]`.
    #[track_caller]
    pub fn matvec(&self, m: &R::Matrix, x: &R) -> R
    where
        R: MatVec,
    {
        let v = self.log0(x);
        self.exp0(&v.matvec(m))
    }
}

/// Declares operations with a row formula each: arguments, result, formula with its rows and its parameters
/// after κ. Those that are methods of [`Curved`] alone have their place in [`KappaStereographic`] through
/// the traits of manifolds.
macro_rules! operations {
    (@type row $rows:ty) => { $rows };
    (@type number $rows:ty) => { <$rows as Rows>::Scalar };
    (@call row $($argument:tt)*) => { R::vector($($argument)*) };
    (@call number $($argument:tt)*) => { R::scalar($($argument)*) };
    (Curved, KappaStereographic: $(
        $(#[$attribute:meta])*
        $name:ident($($argument:ident: $kind:ident),+) -> $result:ident
            = $formula:ident [$row:ident $(, $other:ident)*] $([$number:ident])?;
    )*) => {
        operations! { Curved: $(
            $(#[$attribute])*
            $name($($argument: $kind),+) -> $result = $formula [$row $(, $other)*] $([$number])?;
        )* }

        impl<S: Sign> KappaStereographic<S> {$(
            $(#[$attribute])*
            pub fn $name<R: Rows>(
                &self, $($argument: &operations!(@type $kind R)),+
            ) -> operations!(@type $result R) {
                self.curved($row).$name($($argument),+)
            }
        )*}
    };
    (Curved: $(
        $(#[$attribute:meta])*
        $name:ident($($argument:ident: $kind:ident),+) -> $result:ident
            = $formula:ident [$($row:ident),+] $([$number:ident])?;
    )*) => {
        impl<R: Rows> Curved<R> {$(
            $(#[$attribute])*
            pub fn $name(&self, $($argument: &operations!(@type $kind R)),+) -> operations!(@type $result R) {
                operations!(@call $result f::$formula, [$($row),+], [&self.kappa $(, $number)?])
            }
        )*}
    };
}

operations! { Curved:
    /// Riemannian inner product `λ_x²⟨u, v⟩` of tangent vectors at x.
    inner(x: row, u: row, v: row) -> number = Inner [x, u, v];

    /// Riemannian norm `λ_x‖v‖` of a tangent vector at x.
    norm(x: row, v: row) -> number = Norm [x, v];

    /// Exponential map at x of v. Ganea et al. 2018, eq. 10.
    exp(x: row, v: row) -> row = Exp [x, v];

    /// Logarithm at x of y; 0 where y is the antipode of x (κ > 0), to which no single direction leads.
    /// Ganea et al. 2018, eq. 10.
    log(x: row, y: row) -> row = Log [x, y];

    /// Parallel transport of v from x to y, `(λ_x/λ_y) gyr[y, ⊖x] v`. To the antipode of x (κ > 0) it is
    /// that of the sphere, where v stays the same vector of the surrounding space.
    transport(x: row, y: row, v: row) -> row = Transport [x, y, v];

    /// The Riemannian gradient `g/λ_x²` from the gradient with respect to the coordinates.
    egrad_to_rgrad(x: row, g: row) -> row = EgradToRgrad [x, g];

    /// A step of Riemannian gradient descent, `exp_x(−rate g/λ_x²)`.
    descend(x: row, g: row, rate: number) -> row = Descend [x, g] [rate];

    /// Points are returned unchanged, bit for bit; a row on or outside the boundary is scaled to just
    /// inside.
    project(x: row) -> row = Project [x];

    /// The point at time t of the geodesic from x (t = 0) to y (t = 1).
    geodesic(x: row, y: row, t: number) -> row = Geodesic [x, y] [t];

    /// Signed distance from x to the gyroplane through p with normal a, positive on the side that a
    /// points to; 0 for a = 0. Ganea et al. 2018, eq. 21.
    gyroplane(x: row, p: row, a: row) -> number = Gyroplane [x, p, a];

    /// The Busemann function of the ideal point in direction ω, which need not be of length 1: the
    /// signed distance of x from the horosphere through the origin, negative towards ω. For κ < 0; NaN
    /// for κ > 0. Law 24.
    busemann(x: row, omega: row) -> number = Busemann [x, omega];
}

// `dist` is among them because two traits in the prelude have a method of this name.
operations! { Curved, KappaStereographic:
    /// Geodesic distance `2 tan_κ⁻¹‖⊖x ⊕ y‖`. For κ > 0 half of the digits are lost between
    /// antipodes.
    dist(x: row, y: row) -> number = Dist [x, y];

    /// The conformal factor `λ_x = 2/(1 + κ‖x‖²)`.
    lambda(x: row) -> number = Lambda [x];

    /// The size of the Riemannian gyroline element: `‖(x + v) ⊖ x‖` to first order in v, which is
    /// `‖v‖/(1 + κ‖x‖²)`, half of the norm of v. Ganea, Bécigneul, Hofmann 2018, eq. 7.
    gyroline_element(x: row, v: row) -> number = GyrolineElement [x, v];

    /// The exponential map at the origin, `tan_κ(‖v‖) v/‖v‖`: the Riemannian one, as λ₀ = 2, so a
    /// v of norm s leads to a point at distance 2s. Ganea et al. 2018, eq. 11.
    exp0(v: row) -> row = Exp0 [v];

    /// The logarithm at the origin, inverse of [`exp0`](Self::exp0). Ganea et al. 2018, eq. 11.
    log0(x: row) -> row = Log0 [x];

    /// Möbius addition x ⊕ y. Ganea et al. 2018, eq. 4.
    add(x: row, y: row) -> row = Add [x, y];

    /// Möbius co-addition `x ⊞ y = x ⊕ gyr[x, ⊖y] y`, commutative, with (x ⊞ y) ⊖ y = x. Ungar
    /// 2008; law 11.
    coadd(x: row, y: row) -> row = CoAdd [x, y];

    /// Möbius scalar multiplication `r ⊗ x = exp₀(r log₀ x)`. Ganea et al. 2018, eq. 5.
    scale(r: number, x: row) -> row = Scale [x] [r];

    /// The gyration `gyr[x, y] w = ⊖(x ⊕ y) ⊕ (x ⊕ (y ⊕ w))`, a rotation of any vector w. Ungar
    /// 2008; law 6.
    gyration(x: row, y: row, w: row) -> row = Gyration [x, y, w];

    /// The logit of x for the class whose gyroplane goes through p with normal a: `λ_p‖a‖` times the
    /// signed distance. Tends to `4⟨x − p, a⟩` as κ → 0. Ganea et al. 2018, eq. 23.
    logit(x: row, p: row, a: row) -> number = Logit [x, p, a];

    /// The logit of x for the class of direction z and offset r: [`logit`](Self::logit) with p = exp₀(r
    /// z/‖z‖) and a = z/cosh²(√-κ r). Tends to `4(⟨x, z⟩ − r‖z‖)` as κ → 0. Shimizu et
    /// al. 2021 (HNN++), eq. 6.
    unidirectional_logit(x: row, z: row, r: number) -> number = UnidirectionalLogit [x, z] [r];
}

/// The same variable as curvature: two variables of equal value are two curvatures.
impl<T: Float> PartialEq for Curved<Var<'_, T>> {
    fn eq(&self, other: &Self) -> bool {
        self.kappa.same_elements(other.kappa)
    }
}

impl<'t, T: Float> Curved<Var<'t, T>> {
    /// The logits of all points x, `[…, n, d]`, for all classes with points p and normals a, `[m, d]`:
    /// `[…, n, m]`. The curvature is one number. See [`logit`](Self::logit).
    ///
    /// They come from one product of matrices. On a processor, those of points near p, where its terms
    /// cancel, are then computed by themselves.
    ///
    /// # Panics
    /// If the shapes do not fit, or there are more than 2³² logits.
    #[track_caller]
    pub fn logits(&self, x: Var<'t, T>, p: Var<'t, T>, a: Var<'t, T>) -> Var<'t, T> {
        let (tape, kappa) = (x.tape(), &self.kappa);
        let normals = Var::vector(f::LogitNormal, [&p, &a], [kappa]);
        let classes =
            [Var::scalar(f::LogitOffset, [&p, &a], [kappa]), Var::scalar(f::LogitScale, [&p, &a], [kappa])];
        let logits = self.logits_of_classes(x, normals, classes);
        if !tape.device().is_cpu() {
            return logits;
        }
        let pairs = near_pairs(x, p);
        if pairs.is_empty() {
            return logits;
        }
        let (shape, classes) = (logits.shape(), p.shape()[0]);
        assert!(u32::try_from(shape.elements()).is_ok(), "logits of shape {shape}: more than 2³² of them");
        let rows: Vec<u32> = pairs.iter().map(|&(i, _)| i).collect();
        let columns: Vec<u32> = pairs.iter().map(|&(_, j)| j).collect();
        let points = x.reshape([shape.rows().elements(), p.shape().width()]);
        let accurate = self.logit(&points.gather(&rows), &p.gather(&columns), &a.gather(&columns));
        let places: Vec<u32> = pairs.iter().map(|&(i, j)| i * classes as u32 + j).collect();
        let mut mask = vec![T::zero(); shape.elements()];
        places.iter().for_each(|&place| mask[place as usize] = T::one());
        let mask = tape.constant(&Tensor::new(shape.clone(), mask));
        let accurate = accurate.insert_axis(1).scatter_add(&places, shape.elements()).reshape(shape);
        logits.masked_fill(mask, 0.0) + accurate
    }

    /// The logits of all points x, `[…, n, d]`, for all classes of directions z, `[m, d]`, and offsets
    /// r, `[m]`: `[…, n, m]`. The curvature is one number. See
    /// [`unidirectional_logit`](Self::unidirectional_logit).
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn unidirectional_logits(&self, x: Var<'t, T>, z: Var<'t, T>, r: Var<'t, T>) -> Var<'t, T> {
        let kappa = &self.kappa;
        let normals = Var::vector(f::UnidirectionalNormal, [&z], [kappa, &r]);
        let offsets = Var::scalar(f::UnidirectionalOffset, [&z], [kappa, &r]);
        self.logits_of_classes(x, normals, [offsets, Var::scalar(f::UnidirectionalScale, [&z], [])])
    }

    /// The logits by one product of matrices: see [`f::Logits`].
    fn logits_of_classes(&self, x: Var<'t, T>, normals: Var<'t, T>, classes: [Var<'t, T>; 2]) -> Var<'t, T> {
        let lambda = self.lambda(&x);
        let rows = x * (0.5 * lambda).insert_axis(lambda.shape().rank());
        x.tape().pairs(f::Logits, [rows, normals], [lambda - 1.0], classes, [self.kappa]).scores()
    }
}

/// The logit of a point x and a class with point p is computed by itself if `‖x − p‖²` is below NEAR
/// times `‖x‖² + ‖p‖²`.
const NEAR: f64 = 1.0 / 64.0;

/// The largest ratio of ‖x‖² and ‖p‖² of near pairs, rounded up: with s = ‖x‖/‖p‖,
/// `(s − 1)² < NEAR (s² + 1)` has the solutions s < 1.195.
const NORMS_OF_NEAR: f64 = 1.44;

/// The pairs of a row of x, `[…, n, d]`, and a row of p, `[m, d]`, that are near each other. Their norms
/// differ little then, so rows of x with other norms than all rows of p are left out.
fn near_pairs<T: Float>(x: Var<'_, T>, p: Var<'_, T>) -> Vec<(u32, u32)> {
    let tape = x.tape();
    let [x, p] = [x, p].map(|rows| rows.to_tensor());
    let squares = |rows: &Tensor<T>| -> Vec<T> {
        rows.rows().map(|row| row.iter().fold(T::zero(), |sum, &x| sum + x * x)).collect()
    };
    let [of_x, of_p] = [&x, &p].map(squares);
    // Near rows have (‖x‖ − ‖p‖)² < NEAR (‖x‖² + ‖p‖²), so ‖x‖² and ‖p‖²
    // differ by this factor at most.
    let factor = T::nearest(NORMS_OF_NEAR);
    let least = of_p.iter().copied().reduce(|a, b| if b < a { b } else { a });
    let most = of_p.iter().copied().reduce(|a, b| if a < b { b } else { a });
    let (Some(least), Some(most)) = (least, most) else { return Vec::new() };
    let possible = |&i: &usize| of_x[i] * factor >= least && of_x[i] <= most * factor;
    let candidates: Vec<usize> = (0..of_x.len()).filter(possible).collect();
    if candidates.is_empty() {
        return Vec::new();
    }
    let rows: Vec<T> = candidates.iter().flat_map(|&i| x.row(i).iter().copied()).collect();
    let rows = tape.constant(&Tensor::new([candidates.len(), x.width()], rows));
    // ‖x − p‖² is below the bound where ⟨x, p⟩ is above this times the sum of the squares.
    let share = T::nearest(0.5 * (1.0 - NEAR));
    let of_p: Vec<T> = of_p.into_iter().map(|s| s * share).collect();
    let mut pairs = Vec::new();
    rows.matmul_nt(tape.constant(&p)).with_data(|products| {
        for (&i, products) in candidates.iter().zip(products.chunks(of_p.len().max(1))) {
            let of_x = of_x[i] * share;
            let near = |(product, of_p): (&T, &T)| *product - *of_p > of_x;
            // No early end: several are compared at once.
            if products.iter().zip(&of_p).fold(false, |any, pair| any | near(pair)) {
                let of_row = products.iter().zip(&of_p).enumerate().filter(|(_, pair)| near(*pair));
                pairs.extend(of_row.map(|(j, _)| (i as u32, j as u32)));
            }
        }
    });
    pairs
}

/// Points of a space whose curvature is a variable.
///
/// ```
/// use cotangent_engine::{Tape, Tensor};
/// use cotangent_manifolds::{Curved, Point};
/// let tape = Tape::<f64>::new();
/// let space = Curved::new(tape.variable(&Tensor::scalar(-1.0)));
/// let [o, x] = [0.0, 0.5].map(|x| Point::new(space, tape.constant(&Tensor::new([1, 1], vec![x]))));
/// assert!((o.dist(&x).item() - 3.0_f64.ln()).abs() < 1e-15);
/// ```
impl<'t, T: Float> Point<Curved<Var<'t, T>>, Var<'t, T>> {
    /// Geodesic distance, row by row.
    ///
    /// # Panics
    /// If the points are of spaces with two curvatures.
    #[track_caller]
    pub fn dist(&self, other: &Self) -> Var<'t, T> {
        assert!(self.manifold() == other.manifold(), "points of two learned curvatures do not mix");
        self.manifold().dist(self.coordinates(), other.coordinates())
    }
}
