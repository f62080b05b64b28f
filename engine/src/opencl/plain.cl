// Scalars of rows that are a `wide` each, with its own arithmetic.

typedef wide scalar;

#define scalar_of(x) ((scalar)(x))
#define rounded(x) (x)
// What rounding may do to a margin, and the least normal number.
#define SLACK 0
#define LEAST 0x1p-1022
#define neg(x) (-(x))
#define add(x, y) ((x) + (y))
#define sub(x, y) ((x) - (y))
#define mul(x, y) ((x) * (y))
#define div(x, y) ((x) / (y))
#define less(x, y) ((x) < (y))
#define sqrt_of(x) sqrt(x)
#define multiply_add(x, y, z) fma(x, y, z)

static scalar two_sum(scalar a, scalar b, scalar *rest) {
    const scalar sum = a + b, part = sum - a;
    *rest = (a - (sum - part)) + (b - part);
    return sum;
}
