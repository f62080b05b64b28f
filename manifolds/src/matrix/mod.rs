//! Manifolds of matrices.

pub(crate) mod eigen;
pub(crate) mod grassmann;
pub(crate) mod orthonormal;
pub(crate) mod spd;
pub(crate) mod spectral;
pub(crate) mod stiefel;

use cotangent_engine::ShapeError;

/// `result` if every row holds a `rows × cols` matrix; else a message.
pub(crate) fn matrices<const V: usize>(
    [rows, cols]: [usize; 2],
    widths: [usize; V],
    result: usize,
) -> Result<usize, ShapeError> {
    if widths.iter().all(|&width| width == rows * cols) {
        return Ok(result);
    }
    let elements = rows * cols;
    let message =
        format!("rows of {rows} x {cols} matrices are needed, {elements} elements each, not {widths:?}");
    Err(ShapeError::new(message))
}
