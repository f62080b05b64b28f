//! The colours of pixels from 0 to 1.

/// Height, width and channels of a picture.
pub(super) type Extents = [usize; 3];

/// `from`, and this factor times the way from there to x.
pub(super) fn blend(x: f32, from: f32, factor: f32) -> f32 {
    (from + factor * (x - from)).clamp(0.0, 1.0)
}

/// Makes a picture darker or brighter.
pub(super) fn brighten(pixels: &mut [f32], factor: f32) {
    pixels.iter_mut().for_each(|x| *x = blend(*x, 0.0, factor));
}

/// Brings pixels nearer to the mean brightness, or farther from it.
pub(super) fn contrast(pixels: &mut [f32], channels: usize, factor: f32) {
    let greys = pixels.chunks_exact(channels).map(grey);
    let mean = greys.sum::<f32>() * channels as f32 / pixels.len() as f32;
    pixels.iter_mut().for_each(|x| *x = blend(*x, mean, factor));
}

/// Brings colours nearer to grey, or farther from it.
pub(super) fn saturate(pixels: &mut [f32], channels: usize, factor: f32) {
    for pixel in pixels.chunks_exact_mut(channels).filter(|pixel| pixel.len() > 1) {
        let grey = grey(pixel);
        pixel.iter_mut().for_each(|x| *x = blend(*x, grey, factor));
    }
}

/// The brightness of a pixel (ITU-R BT.601).
fn grey(pixel: &[f32]) -> f32 {
    match *pixel {
        [red, green, blue] => 0.299 * red + 0.587 * green + 0.114 * blue,
        _ => pixel[0],
    }
}
