// Elementwise formulas of K operands. OPERANDS declares them: memory or, where that is null, a number, and how each is
// read; LOAD reads them at an output position.

#ifdef FORWARD
__kernel void forward(ulong n, __global elem *out, OPERANDS) {
    const ulong p = get_global_id(0);
    if (p >= n) return;
    real in[K], y[1];
    LOAD(in, p);
    value(in, y);
    out[p] = y[0];
}
#else
// What each output position gives to its operands: GRADS declares a place for each operand, or null; STORE writes.
__kernel void backward(ulong n, __global const elem *g, OPERANDS, GRADS) {
    const ulong p = get_global_id(0);
    if (p >= n) return;
    real in[K], slope[K];
    LOAD(in, p);
    slopes(in, slope);
    STORE(slope, g[p], p);
}
#endif
