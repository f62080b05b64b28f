//! Pictures that are moved, turned and sheared.

/// The value of pixels outside a picture.
const OUTSIDE: f32 = 0.5;

/// Takes each pixel of `[height, width, channels]` from another place, between pixels linearly. `map` has a
/// line for the row of that place and one for its column: a factor of the pixel's row, one of its column, and
/// a shift. Rows and columns are counted from the middle, in parts of the size.
pub fn resample(pixels: &mut [f32], [height, width, channels]: [usize; 3], map: [[f32; 3]; 2]) {
    let before = pixels.to_vec();
    let sizes = [height, width].map(|size| size as f32);
    let pixel = |row: f32, column: f32| {
        let inside = row >= 0.0 && column >= 0.0 && row < sizes[0] && column < sizes[1];
        inside.then(|| &before[(row as usize * width + column as usize) * channels..][..channels])
    };
    for (i, to) in pixels.chunks_exact_mut(channels).enumerate() {
        let place = [i / width, i % width];
        let [y, x] = [0, 1].map(|axis| (place[axis] as f32 + 0.5) / sizes[axis] - 0.5);
        let [row, column] = [0, 1].map(|axis| {
            let [a, b, shift] = map[axis];
            (a * y + b * x + shift + 0.5) * sizes[axis] - 0.5
        });
        let (top, left) = (row.floor(), column.floor());
        let (down, right) = (row - top, column - left);
        let corners = [
            (top, left, (1.0 - down) * (1.0 - right)),
            (top, left + 1.0, (1.0 - down) * right),
            (top + 1.0, left, down * (1.0 - right)),
            (top + 1.0, left + 1.0, down * right),
        ];
        to.fill(0.0);
        for (row, column, weight) in corners {
            let from = pixel(row, column);
            (0..channels).for_each(|c| to[c] += weight * from.map_or(OUTSIDE, |from| from[c]));
        }
    }
}
