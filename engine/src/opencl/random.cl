// Draws of a random stream: ChaCha with eight rounds (Bernstein 2008). The words are those of the host.

#define QUARTER(a, b, c, d) \
    x[a] += x[b]; x[d] = rotate(x[d] ^ x[a], 16u); \
    x[c] += x[d]; x[b] = rotate(x[b] ^ x[c], 12u); \
    x[a] += x[b]; x[d] = rotate(x[d] ^ x[a], 8u); \
    x[c] += x[d]; x[b] = rotate(x[b] ^ x[c], 7u)

// The sixteen words of block `number`.
static void block_of(ulong4 key, ulong stream, ulong number, uint *x) {
    const ulong halves[8] = {
        0x3320646e61707865, 0x6b20657479622d32, key.x, key.y, key.z, key.w, number, stream
    };
    for (int i = 0; i < 16; i++) x[i] = (uint)(halves[i / 2] >> i % 2 * 32);
    for (int round_ = 0; round_ < 8; round_ += 2) {
        QUARTER(0, 4, 8, 12); QUARTER(1, 5, 9, 13); QUARTER(2, 6, 10, 14); QUARTER(3, 7, 11, 15);
        QUARTER(0, 5, 10, 15); QUARTER(1, 6, 11, 12); QUARTER(2, 7, 8, 13); QUARTER(3, 4, 9, 14);
    }
    for (int i = 0; i < 16; i++) x[i] += (uint)(halves[i / 2] >> i % 2 * 32);
}

// Numbers of dropout. One is 0 where its draw, an integer of 53 bits, is less than `below`, else `kept`. A draw
// takes two words. The first draw starts at word `word` of block `number`.
#define DROPOUT ulong number, ulong word, ulong stream, ulong4 key, ulong below, wide kept

// A work-item writes the numbers whose first word is in its block.
__kernel void dropout(DROPOUT, ulong n, __global elem *mask) {
    const ulong k = get_global_id(0);
    uint x[32];
    block_of(key, stream, number + k, x);
    if (word % 2 == 1) block_of(key, stream, number + k + 1, x + 16);
    for (ulong w = word % 2; w < 16; w += 2) {
        const ulong i = (16 * k + w - word) / 2;
        if (16 * k + w < word || i >= n) continue;
        const ulong draw = (ulong)x[w + 1] << 32 | x[w];
        mask[i] = draw >> 11 < below ? 0 : (elem)kept;
    }
}

// Multiplies elements by the numbers of dropout; if they are scores of `keys`, lowers those of dropped keys to
// -infinity. The numbers are of rows of m, the elements are columns from j0 on. A work-item changes eight
// neighbours of a row: their draws lie in two blocks.
__kernel void drop_tile(
    DROPOUT, ulong keys, ulong rows, ulong columns, ulong m, ulong j0, __global elem *tile
) {
    const ulong parts = (columns + 7) / 8;
    const ulong r = get_global_id(0) / parts, c0 = get_global_id(0) % parts * 8;
    if (r >= rows) return;
    const ulong first = word + 2 * (r * m + j0 + c0);
    uint x[32];
    block_of(key, stream, number + first / 16, x);
    block_of(key, stream, number + first / 16 + 1, x + 16);
    for (ulong c = c0; c < columns && c < c0 + 8; c++) {
        const ulong w = first % 16 + 2 * (c - c0);
        const ulong draw = (ulong)x[w + 1] << 32 | x[w];
        const int dropped = draw >> 11 < below;
        __global elem *element = tile + r * columns + c;
        if (!keys) *element *= dropped ? 0 : (elem)kept;
        else if (dropped) *element = -INFINITY;
    }
}
