// Operations along the axis n of [outer, n, inner]. The sums themselves are in fold.cl.

// The line of element p.
static ulong line_of(ulong p, ulong n, ulong inner) { return p / (n * inner) * inner + p % inner; }

// Element p of line q.
#define ELEMENT(count) \
    const ulong p = get_global_id(0); \
    if (p >= count) return; \
    const ulong q = line_of(p, n, inner)

__kernel void sum_gradient(
    ulong count, ulong n, ulong inner, __global const elem *g, wide scale, __global elem *dx
) {
    ELEMENT(count);
    dx[p] = g[q] * (elem)scale;
}

// Softmax times the upstream cotangent; 0 where the whole line is -infinity.
__kernel void logsumexp_gradient(
    ulong count, ulong n, ulong inner, __global const elem *g, __global const elem *x, __global const elem *y,
    __global elem *dx
) {
    ELEMENT(count);
    dx[p] = g[q] * (y[q] == -INFINITY ? 0 : exp(x[p] - y[q]));
}

__kernel void norm_gradient(
    ulong count, ulong n, ulong inner, __global const elem *g, __global const elem *x, __global const elem *y,
    __global elem *dx
) {
    ELEMENT(count);
    // Where the norm is 0, so is the gradient; where it is not finite, the gradient is NaN.
    dx[p] = y[q] > 0 && isfinite(y[q]) ? g[q] * (x[p] / y[q]) : y[q] - y[q];
}

// Norms y whose squares have left the range, below `least` or infinite, are computed again in units of a power
// of two near the largest magnitude of the line.
__kernel void scaled_norm(
    ulong lines, ulong n, ulong inner, wide least, __global const elem *x, __global elem *y
) {
    const ulong q = get_global_id(0);
    if (q >= lines || !(y[q] < least || y[q] == INFINITY)) return;
    const ulong first = q / inner * n * inner + q % inner;
    wide largest = 0, sum = 0;
    for (ulong j = 0; j < n; j++) largest = fmax(largest, fabs((wide)x[first + j * inner]));
    if (largest == 0 || isinf(largest)) return;
    const wide unit = ldexp((wide)1, ilogb(largest));
    for (ulong j = 0; j < n; j++) {
        const wide scaled = x[first + j * inner] / unit;
        sum = sum + scaled * scaled;
    }
    y[q] = (elem)(sqrt(sum) * unit);
}

// The gradient of a line goes to its first maximum. For a line with NaN in it, every element gets NaN.
__kernel void max_gradient(
    ulong count, ulong n, ulong inner, __global const elem *g, __global const elem *x, __global const elem *y,
    __global elem *dx
) {
    ELEMENT(count);
    int first = x[p] == y[q];
    for (ulong before = p; first && before % (n * inner) >= inner; ) {
        before -= inner;
        first = x[before] != y[q];
    }
    dx[p] = isnan(y[q]) ? y[q] : first ? g[q] : 0;
}

__kernel void softmax(
    ulong count, ulong n, ulong inner, __global const elem *x, __global const elem *m, __global const elem *s,
    __global elem *y
) {
    ELEMENT(count);
    // A line of -infinity is an empty set.
    y[p] = m[q] == -INFINITY ? 0 : exp(x[p] - m[q]) * s[q];
}

__kernel void log_softmax(
    ulong count, ulong n, ulong inner, __global const elem *x, __global const elem *m, __global const elem *s,
    __global elem *y
) {
    ELEMENT(count);
    y[p] = m[q] == -INFINITY ? x[p] : x[p] - m[q] - s[q];
}

// s: the inner product of y and g for each line.
__kernel void softmax_gradient(
    ulong count, ulong n, ulong inner, __global const elem *y, __global const elem *g, __global const elem *s,
    __global elem *dx
) {
    ELEMENT(count);
    dx[p] = y[p] * (g[p] - s[q]);
}

// s: the sum of g for each line.
__kernel void log_softmax_gradient(
    ulong count, ulong n, ulong inner, __global const elem *y, __global const elem *g, __global const elem *s,
    __global elem *dx
) {
    ELEMENT(count);
    dx[p] = g[p] - exp(y[p]) * s[q];
}
