// Elements copied from place to place.

__kernel void copy(ulong n, __global const elem *x, __global elem *out) {
    const ulong i = get_global_id(0);
    if (i < n) out[i] = x[i];
}

// Columns from `start` on of rows of a table: row targets[t] gets values entries[t]. Without lists, all rows
// in order.
__kernel void set_rows(
    ulong n, ulong own, ulong width, ulong start, __global const uint *targets, __global const uint *entries,
    __global const elem *values, __global elem *table
) {
    const ulong i = get_global_id(0);
    if (i >= n) return;
    const ulong t = i / own, c = i % own, row = targets ? targets[t] : t, entry = targets ? entries[t] : t;
    table[row * width + start + c] = values[entry * own + c];
}
