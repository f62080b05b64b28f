// Row formulas of V vectors, P parameters, B basis vectors and O outputs. All members of a team compute the
// invariants of its rows; then each of the first ROWS members evaluates the formula for one row. `numbers`
// has the arguments of the formula for each row, and later its results. Printed for each formula: OPERANDS
// and their loading, the basis at a coordinate, the survey of the invariants.

// A work-item whose row is beyond the last one computes the last one again, and writes nothing.
#define ROW(n) \
    LEAVE(FIRST >= n); \
    const int here = FIRST + PLACE < n; \
    const ulong p = here ? FIRST + PLACE : n - 1; \
    LOAD(p)

#ifdef FORWARD
#ifdef VECTOR
// Writes the linear combination of the basis vectors to `row`. Returns the sum of the squares of its
// elements.
INLINE Compensated combine(
    __global const elem *const *x, SHARED const scalar *coefficients, ulong width, int here,
    __global elem *row
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
    const scalar kappa = params[0], computed = margin_of(&squares, kappa, team);
    int outside = here && !(rounded(kappa) >= 0 || rounded(computed) > SLACK);
    // How small a margin survives rounding depends on the coordinates: the smallest is tried first. A row
    // that is still outside is computed again and scaled to the next margin.
    for (wide gap = EPSILON / 2; any_row(outside, team); gap *= 2) {
        scale_to(row, width, sqrt_of(div(scalar_of(1 - gap), neg(kappa))), outside, team);
        const scalar scaled = margin(row, width, kappa, outside, team);
        outside = outside && rounded(scaled) <= SLACK;
        combine(x, coefficients, width, outside, row);
    }
#else
    SETTLE(row, width, params[0], here, team);
#endif
#endif
}
#else
// The gradients of the vectors and parameters of each row. GRADS declares memory for each, or null.
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
