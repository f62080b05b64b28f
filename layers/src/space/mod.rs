//! Geometries that layers work in.

pub(crate) mod any_geometry;
pub(crate) mod curvature;
pub(crate) mod gyrovector_space;
pub(crate) mod maps;
