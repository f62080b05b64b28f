// Sums over the output positions that read the same operand position, or other reductions: TERM is what is combined,
// FINISH makes the result of it.

// Result j is of the line of `terms` positions from j * terms on, in blocks, as the host has it (line.rs); a block is a
// row.
__kernel TOGETHER void lines(
    ulong n, ulong blocks, ulong terms, ARGUMENTS __global const IN *x, __global OUT *out
) {
    SHARED wide team[ROWS * LANES];
    const ulong q = FIRST + PLACE, j = q % n;
    LEAVE(FIRST >= n * blocks);
    const ulong begin = j * terms + q / n * BLOCK, to = min(begin + BLOCK, (j + 1) * terms);
    const ulong end = q < n * blocks ? to : begin;
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

// Where the positions of a result do not lie side by side those of neighbouring results do: each work-item takes some of
// one result's, in order. The operand has `read.y` = blocks * inner positions of `width` elements; each is read
// hold * repeat times in each of some cycles.
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

// The results of the chunks, in order: in pieces, that are combined in order themselves.
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
