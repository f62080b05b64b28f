// `scalar` is `wide`, with the arithmetic of the device.

typedef wide scalar;

#define scalar_of(x) ((scalar)(x))
#define rounded(x) (x)
// See compensated.cl.
#define SLACK 0
#define LEAST 0x1p-1022
#define LEAST_SQUARE 0x1p-960
#define neg(x) (-(x))
#define add(x, y) ((x) + (y))
#define sub(x, y) ((x) - (y))
#define mul(x, y) ((x) * (y))
#define div(x, y) ((x) / (y))
#define less(x, y) ((x) < (y))
#define sqrt_of(x) sqrt(x)
#define multiply_add(x, y, z) fma(x, y, z)

// a + b and its rounding error (Knuth).
static scalar two_sum(scalar a, scalar b, scalar *error) {
    const scalar sum = a + b, part = sum - a;
    *error = (a - (sum - part)) + (b - part);
    return sum;
}
