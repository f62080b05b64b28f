// A pair formula over pairings s, [batch, n, columns], of n left rows and the right rows [j0, j0 + columns)
// of m. OPERANDS are numbers of the left rows, of the right rows, and parameters. LOAD fills the formula's
// arguments.

#ifdef FORWARD
// Replaces pairings by scores. If `causal`, those of row i with right rows beyond i + m - n are -infinity.
__kernel void score(
    ulong count, ulong n, ulong columns, ulong m, ulong j0, ulong causal, __global elem *s, OPERANDS
) {
    const ulong p = get_global_id(0);
    if (p >= count) return;
    const ulong row = p / columns, column = row / n * m + j0 + p % columns;
    real in[ARGUMENTS], out[1];
    in[0] = s[p];
    LOAD(in, row, column);
    value(in, out);
    s[p] = causal && j0 + p % columns + n > row % n + m ? -INFINITY : out[0];
}
#else
// Replaces the gradients w of the scores by those of the pairings. The gradients of the other arguments are
// written to GRADS, for each pair, where that is not null.
__kernel void slope(
    ulong count, ulong n, ulong columns, ulong m, ulong j0, __global const elem *s, __global elem *w,
    OPERANDS GRADS
) {
    const ulong p = get_global_id(0);
    if (p >= count) return;
    const ulong row = p / columns, column = row / n * m + j0 + p % columns;
    real in[ARGUMENTS], out[ARGUMENTS];
    in[0] = s[p];
    LOAD(in, row, column);
    slopes(in, out);
    const real g = w[p];
    w[p] = g * out[0];
    STORE(g, out, p);
}
#endif
