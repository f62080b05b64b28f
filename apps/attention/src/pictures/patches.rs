//! Pictures as square patches, and back: the tokens of vision transformers (Dosovitskiy et al. 2021).

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
