// Selecting, moving and adding elements.

__kernel void fill(ulong n, __global elem *x) {
    const ulong i = get_global_id(0);
    if (i < n) x[i] = 0;
}

__kernel void add(ulong n, __global elem *sum, __global const elem *g) {
    const ulong i = get_global_id(0);
    if (i < n) sum[i] += g[i];
}

// Adds the entries of segment t to row targets[t] of the table, in order. Rows from number `fresh` on are
// overwritten.
__kernel void segments(
    ulong n, ulong width, ulong fresh, __global const uint *targets, __global const uint *offsets,
    __global const uint *entries, __global const elem *g, __global elem *table
) {
    const ulong gid = get_global_id(0);
    if (gid >= n) return;
    const ulong t = gid / width, c = gid % width, row = targets[t];
    uint k = offsets[t];
    const uint end = offsets[t + 1];
    elem sum = row < fresh ? table[row * width + c] : g[entries[k++] * width + c];
    for (; k < end; k++) sum += g[entries[k] * width + c];
    table[row * width + c] = sum;
}

__kernel void gather(
    ulong n, ulong width, __global const uint *rows, __global const elem *x, __global elem *out
) {
    const ulong i = get_global_id(0);
    if (i < n) out[i] = x[rows[i / width] * width + i % width];
}

// From each run of `whole` elements of x, the `take` elements from `start` on.
__kernel void slice(
    ulong n, ulong take, ulong whole, ulong start, __global const elem *x, __global elem *part
) {
    const ulong i = get_global_id(0);
    if (i < n) part[i] = x[i / take * whole + start + i % take];
}

// The reverse: writes the parts into the runs.
__kernel void paste(
    ulong n, ulong take, ulong whole, ulong start, __global const elem *part, __global elem *x
) {
    const ulong i = get_global_id(0);
    if (i < n) x[i / take * whole + start + i % take] = part[i];
}

// The gradient of a slice: the parts within the runs, and zeros beside them.
__kernel void unslice(
    ulong n, ulong take, ulong whole, ulong start, __global const elem *part, __global elem *x
) {
    const ulong i = get_global_id(0);
    if (i >= n) return;
    const ulong at = i % whole;
    x[i] = at >= start && at - start < take ? part[i / whole * take + at - start] : 0;
}

__kernel void take_along(
    ulong n, ulong take, ulong width, __global const uint *columns, __global const elem *x, __global elem *out
) {
    const ulong i = get_global_id(0);
    if (i < n) out[i] = x[i / take * width + columns[i]];
}

// One work-item for each row, because a position may be taken more than once.
__kernel void take_along_gradient(
    ulong rows, ulong take, ulong width, __global const uint *columns, __global const elem *g,
    __global elem *dx
) {
    const ulong r = get_global_id(0);
    if (r >= rows) return;
    for (ulong c = 0; c < width; c++) dx[r * width + c] = 0;
    for (ulong k = r * take; k < (r + 1) * take; k++) dx[r * width + columns[k]] += g[k];
}

// For each axis of the result, outermost first: its extent, and its step in x.
__kernel void permute(
    ulong n, ulong axes, __global const ulong *extents, __global const ulong *steps, __global const elem *x,
    __global elem *out
) {
    const ulong i = get_global_id(0);
    if (i >= n) return;
    ulong outer = i, from = 0;
    for (ulong a = axes; a-- > 0;) {
        from += outer % extents[a] * steps[a];
        outer /= extents[a];
    }
    out[i] = x[from];
}
