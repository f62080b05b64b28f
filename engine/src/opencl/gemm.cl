// C = S + A B, or A B if there is no S, for a batch of matrices. A work-group computes a tile of 64 by 64
// elements of C, each work-item 4 by 4 of them. A and B are read through local memory. sa, sb and ss are
// (offset, batch stride, row stride, column stride); C is row-major. S may be C itself.

#define TILE 64
#define DEPTH 16
#define SIDE 16
#define MINE 4

__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1)))
void gemm(
    ulong m, ulong k, ulong n, __global const elem *a, ulong4 sa, __global const elem *b, ulong4 sb,
    __global elem *c, ulong offset_c, ulong batch_c, __global const elem *s, ulong4 ss
) {
    __local elem tile_a[DEPTH][TILE + 1], tile_b[DEPTH][TILE + 1];
    const int x = get_local_id(0), y = get_local_id(1), item = y * SIDE + x;
    const ulong batch = get_group_id(2), row0 = get_group_id(1) * TILE, column0 = get_group_id(0) * TILE;
    a += sa.x + batch * sa.y;
    b += sb.x + batch * sb.y;
    c += offset_c + batch * batch_c;
    elem sum[MINE][MINE] = {{0}};
    for (ulong p0 = 0; p0 < k; p0 += DEPTH) {
        for (int i = item; i < TILE * DEPTH; i += SIDE * SIDE) {
            // Neighbouring work-items read along the contiguous axis.
            const int ra = sa.w == 1 ? i / DEPTH : i % TILE, pa = sa.w == 1 ? i % DEPTH : i / TILE;
            const ulong r = row0 + ra, p = p0 + pa;
            tile_a[pa][ra] = r < m && p < k ? a[r * sa.z + p * sa.w] : 0;
            const int cb = sb.w == 1 ? i % TILE : i / DEPTH, pb = sb.w == 1 ? i / TILE : i % DEPTH;
            const ulong column = column0 + cb, q = p0 + pb;
            tile_b[pb][cb] = column < n && q < k ? b[q * sb.z + column * sb.w] : 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int p = 0; p < DEPTH; p++)
            for (int i = 0; i < MINE; i++)
                for (int j = 0; j < MINE; j++)
                    sum[i][j] = fma(tile_a[p][y + i * SIDE], tile_b[p][x + j * SIDE], sum[i][j]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < MINE; i++)
        for (int j = 0; j < MINE; j++) {
            const ulong r = row0 + y + i * SIDE, column = column0 + x + j * SIDE;
            if (r < m && column < n) {
                __global elem *target = c + r * n + column;
                const ulong from = ss.x + batch * ss.y + r * ss.z + column * ss.w;
                *target = s ? s[from] + sum[i][j] : sum[i][j];
            }
        }
}
