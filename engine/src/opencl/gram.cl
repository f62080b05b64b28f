// Row formulas: V vectors, P parameters, B basis vectors, I invariants, O outputs. The first members of a team evaluate
// the formula, each for a row: its INPUTS and OUTPUTS are in the `numbers` of the rows.
// Printed for each formula: OPERANDS and their loading, the basis at a coordinate, the survey of the invariants.

// A work-item beyond the last row does as that one's, and writes nothing.
#define ROW(n) \
    LEAVE(FIRST >= n); \
    const int here = FIRST + PLACE < n; \
    const ulong p = here ? FIRST + PLACE : n - 1; \
    LOAD(p)

#ifdef FORWARD
#ifdef VECTOR
// The linear combination, and the sum of its squares.
INLINE Compensated combine(
    __global const elem *const *x, SHARED const scalar *coefficients, ulong width, int here, __global elem *row
) {
    Compensated squares = {ZEROS, ZEROS};
    for (ulong c0 = 0; here && c0 < width; c0 += LANES)
        for (int l = 0; l < OWN; l++) {
            const ulong c = c0 + LANE(l);
            if (c >= width) break;
            scalar b[B], y = ZERO;
            basis(x, c, width, b);
            for (int o = 0; o < O; o++) y = add(y, mul(coefficients[o * ROWS], b[o]));
            row[c] = (elem)rounded(y);
            add_product(&squares, l, scalar_of(row[c]), scalar_of(row[c]));
        }
    return squares;
}
#endif

__kernel TOGETHER void forward(ulong n, ulong width, __global elem *out, OPERANDS) {
    SHARED scalar team[ROWS * LANES], numbers[ROWS * NUMBERS];
    ROW(n);
    survey(x, params, width, 0, team, numbers + PLACE);
    MEET;
    if (MEMBER < ROWS) {
        scalar in[INPUTS], coefficients[OUTPUTS];
        TAKE(in, numbers + MEMBER);
        value(in, coefficients);
#ifdef VECTOR
        for (int o = 0; o < O; o++) numbers[o * ROWS + MEMBER] = coefficients[o];
#else
        if (FIRST + MEMBER < n) out[FIRST + MEMBER] = (elem)rounded(coefficients[0]);
#endif
    }
#ifdef VECTOR
    MEET;
    SHARED const scalar *coefficients = numbers + PLACE;
    __global elem *row = out + p * width;
    const Compensated squares = combine(x, coefficients, width, here, row);
#ifdef BALL
    const scalar kappa = params[0], left = margin_of(&squares, kappa, team);
    int off = here && !(rounded(kappa) >= 0 || rounded(left) > SLACK);
    // The least margin that survives rounding depends on the coordinates; the smallest is tried first.
    for (wide gap = EPSILON / 2; any_row(off, team); gap *= 2) {
        scale_to(row, width, sqrt_of(div(scalar_of(1 - gap), neg(kappa))), off, team);
        const scalar scaled = margin(row, width, kappa, off, team);
        off = off && rounded(scaled) <= SLACK;
        combine(x, coefficients, width, off, row);
    }
#else
    SETTLE(row, width, params[0], here, team);
#endif
#endif
}
#else
// What each row position gives to its vectors and parameters: GRADS declares places, or null.
__kernel TOGETHER void backward(ulong n, ulong width, __global const elem *g, OPERANDS, GRADS) {
    SHARED scalar team[ROWS * LANES], numbers[ROWS * NUMBERS];
    ROW(n);
    survey(x, params, width, g + p * G_WIDTH(width), team, numbers + PLACE);
    MEET;
    if (MEMBER < ROWS) {
        scalar in[INPUTS], out[OUTPUTS];
        TAKE(in, numbers + MEMBER);
        shares(in, out);
        if (FIRST + MEMBER < n) { STORE_PARAMS(FIRST + MEMBER); }
        for (int o = 0; o < OUTPUTS; o++) numbers[o * ROWS + MEMBER] = out[o];
    }
    MEET;
    if (!here) return;
    SHARED const scalar *out = numbers + PLACE;
    STORE_VECTORS(p);
}
#endif
