//! The row formulas of Euclidean space.

use cotangent_engine::registry::{Formula, Sample::Free};
use cotangent_engine::{norm, row_formula};

row_formula! {
    /// `⟨u, v⟩`.
    pub Inner = "euclidean.inner": number [Input(0), Input(1)];
    uv = Dot(0, 1) => uv
}

row_formula! {
    /// `‖x − y‖`.
    pub Dist = "euclidean.dist": number [Difference(1, 0)];
    dd = Dot(0, 0), extreme = Extreme(0) => norm(dd, extreme)
}

row_formula! {
    /// `‖v‖`.
    pub Norm = "euclidean.norm": number [Input(0)];
    vv = Dot(0, 0), extreme = Extreme(0) => norm(vv, extreme)
}

row_formula! {
    /// `x + v`.
    pub Add = "euclidean.add": vector [Sum(0, 1)];
     => [S::one()]
}

row_formula! {
    /// `y − x`.
    pub Sub = "euclidean.sub": vector [Difference(1, 0)];
     => [S::one()]
}

row_formula! {
    /// Signed distance `⟨x − p, a⟩/‖a‖` from x to the hyperplane through p with normal a; 0 for
    /// a = 0.
    pub Gyroplane = "euclidean.gyroplane": number [Difference(0, 1), Input(2)];
    along = Along(0, 1) => along
}

/// All formulas of the space, for the test that compares their evaluations.
pub const ALL: &[Formula] = &[
    Formula::row(Inner, Free, &[]),
    Formula::row(Dist, Free, &[]),
    Formula::row(Norm, Free, &[]),
    Formula::row(Add, Free, &[]),
    Formula::row(Sub, Free, &[]),
    Formula::row(Gyroplane, Free, &[]),
];
