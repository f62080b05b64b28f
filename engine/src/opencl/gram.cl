// Row formulas: V vectors, P parameters, B basis vectors, I invariants, O outputs. A row position is one work-item's.
// Printed for each formula: OPERANDS and their loading, the basis at a coordinate, the survey of the invariants.

#ifdef FORWARD
#ifdef VECTOR
static void combine(
    __global const elem *const *x, const double *coefficients, ulong width, __global elem *row
) {
    for (ulong c = 0; c < width; c++) {
        double b[B], y = 0;
        basis(x, c, width, b);
        for (int o = 0; o < O; o++) y = y + coefficients[o] * b[o];
        row[c] = (elem)y;
    }
}
#endif

__kernel void forward(ulong n, ulong width, __global elem *out, OPERANDS) {
    const ulong p = get_global_id(0);
    if (p >= n) return;
    LOAD(p);
    double values[I], products[4 * I], upstream[O], coefficients[O];
    survey(x, params, width, 0, values, products, upstream);
    value(values, coefficients);
#ifndef VECTOR
    out[p] = (elem)coefficients[0];
#else
    __global elem *row = out + p * width;
    combine(x, coefficients, width, row);
#ifdef BALL
    if (params[0] >= 0 || margin(row, width, params[0]) > 0) return;
    // The least margin that survives rounding depends on the coordinates; the smallest is tried first.
    for (double gap = EPSILON / 2;; gap *= 2) {
        scale_to(row, width, sqrt((1 - gap) / -params[0]));
        if (!(margin(row, width, params[0]) <= 0)) return;
        combine(x, coefficients, width, row);
    }
#else
    SETTLE(row, width, params[0]);
#endif
#endif
}
#else
// What each row position gives to its vectors and parameters: GRADS declares places, or null.
__kernel void backward(ulong n, ulong width, __global const elem *g, OPERANDS, GRADS) {
    const ulong p = get_global_id(0);
    if (p >= n) return;
    LOAD(p);
    double in[5 * I + O + 4], out[OUTPUTS];
    survey(x, params, width, g + p * G_WIDTH(width), in, in + I, in + 5 * I);
    for (int q = 0; q < 4; q++) in[5 * I + O + q] = q < P ? params[q] : 0;
    shares(in, out);
    STORE_PARAMS(p);
    STORE_VECTORS(p);
}
#endif
