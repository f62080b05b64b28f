// Rows of points: accurate sums over their coordinates, and the domains that results must lie in (domain.rs). `here` and
// `off` say of which rows there is something to do: the others' work-items only meet.

static double two_sum(double a, double b, double *rest) {
    const double sum = a + b, part = sum - a;
    *rest = (a - (sum - part)) + (b - part);
    return sum;
}

// A sum of products with its rounding error, in a work-item's lanes.
typedef struct { double sum[OWN], error[OWN]; } Compensated;

static void add_product(Compensated *to, int l, double x, double y) {
    const double product = x * y;
#ifdef COMPENSATED
    double rest;
    const double product_error = fma(x, y, -product);
    to->sum[l] = two_sum(to->sum[l], product, &rest);
    to->error[l] = to->error[l] + (rest + product_error);
#else
    to->sum[l] = to->sum[l] + product;
#endif
}

INLINE double total(const Compensated *of, SHARED double *team, double *error) {
#ifdef COMPENSATED
    double sums[LANES], errors[LANES];
    gather(of->sum, team, sums);
    gather(of->error, team, errors);
    for (int half_ = LANES / 2; half_ > 0; half_ /= 2)
        for (int l = 0; l < half_; l++) {
            double rest;
            sums[l] = two_sum(sums[l], sums[half_ + l], &rest);
            errors[l] = errors[l] + errors[half_ + l] + rest;
        }
    *error = errors[0];
    return sums[0];
#else
    *error = 0;
    return sum_of(of->sum, team);
#endif
}

// The largest of a row, of the largest of each work-item's coordinates.
INLINE double largest_of(double own, SHARED double *team) {
    MEET;
    team[PLACE * LANES + ITEM] = own;
    MEET;
    for (int i = 0; i < ITEMS; i++) own = fmax(own, team[PLACE * LANES + i]);
    return own;
}

// Whether something holds of a row of the team.
INLINE int any_row(int of_row, SHARED double *team) {
    MEET;
    if (ITEM == 0) team[PLACE] = of_row;
    MEET;
    int any_ = 0;
    for (int r = 0; r < ROWS; r++) any_ |= team[r] != 0;
    return any_;
}

// 1 + kappa s of the sum s.
static double margin_of_sum(double sum, double error, double kappa) {
    return fma(kappa, sum, 1.0) + kappa * error;
}

INLINE double margin_of(const Compensated *squares, double kappa, SHARED double *team) {
    double error;
    const double sum = total(squares, team, &error);
    return margin_of_sum(sum, error, kappa);
}

INLINE double margin(__global const elem *row, ulong width, double kappa, int here, SHARED double *team) {
    Compensated squares = {{0}, {0}};
    for (ulong c0 = 0; here && c0 < width; c0 += LANES)
        for (int l = 0; l < OWN; l++) {
            const ulong c = c0 + LANE(l);
            const double x = c < width ? (double)row[c] : 0.0;
            add_product(&squares, l, x, x);
        }
    return margin_of(&squares, kappa, team);
}

// A coordinate in units of the largest: infinite ones keep their sign and silence the finite ones.
static double direction(double x, double largest) {
    return isinf(largest) ? (isinf(x) ? copysign(1.0, x) : isnan(x) ? x / largest : 0.0) : x / largest;
}

// Scales a row to a norm.
INLINE void scale_to(__global elem *row, ulong width, double norm, int off, SHARED double *team) {
    double largest = 0, square = 0;
    for (ulong c = ITEM; off && c < width; c += ITEMS) largest = fmax(largest, fabs((double)row[c]));
    largest = largest_of(largest, team);
    // In order, as on the host: by each work-item for itself.
    for (ulong c = 0; off && c < width; c++) {
        const double u = direction(row[c], largest);
        square += u * u;
    }
    MEET;
    for (ulong c = ITEM; off && c < width; c += ITEMS)
        row[c] = (elem)(direction(row[c], largest) * (norm / sqrt(square)));
}

INLINE double time_of(__global const elem *row, ulong width, double kappa, int here, SHARED double *team) {
    double square = 0;
    for (ulong block = 1; block < width; block += 4096) {
        const ulong end = block + 4096 < width ? block + 4096 : width;
        double sums[OWN] = {0}, seconds[OWN] = {0};
        for (ulong c0 = block; here && c0 < end; c0 += LANES) {
            // Pairs of lanes side by side, what is left over in the first.
            const int second = (c0 - block) / LANES % 2 == 1 && c0 + LANES <= end;
            for (int l = 0; l < OWN; l++) {
                const ulong c = c0 + LANE(l);
                const double x = c < end ? (double)row[c] : 0.0;
                if (second) seconds[l] = seconds[l] + x * x;
                else sums[l] = sums[l] + x * x;
            }
        }
        for (int l = 0; l < OWN; l++) sums[l] = sums[l] + seconds[l];
        square += sum_of(sums, team);
    }
    return sqrt(square - 1 / kappa);
}

INLINE void settle_hyperboloid(__global elem *row, ulong width, double kappa, int here, SHARED double *team) {
    // The lanes begin at the second coordinate, which another work-item wrote.
    MEET;
    double time = time_of(row, width, kappa, here, team);
    const int far = here && time > LARGEST_TIME;
    scale_to(row + 1, width - 1, 0.999 * LARGEST_TIME, far, team);
    const double nearer = time_of(row, width, kappa, far, team);
    if (far) time = nearer;
    if (here && ITEM == 0) row[0] = (elem)time;
}

INLINE void settle_half_space(__global elem *row, ulong width, double kappa, int here, SHARED double *team) {
    for (ulong c = ITEM; here && c < width; c += ITEMS) {
        if (isinf(row[c])) row[c] = (elem)copysign((double)LARGEST / 4096, (double)row[c]);
        if (c + 1 == width && row[c] < (elem)LEAST_HEIGHT) row[c] = (elem)LEAST_HEIGHT;
    }
}

INLINE void settle_sphere(__global elem *row, ulong width, double kappa, int here, SHARED double *team) {
    // NaN is the margin of a row whose square overflows, too.
    int off = !(fabs(margin(row, width, -kappa, here, team)) <= 4 * EPSILON) && here;
    const double radius = 1 / sqrt(kappa);
    double nonzero = 0;
    for (ulong c = ITEM; off && c < width; c += ITEMS) nonzero = row[c] == 0 ? nonzero : 1;
    nonzero = largest_of(nonzero, team);
    if (off && nonzero == 0) {
        if (ITEM == 0) row[0] = (elem)radius;
        off = 0;
    }
    scale_to(row, width, radius, off, team);
    const double rest = margin(row, width, -kappa, off, team);
    for (ulong c = ITEM; off && fabs(rest) > 4 * EPSILON && c < width; c += ITEMS)
        row[c] = (elem)((double)row[c] * (1.0 + 0.5 * rest));
}
