// Sums over the output positions that read the same operand position: each work-item takes some of them, in order.
// The operand has `lens.x` = blocks · inner positions of `width` elements; each is read hold · repeat times in each of
// some cycles. TERM is what is summed, FINISH makes the result of it.

__kernel void fold(
    ulong n, ulong chunks, ulong terms, ulong width, ulong4 read, ARGUMENTS
    __global const IN *x, __global OUT *out
) {
    const ulong gid = get_global_id(0);
    if (gid >= n * chunks) return;
    const ulong j = gid % n, chunk = gid / n;
    const ulong repeat = read.x, inner = read.z, hold = read.w, blocks = read.y / inner;
    const ulong position = j / width, o = position / inner, i = position % inner;
    double sum = START;
    for (ulong t = chunk; t < terms; t += chunks) {
        const ulong r = t % repeat, h = t / repeat % hold, c = t / (repeat * hold);
        const ulong p = (((c * blocks + o) * hold + h) * inner + i) * repeat + r;
        sum = COMBINE(sum, TERM(x[p * width + j % width]));
    }
    if (chunks == 1)
        out[j] = FINISH(sum);
    else
        ((__global double *)out)[gid] = sum;
}

// The sums of the chunks, in order.
__kernel void finish(ulong n, ulong chunks, ulong terms, ARGUMENTS __global const double *x, __global OUT *out) {
    const ulong j = get_global_id(0);
    if (j >= n) return;
    double sum = START;
    for (ulong c = 0; c < chunks; c++) sum = COMBINE(sum, x[c * n + j]);
    out[j] = FINISH(sum);
}
