// Elementwise formulas of K operands. OPERANDS declares for each the memory, a number that is used if the
// memory is null, and how it is read. LOAD reads all at an output position.

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
// The gradients of the operands at each output position. GRADS declares memory for each operand, or null;
// STORE writes them.
__kernel void backward(ulong n, __global const elem *g, OPERANDS, GRADS) {
    const ulong p = get_global_id(0);
    if (p >= n) return;
    real in[K], slope[K];
    LOAD(in, p);
    slopes(in, slope);
    STORE(slope, g[p], p);
}
#endif
