// Sums and other reductions over the output positions that read the same operand position. TERM is a term,
// COMBINE combines two, FINISH computes the result from their combination.

// Lines: result j combines the `terms` positions from j * terms on. They are split into blocks as on the host
// (line.rs). Each block is computed as a row of the team.
__kernel TOGETHER void lines(
    ulong n, ulong blocks, ulong terms, ARGUMENTS __global const IN *x, __global OUT *out
) {
    SHARED wide team[ROWS * LANES];
    const ulong q = FIRST + PLACE, j = q % n;
    LEAVE(FIRST >= n * blocks);
    const ulong begin = j * terms + q / n * BLOCK, last = min(begin + BLOCK, (j + 1) * terms);
    const ulong end = q < n * blocks ? last : begin;
    wide own[OWN], l[LANES];
    IN_SETS(own, START, COMBINE, begin, end, TERM(x[p]))
    gather(own, team, l);
    for (int half_ = LANES / 2; half_ > 0; half_ /= 2)
        for (int i = 0; i < half_; i++) l[i] = COMBINE(l[i], l[half_ + i]);
    if (ITEM > 0 || q >= n * blocks) return;
    if (blocks == 1)
        out[j] = FINISH(l[0]);
    else
        ((__global wide *)out)[q] = l[0];
}

// Terms that are not neighbours: then the terms of neighbouring results are, and a work-item takes the terms
// of one result that belong to one chunk, in order. The operand has `read.y` = blocks * inner positions of
// `width` elements. In each cycle over the operand, a position is read hold * repeat times.
__kernel void fold(
    ulong n, ulong chunks, ulong terms, ulong width, ulong4 read, ARGUMENTS
    __global const IN *x, __global OUT *out
) {
    const ulong gid = get_global_id(0);
    if (gid >= n * chunks) return;
    const ulong j = gid % n, chunk = gid / n;
    const ulong repeat = read.x, inner = read.z, hold = read.w, blocks = read.y / inner;
    const ulong position = j / width, o = position / inner, i = position % inner;
    wide sum = START;
    for (ulong t = chunk; t < terms; t += chunks) {
        const ulong r = t % repeat, h = t / repeat % hold, c = t / (repeat * hold);
        const ulong p = (((c * blocks + o) * hold + h) * inner + i) * repeat + r;
        sum = COMBINE(sum, TERM(x[p * width + j % width]));
    }
    if (chunks == 1)
        out[j] = FINISH(sum);
    else
        ((__global wide *)out)[gid] = sum;
}

// Combines the chunks of a result: those of a piece in order, then the pieces in order.
__kernel void finish(
    ulong n, ulong chunks, ulong piece, ulong terms, ARGUMENTS __global const wide *x, __global OUT *out
) {
    const ulong j = get_global_id(0);
    if (j >= n) return;
    wide all = START;
    for (ulong first = 0; first < chunks; first += piece) {
        wide sum = START;
        for (ulong c = first; c < first + piece && c < chunks; c++) sum = COMBINE(sum, x[c * n + j]);
        all = COMBINE(all, sum);
    }
    out[j] = FINISH(all);
}
