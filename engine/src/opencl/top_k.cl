// The positions of the k largest elements of each row, in descending order. Each pass over the row finds
// the first, in this order, of those that come after the last one found.

// Whether x[i] comes before x[j]. NaN comes first; equal elements are in the order of their positions.
static int precedes(__global const elem *x, ulong i, ulong j) {
    if (isnan(x[i]) != isnan(x[j])) return isnan(x[i]);
    return x[i] > x[j] || (!(x[i] < x[j]) && i < j);
}

__kernel TOGETHER void top_k(
    ulong rows, ulong width, ulong k, __global const elem *x, __global uint *columns
) {
    SHARED ulong team[TEAM];
    LEAVE(FIRST >= rows);
    const int here = FIRST + PLACE < rows;
    const ulong r = here ? FIRST + PLACE : rows - 1;
    x += r * width;
    // A position that equals the width stands for none.
    ulong before = width;
    for (ulong t = 0; t < k; t++) {
        ulong best = width;
        for (ulong c = ITEM; c < width; c += ITEMS)
            if ((before == width || precedes(x, before, c)) && (best == width || precedes(x, c, best)))
                best = c;
        MEET;
        team[MEMBER] = best;
        MEET;
        for (int i = 0; i < ITEMS; i++) {
            const ulong other = team[PLACE * ITEMS + i];
            if (other < width && (best == width || precedes(x, other, best))) best = other;
        }
        if (here && ITEM == 0) columns[r * k + t] = best;
        before = best;
    }
}
