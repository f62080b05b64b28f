// Functions that printed expressions call, in the common subset of C99 and OpenCL C, for the type `real`.

// The derivative of tanh: sech^2 does not cancel where tanh rounds to 1.
static real tanh_slope(real x) {
    const real decay = exp((real)-2 * fabs(x));
    return (real)4 * decay / ((1 + decay) * (1 + decay));
}

// x times the distribution function of the normal distribution; erfc keeps the negative tail accurate.
static real gelu(real x) { return x * ((real)0.5 * erfc(-x * (real)0.70710678118654752440)); }

static real gelu_slope(real x) {
    const real density = (real)0.39894228040143267794 * exp((real)-0.5 * x * x);
    return (real)0.5 * erfc(-x * (real)0.70710678118654752440) + x * density;
}

// Functions of the square s: circular for s > 0, hyperbolic for s < 0.
static real tanc(real s) {
    const real r = sqrt(fabs(s));
    return r == 0 ? 1 : (s > 0 ? tan(r) : tanh(r)) / r;
}
// sec^2(sqrt(s)).
static real secant(real s) {
    const real r = sqrt(fabs(s)), c = s > 0 ? cos(r) : cosh(r);
    return 1 / (c * c);
}
static real arctanc(real s) {
    const real r = sqrt(fabs(s));
    return r == 0 ? 1 : (s > 0 ? atan(r) : atanh(r)) / r;
}
static real sinc(real s) {
    const real r = sqrt(fabs(s));
    return r == 0 ? 1 : (s > 0 ? sin(r) : sinh(r)) / r;
}
static real cosc(real s) {
    const real r = sqrt(fabs(s));
    return s > 0 ? cos(r) : cosh(r);
}
static real arcsinc(real s) {
    const real r = sqrt(fabs(s));
    return r == 0 ? 1 : (s > 0 ? asin(r) : asinh(r)) / r;
}
