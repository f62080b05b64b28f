// Sparse matrices: for each row (or column), a list of its elements and of their columns (or rows).

// For each row i of [heads, width], the sum over its elements: of w other where `own` is null, of
// 2 w (own - other) where it is not, of w where both are null. `other` is row numbers[k] of `others`.
__kernel void products(
    ulong n, ulong heads, ulong width, __global const uint *starts, __global const uint *elements,
    __global const uint *numbers, __global const elem *w, __global const elem *others,
    __global const elem *own, __global elem *out
) {
    const ulong p = get_global_id(0);
    if (p >= n) return;
    const ulong i = p / (heads * width), at = p % (heads * width), h = at / width;
    elem sum = 0;
    for (uint k = starts[i]; k < starts[i + 1]; k++) {
        const elem weight = w[elements[k] * heads + h];
        const ulong from = numbers[k] * heads * width + at;
        if (own) sum += (weight + weight) * (own[p] - others[from]);
        else sum += others ? weight * others[from] : weight;
    }
    out[p] = sum;
}

// For each element and head, the inner product of its rows, or if `squared` their squared distance.
__kernel void sampled(
    ulong n, ulong heads, ulong width, ulong squared, __global const uint *rows, __global const uint *columns,
    __global const elem *x, __global const elem *y, __global elem *out
) {
    const ulong p = get_global_id(0);
    if (p >= n) return;
    const ulong e = p / heads, h = p % heads;
    x += (rows[e] * heads + h) * width;
    y += (columns[e] * heads + h) * width;
    wide sum = 0;
    for (ulong c = 0; c < width; c++) {
        const elem d = x[c] - y[c], product = squared ? d * d : x[c] * y[c];
        sum += product;
    }
    out[p] = sum;
}

// One work-item for each row of the matrix and head.
__kernel void segment_softmax(
    ulong n, ulong heads, __global const uint *starts, __global const elem *x, __global elem *out
) {
    const ulong p = get_global_id(0);
    if (p >= n) return;
    const ulong h = p % heads, first = starts[p / heads], last = starts[p / heads + 1];
    real largest = -INFINITY;
    for (ulong e = first; e < last; e++) {
        const real score = x[e * heads + h];
        if (score > largest || isnan(score)) largest = score;
    }
    wide sum = 0;
    for (ulong e = first; e < last; e++) {
        // Scores that are all -infinity have weight 0.
        const elem y = largest == -INFINITY ? 0 : exp(x[e * heads + h] - largest);
        out[e * heads + h] = y;
        sum += y;
    }
    for (ulong e = first; sum != 0 && e < last; e++) out[e * heads + h] = out[e * heads + h] / sum;
}

__kernel void segment_softmax_gradient(
    ulong n, ulong heads, __global const uint *starts, __global const elem *y, __global const elem *g,
    __global elem *dx
) {
    const ulong p = get_global_id(0);
    if (p >= n) return;
    const ulong h = p % heads, first = starts[p / heads], last = starts[p / heads + 1];
    wide dot = 0;
    for (ulong e = first; e < last; e++) dot += (wide)y[e * heads + h] * (wide)g[e * heads + h];
    for (ulong e = first; e < last; e++)
        dx[e * heads + h] = (wide)y[e * heads + h] * ((wide)g[e * heads + h] - dot);
}
