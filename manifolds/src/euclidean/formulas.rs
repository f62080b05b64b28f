//! The row formulas of Euclidean space.

use cotangent_engine::{norm, row_formulas};

row_formulas! {
    /// All formulas here, for the test that compares their evaluations.
    pub ALL;

    /// `⟨u, v⟩`.
    pub Inner = "euclidean.inner": number [Input(0), Input(1)], tested in Free [];
    uv = Dot(0, 1) => uv;

    /// `‖x − y‖`.
    pub Dist = "euclidean.dist": number [Difference(1, 0)], tested in Free [];
    dd = Dot(0, 0), extreme = Extreme(0) => norm(dd, extreme);

    /// `‖v‖`.
    pub Norm = "euclidean.norm": number [Input(0)], tested in Free [];
    vv = Dot(0, 0), extreme = Extreme(0) => norm(vv, extreme);

    /// `x + v`.
    pub Add = "euclidean.add": vector [Sum(0, 1)], tested in Free [];
     => [S::one()];

    /// `y − x`.
    pub Sub = "euclidean.sub": vector [Difference(1, 0)], tested in Free [];
     => [S::one()];

    /// Signed distance `⟨x − p, a⟩/‖a‖` from x to the hyperplane through p with normal a; 0 for
    /// a = 0.
    pub Gyroplane = "euclidean.gyroplane": number [Difference(0, 1), Input(2)], tested in Free [];
    along = Along(0, 1) => along;
}
