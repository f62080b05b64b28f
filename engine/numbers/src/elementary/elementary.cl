// The elementary functions of this directory, operation by operation, in the common subset of C99 and OpenCL
// C, for the type `real` of `WIDTH` bits. The originals in Rust say what they compute, and why so.

#ifdef __OPENCL_VERSION__
#if WIDTH == 64
typedef ulong bits;
static bits to_bits(real x) { return as_ulong(x); }
static real from_bits(bits x) { return as_double(x); }
#else
typedef uint bits;
static bits to_bits(real x) { return as_uint(x); }
static real from_bits(bits x) { return as_float(x); }
#endif
#else
#if WIDTH == 64
typedef unsigned long long bits;
#else
typedef unsigned int bits;
#endif
static bits to_bits(real x) {
    union { real number; bits pattern; } u = {x};
    return u.pattern;
}
static real from_bits(bits x) {
    union { bits pattern; real number; } u = {x};
    return u.number;
}
#endif

#define C(x) ((real)(x))
#define EXACT C(-0.0)

// A table's length and the table.
#define SIZED(table) (int)(sizeof(table) / sizeof(real)), table

static real horner(real x, IN_TABLE const real *k, int n) {
    real sum = k[n - 1];
    for (int i = n - 2; i >= 0; i--) sum = fma(sum, x, k[i]);
    return sum;
}

static real integer_power(real x, int n) {
    real square = x, power = 1;
    for (; n; n >>= 1) {
        if (n & 1) power = power * square;
        square = square * square;
    }
    return power;
}

static real polynomial(real x, int n, IN_TABLE const real *k) {
    if (n < 9) return horner(x, k, n);
    const int low = n / 2;
    const real tail = fma(integer_power(x, low), horner(x, k + 1 + low, n - 1 - low), horner(x, k + 1, low));
    return fma(tail, x, k[0]);
}

static real clamp_(real x, real bound) {
    x = bound < x ? bound : x;
    return x < -bound ? -bound : x;
}

static real magnitude(real x, real bound) {
    const real a = fabs(x);
    return bound < a ? bound : a;
}

static real quotient(real a, real b, real inverse) {
    const real q = a * inverse;
    return fma(fma(-q, b, a), inverse, q);
}

// exponential.rs

static real power_of_two(real n) {
    return from_bits((to_bits(n + ROUND) - to_bits(ROUND) + (bits)BIAS) << FRACTION);
}

static real near_power(real n) { return power_of_two(C(-64) < n ? n : C(-64)); }

static real scale(real m, real n) {
    const real half_ = fma(n, C(0.5), ROUND) - ROUND;
    return m * power_of_two(half_) * power_of_two(n - half_);
}

static real scale_down(real m, real n) { return m * power_of_two(n + HALF_BIAS) * DOWN; }

static real reduce(real x, real low, real *r_low, real *n) {
    *n = fma(x, C(1.44269504088896340736), ROUND) - ROUND;
    const real leading = fma(-*n, LN_2_0, x);
    const real r = fma(-*n, LN_2_1, leading) + low;
    *r_low = fma(-*n, LN_2_1, leading - r) + low;
    return r;
}

static real exp_parts(real x, real low, real *q, real *n) {
    real r_low;
    const real r = reduce(x, low, &r_low, n);
    *q = fma(r * r, polynomial(r, SIZED(EXP)), fma(r, r_low, r_low));
    return r;
}

static real exp_scaled(real x, real low, real *n) {
    real r_low;
    const real r = reduce(x, low, &r_low, n);
    return C(1) + fma(r * r, polynomial(r, SIZED(EXP)), r);
}

static real exp_(real x) {
    real n;
    const real m = exp_scaled(clamp_(x, EXP_LIMIT), EXACT, &n);
    return scale(m, n);
}

static real exp_m1_(real x) {
    real q, n;
    const real r = exp_parts(clamp_(x, EXP_LIMIT), EXACT, &q, &n);
    const real factor = near_power(n);
    const real near = fma(factor, q, fma(factor, r, factor - C(1)));
    return copysign(C(40) < x ? scale(C(1) + (r + q), n) : near, x);
}

static void sinh_cosh_parts(real x, real low, real *s, real *k, real *n) {
    real r_low;
    const real r = reduce(x, low, &r_low, n), z = r * r;
    const real q = fma(r * z, polynomial(z, SIZED(SINH)), r_low);
    const real cosh_m1 = fma(z, polynomial(z, SIZED(COSH)), r * r_low);
    const real inverse = near_power(C(-2) * *n), sum = C(1) + inverse, difference = C(1) - inverse;
    *s = difference + fma(sum, r, fma(difference, cosh_m1, sum * q));
    *k = C(1) + fma(difference, r, fma(sum, cosh_m1, fma(difference, q, inverse)));
    *n = *n - C(1);
}

static real sinh_(real x) {
    real s, k, n;
    sinh_cosh_parts(magnitude(x, EXP_LIMIT), EXACT, &s, &k, &n);
    return copysign(scale(s, n), x);
}

static real cosh_(real x) {
    real s, k, n;
    sinh_cosh_parts(magnitude(x, EXP_LIMIT), EXACT, &s, &k, &n);
    return scale(k, n);
}

static real tanh_with_slope(real x, real *slope) {
    real r_low, n;
    const real r = reduce(C(-2) * magnitude(x, C(0.5) * EXP_LIMIT), EXACT, &r_low, &n);
    const real p = fma(r * r, polynomial(r, SIZED(EXP)), r);
    const real factor = near_power(n), leading = C(1) - factor, trailing = factor * p;
    const real numerator = leading - trailing, numerator_low = (leading - numerator) - trailing;
    const real denominator = C(2) - numerator;
    const real denominator_low = ((C(2) - denominator) - numerator) - numerator_low;
    const real inverse = C(1) / denominator, q = numerator * inverse;
    const real remainder_ = fma(-q, denominator, numerator) + fma(-q, denominator_low, numerator_low);
    *slope = scale_down(C(4) * (C(1) + p) * inverse * inverse, n);
    return copysign(fma(remainder_, inverse, q), x);
}

static real tanh_(real x) {
    real slope;
    return tanh_with_slope(x, &slope);
}

static real tanh_slope(real x) {
    real slope;
    tanh_with_slope(x, &slope);
    return slope;
}

// logarithm.rs

// ln(u) with the correction error/u, which does not count where `corrected` is 0.
static real ln_corrected(real u, real error, int corrected) {
    const int subnormal = u < MIN_POSITIVE;
    const real normal = subnormal ? u * INTEGERS : u;
    const bits shifted = to_bits(normal) + ((bits)BIAS << FRACTION) - to_bits(ROOT_HALF);
    const real m = from_bits((shifted & (((bits)1 << FRACTION) - 1)) + to_bits(ROOT_HALF));
    const real biased = from_bits((shifted >> FRACTION) | to_bits(INTEGERS));
    const real k = (biased - from_bits((bits)BIAS | to_bits(INTEGERS))) - (subnormal ? C(FRACTION) : C(0));
    const real f = m - C(1), s = f / (C(2) + f), z = s * s;
    const real half_square = C(0.5) * f * f;
    const real correction = corrected ? error * near_power(-k) * (C(1) - f) * fma(f, f, C(1)) : C(0);
    real low = fma(k, LN_2_1, correction);
    low = fma(s, half_square + z * polynomial(z, SIZED(LOG)), low);
    const real inside = fma(k, LN_2_0, f - (half_square - low));
    const real finite = u < INFINITY ? inside : u, positive = C(0) < u ? finite : -INFINITY + u;
    return u < C(0) ? NAN : positive;
}

static real ln_(real x) { return ln_corrected(x, C(0), 0); }

static real ln_1p_(real x) {
    const real u = x + C(1), part = u - x;
    return copysign(ln_corrected(u, (x - (u - part)) + (C(1) - part), 1), x);
}

static real ln_1p_or_double(real r, real inner) {
    const int large = INTEGERS < r;
    return ln_1p_(large ? r : inner) + (large ? C(0.693147180559945309417) : C(0));
}

static real asinh_of_square(real square, real r) {
    return ln_1p_or_double(r, r + square / (C(1) + sqrt(C(1) + square)));
}

static real asinh_(real x) {
    const real a = fabs(x);
    return copysign(asinh_of_square(a * a, a), x);
}

static real acosh_(real x) {
    const real t = x < C(1) ? NAN : x - C(1);
    return ln_1p_or_double(x, t + sqrt(t * (t + C(2))));
}

static real atanh_(real x) {
    const real a = fabs(x);
    return copysign(C(0.5) * ln_1p_(C(2) * a / (C(1) - a)), x);
}

// trigonometric.rs

static real flip_sign(real x, bits sign) { return from_bits(to_bits(x) ^ (sign & ((bits)1 << (WIDTH - 1)))); }

static real half_turned(real y, real turns) { return flip_sign(y, to_bits(turns) << (WIDTH - 2)); }

static real sin_cos_corrected(real x, real low, real *cosine_of_x) {
    const real a = fabs(x);
    if (CIRCLE_LIMIT < a) {
        *cosine_of_x = cos(x);
        return sin(x);
    }
    const real turns = fma(a, C(0.636619772367581343076), ROUND), minus_n = ROUND - turns;
    real r = fma(minus_n, HALF_PI_2, fma(minus_n, HALF_PI_1, fma(minus_n, HALF_PI_0, a)));
    r = r + low;
    const real z = r * r;
    const real sine = fma(r * z, polynomial(z, SIZED(SIN)), r);
    const real half_ = C(0.5) * z, leading = C(1) - half_;
    const real cosine = leading + fma(z * z, polynomial(z, SIZED(COS)), (C(1) - leading) - half_);
    const int odd = (int)(to_bits(turns) & 1);
    *cosine_of_x = half_turned(odd ? sine : cosine, turns + C(1));
    return flip_sign(half_turned(odd ? cosine : sine, turns), to_bits(x));
}

static real sin_(real x) {
    real cosine;
    return sin_cos_corrected(x, EXACT, &cosine);
}

static real cos_(real x) {
    real cosine;
    sin_cos_corrected(x, EXACT, &cosine);
    return cosine;
}

static real tan_(real x) {
    real cosine;
    const real sine = sin_cos_corrected(x, EXACT, &cosine);
    return sine / cosine;
}

static real from_half_pi(real y) { return HALF_PI_0 - (y - HALF_PI_1); }

static real asin_(real x) {
    const real a = fabs(x);
    const int large = C(0.5) < a;
    const real z = large ? C(0.5) * (C(1) - a) : a * a, t = large ? sqrt(z) : a;
    const real y = fma(t * z, polynomial(z, SIZED(ASIN)), t);
    return copysign(large ? from_half_pi(C(2) * y) : y, x);
}

static real atan_(real x) {
    const real a = fabs(x);
    const int large = C(1) < a;
    const real t = large ? C(1) / a : a, z = t * t;
    const real y = fma(t * z, polynomial(z, SIZED(ATAN)), t);
    return copysign(large ? from_half_pi(y) : y, x);
}

// normal.rs

static real tail(real a, real x, real low, real *g, real *n) {
    *g = exp_scaled(x, low, n);
    const real k = C(5.5), inverse = C(1) / (a + k);
    real u = (a - k) * inverse;
    u = fma(fma(-a, u, fma(-k, u + C(1), a)), inverse, u);
    return polynomial(u, SIZED(ERFC)) * inverse * *g;
}

static real erf_(real x) {
    real g, n;
    const real a = magnitude(x, sqrt(EXP_LIMIT)), square = a * a;
    const real m = tail(C(1.41421356237309504880) * a, -square, fma(-a, a, square), &g, &n);
    const real by_tail = C(1) - m * near_power(n), by_series = fma(a, polynomial(square, SIZED(ERF)), a);
    return copysign(C(1) < a ? by_tail : by_series, x);
}

static real gelu_with_slope(real x, real *slope) {
    real g, n;
    const real a = magnitude(x, sqrt(C(2) * EXP_LIMIT)), factor = C(-0.5) * a, exponent = factor * a;
    const real m = tail(a, exponent, fma(factor, a, -exponent), &g, &n);
    const real half_ = C(0.5) * m, missing = scale_down(half_ * a, n);
    *slope = scale_down(half_ - a * (g * C(0.398942280401432677940)), n);
    if (!(x < C(0))) *slope = C(1) - *slope;
    return x < C(0) ? -missing : x - missing;
}

static real gelu(real x) {
    real slope;
    return gelu_with_slope(x, &slope);
}

static real gelu_slope(real x) {
    real slope;
    gelu_with_slope(x, &slope);
    return slope;
}

// square.rs

static real root(real s, real *inverse, real *low) {
    const real r = sqrt(s);
    *inverse = C(1) / r;
    *low = fma(-r, r, s) * *inverse * C(0.5);
    return r;
}

static real one_at_zero(real r, real y) { return C(0) < r ? y : r + C(1); }

static real sinc_cosc(real s, real *cosc_of_s) {
    real inverse, low;
    if (C(0) < s) {
        const real r = root(s, &inverse, &low);
        return quotient(sin_cos_corrected(r, low, cosc_of_s), r, inverse);
    }
    real sinh_of_r, cosh_of_r, n;
    const real lowest = -EXP_LIMIT * EXP_LIMIT, r = root(-(s < lowest ? lowest : s), &inverse, &low);
    sinh_cosh_parts(r, C(0) < r ? low : C(0), &sinh_of_r, &cosh_of_r, &n);
    *cosc_of_s = scale(cosh_of_r, n);
    return one_at_zero(r, scale(quotient(sinh_of_r, r, inverse), n));
}

static real sinc(real s) {
    real other;
    return sinc_cosc(s, &other);
}

static real cosc(real s) {
    real other;
    sinc_cosc(s, &other);
    return other;
}

static real tanc_secant(real s, real *secant_of_s) {
    if (C(0) < s) {
        real inverse, low, cosine;
        const real r = root(s, &inverse, &low), sine = sin_cos_corrected(r, low, &cosine);
        const real f = sine / (cosine * r);
        *secant_of_s = fma(s * f, f, C(1));
        return f;
    }
    const real r = sqrt(-s), t = tanh_with_slope(r, secant_of_s);
    return one_at_zero(r, t / r);
}

static real tanc(real s) {
    real other;
    return tanc_secant(s, &other);
}

static real secant(real s) {
    real other;
    tanc_secant(s, &other);
    return other;
}

static real arctanc(real s) {
    if (C(0) < s) {
        const int large = C(1) < s;
        const real z = large ? C(1) / s : s, root_of_z = sqrt(z);
        const real value = fma(z, polynomial(z, SIZED(ATAN)), C(1));
        return large ? from_half_pi(value * root_of_z) * root_of_z : value;
    }
    const real r = sqrt(-s);
    return one_at_zero(r, C(0.5) * ln_1p_(C(2) * (r - s) / (C(1) + s)) / r);
}

static real arcsinc(real s) {
    if (C(0) < s) {
        const int large = C(0.25) < s;
        const real r = sqrt(s), z = large ? (C(1) - s) / (C(2) * (C(1) + r)) : s;
        const real series = polynomial(z, SIZED(ASIN)), root_of_z = sqrt(z);
        return large ? from_half_pi(C(2) * fma(root_of_z * z, series, root_of_z)) / r : fma(z, series, C(1));
    }
    const real r = sqrt(-s);
    return one_at_zero(r, asinh_of_square(-s, r) / r);
}

// Expressions call these functions by the standard library's names.
#define exp(x) exp_(x)
#define expm1(x) exp_m1_(x)
#define log(x) ln_(x)
#define log1p(x) ln_1p_(x)
#define sin(x) sin_(x)
#define cos(x) cos_(x)
#define tan(x) tan_(x)
#define asin(x) asin_(x)
#define atan(x) atan_(x)
#define sinh(x) sinh_(x)
#define cosh(x) cosh_(x)
#define tanh(x) tanh_(x)
#define asinh(x) asinh_(x)
#define acosh(x) acosh_(x)
#define atanh(x) atanh_(x)
#define erf(x) erf_(x)
