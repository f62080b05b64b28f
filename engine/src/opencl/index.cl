// Elements taken by number, moved, and summed back.

__kernel void fill(ulong n, __global elem *x) {
    const ulong i = get_global_id(0);
    if (i < n) x[i] = 0;
}

__kernel void copy(ulong n, __global const elem *x, __global elem *out) {
    const ulong i = get_global_id(0);
    if (i < n) out[i] = x[i];
}

__kernel void add(ulong n, __global elem *sum, __global const elem *g) {
    const ulong i = get_global_id(0);
    if (i < n) sum[i] += g[i];
}

// Row targets[t] of the table gets the entries of segment t, in order: added to what it holds, or, from target number
// `fresh` on, to nothing.
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
