// Squared distances of all left rows to the right rows [j0, j0 + columns), for each entry of a batch.
// x: [batch, n, width]; y: [batch, m, width]; s, w: [batch, n, columns].

__kernel void squares(
    ulong count, ulong n, ulong columns, ulong m, ulong j0, ulong width, __global const elem *x,
    __global const elem *y, __global elem *s
) {
    const ulong p = get_global_id(0);
    if (p >= count) return;
    const ulong row = p / columns;
    x += row * width;
    y += (row / n * m + j0 + p % columns) * width;
    elem sum = 0;
    for (ulong c = 0; c < width; c++) {
        const elem d = x[c] - y[c];
        sum = fma(d, d, sum);
    }
    s[p] = sum;
}

// The gradient of the left or of the right rows of a tile: sums of 2 w (row - other) over the others, in
// order. at_rows is (rows of an entry in memory, number of the tile's first), then the same for the others;
// steps are those of a row and of another row in w.
__kernel void squares_gradient(
    ulong count, ulong rows, ulong others, ulong width, ulong4 at_rows, ulong4 steps, __global const elem *w,
    __global const elem *x, __global const elem *y, __global elem *dx, ulong accumulate
) {
    const ulong p = get_global_id(0);
    if (p >= count) return;
    const ulong c = p % width, i = p / width % rows, batch = p / width / rows;
    const ulong at_x = (batch * at_rows.x + at_rows.y + i) * width + c;
    const ulong at_y = (batch * at_rows.z + at_rows.w) * width + c;
    w += batch * rows * others + i * steps.x;
    elem sum = accumulate ? dx[at_x] : 0;
    for (ulong j = 0; j < others; j++) {
        const elem twice = w[j * steps.y] + w[j * steps.y];
        sum = sum + twice * (x[at_x] - y[at_y + j * width]);
    }
    dx[at_x] = sum;
}
