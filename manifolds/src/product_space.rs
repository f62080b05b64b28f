//! Products of spaces of constant curvature that are chosen at run time. A row is a row of the first factor,
//! then one of the second, and so on; squared distances add up. Source: Gu, Sala, Gunel, Ré 2019, section 3.

use std::ops::Range;

use cotangent_engine::{
    Float, Row, Rows,
    formulas::{Add, Hypot},
};

use crate::barycentre::Barycentre;
use crate::manifold::{Manifold, OffManifold, OffTangent};
use crate::module::constant;
use crate::sets::Sets;
use crate::space_form::SpaceForm;
use crate::steps::{FactorVisitor, Steps};
use crate::wrapped_normal::OriginFrame;

/// A space form, or the Riemannian product of several: the counterpart of [`Product`](crate::Product) for
/// programs whose user names the factors.
///
/// Each factor but the last has a dimension of its own; in a product of dimension n the last one has the
/// remaining one. A product of one factor is that factor, with the same bits.
///
/// ```
/// use cotangent_engine::Row;
/// use cotangent_manifolds::{Euclidean, Manifold, PoincareBall, ProductSpace};
/// let m = ProductSpace::new(&[(PoincareBall::new(-1.0).into(), 2)], Euclidean.into());
/// let (x, y) = (m.origin::<f64>(3), Row::from([0.5, 0.0, 1.0])); // ball [2], then line [1]
/// assert!((m.dist(&x, &y) - 3.0_f64.ln().hypot(1.0)).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProductSpace {
    /// The factors before the last, with their dimensions; the others are not used.
    first: [(SpaceForm, usize); ProductSpace::MOST_FACTORS - 1],
    /// Number of factors before the last.
    count: usize,
    last: SpaceForm,
}

impl From<SpaceForm> for ProductSpace {
    fn from(space: SpaceForm) -> Self {
        ProductSpace::new(&[], space)
    }
}

/// A factor with its coordinates.
type Factor = (SpaceForm, Range<usize>);

impl ProductSpace {
    /// Largest number of factors.
    pub const MOST_FACTORS: usize = 8;

    /// The product of `first`, each with its dimension, and of `last`.
    ///
    /// # Panics
    /// If a dimension is 0, or if there are more than [`MOST_FACTORS`](Self::MOST_FACTORS) factors.
    #[track_caller]
    pub fn new(first: &[(SpaceForm, usize)], last: SpaceForm) -> Self {
        let count = first.len() + 1;
        assert!(
            count <= Self::MOST_FACTORS,
            "product space: {count} factors; at most {} are possible",
            Self::MOST_FACTORS
        );
        assert!(
            first.iter().all(|factor| factor.1 > 0),
            "product space: each factor but the last needs a dimension of 1 or more"
        );
        let mut space = ProductSpace { first: [(last, 0); Self::MOST_FACTORS - 1], count: first.len(), last };
        space.first[..first.len()].copy_from_slice(first);
        space
    }

    /// The factors before the last, with their dimensions.
    fn first(&self) -> &[(SpaceForm, usize)] {
        &self.first[..self.count]
    }

    /// Sum of the dimensions of the factors before the last.
    fn first_dimensions(&self) -> usize {
        self.first().iter().map(|factor| factor.1).sum()
    }

    /// Number of coordinates of the factors before the last.
    fn first_width(&self) -> usize {
        self.first_columns(SpaceForm::ambient)
    }

    /// The same for rows in which a factor has so many columns, by its dimension.
    fn first_columns(&self, columns: fn(&SpaceForm, usize) -> usize) -> usize {
        self.first().iter().map(|(space, dimension)| columns(space, *dimension)).sum()
    }

    /// The factors with their coordinates in rows of this width.
    ///
    /// # Panics
    /// If the rows are too narrow for the last factor.
    #[track_caller]
    pub fn factors_of_width(&self, width: usize) -> impl Iterator<Item = Factor> + use<'_> {
        self.split(width, SpaceForm::ambient)
    }

    /// The factors with their columns in rows of this width. `columns` is the number of a factor's columns,
    /// by its dimension; the last factor has the remaining ones.
    #[track_caller]
    fn split(
        &self,
        width: usize,
        columns: fn(&SpaceForm, usize) -> usize,
    ) -> impl Iterator<Item = Factor> + use<'_> {
        let first_width = self.first_columns(columns);
        let fits = first_width < width || self.count == 0;
        assert!(fits, "product space: rows of width {width}, of which the first factors take {first_width}");
        let first = self.first().iter().scan(0, move |start, &(space, dimension)| {
            let part = *start..*start + columns(&space, dimension);
            *start = part.end;
            Some((space, part))
        });
        first.chain([(self.last, first_width..width)])
    }

    /// One number for each factor, combined.
    fn number<R: Rows, const K: usize>(
        &self,
        rows: [&R; K],
        of_factor: impl Fn(&SpaceForm, [&R; K]) -> R::Scalar,
        combine: impl Fn([&R::Scalar; 2]) -> R::Scalar,
    ) -> R::Scalar {
        if self.count == 0 {
            return of_factor(&self.last, rows);
        }
        let numbers = self.factors_of_width(rows[0].width()).map(|(space, coordinates)| {
            let parts = rows.map(|row| row.columns(coordinates.clone()));
            of_factor(&space, parts.each_ref())
        });
        numbers.reduce(|left, right| combine([&left, &right])).expect("there is a factor")
    }

    /// One row for each factor, side by side.
    fn row<R: Rows, const K: usize>(&self, rows: [&R; K], of_factor: impl Fn(&SpaceForm, [&R; K]) -> R) -> R {
        self.row_of(SpaceForm::ambient, rows, of_factor)
    }

    /// As [`row`](Self::row), for rows whose `columns` are not coordinates of points: see
    /// [`split`](Self::split).
    fn row_of<R: Rows, const K: usize>(
        &self,
        columns: fn(&SpaceForm, usize) -> usize,
        rows: [&R; K],
        of_factor: impl Fn(&SpaceForm, [&R; K]) -> R,
    ) -> R {
        if self.count == 0 {
            return of_factor(&self.last, rows);
        }
        let parts = self.split(rows[0].width(), columns).map(|(space, part)| {
            let parts = rows.map(|row| row.columns(part.clone()));
            of_factor(&space, parts.each_ref())
        });
        parts.reduce(|left, right| R::concat(&left, &right)).expect("there is a factor")
    }
}

impl Manifold for ProductSpace {
    const NAME: &'static str = "product space";
    const TITLE: &'static str = "the product space";

    fn ambient(&self, dim: usize) -> usize {
        self.first_width() + self.last.ambient(dim.saturating_sub(self.first_dimensions()))
    }
    fn dimension(&self, ambient: usize) -> usize {
        self.first_dimensions() + self.last.dimension(ambient.saturating_sub(self.first_width()))
    }
    #[track_caller]
    fn origin<T: Float>(&self, dim: usize) -> Row<T> {
        let last = dim.saturating_sub(self.first_dimensions());
        assert!(last > 0, "product space: no last factor in dimension {dim} of {self:?}");
        let first = self.first().iter().map(|(space, dimension)| space.origin(*dimension));
        first.chain([self.last.origin(last)]).reduce(|x, y| Row::concat(&x, &y)).expect("there is a factor")
    }
    fn dist<R: Rows>(&self, x: &R, y: &R) -> R::Scalar {
        self.number([x, y], |m, [x, y]| m.dist(x, y), |numbers| R::map(Hypot, numbers))
    }
    fn inner<R: Rows>(&self, x: &R, u: &R, v: &R) -> R::Scalar {
        self.number([x, u, v], |m, [x, u, v]| m.inner(x, u, v), |numbers| R::map(Add, numbers))
    }
    fn norm<R: Rows>(&self, x: &R, v: &R) -> R::Scalar {
        self.number([x, v], |m, [x, v]| m.norm(x, v), |numbers| R::map(Hypot, numbers))
    }
    fn exp<R: Rows>(&self, x: &R, v: &R) -> R {
        self.row([x, v], |m, [x, v]| m.exp(x, v))
    }
    fn log<R: Rows>(&self, x: &R, y: &R) -> R {
        self.row([x, y], |m, [x, y]| m.log(x, y))
    }
    fn transport<R: Rows>(&self, x: &R, y: &R, v: &R) -> R {
        self.row([x, y, v], |m, [x, y, v]| m.transport(x, y, v))
    }
    fn egrad_to_rgrad<R: Rows>(&self, x: &R, g: &R) -> R {
        self.row([x, g], |m, [x, g]| m.egrad_to_rgrad(x, g))
    }
    fn project_tangent<R: Rows>(&self, x: &R, v: &R) -> R {
        self.row([x, v], |m, [x, v]| m.project_tangent(x, v))
    }
    fn project<R: Rows>(&self, x: &R) -> R {
        self.row([x], |m, [x]| m.project(x))
    }
    fn geodesic<R: Rows>(&self, x: &R, y: &R, t: &R::Scalar) -> R {
        self.row([x, y], |m, [x, y]| m.geodesic(x, y, t))
    }
    /// The error is that of the first factor whose part is off, and has that factor's name.
    fn contains<T: Float>(&self, x: &[T]) -> Result<(), OffManifold> {
        if self.count > 0 {
            OffManifold::unless_finite(Self::TITLE, x, self.first_width() + 1)?;
        }
        self.factors_of_width(x.len()).try_for_each(|(space, coordinates)| space.contains(&x[coordinates]))
    }
    fn contains_tangent<T: Float>(&self, x: &Row<T>, v: &Row<T>) -> Result<(), OffTangent> {
        self.factors_of_width(x.len()).try_for_each(|(space, coordinates)| {
            let [x, v] = [x, v].map(|row| row.columns(coordinates.clone()));
            space.contains_tangent(&x, &v)
        })
    }
}

impl Steps for ProductSpace {
    fn factors<V: FactorVisitor>(&self, coordinates: Range<usize>, visitor: &mut V) {
        for (space, part) in self.factors_of_width(coordinates.len()) {
            space.factors(coordinates.start + part.start..coordinates.start + part.end, visitor);
        }
    }
    fn descend<R: Rows>(&self, x: &R, g: &R, rate: &R::Scalar) -> R {
        self.row([x, g], |m, [x, g]| m.descend(x, g, rate))
    }
    fn bounded<R: Rows>(&self, x: &R) -> R {
        self.row([x], |m, [x]| m.bounded(x))
    }
}

/// Factor by factor; features lie side by side.
impl Barycentre for ProductSpace {
    #[track_caller]
    fn barycentre<R: Sets>(&self, points: &R, weights: &R::Scalar) -> R {
        self.row([points], |m, [x]| m.barycentre(x, weights))
    }
    fn barycentre_features<R: Rows>(&self, points: &R) -> R {
        self.row([points], |m, [x]| m.barycentre_features(x))
    }
    fn barycentre_from_sum<R: Rows>(&self, sum: &R) -> R {
        self.row_of(|_, dimension| dimension + 1, [sum], |m, [sum]| m.barycentre_from_sum(sum))
    }
}

/// The frames of all factors, side by side.
impl OriginFrame for ProductSpace {
    #[track_caller]
    fn frame<R: Rows>(&self, coordinates: &R) -> R {
        self.row_of(|_, dimension| dimension, [coordinates], |m, [v]| m.frame(v))
    }
    fn in_frame<R: Rows>(&self, tangents: &R) -> R {
        self.row([tangents], |m, [v]| m.in_frame(v))
    }
    fn log_in_frame<R: Rows>(&self, means: &R, points: &R) -> R {
        self.row([means, points], |m, [mean, x]| m.log_in_frame(mean, x))
    }
    fn origins<R: Rows>(&self, points: &R) -> R {
        self.row([points], |m, [x]| m.origins(x))
    }
    fn dist_and_log_volume<R: Rows>(&self, means: &R, points: &R) -> (R::Scalar, R::Scalar) {
        let factors = self.factors_of_width(points.width()).map(|(space, coordinates)| {
            let [mean, x] = [means, points].map(|row| row.columns(coordinates.clone()));
            space.dist_and_log_volume(&mean, &x)
        });
        factors
            .reduce(|(d, v), (e, w)| (R::map(Hypot, [&d, &e]), R::map(Add, [&v, &w])))
            .expect("there is a factor")
    }
}

constant!(ProductSpace);
