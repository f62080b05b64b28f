#!/usr/bin/env python3
"""Reference values of the manifolds' operations, in 100-digit arithmetic (mpmath).

Usage: generate.py [MANIFOLD ...]     (all of MANIFOLDS by default; writes MANIFOLD.txt beside this file)

Operations are written here by their definitions (LAWS, Ganea et al. 2018), not by the forms that the library
computes; stored inputs are exact. An operation is a function of a case in the table of its manifold: it returns
the result and, if rounding of exact inputs' products is amplified by cancellation in the result, by how much.

A file is a list of cases:

    case TYPE KAPPA K KIND      TYPE f64 or f32; 1 - |x| = 10^-K in the ball of radius 1, K = - elsewhere; KIND says
                                how far y is from x; for means it is the model
    x WORDS                     inputs by name
    = OPERATION CONDITION WORDS

Numbers are the bits of a double as 16 hexadecimal digits. angles.txt, conversions.txt and distances.txt have the same
form; their values, of 80 to 100 digits, are of points that were given once, and are not made here.
"""
import random
import struct
import sys
from pathlib import Path

from mpmath import acosh, asinh, atan, atanh, asin, cosh, fdot, fsum, log, mp, mpf, sinh, sqrt, tan, tanh

mp.dps = 100


def bits(x):
    return struct.pack(">d", float(x)).hex()


def rounded(x, kind):
    """The nearest double, or the nearest single as a double, as an exact number."""
    x = float(x)
    return mpf(struct.unpack("f", struct.pack("f", x))[0] if kind == "f32" else x)


def norm(x):
    return sqrt(fdot(x, x))


def combine(*terms):
    """The sum of a * x over pairs (a, x)."""
    return [sum(a * x[i] for a, x in terms) for i in range(len(terms[0][1]))]


def times(a, x):
    return [a * t for t in x]


def spread(result, *terms):
    """By how much the terms of a sum exceed it."""
    size = norm(result)
    return sum(norm(t) for t in terms) / size if size else mpf(1)


# The functions of curvature.

def tan_k(s, k):
    return tanh(sqrt(-k) * s) / sqrt(-k) if k < 0 else tan(sqrt(k) * s) / sqrt(k) if k > 0 else s


def atan_k(s, k):
    return atanh(sqrt(-k) * s) / sqrt(-k) if k < 0 else atan(sqrt(k) * s) / sqrt(k) if k > 0 else s


def asin_k(s, k):
    return asinh(sqrt(-k) * s) / sqrt(-k) if k < 0 else asin(sqrt(k) * s) / sqrt(k) if k > 0 else s


def sin_k(s, k):
    return sinh(sqrt(-k) * s) / sqrt(-k) if k < 0 else mp.sin(sqrt(k) * s) / sqrt(k) if k > 0 else s


def cos_k(s, k):
    return cosh(sqrt(-k) * s) if k < 0 else mp.cos(sqrt(k) * s) if k > 0 else mpf(1)


# The stereographic model.

def conformal(x, k):
    return 2 / (1 + k * fdot(x, x))


def along(f, x):
    """f(|x|) x/|x|."""
    n = norm(x)
    return times(f(n) / n, x) if n else x


def add(x, y, k):
    xy, xx, yy = fdot(x, y), fdot(x, x), fdot(y, y)
    den = 1 - 2 * k * xy + k * k * xx * yy
    return combine(((1 - 2 * k * xy - k * yy) / den, x), ((1 + k * xx) / den, y))


def neg(x):
    return times(-1, x)


def gyr(x, y, w, k):
    """By the definition, of a short multiple of w."""
    n = norm(w)
    if not n:
        return w
    scale = n * (10 * sqrt(abs(k)) if k else 1)
    z = times(1 / scale, w)
    return times(scale, add(neg(add(x, y, k)), add(x, add(y, z, k), k), k))


def exp(x, v, k):
    return add(x, along(lambda n: tan_k(conformal(x, k) * n / 2, k), v), k)


def log_map(x, y, k):
    return along(lambda n: 2 / conformal(x, k) * atan_k(n, k), add(neg(x), y, k))


def dist(x, y, k):
    return 2 * atan_k(norm(add(neg(x), y, k)), k)


# The times at which points of a geodesic from x to y are taken: 0 at x, 1 at y.
TIMES = {"geodesic": mpf(3) / 8, "geodesic_beyond": mpf(-1) / 4}


def shares(d, t, k):
    """The coefficients of the ends in the point at time t of the geodesic between them, in flat coordinates of one
    dimension more; d is the distance of the ends. With each, by how much its relative error exceeds that of d."""
    def share(s):
        slope = lambda r: r * cos_k(r, k) / sin_k(r, k) if r else 1
        return sin_k(s * d, k) / sin_k(d, k), abs(slope(s * d) - slope(d))
    return share(1 - t), share(t)


def sum_condition(result, *terms):
    """The condition of a sum of terms a x. A term is (a, x, e) with the relative error e of a."""
    return sum((1 + e) * norm(times(a, x)) for a, x, e in terms) / norm(result)


def exp_condition(x, v, k):
    y = along(lambda n: tan_k(conformal(x, k) * n / 2, k), v)
    xy, xx, yy = fdot(x, y), fdot(x, x), fdot(y, y)
    den = 1 - 2 * k * xy + k * k * xx * yy
    a, b = (1 - 2 * k * xy - k * yy) / den, (1 + k * xx) / den
    return spread(combine((a, x), (b, y)), times(a, x), times(b, y))


def geodesic(x, y, t, k):
    """The point, and its condition as a sum of the ends in the coordinates of the hyperboloid, projected."""
    result = exp(x, times(t, log_map(x, y, k)), k)
    (a, moved), (b, turned) = shares(dist(x, y, k), t, k)
    lift = lambda z: conformal(z, k)
    height = 1 + a * (lift(x) - 1) + b * (lift(y) - 1)
    return result, sum_condition(result, (a * lift(x) / height, x, moved), (b * lift(y) / height, y, turned))


def gyroplane(x, p, a, k):
    w = add(neg(p), x, k)
    return asin_k(2 * fdot(w, a) / ((1 + k * fdot(w, w)) * norm(a)), k)


def gyroplane_condition(x, p, a, k):
    """<w, a> is a sum of products of d = x - p and p with a."""
    d = combine((1, x), (-1, p))
    m, dd = 1 + k * fdot(p, p), fdot(d, d)
    sizes = sum(abs(m * s * t) for s, t in zip(d, a)) + sum(abs(k * dd * s * t) for s, t in zip(p, a))
    return sizes / abs(m * fdot(d, a) + k * dd * fdot(p, a))


def hyperplane_logit(x, z, r, k):
    """HNN++ (Shimizu et al. 2021, eq. 6) by way of law 50: the point p = exp0(r z/|z|), the normal sech^2 z."""
    unit = times(1 / norm(z), z)
    p = times(tan_k(r, k), unit)
    a = times(1 / cos_k(r, k) ** 2, z)
    return conformal(p, k) * norm(a) * gyroplane(x, p, a, k)


def hyperplane_condition(x, z, r, k):
    xz = sum(abs(s * t) for s, t in zip(x, z)) / norm(z)
    m = 1 + k * fdot(x, x)
    first, second = 2 * cos_k(2 * r, k), (2 - m) * sin_k(2 * r, k)
    return (first * xz + abs(second)) / abs(first * fdot(x, z) / norm(z) - second)


def busemann(x, w, k):
    c = sqrt(-k)
    e = combine((1 / norm(w), w), (-c, x))
    return mp.log(fdot(e, e) / (1 + k * fdot(x, x))) / c


def horosphere_condition(rise, along, size, across):
    """Near the horosphere through the origin the logarithm's argument is 1 + t and t = rise - along a sum, towards the
    ideal point a quotient of one; `size` is what the terms of `along` amount to."""
    t = rise - along
    if abs(t) >= mpf("0.5"):
        return 1 / abs(mp.log(1 + t))
    terms = (across + rise + size) / (1 + rise + along) if along > 0 else rise + size
    return terms / abs(mp.log(1 + t))


def busemann_condition(x, w, k):
    c, m, xx = sqrt(-k), 1 + k * fdot(x, x), fdot(x, x)
    along, size = fdot(x, w) / norm(w), sum(abs(p * q) for p, q in zip(x, w)) / norm(w)
    return horosphere_condition(
        2 * c * c * xx / m, 2 * c * along / m, 2 * c * size / m, 4 * c * c * (xx - along ** 2) / m ** 2)


def coadd(x, y, k):
    mx, my = 1 + k * fdot(x, x), 1 + k * fdot(y, y)
    den = 1 - k * k * fdot(x, x) * fdot(y, y)
    return combine((my / den, x), (mx / den, y))


def matvec(c):
    """Of the matrix with the rows u and y."""
    v = along(lambda n: atan_k(n, c.k), c.x)
    result = [fdot(c.u, v), fdot(c.y, v)]
    sizes = [sum(abs(s * t) for s, t in zip(row, v)) for row in [c.u, c.y]]
    return along(lambda n: tan_k(n, c.k), result), norm(sizes) / norm(result)


# Ganea's cones with K = 0.1, in coordinates of the ball.
K = mpf(0.1)


def aperture(x, k):
    sine = K * (1 + k * fdot(x, x)) / (sqrt(-k) * norm(x))
    return (asin(sine), sine / (sqrt(1 - sine ** 2) * asin(sine))) if sine < 1 else (mp.pi / 2, mpf(1))


def angle(x, y, k):
    """The angle, and its condition: by how much a sum of nearly opposite vectors along x moves it."""
    w = add(neg(x), y, k)
    a, b = times(1 / norm(x), x), times(1 / norm(w), w)
    result = 2 * mp.atan2(norm(combine((1, b), (-1, a))), norm(combine((1, a), (1, b)))) if len(x) > 1 else (
        mp.pi if fdot(a, b) < 0 else mpf(0))
    d = combine((1, y), (-1, x))
    m, xd, dd, xx = 1 + k * fdot(x, x), fdot(x, d), fdot(d, d), fdot(x, x)
    terms = abs(m * xd) + abs(k * dd * xx)
    return result, 1 + mp.sinc(result) * terms / (norm(combine((m, d), (k * dd, x))) * norm(x))


def energy(of_aperture, of_angle):
    (a, moved), (b, turned) = of_aperture, of_angle
    return (b - a, (b * turned + a * moved) / (b - a)) if b > a else (mpf(0), mpf(1))


def log_density(d, n, k, normal):
    """The logarithm of a wrapped normal density in n dimensions at distance d from its mean, from the terms of the
    normal density; and its condition."""
    volume = (n - 1) * mp.log(sin_k(d, k) / d)
    steep = (n - 1) * abs(d * cos_k(d, k) / sin_k(d, k) - 1)
    result = fdot(normal, [1] * len(normal)) - volume
    return result, (2 * sum(map(abs, normal)) + abs(volume) + steep) / abs(result)


def isotropic(d, n, s):
    return [-d ** 2 / (2 * s ** 2), -n * mp.log(s), -n * mp.log(2 * mp.pi) / 2]


def isotropic_density(c, d, n):
    return log_density(d, n, c.k, isotropic(d, n, abs(c.r)))


def diagonal(v, scales):
    """The rounding of every coordinate is that of the largest."""
    terms = [t for x, s in zip(v, scales) for t in isotropic(x, 1, s)]
    largest = max(map(abs, v))
    return terms, sum(largest * abs(x) / s ** 2 for x, s in zip(v, scales))


def scales_of(c, n):
    return [rounded(abs(c.r) * (1 + mpf(i) / 2), c.kind) for i in range(n)]


def diagonal_density(c, d, v, moved=1):
    """For a logarithm that has the coordinates v in the frame at the origin; `moved` is the factor of their rounding."""
    terms, rounding = diagonal(v, scales_of(c, len(v)))
    result, condition = log_density(d, len(v), c.k, terms)
    return result, condition + moved * rounding / abs(result)


STEREOGRAPHIC = {
    "dist": lambda c: dist(c.x, c.y, c.k),
    "log": lambda c: log_map(c.x, c.y, c.k),
    "exp": lambda c: (exp(c.x, c.v, c.k), exp_condition(c.x, c.v, c.k)),
    # Along a geodesic that may pass the origin.
    "exp_back": lambda c: (exp(c.x, c.w, c.k), exp_condition(c.x, c.w, c.k)),
    # A gradient v, at a rate that makes the step about as long as v.
    "descend": lambda c: (lambda step: (exp(c.x, step, c.k), exp_condition(c.x, step, c.k)))(
        times(-c.rate / conformal(c.x, c.k) ** 2, c.v)),
    "transport": lambda c: times(conformal(c.x, c.k) / conformal(c.y, c.k), gyr(c.y, neg(c.x), c.v, c.k)),
    "inner": lambda c: (conformal(c.x, c.k) ** 2 * fdot(c.u, c.v),
                        sum(abs(s * t) for s, t in zip(c.u, c.v)) / abs(fdot(c.u, c.v))),
    "norm": lambda c: conformal(c.x, c.k) * norm(c.v),
    "egrad_to_rgrad": lambda c: times(1 / conformal(c.x, c.k) ** 2, c.v),
    "lambda": lambda c: conformal(c.x, c.k),
    "add": lambda c: add(c.x, c.y, c.k),
    "sub": lambda c: add(c.x, neg(c.y), c.k),
    "coadd": lambda c: coadd(c.x, c.y, c.k),
    "scale": lambda c: along(lambda n: tan_k(c.r * atan_k(n, c.k), c.k), c.x),
    "gyr": lambda c: gyr(c.x, c.y, c.v, c.k),
    "exp0": lambda c: along(lambda n: tan_k(n, c.k), c.u),
    "log0": lambda c: along(lambda n: atan_k(n, c.k), c.x),
    "gyroplane": lambda c: (gyroplane(c.x, c.y, c.u, c.k), gyroplane_condition(c.x, c.y, c.u, c.k)),
    "logit": lambda c: (conformal(c.y, c.k) * norm(c.u) * gyroplane(c.x, c.y, c.u, c.k),
                        gyroplane_condition(c.x, c.y, c.u, c.k)),
    "hyperplane": lambda c: (hyperplane_logit(c.x, c.u, c.r, c.k), hyperplane_condition(c.x, c.u, c.r, c.k)),
    "busemann": lambda c: None if c.k >= 0 else (busemann(c.x, c.y, c.k), busemann_condition(c.x, c.y, c.k)),
    "matvec": matvec,
    "cone_aperture": lambda c: None if c.k >= 0 else aperture(c.x, c.k),
    # On a line all angles are 0, but for rounding, or π.
    "cone_angle": lambda c: None if c.k >= 0 or len(c.x) == 1 else angle(c.x, c.y, c.k),
    "cone_energy": lambda c: None if c.k >= 0 else energy(aperture(c.x, c.k), angle(c.x, c.y, c.k)),
    # Of mean x at y, with one standard deviation or one for each direction.
    "isotropic_density": lambda c: isotropic_density(c, dist(c.x, c.y, c.k), len(c.x)),
    "diagonal_density": lambda c: diagonal_density(
        c, dist(c.x, c.y, c.k), times(conformal(c.x, c.k), log_map(c.x, c.y, c.k))),
}
for name, t in TIMES.items():
    STEREOGRAPHIC[name] = lambda c, t=t: inside(c, geodesic(c.x, c.y, t, c.k))


def inside(c, found):
    """Unless storage has no such point of the ball."""
    result = found[0]
    return found if 1 + c.k * fdot(result, result) > mpf(2) ** (-50 if c.kind == "f64" else -22) else None


# The Lorentz model; a vector is [time, space ...].

def minkowski(x, y):
    return fdot(x[1:], y[1:]) - x[0] * y[0]


def lorentz_log(x, y, k):
    inner = k * minkowski(x, y)
    d = acosh(inner)
    return times(d / sinh(d), combine((1, y), (-inner, x)))


def lorentz_exp(x, v, k):
    n = sqrt(-k * minkowski(v, v))
    a, b = times(cosh(n), x), times(sinh(n) / n, v)
    result = combine((1, a), (1, b))
    return result, spread(result, a, b)


def lorentz_transport(x, y, v, k):
    a = times(-k * minkowski(y, v) / (1 + k * minkowski(x, y)), combine((1, x), (1, y)))
    result = combine((1, v), (1, a))
    return result, spread(result, v, a)


def lorentz_gradient(x, g, k):
    h = [-g[0]] + g[1:]
    a = times(-k * minkowski(x, h), x)
    result = combine((1, h), (1, a))
    return result, spread(result, h, a)


def lorentz_angle(x, y, k):
    """Not for points on a line: rounding of far coordinates turns vectors."""
    s, t = x[1:], y[1:]
    result, _ = angle(stereographic_down(x, k), stereographic_down(y, k), k)
    along = fdot(s, t) / norm(s)
    out, ahead = (x[0] - norm(s)) * along, (y[0] - along) * norm(s)
    across = sqrt(abs(fdot(t, t) - along ** 2))
    terms = sqrt(-k) * (abs(out) + abs(ahead))
    return result, 1 + mp.sinc(result) * terms / norm([across, sqrt(-k) * (out - ahead)])


def lorentz_dist(x, y, k):
    return acosh(k * minkowski(x, y)) / sqrt(-k)


def lorentz_geodesic(x, y, t, k):
    (a, moved), (b, turned) = shares(lorentz_dist(x, y, k), t, k)
    result, _ = lorentz_exp(x, times(t, lorentz_log(x, y, k)), k)
    return result, sum_condition(result, (a, x, moved), (b, y, turned))


def lorentz_gyroplane(x, p, a, k):
    return asin_k(minkowski(x, a) / sqrt(minkowski(a, a)), k)


def flattened(distance, k):
    """The relative error of the distance for each relative error of sinh(√-k distance)."""
    r = sqrt(-k) * abs(distance)
    return tanh(r) / r


def cosine_condition(x, p, a, k):
    """By Cauchy and Schwarz: the product of the norms of log_p x and a over their inner product."""
    sine = sin_k(lorentz_dist(p, x, k), k)
    return sine * sqrt(minkowski(a, a)) / abs(minkowski(x, a)) * flattened(lorentz_gyroplane(x, p, a, k), k)


def lorentz_busemann(x, w, k):
    """Of the ideal point in the direction w, space coordinates."""
    return log(sqrt(-k) * (x[0] - fdot(x[1:], w) / norm(w))) / sqrt(-k)


def lorentz_busemann_condition(x, w, k):
    """As in the ball."""
    c, s = sqrt(-k), x[1:]
    along, size = fdot(s, w) / norm(w), sum(abs(p * q) for p, q in zip(s, w)) / norm(w)
    return horosphere_condition(c * x[0] - 1, c * along, c * size, c * c * (fdot(s, s) - along ** 2))


def lorentz_diagonal_density(c):
    """Of mean x at y. Carried to the origin the logarithm is a sum of multiples of y - x and x."""
    n = len(c.x) - 1
    scales = scales_of(c, n)
    v, d = lorentz_centred(c.x, c.y, c.k), lorentz_dist(c.x, c.y, c.k)
    result, condition = log_density(d, n, c.k, diagonal(v, scales)[0])
    step = times(sqrt(-c.k) * d / sinh(sqrt(-c.k) * d), combine((1, c.y[1:]), (-1, c.x[1:])))
    size = norm(step) + norm(combine((1, v), (-1, step)))
    return result, condition + sum(size * abs(t) / s ** 2 for t, s in zip(v, scales)) / abs(result)


def lorentz_centred(x, y, k):
    """The logarithm at x of y carried to the origin."""
    pole = [1 / sqrt(-k)] + [mpf(0)] * (len(x) - 1)
    return lorentz_transport(x, pole, lorentz_log(x, y, k), k)[0][1:]


LORENTZ = {
    "dist": lambda c: acosh(c.k * minkowski(c.x, c.y)) / sqrt(-c.k),
    "log": lambda c: lorentz_log(c.x, c.y, c.k),
    "exp": lambda c: lorentz_exp(c.x, c.v, c.k),
    "exp_back": lambda c: lorentz_exp(c.x, c.w, c.k),
    "transport": lambda c: lorentz_transport(c.x, c.y, c.v, c.k),
    # By Cauchy and Schwarz: the product of the norms over the inner product.
    "inner": lambda c: (minkowski(c.u, c.v),
                        sqrt(minkowski(c.u, c.u) * minkowski(c.v, c.v)) / abs(minkowski(c.u, c.v))),
    "norm": lambda c: sqrt(minkowski(c.v, c.v)),
    "egrad_to_rgrad": lambda c: lorentz_gradient(c.x, c.u, c.k),
    "cone_aperture": lambda c: aperture(stereographic_down(c.x, c.k), c.k),
    "cone_angle": lambda c: lorentz_angle(c.x, c.y, c.k) if len(c.x) > 2 else None,
    "cone_energy": lambda c: None if len(c.x) == 2 else energy(
        aperture(stereographic_down(c.x, c.k), c.k), lorentz_angle(c.x, c.y, c.k)),
    "isotropic_density": lambda c: isotropic_density(c, lorentz_dist(c.x, c.y, c.k), len(c.x) - 1),
    "diagonal_density": lorentz_diagonal_density,
    # From y to the gyroplane through x.
    "gyroplane": lambda c: (lorentz_gyroplane(c.y, c.x, c.u, c.k), cosine_condition(c.y, c.x, c.u, c.k)),
    # Of the ideal point in the direction of y.
    "busemann": lambda c: (lorentz_busemann(c.x, c.y[1:], c.k), lorentz_busemann_condition(c.x, c.y[1:], c.k)),
}
for name, t in TIMES.items():
    LORENTZ[name] = lambda c, t=t: lorentz_geodesic(c.x, c.y, t, c.k)


# The Klein model and the half-space, by way of the hyperboloid: there, back, and along the differentials.

def push(f, x, v):
    """The differential of f at x along v, by central differences: half of the digits are left."""
    step = mpf(10) ** -35
    return times(1 / (2 * step), combine((1, f(combine((1, x), (step, v)))), (-1, f(combine((1, x), (-step, v))))))


def klein_up(q, k):
    g = 1 / sqrt(1 + k * fdot(q, q))
    return [g / sqrt(-k)] + times(g, q)


def klein_down(x, k):
    return times(1 / (sqrt(-k) * x[0]), x[1:])


def half_space_up(x, k):
    t, y = x[:-1], x[-1]
    above = y + fdot(t, t) / y
    return times(1 / sqrt(-k), [(above + 1 / y) / 2, *times(1 / y, t), (above - 1 / y) / 2])


def half_space_down(x, k):
    y = 1 / (sqrt(-k) * (x[0] - x[-1]))
    return [*times(sqrt(-k) * y, x[1:-1]), y]


def stereographic_up(p, k):
    """To the hyperboloid, or for k > 0 to the sphere."""
    m = 1 + k * fdot(p, p)
    return [(2 - m) / (sqrt(abs(k)) * m)] + times(2 / m, p)


def stereographic_down(x, k):
    return times(1 / (1 + sqrt(abs(k)) * x[0]), x[1:])


def sensitivity(f, c, *names):
    """The condition of an operation: by how much its result moves, relatively, with each coordinate of its inputs."""
    h, total = mpf(10) ** -40, mpf(0)
    result = f(c)
    vector = lambda r: r if isinstance(r, list) else [r]
    size = max(map(abs, vector(result)))
    for name in names:
        for i, value in enumerate(c.inputs[name]):
            moved = Case(c.kind, c.k, c.level, c.name, **{**c.inputs, name: [
                t * (1 + h) if j == i else t for j, t in enumerate(c.inputs[name])]})
            total += max(map(abs, combine((1, vector(f(moved))), (-1, vector(result))))) / h
    return total / size if size else mpf(1)


def through(up, down, conversion, *sensitive):
    """The operations of a model from those of the hyperboloid; `conversion` gives the Riemannian gradient from the
    coordinate gradient. Results of the operations named in `sensitive` come with their condition."""
    lift = lambda c, x: up(x, c.k)
    push_up = lambda c, x, v: push(lambda z: up(z, c.k), x, v)
    push_down = lambda c, x, v: push(lambda z: down(z, c.k), x, v)
    operations = {
        "dist": lambda c: acosh(c.k * minkowski(lift(c, c.x), lift(c, c.y))) / sqrt(-c.k),
        "log": lambda c: push_down(c, lift(c, c.x), lorentz_log(lift(c, c.x), lift(c, c.y), c.k)),
        "exp": lambda c: down(lorentz_exp(lift(c, c.x), push_up(c, c.x, c.v), c.k)[0], c.k),
        "transport": lambda c: push_down(c, lift(c, c.y), lorentz_transport(
            lift(c, c.x), lift(c, c.y), push_up(c, c.x, c.v), c.k)[0]),
        "inner": lambda c: minkowski(push_up(c, c.x, c.u), push_up(c, c.x, c.v)),
        "norm": lambda c: sqrt(minkowski(push_up(c, c.x, c.v), push_up(c, c.x, c.v))),
        "egrad_to_rgrad": lambda c: conversion(c.x, c.v, c.k),
    }
    inputs = {"dist": "xy", "log": "xy", "exp": "xv", "transport": "xyv", "inner": "xuv", "norm": "xv",
              "egrad_to_rgrad": "xv"}
    for name in sensitive:
        operations[name] = (lambda f, names: lambda c: (f(c), sensitivity(f, c, *names)))(operations[name], inputs[name])
    return operations


# Radial parts of Klein vectors cancel near the boundary: there rounding of the vector itself counts for more.
KLEIN = through(klein_up, klein_down,
                lambda x, g, k: times(1 + k * fdot(x, x), combine((1, g), (k * fdot(x, g), x))),
                "egrad_to_rgrad", "transport")
HALF_SPACE = through(half_space_up, half_space_down, lambda x, g, k: times(-k * x[-1] ** 2, g))


for table, up in [(KLEIN, klein_up), (HALF_SPACE, half_space_up)]:
    table["isotropic_density"] = lambda c, up=up: isotropic_density(
        c, lorentz_dist(up(c.x, c.k), up(c.y, c.k), c.k), len(c.x))
    table["diagonal_density"] = lambda c, up=up: (lambda x, y: diagonal_density(
        c, lorentz_dist(x, y, c.k), lorentz_centred(x, y, c.k)))(up(c.x, c.k), up(c.y, c.k))


def klein_gyroplane_condition(x, p, a, k):
    """A sum of products of d = x - p and p with a."""
    d, e = combine((1, x), (-1, p)), 1 + k * fdot(p, p)
    size = lambda x, y: sum(abs(s * t) for s, t in zip(x, y))
    return (e * size(d, a) - k * size(p, d) * size(p, a)) / abs(e * fdot(d, a) - k * fdot(p, d) * fdot(p, a))


def half_space_gyroplane_condition(x, p, a, k):
    d = combine((1, x), (-1, p))
    lean, square = 2 * p[-1], fdot(d, d) * a[-1]
    return (lean * sum(abs(s * t) for s, t in zip(d, a)) + abs(square)) / abs(lean * fdot(d, a) + square)


def half_space_busemann_condition(x, w, k):
    """The condition of a quotient that has a square of g; near the horosphere through the origin that of a sum, if the
    sum's terms are small."""
    t, y, across, up, n = x[:-1], x[-1], w[:-1], w[-1], norm(w)
    g, h, excess = n - up, n + up, mp.expm1(sqrt(-k) * lorentz_busemann(half_space_up(x, k), w, k))
    size = sum(abs(s * t) for s, t in zip(t, across))
    along = 1 / norm(across) if norm(across) else mpf(0)
    moved = 2 * (sqrt(g) * size * along + sqrt(h)) * abs(sqrt(g) * fdot(t, across) * along - sqrt(h))
    moved = 1 + moved / (2 * n * y * (1 + excess))
    if abs(excess) < mpf("0.5"):
        terms = g * (fdot(t, t) + (y - 1) ** 2) + 2 * (size + abs((y - 1) * up))
        moved = min(moved, terms / (2 * n * y))
    return moved / abs(mp.log(1 + excess))


for table, up, down, condition in [(KLEIN, klein_up, klein_down, klein_gyroplane_condition),
                                   (HALF_SPACE, half_space_up, half_space_down, half_space_gyroplane_condition)]:
    # From y to the gyroplane through x.
    table["gyroplane"] = lambda c, up=up, condition=condition: (
        lambda d: (d, condition(c.y, c.x, c.u, c.k) * flattened(d, c.k)))(
            lorentz_gyroplane(up(c.y, c.k), up(c.x, c.k), push(lambda z: up(z, c.k), c.x, c.u), c.k))
    for name, t in TIMES.items():
        def point(c, t=t, up=up, down=down):
            x, y = up(c.x, c.k), up(c.y, c.k)
            result = down(lorentz_geodesic(x, y, t, c.k)[0], c.k)
            (a, moved), (b, turned) = shares(lorentz_dist(x, y, c.k), t, c.k)
            # The parts of the ends in these coordinates, by what is 1 of them on the hyperboloid in this scale.
            scale = lambda z: z[0] if down == klein_down else z[0] - z[-1]
            whole = scale(combine((a, x), (b, y)))
            return result, sum_condition(
                result, (a * scale(x) / whole, c.x, moved), (b * scale(y) / whole, c.y, turned))
        table[name] = point
KLEIN["geodesic_beyond"] = lambda c, point=KLEIN["geodesic_beyond"]: inside(c, point(c))
KLEIN["busemann"] = lambda c: (lorentz_busemann(klein_up(c.x, c.k), c.y, c.k),
                               lorentz_busemann_condition(klein_up(c.x, c.k), klein_up(c.y, c.k)[1:], c.k))
HALF_SPACE["busemann"] = lambda c: (lorentz_busemann(half_space_up(c.x, c.k), c.omega, c.k),
                                    half_space_busemann_condition(c.x, c.omega, c.k))

# From each model into all others: points, and tangent vectors. Radial vectors are shorter in the Klein model, longer on
# the hyperboloid, than their rounding. Between the half-space and the Klein model they go by way of the ball.
def convert(name, table, up, others, of_sign=-1):
    for other, down in others.items():
        to = lambda k, down=down: lambda z: down(up(z, k), k)
        point = lambda c, to=to: to(c.k)(c.x)
        vector = lambda c, to=to: push(to(c.k), c.x, c.v)
        operations = {"to_" + other: point, "push_to_" + other: vector}
        if name == "lorentz" or (name, other) == ("stereographic", "klein"):
            operations["push_to_" + other] = lambda c, vector=vector: (vector(c), sensitivity(vector, c, "x", "v"))
        elif {name, other} == {"half_space", "klein"}:
            operations["push_to_" + other] = lambda c, vector=vector: (
                vector(c), sensitivity(vector, c, "v") * conformal(stereographic_down(up(c.x, c.k), c.k), c.k))
        for operation, f in operations.items():
            table[operation] = lambda c, f=f: f(c) if c.k * of_sign > 0 else None


identity = lambda x, k: x
DOWN = {"lorentz": identity, "klein": klein_down, "half_space": half_space_down, "stereographic": stereographic_down}
for name, table, up in [
    ("stereographic", STEREOGRAPHIC, stereographic_up),
    ("lorentz", LORENTZ, identity),
    ("klein", KLEIN, klein_up),
    ("half_space", HALF_SPACE, half_space_up),
]:
    convert(name, table, up, {other: down for other, down in DOWN.items() if other != name})
convert("stereographic", STEREOGRAPHIC, stereographic_up, {"sphere": identity}, of_sign=1)


# Shadow cones, by Tseng et al. 2023, eq. 5 to 8, as heights and slacks.

def horizontal(c):
    return norm(combine((1, c.x[:-1]), (-1, c.y[:-1]))) if len(c.x) > 1 else mpf(0)


def penumbral_ancestor(c):
    q, k, delta, r = c.x[-1], c.y[-1], horizontal(c), c.light
    width = sqrt(r ** 2 - q ** 2) + sqrt(r ** 2 - k ** 2)
    if delta > width:
        return sqrt(((delta ** 2 + k ** 2 - q ** 2) / (2 * delta)) ** 2 + q ** 2)
    return max(q, k, sqrt(r ** 2 - ((width - delta) / 2) ** 2))


def slack(up, delta):
    return up - delta, (abs(up) + delta) / abs(up - delta)


HALF_SPACE |= {
    "umbral_ancestor": lambda c: max(c.x[-1], c.y[-1], (horizontal(c) / sinh(c.radius) + c.x[-1] + c.y[-1]) / 2),
    "umbral_slack": lambda c: slack((c.x[-1] - c.y[-1]) * sinh(c.radius), horizontal(c)),
    "penumbral_ancestor": penumbral_ancestor,
    "penumbral_slack": lambda c: slack(
        sqrt(c.light ** 2 - c.y[-1] ** 2) - sqrt(c.light ** 2 - c.x[-1] ** 2), horizontal(c)),
    # A gradient v, at a rate that makes the step about as long as v.
    "descend": lambda c: half_space_down(lorentz_exp(half_space_up(c.x, c.k), push(
        lambda z: half_space_up(z, c.k), c.x, times(c.rate * c.k * c.x[-1] ** 2, c.v)), c.k)[0], c.k),
}


# The sphere, of the points and tangent vectors that rows are nearest to.

def sphere_point(x, k):
    return times(1 / (sqrt(k) * norm(x)), x)


def sphere_tangent(x, v, k):
    return combine((1, v), (-k * fdot(x, v), x))


def sphere_dist(x, y, k):
    return mp.acos(k * fdot(x, y)) / sqrt(k)


def sphere_log(x, y, k):
    across = sphere_tangent(x, y, k)
    return times(sphere_dist(x, y, k) / norm(across), across)


def sphere_exp(x, v, k):
    n = sqrt(k) * norm(v)
    return combine((mp.cos(n), x), (mp.sin(n) / n, v))


def sphere_transport(x, y, v, k):
    return combine((1, v), (-k * fdot(y, v) / (1 + k * fdot(x, y)), combine((1, x), (1, y))))


def on_sphere(f):
    """An operation of rows from one of points and vectors on the sphere."""
    def operation(c):
        x, y = sphere_point(c.x, c.k), sphere_point(c.y, c.k)
        u, v = sphere_tangent(x, c.u, c.k), sphere_tangent(x, c.v, c.k)
        return f(Case(c.kind, c.k, c.level, c.name, **{**c.inputs, "x": x, "y": y, "u": u, "v": v}))
    return operation


def sphere_log_condition(x, y, k):
    """The rounding of rows is normal to the sphere as well: beside nearby or nearly opposite points it counts for more, in
    the form that does not project it away."""
    return 1 / (sqrt(k) * norm(sphere_tangent(x, y, k)))


def sphere_transport_condition(x, y, k):
    """Along the sum of nearly opposite points."""
    return 2 / (sqrt(k) * norm(combine((1, x), (1, y))))


def sphere_diagonal_density(c):
    pole = sphere_point([1] + [mpf(0)] * (len(c.x) - 1), c.k)
    v = sphere_transport(c.x, pole, sphere_log(c.x, c.y, c.k), c.k)[1:]
    moved = sphere_log_condition(c.x, c.y, c.k) * sphere_transport_condition(c.x, pole, c.k)
    return diagonal_density(c, sphere_dist(c.x, c.y, c.k), v, moved)


SPHERE = {
    "dist": on_sphere(lambda c: sphere_dist(c.x, c.y, c.k)),
    "log": on_sphere(lambda c: (sphere_log(c.x, c.y, c.k), sphere_log_condition(c.x, c.y, c.k))),
    "exp": on_sphere(lambda c: sphere_exp(c.x, c.v, c.k)),
    "transport": on_sphere(lambda c: (sphere_transport(c.x, c.y, c.v, c.k),
                                      sphere_transport_condition(c.x, c.y, c.k))),
    "inner": lambda c: (fdot(c.u, c.v), norm(c.u) * norm(c.v) / abs(fdot(c.u, c.v))),
    "norm": on_sphere(lambda c: norm(c.v)),
    "egrad_to_rgrad": lambda c: (lambda x: (
        sphere_tangent(x, c.g, c.k), spread(sphere_tangent(x, c.g, c.k), c.g)))(sphere_point(c.x, c.k)),
    "project": lambda c: sphere_point(c.g, c.k),
    "isotropic_density": on_sphere(lambda c: isotropic_density(c, sphere_dist(c.x, c.y, c.k), len(c.x) - 1)),
    "diagonal_density": on_sphere(sphere_diagonal_density),
    "to_stereographic": on_sphere(lambda c: stereographic_down(c.x, c.k)),
    "push_to_stereographic": on_sphere(lambda c: push(lambda z: stereographic_down(z, c.k), c.x, c.v)),
    # From y to the great hypersphere through x.
    "gyroplane": on_sphere(lambda c: (
        asin_k(fdot(c.y, c.u) / norm(c.u), c.k),
        min(norm(combine((1, c.y), (s, c.x))) for s in [1, -1]) * norm(c.u) / abs(fdot(c.y, c.u)))),
}


def sphere_geodesic(x, y, t, k):
    (a, moved), (b, turned) = shares(sphere_dist(x, y, k), t, k)
    result = sphere_exp(x, times(t, sphere_log(x, y, k)), k)
    return result, sum_condition(result, (a, x, moved), (b, y, turned))


for name, t in TIMES.items():
    SPHERE[name] = on_sphere(lambda c, t=t: sphere_geodesic(c.x, c.y, t, c.k))


# A product: factors with their curvature, None for that of the case, and their coordinates.

FLAT = {
    "dist": lambda c: norm(combine((1, c.x), (-1, c.y))),
    "log": lambda c: combine((1, c.y), (-1, c.x)),
    "exp": lambda c: combine((1, c.x), (1, c.v)),
    "transport": lambda c: c.v,
    "inner": lambda c: fdot(c.u, c.v),
    "norm": lambda c: norm(c.v),
    **{name: lambda c, t=t: combine((1 - t, c.x), (t, c.y)) for name, t in TIMES.items()},
}
FACTORS = [(STEREOGRAPHIC, None, slice(0, 2)), (SPHERE, mpf(1) / 4, slice(2, 5)), (FLAT, mpf(0), slice(5, 6))]


def of_factors(name, together):
    """An operation of the product, from the results and conditions of the factors' operations."""
    def operation(c):
        found = [table[name](Case(c.kind, c.k if k is None else k, c.level, c.name,
                                  **{key: row[part] for key, row in c.inputs.items()})) for table, k, part in FACTORS]
        return None if None in found else together(
            [result if isinstance(result, tuple) else (result, mpf(1)) for result in found])
    return operation


beside = lambda found: (sum((row for row, _ in found), []), max(condition for _, condition in found))
length = lambda found: (norm([part for part, _ in found]), max(condition for _, condition in found))
total = lambda found: (sum(part for part, _ in found),
                       sum(abs(part) * condition for part, condition in found) / abs(sum(part for part, _ in found)))
PRODUCT = {name: of_factors(name, together) for names, together in [
    (["dist", "norm"], length), (["inner"], total), (["log", "exp", "transport", *TIMES], beside)] for name in names}


# Maps from activations to points.

def pseudo_polar(a, k):
    d, r = a[:-1], sqrt(-k) * a[-1]
    return [cosh(r) / sqrt(-k), *times(sinh(r) / (sqrt(-k) * norm(d)), d)]


MAPS = {
    "psi": lambda c: times(mp.exp(c.a[-1]), c.a[:-1] + [mpf(1)]),
    "xi": lambda c: times(c.light / (1 + mp.exp(-c.a[-1])), c.a[:-1] + [mpf(1)]),
    "pseudo_polar": lambda c: pseudo_polar(c.a, c.k),
    "direction": lambda c: times(1 / norm(c.a), c.a),
}


# Means of several weighted points, in the coordinates of the stereographic model.

STEREOGRAPHIC_UP = {"stereographic": identity, "lorentz": stereographic_down, "sphere": stereographic_down,
                    "klein": lambda x, k: stereographic_down(klein_up(x, k), k),
                    "half_space": lambda x, k: stereographic_down(half_space_up(x, k), k)}
STEREOGRAPHIC_DOWN = {"stereographic": identity, "lorentz": stereographic_up, "sphere": stereographic_up,
                      "klein": lambda x, k: klein_down(stereographic_up(x, k), k),
                      "half_space": lambda x, k: half_space_down(stereographic_up(x, k), k)}


def barycentre(points, weights, k):
    """The weighted sum on the hyperboloid or the sphere, scaled to it; the weighted mean of flat space."""
    if not k:
        return times(1 / fsum(weights), combine(*zip(weights, points)))
    total = combine(*((w, stereographic_up(x, k)) for w, x in zip(weights, points)))
    square = minkowski(total, total) if k < 0 else fdot(total, total)
    return stereographic_down(times(1 / sqrt(k * square), total), k)


def frechet_mean(points, weights, k):
    """By Newton's method: across the direction of a point at distance d its Hessian is d cos_k(d)/sin_k(d)."""
    mean = barycentre(points, weights, k)
    for _ in range(100):
        pull, hessian = mp.matrix(len(mean), 1), mp.matrix(len(mean))
        for x, w in zip(points, weights):
            v, d = mp.matrix(log_map(mean, x, k)), dist(mean, x, k)
            u, across = v / mp.norm(v), d * cos_k(d, k) / sin_k(d, k)
            pull += w * v
            hessian += w * (across * mp.eye(len(mean)) + (1 - across) * u * u.T)
        step = list(mp.lu_solve(hessian, pull))
        if norm(step) < mpf(10) ** -60 * norm(mean):
            return mean
        mean = exp(mean, times(min(1, 1 / (conformal(mean, k) * norm(step))), step), k)
    raise ArithmeticError("no mean")


def mean_of(f):
    """A mean in a case's model. A sum of far points may be near the origin; the hyperboloid and the Klein model hold a
    distance to cosh² of the radius."""
    def operation(c):
        points = [STEREOGRAPHIC_UP[c.name](sphere_point(x, c.k) if c.name == "sphere" else x, c.k)
                  for name, x in c.inputs.items() if name != "w"]
        mean = f(points, c.inputs["w"], c.k)
        distances = [dist(mean, x, c.k) for x in points]
        condition = 1 + max(distances) / (conformal(mean, c.k) * norm(mean))
        if c.name in ["lorentz", "klein"]:
            condition *= max(cosh(sqrt(-c.k) * dist(times(0, x), x, c.k)) for x in points) ** 2
        return STEREOGRAPHIC_DOWN[c.name](mean, c.k), condition
    return operation


MEANS = {"barycentre": mean_of(barycentre), "frechet": mean_of(frechet_mean)}


# Matrices. Rows are row-major; on the Stiefel and Grassmann manifolds operations are of the nearest ones that are points
# and tangent vectors.

def matrix(row, cols):
    cols = int(cols)
    return mp.matrix([row[i:i + cols] for i in range(0, len(row), cols)])


def elements(a):
    return [a[i, j] for i in range(a.rows) for j in range(a.cols)]


def sym(a):
    return (a + a.T) / 2


def polar(a):
    u, _, v = mp.svd_r(a)
    return u * v


def qr(a):
    q, r = mp.qr(a, mode="skinny")
    return q * mp.diag([mp.sign(r[i, i]) for i in range(r.rows)])


def spectral(f, a):
    values, u = mp.eigsy(a)
    return u * mp.diag([f(t) for t in values]) * u.T


def stacked(*rows):
    """A matrix of blocks."""
    return mp.matrix([sum((list(block[i, :]) for block in row), []) for row in rows for i in range(row[0].rows)])


def stiefel_tangent(x, v):
    return v - x * sym(x.T * v)


def stiefel_exp(x, v):
    """Edelman et al. 1998, eq. 2.7."""
    a, p = x.T * v, x.cols
    e = mp.expm(stacked((a, -v.T * v), (mp.eye(p), a)))
    return (x * e[:p, :p] + v * e[p:, :p]) * mp.expm(-a)


def stiefel_log(x, y, start):
    """By Newton's method from a tangent vector nearby, with what is not tangent of all vectors sent to itself."""
    n, p = x.rows, x.cols
    column = lambda a: mp.matrix(elements(a))
    miss = lambda v: column(stiefel_exp(x, v) - y)
    units = [matrix([mpf(i == j) for j in range(n * p)], p) for i in range(n * p)]
    v, step = stiefel_tangent(x, start), mpf(10) ** -40
    slope = stacked([(miss(v + step * stiefel_tangent(x, e)) - miss(v)) / step for e in units])
    system = slope.T * slope + stacked([column(e - stiefel_tangent(x, e)) for e in units])
    for _ in range(8):
        v -= matrix(list(mp.lu_solve(system, slope.T * miss(v))), p)
    assert mp.norm(miss(v)) < mpf(10) ** -50
    return v


def grassmann_parts(x, y):
    """The logarithm U diag(θ) Vᵀ in parts."""
    u, tangents, v = mp.svd_r((y - x * (x.T * y)) * mp.inverse(x.T * y))
    return u, list(map(atan, tangents)), v.T


def grassmann_log(x, y):
    u, angles, v = grassmann_parts(x, y)
    return u * mp.diag(angles) * v.T


def grassmann_exp(x, h):
    u, angles, v = mp.svd_r(h)
    cosines, sines = (mp.diag(list(map(f, angles))) for f in [mp.cos, mp.sin])
    return (x * v.T * cosines + u * sines) * v


def grassmann_transport(x, y, h):
    """Edelman et al. 1998, eq. 2.68, from the frame that the geodesic ends in to that of y."""
    u, angles, v = grassmann_parts(x, y)
    cosines, sines = (mp.diag(list(map(f, angles))) for f in [mp.cos, mp.sin])
    end = (x * v * cosines + u * sines) * v.T
    return (u * (cosines * (u.T * h)) - x * (v * (sines * (u.T * h))) + h - u * (u.T * h)) * (end.T * y)


def on_frames(f, tangent):
    def operation(c):
        x, y, u, v, g = (matrix(row, c.size[1]) for row in [c.x, c.y, c.u, c.v, c.g])
        x, y = polar(x), polar(y)
        result = f(x, y, tangent(x, u), tangent(x, v), g)
        result, condition = result if isinstance(result, tuple) else (result, mpf(1))
        return elements(result) if isinstance(result, mp.matrix) else result, condition
    return operation


def frames(tangent, exp, log, dist, transport, retractions):
    operations = {
        "dist": dist,
        "log": log,
        "exp": lambda x, y, u, v, g: exp(x, v),
        "transport": transport,
        "norm": lambda x, y, u, v, g: mp.norm(v),
        "egrad_to_rgrad": lambda x, y, u, v, g: tangent(x, g),
        "project": lambda x, y, u, v, g: polar(g),
    }
    operations |= {name: lambda x, y, u, v, g, f=f: f(x + v) for name, f in retractions.items()}
    return {name: on_frames(f, tangent) for name, f in operations.items()}


# The logarithm of a case starts from the vector w that its y comes from.
def stiefel_velocity(c):
    x, y, w = (matrix(row, c.size[1]) for row in [c.x, c.y, c.w])
    return stiefel_log(polar(x), polar(y), w)


def turned(f):
    """With the condition for subspaces that are near each other while their frames may not be."""
    return lambda x, y, *_: (f(x, y), mp.norm(y - x) / norm(grassmann_parts(x, y)[1]))


GRASSMANN = frames(
    lambda x, v: v - x * (x.T * v), grassmann_exp,
    log=turned(grassmann_log),
    dist=turned(lambda x, y: norm(grassmann_parts(x, y)[1])),
    transport=lambda x, y, u, v, g: grassmann_transport(x, y, v),
    retractions={"retract": qr})
STIEFEL = frames(
    stiefel_tangent, stiefel_exp, None, None,
    transport=lambda x, y, u, v, g: stiefel_tangent(y, v),
    retractions={"retract": qr, "retract_polar": polar})
# Found by shooting, to an absolute accuracy.
STIEFEL["log"] = lambda c: (lambda v: (elements(v), 1 / mp.norm(v)))(stiefel_velocity(c))
STIEFEL["dist"] = lambda c: (lambda v: (mp.norm(v), 1 / mp.norm(v)))(stiefel_velocity(c))


# Positive definite matrices: with the square root of one, and with logarithms.

def congruence(a, b):
    return sym(a * b * a.T)


def between(x, f, *others):
    """f of the matrices after the congruence that takes x to the identity, taken back."""
    root = spectral(sqrt, x)
    inverse = mp.inverse(root)
    return congruence(root, f(*(congruence(inverse, a) for a in others)))


def spd_transport(x, y, v):
    """E V Eᵀ, E = (Y X⁻¹)^½."""
    root = spectral(sqrt, x)
    inverse = mp.inverse(root)
    return congruence(root * spectral(sqrt, congruence(inverse, y)) * inverse, v)


def differential(f, x, v):
    """The differential of a spectral function at x along v, by central differences."""
    step = mpf(10) ** -35
    return (spectral(f, x + step * v) - spectral(f, x - step * v)) / (2 * step)


def chart(f):
    """An operation that is Euclidean in the logarithms of x and y, and in u and v in the chart of x."""
    def operation(x, y, u, v):
        return f(spectral(log, x), spectral(log, y), *(differential(log, x, w) for w in [u, v]))
    return operation


def on_definite(f):
    def operation(c):
        result = f(*(sym(matrix(row, c.size[0])) for row in [c.x, c.y, c.u, c.v]))
        return elements(result) if isinstance(result, mp.matrix) else result
    return lambda c: (operation(c), sensitivity(operation, c, "x", "y", "v"))


inner = lambda u, v: fdot(elements(u), elements(v))
SPD = {name: on_definite(f) for name, f in {
    "dist": lambda x, y, u, v: mp.norm(mp.matrix([log(t) for t in mp.eig(mp.inverse(x) * y, right=False)])),
    "log": lambda x, y, u, v: between(x, lambda a: spectral(log, a), y),
    "exp": lambda x, y, u, v: between(x, lambda a: spectral(mp.exp, a), v),
    "transport": lambda x, y, u, v: spd_transport(x, y, v),
    "inner": lambda x, y, u, v: inner((mp.inverse(x) * u).T, mp.inverse(x) * v),
    "norm": lambda x, y, u, v: sqrt(inner((mp.inverse(x) * v).T, mp.inverse(x) * v)),
    "egrad_to_rgrad": lambda x, y, u, v: congruence(x, v),
    "flat_dist": chart(lambda s, t, u, v: mp.norm(t - s)),
    "flat_log": chart(lambda s, t, u, v: differential(mp.exp, s, t - s)),
    "flat_exp": chart(lambda s, t, u, v: spectral(mp.exp, s + v)),
    "flat_transport": chart(lambda s, t, u, v: differential(mp.exp, t, v)),
    "flat_inner": chart(lambda s, t, u, v: inner(u, v)),
    "flat_norm": chart(lambda s, t, u, v: mp.norm(v)),
    "flat_egrad_to_rgrad": lambda x, y, u, v: differential(
        mp.exp, spectral(log, x), differential(mp.exp, spectral(log, x), v)),
}.items()}


# Cases.

class Case:
    def __init__(self, kind, k, level, name, **inputs):
        self.kind, self.k, self.level, self.name, self.inputs = kind, k, level, name, inputs
        self.only = ["busemann"] if name == "horosphere" else None
        numbers = ["r", "rate", "radius", "light"]
        self.__dict__.update({name: value[0] if name in numbers else value for name, value in inputs.items()})


def unit(rng, n):
    x = [mpf(rng.gauss(0, 1)) for _ in range(n)]
    return times(1 / norm(x), x)


def tangent(rng, x, k, top):
    """A tangent vector at x, not rounded. Its Riemannian length is log-uniform between 1e-6 and `top`."""
    length = mpf(10) ** mpf(rng.uniform(-6, float(mp.log10(top))))
    return times(length / conformal(x, k), unit(rng, len(x)))


def horosphere_cases(model, down, reach, of_direction=lambda u: u):
    """Far points near the horosphere through the origin, and its ideal point. `reach` says how far along it storage goes,
    in powers of 10 for f64 and f32."""
    rng = random.Random(model + ", horospheres")
    for kind, far in zip(["f64", "f32"], reach):
        store = lambda x: [rounded(t, kind) for t in x]
        for k in map(mpf, [-3.7, -1.0, -0.25]):
            for n in [2, 3, 4] * 3:
                b, e = mpf(10) ** mpf(rng.uniform(0, far)), mp.exp(mpf(10) ** mpf(rng.uniform(-8, -1)))
                u, v = unit(rng, n), unit(rng, n)
                v = combine((1, v), (-fdot(u, v), u))
                space = combine(((1 + b * b - e * e) / (2 * e), u), (b / norm(v), v))
                x = store(down(times(1 / sqrt(-k), [(1 + b * b + e * e) / (2 * e), *space]), k))
                if model == "lorentz":
                    x = [sqrt(fdot(x, x) - 1 / k)] + x
                y = of_direction(store(times(mpf(rng.uniform(0.1, 0.4)), u)))
                yield Case(kind, k, None, "horosphere", x=x, y=y, v=y, u=y)


def stereographic_cases():
    rng = random.Random("stereographic")
    dims = [1, 2, 3, 5, 3, 2]
    count = 0
    for kind, levels in [("f64", range(1, 13)), ("f32", range(1, 7))]:
        grid = [(k, level) for k in [-3.7, -1.0, -0.25, -1e-9] for level in levels]
        grid += [(k, None) for k in [-1e-9, 0.0, 1e-9, 1.0] for _ in range(4)]
        for k, level in grid:
            k = mpf(k)
            scale = 1 / sqrt(abs(k)) if k else mpf(1)
            top = 10 * scale if level else mpf(1)
            radius = (1 - mpf(10) ** -level) * scale if level else mpf(10) ** mpf(rng.uniform(-3, 0.2))
            for name in ["near", "mid", "far", "opposite"]:
                n = dims[count % len(dims)]
                count += 1
                store = lambda x: [rounded(t, kind) for t in x]
                x = store(times(radius, unit(rng, n)))
                length = mpf(10) ** mpf(rng.uniform(-8, -2)) * (scale if level else 1)
                while True:
                    if name == "near":
                        y = exp(x, times(length / conformal(x, k), unit(rng, n)), k)
                    elif name == "mid":
                        y = exp(x, times(mpf(rng.uniform(0.01, 3)) * top / 10 / conformal(x, k), unit(rng, n)), k)
                    elif name == "far":
                        other = (1 - mpf(10) ** -rng.choice(list(levels))) * scale if level else mpf(rng.uniform(0, 1.5))
                        y = times(other, unit(rng, n))
                    else:
                        y = neg(exp(x, times(length / conformal(x, k), unit(rng, n)), k))
                    y = store(y)
                    inside = 1 + k * fdot(y, y) > mpf(2) ** (-50 if kind == "f64" else -22)
                    antipodal = k > 0 and cos_k(dist(x, y, k) / 2, k) < mpf("0.2")
                    if y != x and inside and not antipodal:
                        break
                    length *= 2
                rate = rounded(-conformal(x, k) ** 2 * mpf(rng.uniform(0.5, 1)), "f64")
                r = rounded(mpf(rng.choice([-1, 1])) * mpf(10) ** mpf(rng.uniform(-1, 0.4 if k <= 0 else 0)), "f64")
                yield Case(kind, k, level, name, x=x, y=y, v=store(tangent(rng, x, k, top)),
                           u=store(times(mpf(rng.uniform(0.05, 1.5)) * (scale if level else 1), unit(rng, n))),
                           w=store(times(mpf(rng.uniform(0.2, 1.2)) if level else mpf(1), log_map(x, y, k))),
                           r=[r], rate=[rate])
    yield from horosphere_cases("stereographic", stereographic_down, (6, 2.5))


def lorentz_cases():
    rng, more = random.Random("lorentz"), random.Random("lorentz, more")
    dims = [1, 2, 3, 4]
    count = 0
    for kind, levels in [("f64", range(1, 13)), ("f32", range(1, 7))]:
        for k in [-3.7, -1.0, -0.25]:
            k = mpf(k)
            scale = 1 / sqrt(-k)
            at = lambda level, direction: times(
                2 * (1 - mpf(10) ** -level) * scale / (1 - (1 - mpf(10) ** -level) ** 2), direction)
            store = lambda x: [rounded(t, kind) for t in x]

            def lift(x):
                x = store(x)
                return [sqrt(fdot(x, x) - 1 / k)] + x

            def tangent_at(x, length):
                n = len(x) - 1
                along = norm(x[1:])
                t = unit(rng, n)
                radial = fdot(t, x[1:]) / along
                v = combine((1, t), ((x[0] / scale - 1) * radial / along, x[1:]))
                v = store(times(length, v))
                return [fdot(v, x[1:]) / x[0]] + v

            for level in levels:
                for name in ["near", "mid", "far", "opposite"]:
                    n = dims[count // 4 % len(dims)]
                    count += 1
                    x = lift(at(level, unit(rng, n)))
                    length = mpf(10) ** mpf(rng.uniform(-8, -2)) * scale
                    while True:
                        if name == "mid":
                            y = lift(lorentz_exp(x, tangent_at(x, mpf(rng.uniform(0.01, 3)) * scale), k)[0][1:])
                        elif name == "far":
                            y = lift(at(rng.choice(list(levels)), unit(rng, n)))
                        else:
                            y = lorentz_exp(x, tangent_at(x, length), k)[0][1:]
                            y = lift(neg(y) if name == "opposite" else y)
                        if y != x:
                            break
                        length *= 2
                    lengths = [mpf(10) ** mpf(rng.uniform(-6, 1)) * scale for _ in range(2)]
                    u, v = (tangent_at(x, t) for t in lengths)
                    w = store(times(mpf(rng.uniform(0.2, 1.2)), lorentz_log(x, y, k)[1:]))
                    w = [fdot(w, x[1:]) / x[0]] + w
                    r = [rounded(more.uniform(0.1, 3), "f64")]
                    yield Case(kind, k, level, name, x=x, y=y, v=v, u=u, w=w, r=r)
    yield from horosphere_cases("lorentz", lambda x, k: x[1:], (6, 3), lambda u: [mpf(0)] + u)


def model_cases(name, up, down, place, inside, more=lambda x, y, k, store: {}):
    """`place` gives a point at a level in n dimensions; `inside` says whether a stored point is one; `more` gives
    further inputs."""
    rng, deviation = random.Random(name), random.Random(name + ", deviations")
    dims = [1, 2, 3, 4]
    cases = ["near", "mid", "far", "opposite"] + ["beside"] * (name == "klein")
    count = 0
    for kind, levels in [("f64", range(1, 13)), ("f32", range(1, 7))]:
        store = lambda x: [rounded(t, kind) for t in x]
        for k in map(mpf, [-3.7, -1.0, -0.25]):
            scale = 1 / sqrt(-k)

            def tangent_at(x, length):
                v = unit(rng, len(x))
                image = push(lambda z: up(z, k), x, v)
                return times(length / sqrt(minkowski(image, image)), v)

            def moved(x, length):
                velocity = push(lambda z: up(z, k), x, tangent_at(x, length))
                return down(lorentz_exp(up(x, k), velocity, k)[0], k)

            for level in levels:
                for case in cases:
                    n = dims[count // len(cases) % len(dims)]
                    count += 1
                    x = store(place(rng, level, n, k))
                    length = mpf(10) ** mpf(rng.uniform(-8, -2)) * scale
                    while True:
                        if case == "mid":
                            y = moved(x, mpf(rng.uniform(0.01, 3)) * scale)
                        elif case == "far":
                            y = place(rng, rng.choice(list(levels)), n, k)
                        elif case == "beside" and n > 1:
                            # At the same radius, where differences are across it.
                            u = unit(rng, n)
                            u = combine((1, u), (-fdot(u, x) / fdot(x, x), x))
                            angle = sqrt(1 + k * fdot(x, x)) * mpf(10) ** mpf(rng.uniform(-2, 0.5))
                            y = combine((mp.cos(angle), x), (mp.sin(angle) * norm(x) / norm(u), u))
                        else:
                            y = moved(x, length)
                            y = neg(y) if case == "opposite" else y
                            y[-1] = abs(y[-1]) if name == "half_space" else y[-1]
                        y = store(y)
                        if y != x and inside(y, k, kind):
                            break
                        length *= 2
                    lengths = [mpf(10) ** mpf(rng.uniform(-6, 0.5)) * scale for _ in range(2)]
                    u, v = (store(tangent_at(x, t)) for t in lengths)
                    r = [rounded(deviation.uniform(0.1, 3), "f64")]
                    yield Case(kind, k, level, case, x=x, y=y, v=v, u=u, r=r, **more(x, y, k, store))


def klein_cases():
    place = lambda rng, level, n, k: times((1 - mpf(10) ** -level) / sqrt(-k), unit(rng, n))
    inside = lambda y, k, kind: 1 + k * fdot(y, y) > mpf(2) ** (-50 if kind == "f64" else -22)
    yield from model_cases("klein", klein_up, klein_down, place, inside)
    yield from horosphere_cases("klein", klein_down, (3, 1.2))


def half_space_cases():
    def place(rng, level, n, k):
        height = mpf(10) ** (-level if rng.random() < 0.7 else level)
        return [*(mpf(rng.gauss(0, 1)) for _ in range(n - 1)), height * mpf(rng.uniform(0.3, 3))]

    def more(x, y, k, store):
        numbers = {"light": max(x[-1], y[-1]) * mpf(10) ** mpf(rng.uniform(0, 6)), "radius": rng.uniform(0.1, 2),
                   "rate": rng.uniform(0.5, 1) / (-k * x[-1] ** 2)}
        return {name: [rounded(value, "f64")] for name, value in numbers.items()} | {"omega": store(omega(x))}

    directions = random.Random("half-space, directions")

    def omega(x):
        """To an ideal point that x is near, or anywhere; up or down."""
        n, draw = len(x), directions.random()
        if draw < 0.5:
            foot = combine((1, x[:-1]), (x[-1] * mpf(10) ** mpf(directions.uniform(0, 3)), unit(directions, n - 1))) \
                if n > 1 else []
            w = [*times(2, foot), fdot(foot, foot) - 1]
        else:
            w = unit(directions, n) if draw < 0.8 else [mpf(0)] * (n - 1) + [mpf(directions.choice([-1, 1]))]
        return times(mpf(10) ** mpf(directions.uniform(-2, 2)), w)

    rng = random.Random("half-space, more")
    yield from model_cases("half_space", half_space_up, half_space_down, place, lambda y, k, kind: y[-1] > 0, more)

    # Low points near the horosphere through the origin of an ideal point that is near them.
    rng = random.Random("half_space, horospheres")
    for kind, low in [("f64", -10), ("f32", -5)]:
        store = lambda x: [rounded(t, kind) for t in x]
        for k in map(mpf, [-3.7, -1.0, -0.25]):
            for n in [2, 3, 4] * 3:
                y, e = mpf(10) ** mpf(rng.uniform(low, -2)), mp.exp(mpf(rng.uniform(-0.3, 0.3)))
                foot = times(mpf(10) ** mpf(rng.uniform(-1, 1)), unit(rng, n - 1))
                whole = 1 + fdot(foot, foot)
                x = store([*combine((1, foot), (sqrt(y * (whole * e - y)), unit(rng, n - 1))), y])
                w = store(times(mpf(10) ** mpf(rng.uniform(-2, 2)), [*times(2, foot), whole - 2]))
                yield Case(kind, k, None, "horosphere", x=x, y=x, v=x, u=x, omega=w, light=[mpf(1)], radius=[mpf(1)])


def sphere_cases():
    rng, deviation = random.Random("sphere"), random.Random("sphere, deviations")
    dims = [1, 2, 3, 4]
    count = 0
    for kind in ["f64", "f32"]:
        store = lambda x: [rounded(t, kind) for t in x]
        # Rows are off the sphere by their rounding, of which the square is not to matter.
        near = (-7, -2) if kind == "f64" else (-3, -1)
        for k in map(mpf, [1, 0.25, 3.7]):
            scale = 1 / sqrt(k)
            for name in ["near", "mid", "far", "opposite"] * 4:
                n = dims[count // 4 % len(dims)]
                count += 1
                pole = sphere_point([1] + [mpf(0)] * n, k)

                def tangent_at(x, length):
                    v = sphere_tangent(x, unit(rng, n + 1), k)
                    return times(length * scale / norm(v), v)

                x = store(sphere_exp(pole, tangent_at(pole, mpf(rng.uniform(0, 3.1))), k))
                at = sphere_point(x, k)
                short = mpf(10) ** mpf(rng.uniform(*near))
                length = {"near": short, "mid": mpf(rng.uniform(0.1, 1.5)), "far": mpf(rng.uniform(1.5, 3)),
                          "opposite": mp.pi - short}[name]
                y = store(sphere_exp(at, tangent_at(at, length), k))
                lengths = [mpf(10) ** mpf(rng.uniform(-6, 0.5)) for _ in range(2)]
                u, v = (store(tangent_at(at, t)) for t in lengths)
                g = store(times(mpf(10) ** mpf(rng.uniform(-3, 3)), unit(rng, n + 1)))
                r = [rounded(deviation.uniform(0.1, 3), "f64")]
                yield Case(kind, k, None, name, x=x, y=y, v=v, u=u, g=g, r=r)


def product_cases():
    rng = random.Random("product")
    for kind in ["f64", "f32"]:
        store = lambda x: [rounded(t, kind) for t in x]
        for k in map(mpf, [-3.7, -1.0, -0.25]):
            for name, reach in [("near", "1e-2"), ("mid", "0.5"), ("far", "1.5"), ("outer", "1")]:
                scale, radius = 1 / sqrt(-k), mpf("0.9999") if name == "outer" else mpf(rng.uniform(0.1, 0.8))
                length = lambda: mpf(reach) * mpf(rng.uniform(0.5, 1))
                ball = times(radius * scale, unit(rng, 2))
                other = exp(ball, times(2 * length() * scale / conformal(ball, k), unit(rng, 2)), k)
                vectors = [times(length() * scale / conformal(ball, k), unit(rng, 2)) for _ in range(2)]
                pole, free = times(2, unit(rng, 3)), lambda: times(length(), unit(rng, 3))
                at = sphere_point(store(pole), mpf(1) / 4)
                tangents = [sphere_tangent(at, free(), mpf(1) / 4) for _ in range(3)]
                end = sphere_exp(at, tangents[0], mpf(1) / 4)
                line = lambda: [mpf(reach) * mpf(rng.gauss(0, 1))]
                yield Case(kind, k, None, name, x=store(ball + pole + line()), y=store(other + end + line()),
                           v=store(vectors[0] + tangents[1] + line()), u=store(vectors[1] + tangents[2] + line()))


def map_cases():
    rng = random.Random("maps")
    for kind in ["f64", "f32"]:
        for k in map(mpf, [-3.7, -1.0, -0.25]):
            for n in [1, 2, 3, 4] * 2:
                a = times(mpf(10) ** mpf(rng.uniform(-3, 3)), unit(rng, n)) + [
                    mpf(rng.choice([-1, 1])) * mpf(10) ** mpf(rng.uniform(-3, 1.6)) / sqrt(-k)]
                yield Case(kind, k, None, "activation", a=[rounded(t, kind) for t in a],
                           light=[rounded(rng.uniform(0.5, 2), "f64")])


def mean_cases():
    rng = random.Random("means")
    for kind, levels in [("f64", [1, 2, 4, 8, 12]), ("f32", [1, 2, 4, 6])]:
        models = {"stereographic": [-3.7, -1, -1e-9, 0, 1e-9, 1], "lorentz": [-1, -0.25], "klein": [-1, -0.25],
                  "half_space": [-1, -0.25], "sphere": [0.25, 1]}
        for model, k, level in [(model, mpf(k), level) for model in models for k in models[model] for level in levels]:
            down, scale = STEREOGRAPHIC_DOWN[model], 1 / sqrt(abs(k)) if abs(k) > 1e-6 else mpf(1)
            if level > 2 and (model in ["lorentz", "klein"] or k > -0.1):
                continue
            for name, n, count in [("near", 2, 2), ("far", 2, 3), ("far", 3, 3)]:
                # One at the level and others about it, or all where they happen to be.
                radius = lambda: (1 - mpf(10) ** -level) * scale if k < -0.1 else mpf(rng.uniform(0.1, 0.3)) * scale
                first = times(radius(), unit(rng, n))
                others = [exp(first, times(mpf(rng.uniform(0.1, 1)) * scale / conformal(first, k), unit(rng, n)), k)
                          if name == "near" else times(mpf(rng.uniform(0.3, 1)) * radius(), unit(rng, n))
                          for _ in range(count - 1)]
                points = {name: [rounded(t, kind) for t in down(x, k)] for name, x in zip("xyz", [first, *others])}
                if model == "lorentz":
                    points = {name: [sqrt(fdot(x[1:], x[1:]) - 1 / k)] + x[1:] for name, x in points.items()}
                weights = [rounded(rng.uniform(0.2, 1), kind) for _ in range(count)]
                yield Case(kind, k, level if k < -0.1 else None, model, **points, w=weights)


def frame_cases(name, tangent, exp):
    rng = random.Random(name)
    for kind in ["f64", "f32"]:
        store = lambda a: [rounded(t, kind) for t in elements(a)]
        free = lambda: mp.matrix([[rng.gauss(0, 1) for _ in range(p)] for _ in range(n)])
        for n, p in [(2, 1), (3, 2), (4, 2), (4, 3)]:
            for case, reach in [("near", 1e-3), ("mid", 0.4), ("far", 1.2)] * 2:
                x = store(polar(free()))
                at = polar(matrix(x, p))

                def vector(length):
                    v = tangent(at, free())
                    return v * (length / mp.norm(v))

                w = vector(reach * rng.uniform(0.5, 1))
                turn = polar(mp.matrix([[rng.gauss(0, 1) for _ in range(p)] for _ in range(p)]))
                y = exp(at, w) * (turn if name == "grassmann" and rng.random() < 0.5 else mp.eye(p))
                u, v = (store(vector(10 ** rng.uniform(-3, 0.3))) for _ in range(2))
                size = [mpf(n), mpf(p)]
                yield Case(kind, mpf(0), None, case, size=size, x=x, y=store(y), u=u, v=v, w=store(w), g=store(free()))


def stiefel_cases():
    return frame_cases("stiefel", stiefel_tangent, stiefel_exp)


def grassmann_cases():
    return frame_cases("grassmann", lambda x, v: v - x * (x.T * v), grassmann_exp)


def spd_cases():
    rng = random.Random("spd")
    for kind, worst in [("f64", 10), ("f32", 4)]:
        for n in [2, 3]:
            for case, decades in [("moderate", 1), ("middling", worst / 2), ("ill", worst)] * 2:
                free = lambda: mp.matrix([[rng.gauss(0, 1) for _ in range(n)] for _ in range(n)])
                store = lambda a: [rounded(t, kind) for t in elements(sym(a))]

                def definite():
                    values = [mpf(10) ** mpf(rng.uniform(-decades / 2, decades / 2)) for _ in range(n)]
                    return congruence(polar(free()), mp.diag(values))

                x, y = definite(), definite()
                root = spectral(sqrt, x)
                # Of moderate lengths in the metric.
                u, v = (congruence(root, sym(free())) * rng.uniform(0.1, 1) for _ in range(2))
                x, y, u, v = map(store, [x, y, u, v])
                yield Case(kind, mpf(0), None, case, size=[mpf(n)], x=x, y=y, u=u, v=v)


# Derivatives by curvature, through zero: of a number, or of a vector's inner product with g.

def slope(f):
    step = mpf(10) ** -30
    return lambda c: (value(f, c, c.k + step) - value(f, c, c.k - step)) / (2 * step)


CURVATURE = {
    name: slope(STEREOGRAPHIC[name])
    for name in ["dist", "log", "exp", "transport", "add", "scale", "exp0", "log0", "gyroplane", "hyperplane",
                 "geodesic"]
}


def value(f, c, k):
    result = f(Case(c.kind, k, c.level, c.name, **c.inputs))
    result = result[0] if isinstance(result, tuple) else result
    return fdot(result, c.g) if isinstance(result, list) else result


def curvature_cases():
    rng = random.Random("curvature")
    for kind in ["f64", "f32"]:
        for k in [-1, -1e-2, -1e-4, -1e-6, -1e-9, -1e-12, 0, 1e-12, 1e-9, 1e-6, 1e-4, 1e-2, 1]:
            for n in [2, 3]:
                store = lambda x: [rounded(t, kind) for t in x]
                x, y, v, u, g = (store(times(mpf(rng.uniform(0.2, 0.6)), unit(rng, n))) for _ in range(5))
                r = [rounded(mpf(rng.uniform(0.3, 1.6)), "f64")]
                yield Case(kind, mpf(k), None, "plain", x=x, y=y, v=v, u=u, g=g, r=r)


# Gradients: of a number, or of a vector's inner product with g, by the coordinates of each input.

def gradient(f, name):
    """The points of the hyperboloid are functions of their space coordinates. A sum that cancels in the result does so in
    its derivative."""
    def operation(c):
        lorentz, h = c.name.startswith("lorentz"), mpf(10) ** -45
        found = f(c)
        if found is None:
            return None

        def at(i, t):
            inputs = {**c.inputs, name: [s + t if j == i else s for j, s in enumerate(c.inputs[name])]}
            for point in ["x", "y"] if lorentz else []:
                inputs[point] = [sqrt(fdot(inputs[point][1:], inputs[point][1:]) - 1 / c.k)] + inputs[point][1:]
            for v in ["v", "u", "w"] if lorentz else []:
                inputs[v] = [fdot(inputs[v][1:], inputs["x"][1:]) / inputs["x"][0]] + inputs[v][1:]
            return value(f, Case(c.kind, c.k, c.level, c.name, **inputs), c.k)

        with mp.workdps(150):
            result = [(at(i, h) - at(i, -h)) / (2 * h) for i in range(int(lorentz), len(c.inputs[name]))]
        # A sum has g itself among its terms.
        size = max(map(abs, result))
        beside = norm(c.g) / size if isinstance(found, tuple) and isinstance(found[0], list) and size else mpf(1)
        return result, max(beside, found[1] if isinstance(found, tuple) else mpf(1))
    return operation


# Left out is what has an area of nearly parallel vectors in the ball, whose cotangents cancel: Busemann functions, angles
# of cones, exponential maps back past the origin.
INPUTS = {
    "dist": "xy", "log": "xy", "exp": "xv", "transport": "xyv", "geodesic": "xy", "inner": "xuv", "norm": "xv",
    "gyroplane": "xyu", "cone_aperture": "x", "add": "xy", "coadd": "xy", "gyr": "xyv", "scale": "x", "exp0": "u",
    "log0": "x", "logit": "xyu", "hyperplane": "xu", "descend": "xv", "lambda": "x",
}
OF_MODELS = {
    "stereographic": (STEREOGRAPHIC, stereographic_cases),
    "lorentz": (LORENTZ, lorentz_cases),
    "klein": (KLEIN, klein_cases),
    "half_space": (HALF_SPACE, half_space_cases),
}
GRADIENTS = {
    f"{model}.{name}.{by}": gradient(table[name], by)
    for model, (table, _) in OF_MODELS.items()
    for name in INPUTS if name in table
    for by in INPUTS[name]
}


def gradient_cases():
    """Some of every model's."""
    rng = random.Random("gradients")
    for model, (_, cases) in OF_MODELS.items():
        for c in cases():
            levels = [2, 5, 8, 12] if c.kind == "f64" else [2, 4, 6]
            flat = len(c.x) == 1 + (model == "lorentz")
            wanted = c.level in levels and c.k in [-1, mpf("-0.25")] or c.level is None and c.k in [1, mpf("0.25")]
            if flat or not wanted or c.name == "horosphere":
                continue
            g = [rounded(t, c.kind) for t in unit(rng, len(c.x))]
            g = [mpf(0)] + g[1:] if model == "lorentz" else g
            case = Case(c.kind, c.k, c.level, model + "." + c.name, **{**c.inputs, "g": g})
            case.only = [name for name in GRADIENTS if name.startswith(model + ".")]
            yield case


MANIFOLDS = {
    "stereographic": (STEREOGRAPHIC, stereographic_cases),
    "lorentz": (LORENTZ, lorentz_cases),
    "klein": (KLEIN, klein_cases),
    "half_space": (HALF_SPACE, half_space_cases),
    "sphere": (SPHERE, sphere_cases),
    "product": (PRODUCT, product_cases),
    "maps": (MAPS, map_cases),
    "means": (MEANS, mean_cases),
    "stiefel": (STIEFEL, stiefel_cases),
    "grassmann": (GRASSMANN, grassmann_cases),
    "spd": (SPD, spd_cases),
    "curvature": (CURVATURE, curvature_cases),
    "gradients": (GRADIENTS, gradient_cases),
}


def main():
    for manifold in sys.argv[1:] or MANIFOLDS:
        operations, cases = MANIFOLDS[manifold]
        lines = []
        for case in cases():
            level = case.level if case.level else "-"
            lines.append(f"case {case.kind} {bits(case.k)} {level} {case.name}")
            lines += [" ".join([name, *map(bits, value)]) for name, value in case.inputs.items()]
            for name, operation in operations.items():
                result = operation(case) if name in (case.only or operations) else None
                if result is None:
                    continue
                result, condition = result if isinstance(result, tuple) else (result, mpf(1))
                result = result if isinstance(result, list) else [result]
                condition = max(1.0, float(condition))
                lines.append(" ".join(["=", name, f"{condition:.3g}", *map(bits, result)]))
        path = Path(__file__).with_name(manifold + ".txt")
        path.write_text("\n".join(lines) + "\n")
        print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
