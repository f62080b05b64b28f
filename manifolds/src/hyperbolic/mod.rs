//! Models of hyperbolic space and the isometries between them. The stereographic model has the curvatures
//! 0 and above as well.

pub(crate) mod geodesic;
pub(crate) mod half_space;
pub(crate) mod ideal;
pub(crate) mod isometry;
pub(crate) mod klein;
pub(crate) mod lorentz;
pub(crate) mod stereographic;
