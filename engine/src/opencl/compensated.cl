// The type `scalar` where the device has no f64: unevaluated sums `hi + lo` of two floats, of which `hi` is
// the float nearest to the sum (Dekker 1971; Joldes, Muller, Popescu 2017). Relative errors are at most 2^-44
// for arithmetic and 2^-40 for elementary functions, as long as squares and their errors neither overflow nor
// underflow. `erf` and `gelu` have the digits of a float.

typedef float2 scalar;

#define scalar_of(x) ((scalar)(0, (float)(x)))
#define rounded(x) ((x).hi)
// SLACK is the rounding error that a margin may have. LEAST is the least normal number. A sum of squares from
// LEAST_SQUARE on has all its digits.
#define SLACK 0x1p-42f
#define LEAST 0x1p-126f
#define LEAST_SQUARE 0x1p-76f
#define neg(x) (-(x))

// a + b for |a| >= |b|; a alone where the sum is not finite.
static scalar fast_sum(float a, float b) {
    const float sum = a + b;
    return isfinite(sum) ? (scalar)(b - (sum - a), sum) : (scalar)(0, a);
}

static scalar exact_sum(float a, float b) {
    const float sum = a + b, part = sum - a, error = (a - (sum - part)) + (b - part);
    return (scalar)(isfinite(sum) ? error : 0, sum);
}

static scalar exact_product(float a, float b) {
    const float product = a * b;
    return (scalar)(isfinite(product) ? fma(a, b, -product) : 0, product);
}

static scalar add(scalar x, scalar y) {
    const scalar high = exact_sum(x.hi, y.hi), low = exact_sum(x.lo, y.lo);
    const scalar sum = fast_sum(high.hi, high.lo + low.hi);
    return fast_sum(sum.hi, sum.lo + low.lo);
}

static scalar sub(scalar x, scalar y) { return add(x, -y); }

static scalar mul(scalar x, scalar y) {
    const scalar product = exact_product(x.hi, y.hi);
    return fast_sum(product.hi, product.lo + fma(x.hi, y.lo, x.lo * y.hi));
}

static scalar div(scalar x, scalar y) {
    const float q = x.hi / y.hi;
    const scalar product = exact_product(q, y.hi);
    const float error = (x.hi - product.hi) - product.lo + fma(-q, y.lo, x.lo);
    return fast_sum(q, error / y.hi);
}

static int less(scalar x, scalar y) { return x.hi < y.hi || (x.hi == y.hi && x.lo < y.lo); }

static scalar multiply_add(scalar x, scalar y, scalar z) { return add(mul(x, y), z); }

// a + b and its error. The arguments are coordinates or sums of them, whose sum is exact.
static scalar two_sum(scalar a, scalar b, scalar *error) {
    *error = scalar_of(0);
    return add(a, b);
}

static scalar sqrt_of(scalar x) {
    const float r = sqrt(x.hi);
    const scalar square = exact_product(r, r);
    return fast_sum(r, ((x.hi - square.hi) - square.lo + x.lo) / (r + r));
}

// Exponentials: x = n ln 2 + r, and e^r by squaring e^(r/16) four times.

#define ONE scalar_of(1)
#define LN_2 (scalar)(LN_2_1, LN_2_0)
#define SIXTH (scalar)(-4.967053879e-09f, 1.666666716e-01f)
// Beyond this, sums of two floats overflow or underflow.
#define EXP_RANGE 87

// e^r - 1; the factor is 2^n.
static scalar reduced_exp_m1(scalar x, float *factor) {
    const float n = rint(x.hi * 1.442695041f);
    *factor = power_of_two(n);
    const scalar r = sub(x, mul(scalar_of(n), LN_2)) * 0.0625f;
    const float t = r.hi;
    const float tail_ =
        t * fma(t, fma(t, fma(t, 1.984126984e-04f, 1.388888889e-03f), 8.333333333e-03f), 4.166666667e-02f);
    scalar p = add(SIXTH, scalar_of(tail_));
    p = add(scalar_of(0.5f), mul(r, p));
    p = mul(r, add(ONE, mul(r, p)));
    for (int i = 0; i < 4; i++) p = mul(p, add(p, scalar_of(2)));
    return p;
}

static scalar exp_of(scalar x) {
    if (!(fabs(x.hi) < EXP_RANGE)) return scalar_of(exp(x.hi));
    float factor;
    const scalar p = reduced_exp_m1(x, &factor);
    return add(ONE, p) * factor;
}

static scalar expm1_of(scalar x) {
    if (!(fabs(x.hi) < EXP_RANGE)) return scalar_of(expm1(x.hi));
    float factor;
    const scalar p = reduced_exp_m1(x, &factor);
    return add(p * factor, exact_sum(factor, -1));
}

static scalar with_sign_of(scalar y, scalar x) { return signbit(x.hi) ? -y : y; }

static scalar magnitude_of(scalar x) { return with_sign_of(x, x); }
#define fabs_of magnitude_of

static scalar sinh_of(scalar x) {
    const scalar a = magnitude_of(x), p = expm1_of(a);
    if (!(a.hi < EXP_RANGE)) return scalar_of(sinh(x.hi));
    return with_sign_of(add(p, div(p, add(ONE, p))) * 0.5f, x);
}

static scalar cosh_of(scalar x) {
    const scalar a = magnitude_of(x), e = exp_of(a);
    if (!(a.hi < EXP_RANGE)) return scalar_of(cosh(x.hi));
    return add(e, div(ONE, e)) * 0.5f;
}

static scalar tanh_of(scalar x) {
    const scalar p = expm1_of(magnitude_of(x) * -2.0f);
    return with_sign_of(div(-p, add(p, scalar_of(2))), x);
}

static scalar tanh_slope_of(scalar x) {
    const scalar e = exp_of(magnitude_of(x) * -2.0f), sum = add(ONE, e);
    return div(e * 4.0f, mul(sum, sum));
}

// Logarithms: one step of an iteration from the float's logarithm.

// ln(1 + x) for x >= -1/2.
static scalar ln_1p_near(scalar x) {
    const float y = log1p(x.hi);
    if (!isfinite(y)) return scalar_of(y);
    const scalar e = expm1_of(scalar_of(y)), step_ = div(sub(x, e), add(ONE, e));
    return add(scalar_of(y), sub(step_, mul(step_, step_) * 0.5f));
}

static scalar log1p_of(scalar x) {
    if (x.hi < -1) return scalar_of(NAN);
    return x.hi < -0.5f ? -ln_1p_near(div(-x, add(ONE, x))) : ln_1p_near(x);
}

static scalar log_of(scalar x) {
    if (x.hi < 0) return scalar_of(NAN);
    return x.hi < 0.5f ? -ln_1p_near(div(sub(ONE, x), x)) : ln_1p_near(sub(x, ONE));
}

// arsinh r, given r and its square.
static scalar asinh_with(scalar r, scalar square) {
    if (1e9f < r.hi) return add(log_of(r), LN_2);
    return ln_1p_near(add(r, div(square, add(ONE, sqrt_of(add(ONE, square))))));
}

static scalar asinh_of(scalar x) {
    const scalar a = magnitude_of(x);
    return with_sign_of(asinh_with(a, mul(a, a)), x);
}

static scalar acosh_of(scalar x) {
    const scalar t = sub(x, ONE);
    if (t.hi < 0) return scalar_of(NAN);
    if (1e9f < t.hi) return add(log_of(x), LN_2);
    return ln_1p_near(add(t, sqrt_of(mul(t, add(t, scalar_of(2))))));
}

static scalar atanh_of(scalar x) {
    const scalar a = magnitude_of(x);
    return with_sign_of(log1p_of(div(a + a, sub(ONE, a))) * 0.5f, x);
}

// Circular functions: x = n pi/2 + r.

static scalar sin_cos_of(scalar x, scalar *cosine) {
    // Beyond this the reduction loses its digits.
    if (!(fabs(x.hi) < 0x1p21f)) {
        *cosine = scalar_of(cos(x.hi));
        return scalar_of(sin(x.hi));
    }
    const float n = rint(x.hi * 6.366197724e-01f);
    const scalar r = sub(x, mul(scalar_of(n), (scalar)(HALF_PI_1, HALF_PI_0))), z = mul(r, r);
    const float t = z.hi;
    const float odd = t * fma(t, fma(t, 1.605904384e-10f, -2.505210839e-08f), 2.755731922e-06f);
    scalar s = add((scalar)(2.725596875e-12f, -1.984127011e-04f), scalar_of(odd));
    s = add((scalar)(-4.346172033e-10f, 8.333333768e-03f), mul(z, s));
    s = add(-SIXTH, mul(z, s));
    s = add(r, mul(mul(r, z), s));
    const float even =
        t * fma(t, fma(t, fma(t, -1.147074560e-11f, 2.087675699e-09f), -2.755731922e-07f), 2.480158730e-05f);
    scalar k = add((scalar)(3.363109444e-11f, -1.388888923e-03f), scalar_of(even));
    k = add((scalar)(-1.241763470e-09f, 4.166666791e-02f), mul(z, k));
    k = add(scalar_of(-0.5f), mul(z, k));
    k = add(ONE, mul(z, k));
    const int quarter = (int)n & 3;
    const scalar sine = quarter & 1 ? k : s, other = quarter & 1 ? s : k;
    *cosine = quarter == 1 || quarter == 2 ? -other : other;
    return quarter & 2 ? -sine : sine;
}

static scalar sin_of(scalar x) {
    scalar cosine;
    return sin_cos_of(x, &cosine);
}

static scalar cos_of(scalar x) {
    scalar cosine;
    sin_cos_of(x, &cosine);
    return cosine;
}

static scalar tan_of(scalar x) {
    scalar cosine;
    const scalar sine = sin_cos_of(x, &cosine);
    return div(sine, cosine);
}

// arcsin x, where t is the cosine of the result. With y the float's arcsin, the sine of the error of y is
// x cos y - t sin y.
static scalar asin_with(scalar x, scalar t) {
    const float y = asin(x.hi);
    scalar cosine;
    const scalar sine = sin_cos_of(scalar_of(y), &cosine);
    return add(scalar_of(y), sub(mul(x, cosine), mul(t, sine)));
}

static scalar asin_of(scalar x) { return asin_with(x, sqrt_of(mul(sub(ONE, x), add(ONE, x)))); }

static scalar atan_of(scalar x) {
    if (isinf(x.hi)) return scalar_of(atan(x.hi));
    const float y = atan(x.hi);
    scalar cosine;
    const scalar sine = sin_cos_of(scalar_of(y), &cosine);
    return add(scalar_of(y), div(sub(mul(x, cosine), sine), add(cosine, mul(x, sine))));
}

// Functions of the normal distribution.

static scalar erf_of(scalar x) {
    return fast_sum(erf(x.hi), x.lo * 1.128379167f * exp(-x.hi * x.hi));
}

static scalar gelu_of(scalar x) { return fast_sum(gelu(x.hi), x.lo * gelu_slope(x.hi)); }

static scalar gelu_slope_of(scalar x) { return scalar_of(gelu_slope(x.hi)); }

// Functions of s = r^2.

// y/r, or 1 at 0.
static scalar over_root(scalar y, scalar r) { return 0 < r.hi ? div(y, r) : scalar_of(r.hi + 1); }

static scalar sinc_of(scalar s) {
    if (s.hi < -EXP_RANGE * EXP_RANGE) return scalar_of(sinc(s.hi));
    const scalar r = sqrt_of(0 < s.hi ? s : -s);
    return over_root(0 < s.hi ? sin_of(r) : sinh_of(r), r);
}

static scalar cosc_of(scalar s) { return 0 < s.hi ? cos_of(sqrt_of(s)) : cosh_of(sqrt_of(-s)); }

static scalar tanc_of(scalar s) {
    const scalar r = sqrt_of(0 < s.hi ? s : -s);
    return over_root(0 < s.hi ? tan_of(r) : tanh_of(r), r);
}

static scalar secant_of(scalar s) {
    if (!(0 < s.hi)) return tanh_slope_of(sqrt_of(-s));
    const scalar cosine = cos_of(sqrt_of(s));
    return div(ONE, mul(cosine, cosine));
}

static scalar arctanc_of(scalar s) {
    if (0 < s.hi) {
        const scalar r = sqrt_of(s);
        return over_root(atan_of(r), r);
    }
    const scalar r = sqrt_of(-s);
    return over_root(log1p_of(div(sub(r, s) * 2.0f, add(ONE, s))) * 0.5f, r);
}

static scalar arcsinc_of(scalar s) {
    if (0 < s.hi) {
        const scalar r = sqrt_of(s);
        return over_root(asin_with(r, sqrt_of(sub(ONE, s))), r);
    }
    const scalar r = sqrt_of(-s);
    return over_root(asinh_with(r, -s), r);
}
