//! Runs a law over many cases and collects what is found.

use std::collections::BTreeMap;
use std::fmt;

use cotangent_engine::{Float, Row};

use super::Lawful;
use super::case::{Case, Draw, unit};

/// What a law found on a manifold that obeys it.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The law's name.
    pub law: &'static str,
    /// The manifold, as it prints itself.
    pub manifold: String,
    /// The largest error, in units of its bound.
    pub worst: f64,
    /// Where that was: the identity, the storage type and the dimension.
    pub at: (&'static str, &'static str, usize),
    /// How many comparisons were made.
    pub checked: usize,
    /// How many were not made, because rounding alone may make the error as large as the manifold.
    pub meaningless: usize,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { law, manifold, worst, at: (identity, storage, dim), checked, meaningless } = self;
        write!(
            f,
            "{law} on {manifold}: {checked} checked, {meaningless} meaningless; \
             largest error/bound {worst:.2e}"
        )?;
        if *worst > 0.0 { write!(f, " ({identity}, {storage}, dimension {dim})") } else { Ok(()) }
    }
}

/// A law that does not hold, with the smallest case found.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "{law} fails on {manifold}, {storage}, dimension {dim}: {identity}: {fault}\n\
     the smallest case found: {case}\n\
     the largest error of all cases: {worst:.1e} of its bound"
)]
pub struct Violation {
    /// The law's name.
    pub law: &'static str,
    /// The manifold, as it prints itself: its curvature is in it.
    pub manifold: String,
    /// The storage type.
    pub storage: &'static str,
    /// The dimension.
    pub dim: usize,
    /// The identity that fails.
    pub identity: &'static str,
    /// How it fails.
    pub fault: Box<str>,
    /// The largest error of all cases of this storage type, in units of its bound: barely above 1 for a
    /// matter of rounding. 0 if no error was measured, only a condition that does not hold.
    pub worst: f64,
    /// Points and vectors.
    pub case: Box<str>,
}

/// Panics if a law does not hold on one of the manifolds; prints what it found on the others.
#[track_caller]
pub fn obey<M: Lawful>(
    manifolds: impl IntoIterator<Item = M>,
    law: impl Fn(&M) -> Result<Report, Violation>,
) {
    for manifold in manifolds {
        match law(&manifold) {
            Ok(report) => println!("{report}"),
            Err(violation) => panic!("{violation}"),
        }
    }
}

/// Collects the errors of one case after another.
pub(super) struct Judge {
    identity: &'static str,
    worst: f64,
    fault: Option<(&'static str, String)>,
    checked: usize,
    meaningless: usize,
    /// Of each identity that was compared within a bound, whether one of its bounds said something.
    compared: BTreeMap<&'static str, bool>,
    /// Lengths that count as 0.
    floor: f64,
    /// Lengths that are as large as the manifold.
    large: f64,
}

impl Judge {
    /// A length that should be 0 and may be up to `bound`.
    pub(super) fn length(&mut self, identity: &'static str, error: f64, bound: f64) {
        self.compare(identity, error, bound + self.floor, self.large);
    }

    /// A number without a unit that should be 0 and may be up to `bound`.
    pub(super) fn number(&mut self, identity: &'static str, error: f64, bound: f64) {
        self.compare(identity, error, bound + f64::MIN_POSITIVE, 0.05);
    }

    fn compare(&mut self, identity: &'static str, error: f64, bound: f64, large: f64) {
        // NaN is neither small nor large: it falls through and fails.
        let says_something = self.compared.entry(identity).or_insert(false);
        if bound > large {
            self.meaningless += 1;
            return;
        }
        *says_something = true;
        self.checked += 1;
        let ratio = error.abs() / bound;
        if ratio > self.worst {
            (self.worst, self.identity) = (ratio, identity);
        }
        self.holds(identity, (0.0..=1.0).contains(&ratio), || format!("error {error:e}, bound {bound:e}"));
    }

    /// A condition that must hold.
    pub(super) fn holds(&mut self, identity: &'static str, condition: bool, fault: impl FnOnce() -> String) {
        if !condition && self.fault.is_none() {
            self.fault = Some((identity, fault()));
        }
    }

    /// Numbers that must be finite.
    pub(super) fn finite<T: Float>(&mut self, identity: &'static str, numbers: &[T]) {
        self.checked += 1;
        self.holds(identity, numbers.iter().all(|x| x.is_finite()), || format!("{numbers:?}"));
    }

    /// Rows that must agree bit for bit, except for the sign of 0.
    pub(super) fn same<T: Float>(&mut self, identity: &'static str, a: &[T], b: &[T]) {
        self.checked += 1;
        self.holds(identity, a == b, || format!("{a:?} and {b:?}"));
    }

    /// A row that must be a point.
    pub(super) fn point<M: Lawful, T: Float>(&mut self, identity: &'static str, manifold: &M, x: &[T]) {
        self.checked += 1;
        if let Err(error) = manifold.contains(x) {
            self.holds(identity, false, || format!("{error}: {x:?}"));
        }
    }

    /// A row that must be a tangent vector at a point.
    pub(super) fn tangent<M: Lawful, T: Float>(
        &mut self,
        identity: &'static str,
        manifold: &M,
        x: &Row<T>,
        v: &Row<T>,
    ) {
        self.checked += 1;
        if let Err(error) = manifold.contains_tangent(x, v) {
            self.holds(identity, false, || format!("{error}: {:?}", &v[..]));
        }
    }
}

/// An identity checked on one case.
pub(super) type Identity<M, T> = fn(&Case<'_, M, T>, &mut Judge);

/// Runs a law on draws within `reach` times the length scale of the curvature, and within the radius.
pub(super) fn run<M: Lawful>(
    law: &'static str,
    manifold: &M,
    reach: f64,
    double: Identity<M, f64>,
    single: Identity<M, f32>,
) -> Result<Report, Violation> {
    let mut report = Report {
        law,
        manifold: format!("{manifold:?}"),
        worst: 0.0,
        at: ("", "", 0),
        checked: 0,
        meaningless: 0,
    };
    survey(manifold, reach, double, &mut report)?;
    survey(manifold, reach, single, &mut report)?;
    Ok(report)
}

fn survey<M: Lawful, T: Float>(
    manifold: &M,
    reach: f64,
    identity: Identity<M, T>,
    report: &mut Report,
) -> Result<(), Violation> {
    let violation = |dim, (identity, fault): Fault, worst, case: String| Violation {
        law: report.law,
        manifold: report.manifold.clone(),
        storage: T::NAME,
        dim,
        identity,
        fault: fault.into(),
        worst,
        case: case.into(),
    };
    let (mut found, mut compared) = (report.clone(), BTreeMap::new());
    let size = (reach * unit(manifold) / manifold.radius::<T>()).min(1.0);
    for draw in Draw::all(manifold, size) {
        let judged = judge(manifold, draw, identity);
        if let Some(fault) = judged.fault {
            let (case, fault) = smallest(manifold, draw, fault, identity);
            let errors = Draw::all(manifold, size).map(|draw| judge(manifold, draw, identity).worst);
            return Err(violation(draw.dim, fault, errors.fold(0.0, f64::max), case));
        }
        found.checked += judged.checked;
        found.meaningless += judged.meaningless;
        for (identity, says_something) in judged.compared {
            *compared.entry(identity).or_insert(false) |= says_something;
        }
        if judged.worst > found.worst {
            (found.worst, found.at) = (judged.worst, (judged.identity, T::NAME, draw.dim));
        }
    }
    if let Some((&identity, _)) = compared.iter().find(|(_, says_something)| !**says_something) {
        let fault = (identity, "every bound is too large to say anything".to_owned());
        return Err(violation(0, fault, 0.0, "none".to_owned()));
    }
    *report = found;
    Ok(())
}

fn judge<M: Lawful, T: Float>(manifold: &M, draw: Draw, identity: Identity<M, T>) -> Judge {
    let case = Case::new(manifold, draw);
    // Below this floor, squares underflow in `f64`, and coordinates in `T`.
    let floor = 1e-150_f64.max(16.0 / T::LARGEST) * unit(manifold);
    let large = 0.02 * manifold.radius::<T>();
    let (compared, fault) = (BTreeMap::new(), None);
    let mut judge =
        Judge { identity: "", worst: 0.0, fault, checked: 0, meaningless: 0, compared, floor, large };
    identity(&case, &mut judge);
    judge
}

type Fault = (&'static str, String);

/// Halves all lengths as long as the law fails. Dimensions were tried in ascending order already.
fn smallest<M: Lawful, T: Float>(
    manifold: &M,
    mut draw: Draw,
    mut fault: Fault,
    identity: Identity<M, T>,
) -> (String, Fault) {
    for _ in 0..60 {
        let half = Draw { size: 0.5 * draw.size, ..draw };
        let Some(smaller) = judge(manifold, half, identity).fault else { break };
        (draw, fault) = (half, smaller);
    }
    (Case::<M, T>::new(manifold, draw).to_string(), fault)
}

/// Makes a public law from an identity that is generic over the storage type. `reach` is in units of the
/// curvature's length scale; `f64::INFINITY` stands for all of the radius.
macro_rules! law {
    ($(#[$doc:meta])* $name:ident $(of $bound:ident)? within $reach:expr,
     |$case:ident, $judge:ident| $body:block) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// The smallest case found where it does not hold.
        pub fn $name<M: $crate::laws::Lawful $(+ $bound)?>(
            manifold: &M,
        ) -> Result<$crate::laws::Report, $crate::laws::Violation> {
            #[allow(clippy::extra_unused_type_parameters)]
            fn identity<M: $crate::laws::Lawful $(+ $bound)?, T: cotangent_engine::Float>(
                $case: &$crate::laws::case::Case<'_, M, T>,
                $judge: &mut $crate::laws::check::Judge,
            ) $body
            let name = stringify!($name);
            $crate::laws::check::run(name, manifold, $reach, identity::<M, f64>, identity::<M, f32>)
        }
    };
}
pub(super) use law;
