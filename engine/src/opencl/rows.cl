// Rows: sums over their coordinates, in eight lanes that are combined pairwise as on the host, and the domains that
// results must lie in (domain.rs). A row is one work-item's.

#define LANES 8

static double pairwise(const double *l) {
    return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}

static double two_sum(double a, double b, double *rest) {
    const double sum = a + b, part = sum - a;
    *rest = (a - (sum - part)) + (b - part);
    return sum;
}

// A sum of products with its rounding error.
typedef struct { double sum[LANES], error[LANES]; } Compensated;

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

static double total(Compensated *of, double *error) {
#ifdef COMPENSATED
    for (int half_ = LANES / 2; half_ > 0; half_ /= 2)
        for (int l = 0; l < half_; l++) {
            double rest;
            of->sum[l] = two_sum(of->sum[l], of->sum[half_ + l], &rest);
            of->error[l] = of->error[l] + of->error[half_ + l] + rest;
        }
    *error = of->error[0];
    return of->sum[0];
#else
    *error = 0;
    return pairwise(of->sum);
#endif
}

// 1 + kappa s of the sum s.
static double margin_of_sum(double sum, double error, double kappa) {
    return fma(kappa, sum, 1.0) + kappa * error;
}

static double margin(__global const elem *row, ulong width, double kappa) {
    Compensated squares = {{0}, {0}};
    for (ulong c0 = 0; c0 < width; c0 += LANES)
        for (int l = 0; l < LANES; l++) {
            const double x = c0 + l < width ? (double)row[c0 + l] : 0.0;
            add_product(&squares, l, x, x);
        }
    double error;
    const double sum = total(&squares, &error);
    return margin_of_sum(sum, error, kappa);
}

// Scales a row to a norm, in units of its largest coordinate: infinite coordinates keep their sign and silence the
// finite ones.
static void scale_to(__global elem *row, ulong width, double norm) {
    double largest = 0, square = 0;
    for (ulong c = 0; c < width; c++) largest = fmax(largest, fabs((double)row[c]));
    const int infinite = isinf(largest);
    for (int pass = 0; pass < 2; pass++)
        for (ulong c = 0; c < width; c++) {
            const double x = row[c];
            const double u =
                infinite ? (isinf(x) ? copysign(1.0, x) : isnan(x) ? x / largest : 0.0) : x / largest;
            if (pass == 0)
                square += u * u;
            else
                row[c] = (elem)(u * (norm / sqrt(square)));
        }
}

static double time_of(__global const elem *row, ulong width, double kappa) {
    double square = 0;
    for (ulong block = 1; block < width; block += 4096) {
        const ulong end = block + 4096 < width ? block + 4096 : width;
        double sums[2][LANES] = {{0}, {0}};
        for (ulong c0 = block; c0 < end; c0 += LANES) {
            // Pairs of lanes side by side, what is left over in the first.
            const int second = (c0 - block) / LANES % 2 == 1 && c0 + LANES <= end;
            for (int l = 0; l < LANES; l++) {
                const double x = c0 + l < end ? (double)row[c0 + l] : 0.0;
                sums[second][l] = sums[second][l] + x * x;
            }
        }
        for (int l = 0; l < LANES; l++) sums[0][l] = sums[0][l] + sums[1][l];
        square += pairwise(sums[0]);
    }
    return sqrt(square - 1 / kappa);
}

static void settle_hyperboloid(__global elem *row, ulong width, double kappa) {
    double time = time_of(row, width, kappa);
    if (time > LARGEST_TIME) {
        scale_to(row + 1, width - 1, 0.999 * LARGEST_TIME);
        time = time_of(row, width, kappa);
    }
    row[0] = (elem)time;
}

static void settle_half_space(__global elem *row, ulong width) {
    for (ulong c = 0; c < width; c++)
        if (isinf(row[c])) row[c] = (elem)copysign((double)LARGEST / 4096, (double)row[c]);
    if (row[width - 1] < (elem)LEAST_HEIGHT) row[width - 1] = (elem)LEAST_HEIGHT;
}

static void settle_sphere(__global elem *row, ulong width, double kappa) {
    // NaN is the margin of a row whose square overflows, too.
    if (fabs(margin(row, width, -kappa)) <= 4 * EPSILON) return;
    const double radius = 1 / sqrt(kappa);
    int zero = 1;
    for (ulong c = 0; c < width; c++) zero &= row[c] == 0;
    if (zero) {
        row[0] = (elem)radius;
        return;
    }
    scale_to(row, width, radius);
    const double rest = margin(row, width, -kappa);
    if (fabs(rest) > 4 * EPSILON)
        for (ulong c = 0; c < width; c++) row[c] = (elem)((double)row[c] * (1.0 + 0.5 * rest));
}
