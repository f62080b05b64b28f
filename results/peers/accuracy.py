#!/usr/bin/env python3
"""Worst relative errors of another library's distances, maps and gradients, by radius.

Usage: accuracy.py geoopt|hypll|hyperbolix

Prints the JSON lines of `cargo bench --bench accuracy -- --json FILE`, from the same tables and with the same
measures of error: see benches/accuracy.rs. On the hyperboloid gradients are by the space coordinates: points
and tangent vectors are lifted from them inside of what is differentiated.
"""
import json
import math
import struct
import sys
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path

TABLES = Path(__file__).parents[2] / "manifolds" / "tests" / "reference"
MODELS = {"stereographic": "ball", "lorentz": "hyperboloid"}


def number(word):
    return struct.unpack(">d", bytes.fromhex(word))[0]


def cases(table, prefix):
    """The cases that have a level, and curvature -1 or -1/4: type, scale, inputs, results by name."""
    case = None
    for line in (TABLES / table).read_text().splitlines():
        first, *words = line.split(" ")
        if first == "case":
            if case:
                yield case
            kappa = number(words[1])
            wanted = kappa in (-1, -0.25) and words[2] != "-"
            case = (words[0], math.sqrt(-kappa), {}, []) if wanted else None
        elif case and first == "=":
            case[3].append((prefix + words[0], [number(w) for w in words[2:]]))
        elif case:
            case[2][first] = [number(w) for w in words]
    if case:
        yield case


def level(element, model, x, y, gradient):
    """The k of the outer one of x and y, as in benches/accuracy.rs."""
    def beyond(point):
        norm = math.hypot(*point) if model == "stereographic" else math.hypot(*point[1:]) / (1 + point[0])
        return -math.log10(1 - norm)
    last = 6 if element == "f32" else 12
    inner = ([2, 4] if last == 6 else [2, 5, 8]) if gradient else range(1, last)
    return next((k for k in inner if max(beyond(x), beyond(y)) < k + 0.5), last)


def error(got, exact):
    """Of a vector: the largest error of a coordinate over the largest coordinate."""
    if not all(map(math.isfinite, got)):
        return math.inf
    return max(abs(a - b) for a, b in zip(got, exact, strict=True)) / max(map(abs, exact))


class Torch:
    """Operations as PyTorch functions of x, y and v."""

    def __init__(self, operations):
        self.operations = operations

    def value(self, function, element, rows):
        dtype = getattr(torch, {"f64": "float64", "f32": "float32"}[element])
        return function(*(torch.tensor(row, dtype=dtype) for row in rows)).reshape(-1).tolist()

    def gradient(self, function, element, rows, g, by, lift):
        dtype = getattr(torch, {"f64": "float64", "f32": "float32"}[element])
        rows = [torch.tensor(row, dtype=dtype, requires_grad=True) for row in rows]
        result = function(*(lift(torch, *rows) if lift else rows))
        (result if g is None else (torch.tensor(g, dtype=dtype) * result).sum()).sum().backward()
        return rows[by].grad.tolist()


class Jax:
    """Operations as JAX functions of x, y and v, compiled."""

    def __init__(self, operations):
        self.operations, self.compiled = operations, {}

    def jit(self, key, function):
        return self.compiled.setdefault(key, jax.jit(function))

    def array(self, element, row):
        return jnp.asarray(row, dtype={"f64": jnp.float64, "f32": jnp.float32}[element])

    def value(self, function, element, rows):
        function = self.jit(function, function)
        return jnp.ravel(function(*(self.array(element, row) for row in rows))).tolist()

    def gradient(self, function, element, rows, g, by, lift):
        def inner(g, *rows):
            result = function(*(lift(jnp, *rows) if lift else rows))
            return jnp.sum(g * result)
        slope = self.jit((function, by), jax.grad(inner, argnums=1 + by))
        return slope(*(self.array(element, row) for row in [1.0 if g is None else g, *rows])).tolist()


def lift(library, x, y, v):
    """Points and a tangent vector at x from their space coordinates."""
    join = lambda time, space: library.concatenate([time.reshape(1), space])
    height = lambda space: library.sqrt(1 + (space * space).sum())
    return join(height(x), x), join(height(y), y), join((x * v).sum() / height(x), v)


def geoopt_operations():
    # Nothing is projected where that can be switched off.
    import geoopt
    ball, space = geoopt.PoincareBall(c=1.0), geoopt.Lorentz(k=1.0)
    return Torch({
        "stereographic": {
            "dist": lambda x, y, v: ball.dist(x, y),
            "log": lambda x, y, v: ball.logmap(x, y),
            "exp": lambda x, y, v: ball.expmap(x, v, project=False),
            "transport": lambda x, y, v: ball.transp(x, y, v),
            "add": lambda x, y, v: ball.mobius_add(x, y, project=False),
        },
        "lorentz": {
            "dist": lambda x, y, v: space.dist(x, y),
            "log": lambda x, y, v: space.logmap(x, y),
            "exp": lambda x, y, v: space.expmap(x, v, norm_tan=False, project=False),
            "transport": lambda x, y, v: space.transp(x, y, v),
        },
    })


def hypll_operations():
    # The functions that its manifold calls, whose own curvature is softplus(c) by default. `expmap` projects,
    # which cannot be switched off. HypLL has no hyperboloid.
    from hypll.manifolds.poincare_ball.math import diffgeom as ball
    c = torch.tensor(1.0, dtype=torch.float64)
    return Torch({
        "stereographic": {
            "dist": lambda x, y, v: ball.dist(x, y, c.to(x)),
            "log": lambda x, y, v: ball.logmap(x, y, c.to(x)),
            "exp": lambda x, y, v: ball.expmap(x, v, c.to(x)),
            "transport": lambda x, y, v: ball.transp(x, y, v, c.to(x)),
            "add": lambda x, y, v: ball.mobius_add(x, y, c.to(x)),
        },
    })


def hyperbolix_operations():
    # A manifold is made for one type. Distances are of the default version, the most accurate one.
    from hyperbolix.manifolds import Hyperboloid, Poincare
    balls = {t: Poincare(dtype=t) for t in (jnp.float32, jnp.float64)}
    spaces = {t: Hyperboloid(dtype=t) for t in (jnp.float32, jnp.float64)}
    ball, space = (lambda x: balls[x.dtype.type]), (lambda x: spaces[x.dtype.type])
    maps = lambda m: {
        "dist": lambda x, y, v: m(x).dist(x, y, 1.0),
        "log": lambda x, y, v: m(x).logmap(y, x, 1.0),
        "exp": lambda x, y, v: m(x).expmap(v, x, 1.0),
        "transport": lambda x, y, v: m(x).ptransp(v, x, y, 1.0),
    }
    return Jax({
        "stereographic": {**maps(ball), "add": lambda x, y, v: ball(x).addition(x, y, 1.0)},
        "lorentz": maps(space),
    })


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in ("geoopt", "hypll", "hyperbolix"):
        sys.exit(__doc__)
    library = sys.argv[1]
    if library == "hyperbolix":
        global jax, jnp
        import jax
        import jax.numpy as jnp
        jax.config.update("jax_enable_x64", True)
    else:
        global torch
        import torch
    peer = globals()[library + "_operations"]()
    errors = defaultdict(list)
    for table, prefix in [
        ("stereographic.txt", "stereographic."), ("lorentz.txt", "lorentz."), ("gradients.txt", ""),
    ]:
        for element, scale, inputs, results in cases(table, prefix):
            rows = [[scale * t for t in inputs[name]] for name in "xyv"]
            for name, exact in results:
                model, operation, *by = name.split(".")
                function = peer.operations.get(model, {}).get(operation)
                if function is None or not any(exact):
                    continue
                k = level(element, model, *rows[:2], bool(by))
                if by:
                    curved = model == "lorentz"
                    space, g = [row[curved:] for row in rows], None if operation == "dist" else inputs["g"]
                    by = "xyv".index(by[0])
                    got = peer.gradient(function, element, space, g, by, lift if curved else None)
                    operation += " gradient"
                else:
                    got, exact = peer.value(function, element, rows), [scale * t for t in exact]
                errors[MODELS[model], operation, element, k].append(error(got, exact))
    for (model, operation, element, k), found in sorted(errors.items()):
        worst = max(found) if all(map(math.isfinite, found)) else None
        print(json.dumps({
            "library": library, "version": version(library), "operation": operation, "model": model,
            "type": element, "k": k, "worst": worst, "cases": len(found),
        }))


main()
