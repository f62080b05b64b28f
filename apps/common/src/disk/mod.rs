//! Pictures of the Poincaré disk, as SVG: edges as geodesic arcs, labels on the nodes nearest the origin.
//!
//! A two-dimensional embedding is drawn as it is. In more dimensions, if the graph is a
//! [hierarchy](crate::hierarchy), nodes keep their relative distances from the origin, and each subtree gets
//! a sector of its own. Any other embedding is projected: the logarithm at the origin takes points to tangent
//! vectors, which are projected onto their two principal directions, and the exponential map takes them back.
//! A [`Projection`] chooses one of these, or HoroPCA. The caption says which was done.

mod classes;
mod embedding;
mod layout;
mod picture;
mod projection;
mod sheet;

pub use classes::{Classes, classes};
pub use embedding::{document, plot};
pub use layout::{Layout, layout, tangents};
pub use picture::{Picture, readable};
pub use projection::{Distortion, Projection};
pub use sheet::{SIZE, pixel, save};
