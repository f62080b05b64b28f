// How an operand is read over the output position p; read = (repeat, len, inner, hold).
static ulong at(ulong4 read, ulong p) {
    if (read.y == 1) return 0;
    ulong q = read.x == 1 ? p : p / read.x;
    if (read.w > 1) q = q / (read.z * read.w) * read.z + q % read.z;
    return q < read.y ? q : q % read.y;
}
