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
    // Where the norm is 0 or NaN, so is the gradient.
    dx[p] = y[q] > 0 ? g[q] * (x[p] / y[q]) : y[q];
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
