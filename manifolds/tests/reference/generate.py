#!/usr/bin/env python3
"""Reference values of the manifolds' operations, in 100-digit arithmetic (mpmath).

Usage: generate.py [MANIFOLD ...]     (all of MANIFOLDS by default; writes MANIFOLD.txt beside this file)

Operations are written here by their definitions (LAWS, Ganea et al. 2018), not by the forms that the library
computes; stored inputs are exact. An operation is a function of a case in the table of its manifold: it returns
the result and, if rounding of exact inputs' products is amplified by cancellation in the result, by how much.

A file is a list of cases:

    case TYPE KAPPA K KIND      TYPE f64 or f32; 1 - |x| = 10^-K in the ball of radius 1, K = - elsewhere
    x WORDS                     inputs by name
    = OPERATION CONDITION WORDS

Numbers are the bits of a double as 16 hexadecimal digits.
"""
import random
import struct
import sys
from pathlib import Path

from mpmath import acosh, asinh, atan, atanh, asin, cosh, fdot, log, mp, mpf, sinh, sqrt, tan, tanh

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


def exp_condition(x, v, k):
    y = along(lambda n: tan_k(conformal(x, k) * n / 2, k), v)
    xy, xx, yy = fdot(x, y), fdot(x, x), fdot(y, y)
    den = 1 - 2 * k * xy + k * k * xx * yy
    a, b = (1 - 2 * k * xy - k * yy) / den, (1 + k * xx) / den
    return spread(combine((a, x), (b, y)), times(a, x), times(b, y))


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


def busemann_condition(x, w, k):
    """Near the horosphere through the origin the logarithm's argument is 1 + t, and t a sum."""
    c, m = sqrt(-k), 1 + k * fdot(x, x)
    t = mp.expm1(c * busemann(x, w, k))
    if abs(t) >= mpf("0.5"):
        return 1 / abs(mp.log(1 + t))
    size = 2 * c * (c * fdot(x, x) + sum(abs(p * q) for p, q in zip(x, w)) / norm(w)) / m
    return size / abs(mp.log(1 + t))


def coadd(x, y, k):
    mx, my = 1 + k * fdot(x, x), 1 + k * fdot(y, y)
    den = 1 - k * k * fdot(x, x) * fdot(y, y)
    return combine((my / den, x), (mx / den, y))


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
}


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
}


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
    """The operations of a model from those of the hyperboloid, and `conversion` from a coordinate gradient."""
    at = lambda c, x: up(x, c.k)
    there = lambda c, x, v: push(lambda z: up(z, c.k), x, v)
    back = lambda c, x, v: push(lambda z: down(z, c.k), x, v)
    operations = {
        "dist": lambda c: acosh(c.k * minkowski(at(c, c.x), at(c, c.y))) / sqrt(-c.k),
        "log": lambda c: back(c, at(c, c.x), lorentz_log(at(c, c.x), at(c, c.y), c.k)),
        "exp": lambda c: down(lorentz_exp(at(c, c.x), there(c, c.x, c.v), c.k)[0], c.k),
        "transport": lambda c: back(c, at(c, c.y), lorentz_transport(
            at(c, c.x), at(c, c.y), there(c, c.x, c.v), c.k)[0]),
        "inner": lambda c: minkowski(there(c, c.x, c.u), there(c, c.x, c.v)),
        "norm": lambda c: sqrt(minkowski(there(c, c.x, c.v), there(c, c.x, c.v))),
        "egrad_to_rgrad": lambda c: conversion(c.x, c.v, c.k),
    }
    inputs = {"dist": "xy", "log": "xy", "exp": "xv", "transport": "xyv", "inner": "xuv", "norm": "xv",
              "egrad_to_rgrad": "xv"}
    for name in sensitive:
        operations[name] = (lambda f, of: lambda c: (f(c), sensitivity(f, c, *of)))(operations[name], inputs[name])
    return operations


# Radial parts of Klein vectors cancel near the boundary: there rounding of the vector itself counts for more.
KLEIN = through(klein_up, klein_down,
                lambda x, g, k: times(1 + k * fdot(x, x), combine((1, g), (k * fdot(x, g), x))),
                "egrad_to_rgrad", "transport")
HALF_SPACE = through(half_space_up, half_space_down, lambda x, g, k: times(-k * x[-1] ** 2, g))

# From the stereographic model into all others: points, and tangent vectors.
def converted(up, down=lambda x, k: x):
    to = lambda k: lambda z: down(up(z, k), k)
    return lambda c: to(c.k)(c.x), lambda c: push(to(c.k), c.x, c.v)


hyperbolic = lambda f: lambda c: f(c) if c.k < 0 else None
for model, (point, vector) in [
    ("lorentz", converted(stereographic_up)),
    ("klein", converted(stereographic_up, klein_down)),
    ("half_space", converted(stereographic_up, half_space_down)),
]:
    STEREOGRAPHIC["to_" + model] = hyperbolic(point)
    # A radial vector is shorter in the Klein model by as much as its rounding is longer.
    STEREOGRAPHIC["push_to_" + model] = hyperbolic(
        vector if model != "klein" else lambda c, vector=vector: (vector(c), sensitivity(vector, c, "x", "v")))
point, vector = converted(stereographic_up)
STEREOGRAPHIC["to_sphere"] = lambda c: point(c) if c.k > 0 else None
STEREOGRAPHIC["push_to_sphere"] = lambda c: vector(c) if c.k > 0 else None


# Cases.

class Case:
    def __init__(self, kind, k, level, name, **inputs):
        self.kind, self.k, self.level, self.name, self.inputs = kind, k, level, name, inputs
        self.__dict__.update(inputs)


def unit(rng, n):
    x = [mpf(rng.gauss(0, 1)) for _ in range(n)]
    return times(1 / norm(x), x)


def tangent(rng, x, k, top):
    """A stored-precision-free tangent vector at x, its Riemannian length log-uniform."""
    length = mpf(10) ** mpf(rng.uniform(-6, float(mp.log10(top))))
    return times(length / conformal(x, k), unit(rng, len(x)))


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


def lorentz_cases():
    rng = random.Random("lorentz")
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
                    n = dims[count % len(dims)]
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
                    yield Case(kind, k, level, name, x=x, y=y, v=v, u=u, w=w)


def model_cases(name, up, down, place, inside):
    """`place` gives a point at a level in n dimensions; `inside` says whether a stored point is one."""
    rng = random.Random(name)
    dims = [1, 2, 3, 4]
    count = 0
    for kind, levels in [("f64", range(1, 13)), ("f32", range(1, 7))]:
        store = lambda x: [rounded(t, kind) for t in x]
        for k in map(mpf, [-3.7, -1.0, -0.25]):
            scale = 1 / sqrt(-k)

            def tangent_at(x, length):
                v = unit(rng, len(x))
                there = push(lambda z: up(z, k), x, v)
                return times(length / sqrt(minkowski(there, there)), v)

            def moved(x, length):
                there = push(lambda z: up(z, k), x, tangent_at(x, length))
                return down(lorentz_exp(up(x, k), there, k)[0], k)

            for level in levels:
                for case in ["near", "mid", "far", "opposite"]:
                    n = dims[count % len(dims)]
                    count += 1
                    x = store(place(rng, level, n, k))
                    length = mpf(10) ** mpf(rng.uniform(-8, -2)) * scale
                    while True:
                        if case == "mid":
                            y = moved(x, mpf(rng.uniform(0.01, 3)) * scale)
                        elif case == "far":
                            y = place(rng, rng.choice(list(levels)), n, k)
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
                    yield Case(kind, k, level, case, x=x, y=y, v=v, u=u)


def klein_cases():
    place = lambda rng, level, n, k: times((1 - mpf(10) ** -level) / sqrt(-k), unit(rng, n))
    inside = lambda y, k, kind: 1 + k * fdot(y, y) > mpf(2) ** (-50 if kind == "f64" else -22)
    return model_cases("klein", klein_up, klein_down, place, inside)


def half_space_cases():
    def place(rng, level, n, k):
        height = mpf(10) ** (-level if rng.random() < 0.7 else level)
        return [*(mpf(rng.gauss(0, 1)) for _ in range(n - 1)), height * mpf(rng.uniform(0.3, 3))]
    return model_cases("half_space", half_space_up, half_space_down, place, lambda y, k, kind: y[-1] > 0)


# Derivatives by curvature, through zero: of a number, or of a vector's inner product with g.

def slope(f):
    step = mpf(10) ** -30
    return lambda c: (value(f, c, c.k + step) - value(f, c, c.k - step)) / (2 * step)


CURVATURE = {
    name: slope(STEREOGRAPHIC[name])
    for name in ["dist", "log", "exp", "transport", "add", "scale", "exp0", "log0", "gyroplane", "hyperplane"]
}


def value(f, c, k):
    result = f(scalars(Case(c.kind, k, c.level, c.name, **c.inputs)))
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


MANIFOLDS = {
    "stereographic": (STEREOGRAPHIC, stereographic_cases),
    "lorentz": (LORENTZ, lorentz_cases),
    "klein": (KLEIN, klein_cases),
    "half_space": (HALF_SPACE, half_space_cases),
    "curvature": (CURVATURE, curvature_cases),
}


def scalars(case):
    """Numbers among the inputs, as such."""
    for name in ["r", "rate"]:
        if name in case.inputs:
            setattr(case, name, case.inputs[name][0])
    return case


def main():
    for manifold in sys.argv[1:] or MANIFOLDS:
        operations, cases = MANIFOLDS[manifold]
        lines = []
        for case in map(scalars, cases()):
            level = case.level if case.level else "-"
            lines.append(f"case {case.kind} {bits(case.k)} {level} {case.name}")
            lines += [" ".join([name, *map(bits, value)]) for name, value in case.inputs.items()]
            for name, operation in operations.items():
                result = operation(case)
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
