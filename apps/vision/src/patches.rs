//! Pictures as square patches, and back: the tokens of vision transformers (Dosovitskiy et al. 2021).

use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::{memory, options};
use cotangent_apps_pictures::Pictures;

/// A picture, or its mirror image, cut into square patches: `[patches, patch · patch · channels]`.
///
/// # Errors
/// If its file cannot be read, or is no picture.
pub(crate) fn patches_of(
    pictures: &Pictures<f32>,
    number: usize,
    patch: usize,
    is_mirrored: bool,
) -> Result<Vec<f32>> {
    let mut patches = vec![0.0; pictures.size()];
    let mut picture = pictures.picture(number)?;
    if is_mirrored {
        let rows = picture.chunks_exact(pictures.side * pictures.channels);
        picture = rows.flat_map(|row| row.chunks_exact(pictures.channels).rev().flatten().copied()).collect();
    }
    cut_patches(&picture, [pictures.side, pictures.channels, patch], &mut patches, |x| x);
    Ok(patches)
}

/// Checks that the pictures of a batch, and the positions of their patches, fit in memory.
///
/// # Errors
/// If they do not; the error names the options.
pub(crate) fn check_memory(batch: usize, side: usize, grid: usize, width: usize) -> Result<()> {
    let bytes = memory::bytes::<f32>(&[batch, side, side, 3]) + memory::bytes::<f32>(&[grid, grid, width]);
    memory::check(&[("batch", batch), ("image-size", side)], "the pictures of a batch", bytes)
}

/// Checks the side of patches, and of the pictures if it is known.
///
/// # Errors
/// If the pictures cannot be cut into such patches; the error names the option.
pub(crate) fn check_patch(patch: usize, image_size: Option<usize>) -> Result<()> {
    options::at_least_one(&[("patch", patch as u64), ("image-size", image_size.unwrap_or(1) as u64)])?;
    match image_size.filter(|side| side % patch > 0) {
        Some(side) => {
            let message = format!("--patch {patch}: a divisor of the pictures' side, {side}, is needed");
            Err(AppError::usage(message))
        }
        None => Ok(()),
    }
}

/// Cuts pictures `[n, side, side, channels]` into patches, row by row: `[n, patches, patch · patch ·
/// channels]`. Each number goes through `map`.
pub(crate) fn cut_patches(
    pixels: &[f32],
    extents: [usize; 3],
    patches: &mut [f32],
    map: impl Fn(f32) -> f32,
) {
    let [_, channels, patch] = extents;
    for (at, to) in patches.chunks_exact_mut(patch * channels).enumerate() {
        to.iter_mut().zip(&pixels[place(at, extents)..]).for_each(|(to, &from)| *to = map(from));
    }
}

/// Pictures `[n, side, side, channels]` from their patches: the inverse of [`cut_patches`].
pub(crate) fn join_patches(patches: &[f32], extents: [usize; 3]) -> Vec<f32> {
    let [_, channels, patch] = extents;
    let mut pixels = vec![0.0; patches.len()];
    for (at, from) in patches.chunks_exact(patch * channels).enumerate() {
        pixels[place(at, extents)..][..from.len()].copy_from_slice(from);
    }
    pixels
}

/// Where the row of a patch begins in the pictures; rows count over all patches.
fn place(at: usize, [side, channels, patch]: [usize; 3]) -> usize {
    let grid = side / patch;
    // The number of the row within the patch, and the patch's column and line. Lines of patches follow one
    // another from picture to picture.
    let (inner, column, line) = (at % patch, at / patch % grid, at / (patch * grid));
    (line * patch + inner) * side * channels + column * patch * channels
}
