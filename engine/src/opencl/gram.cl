// Row formulas: V vectors, P parameters, B basis vectors, I invariants, O outputs. A row position is one work-item's.
// Printed for each formula: OPERANDS and their loading, the basis at a coordinate, the survey of the invariants.

#ifdef FORWARD
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
#ifdef BALL
    Compensated squares = {{0}, {0}};
#endif
    for (ulong c0 = 0; c0 < width; c0 += LANES)
        for (int l = 0; l < LANES; l++) {
            const ulong c = c0 + l;
            if (c >= width) break;
            double b[B], y = 0;
            basis(x, c, width, b);
            for (int o = 0; o < O; o++) y = y + coefficients[o] * b[o];
            row[c] = (elem)y;
#ifdef BALL
            add_product(&squares, l, (double)(elem)y, (double)(elem)y);
#endif
        }
#ifdef BALL
    double error;
    const double sum = total(&squares, &error);
    if (!(margin_of_sum(sum, error, params[0]) > 0)) settle_ball(row, width, params[0]);
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
