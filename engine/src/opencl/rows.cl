// Rows of points: accurate sums over their coordinates, and the domains that results must lie in (domain.rs).
// `here`, `active` or a similar flag says whether a work-item's row takes part. If not, the work-item only
// reaches the barriers.

// A sum of products with its rounding error, in a work-item's lanes.
typedef struct { scalar sum[OWN], error[OWN]; } Compensated;

// Adds a product in lane l.
static void add_product(Compensated *total, int l, scalar x, scalar y) {
    const scalar product = mul(x, y);
#ifdef COMPENSATED
    scalar sum_error;
    const scalar product_error = fma(x, y, -product);
    total->sum[l] = two_sum(total->sum[l], product, &sum_error);
    total->error[l] = total->error[l] + (sum_error + product_error);
#else
    total->sum[l] = add(total->sum[l], product);
#endif
}

// The sum over the lanes of a row, and its rounding error.
INLINE scalar total(const Compensated *lanes, SHARED scalar *team, scalar *error) {
#ifdef COMPENSATED
    scalar sums[LANES], errors[LANES];
    gather(lanes->sum, team, sums);
    gather(lanes->error, team, errors);
    for (int half_ = LANES / 2; half_ > 0; half_ /= 2)
        for (int l = 0; l < half_; l++) {
            scalar sum_error;
            sums[l] = two_sum(sums[l], sums[half_ + l], &sum_error);
            errors[l] = errors[l] + errors[half_ + l] + sum_error;
        }
    *error = errors[0];
    return sums[0];
#else
    *error = ZERO;
    return sum_of(lanes->sum, team);
#endif
}

// The largest number of a row, from the largest of each of its work-items.
INLINE wide largest_of(wide own, SHARED scalar *team) {
    MEET;
    team[PLACE * LANES + ITEM] = scalar_of(own);
    MEET;
    for (int i = 0; i < ITEMS; i++) own = fmax(own, rounded(team[PLACE * LANES + i]));
    return own;
}

// Whether the flag is set for any row of the team.
INLINE int any_row(int of_row, SHARED scalar *team) {
    MEET;
    if (ITEM == 0) team[PLACE] = scalar_of(of_row);
    MEET;
    int any_ = 0;
    for (int r = 0; r < ROWS; r++) any_ |= rounded(team[r]) != 0;
    return any_;
}

// 1 + kappa (sum + error).
static scalar margin_of_sum(scalar sum, scalar error, scalar kappa) {
    return add(multiply_add(kappa, sum, scalar_of(1.0)), mul(kappa, error));
}

INLINE scalar margin_of(const Compensated *squares, scalar kappa, SHARED scalar *team) {
    scalar error;
    const scalar sum = total(squares, team, &error);
    return margin_of_sum(sum, error, kappa);
}

INLINE scalar margin(__global const elem *row, ulong width, scalar kappa, int here, SHARED scalar *team) {
    Compensated squares = {ZEROS, ZEROS};
    for (ulong c0 = 0; here && c0 < width; c0 += LANES)
        for (int l = 0; l < OWN; l++) {
            const ulong c = c0 + LANE(l);
            const scalar x = c < width ? scalar_of(row[c]) : ZERO;
            add_product(&squares, l, x, x);
        }
    return margin_of(&squares, kappa, team);
}

// A coordinate divided by the largest one. If that is infinite: 1 or -1 for infinite coordinates, else 0.
static scalar direction(wide x, wide largest) {
    if (isinf(largest)) return scalar_of(isinf(x) ? copysign((wide)1, x) : isnan(x) ? x : 0);
    return div(scalar_of(x), scalar_of(largest));
}

// Scales a row to a norm.
INLINE void scale_to(__global elem *row, ulong width, scalar norm, int active, SHARED scalar *team) {
    wide largest = 0;
    scalar square = ZERO;
    for (ulong c = ITEM; active && c < width; c += ITEMS) largest = fmax(largest, fabs((wide)row[c]));
    largest = largest_of(largest, team);
    // In order, as on the host. Every work-item of the row computes this sum.
    for (ulong c = 0; active && c < width; c++) {
        const scalar u = direction(row[c], largest);
        square = add(square, mul(u, u));
    }
    MEET;
    for (ulong c = ITEM; active && c < width; c += ITEMS)
        row[c] = (elem)rounded(mul(direction(row[c], largest), div(norm, sqrt_of(square))));
}

// The time coordinate of a point of the hyperboloid, from the others.
INLINE scalar time_of(__global const elem *row, ulong width, scalar kappa, int here, SHARED scalar *team) {
    scalar square;
    LINE_SUM(square, width - 1, here, team, mul(scalar_of(row[1 + p]), scalar_of(row[1 + p])))
    return sqrt_of(sub(square, div(scalar_of(1), kappa)));
}

INLINE void settle_hyperboloid(__global elem *row, ulong width, scalar kappa, int here, SHARED scalar *team) {
    // The lanes of the sum begin at the second coordinate, which another work-item wrote.
    MEET;
    scalar time = time_of(row, width, kappa, here, team);
    const int too_large = here && rounded(time) > LARGEST_TIME;
    scale_to(row + 1, width - 1, scalar_of(0.999 * LARGEST_TIME), too_large, team);
    const scalar smaller = time_of(row, width, kappa, too_large, team);
    if (too_large) time = smaller;
    if (here && ITEM == 0) row[0] = (elem)rounded(time);
}

INLINE void settle_half_space(__global elem *row, ulong width, scalar kappa, int here, SHARED scalar *team) {
    for (ulong c = ITEM; here && c < width; c += ITEMS) {
        if (isinf(row[c])) row[c] = (elem)copysign((wide)LARGEST / 4096, (wide)row[c]);
        if (c + 1 == width && row[c] < (elem)LEAST_HEIGHT) row[c] = (elem)LEAST_HEIGHT;
    }
}

INLINE void settle_sphere(__global elem *row, ulong width, scalar kappa, int here, SHARED scalar *team) {
    // The margin of a row whose square overflows is NaN, and fails the comparison too.
    int off = !(fabs(rounded(margin(row, width, neg(kappa), here, team))) <= 4 * EPSILON) && here;
    const scalar radius = div(scalar_of(1), sqrt_of(kappa));
    wide nonzero = 0;
    for (ulong c = ITEM; off && c < width; c += ITEMS) nonzero = row[c] == 0 ? nonzero : 1;
    nonzero = largest_of(nonzero, team);
    if (off && nonzero == 0) {
        if (ITEM == 0) row[0] = (elem)rounded(radius);
        off = 0;
    }
    scale_to(row, width, radius, off, team);
    // Corrects what the sum of squares lost in long rows.
    const scalar excess = margin(row, width, neg(kappa), off, team);
    for (ulong c = ITEM; off && fabs(rounded(excess)) > 4 * EPSILON && c < width; c += ITEMS)
        row[c] = (elem)rounded(mul(scalar_of(row[c]), add(scalar_of(1.0), mul(scalar_of(0.5), excess))));
}
