#!/usr/bin/env python3
"""A training step of the recursive transformer on a graph in eager PyTorch.

Usage: bench_graph_tasks.py [--json FILE] [--seconds S] [--nodes N] [--threads T] [--only REGEX]

The model of the application graph-tasks with its default options (Gulcehre et al. 2019, section 5.1):
adjacency rows through a linear layer and a vector for each number, one block of full attention applied three
times, 4 heads of 4 numbers, width 16, 64 hidden units, normalisation before the sublayers, a read-out of
32 pairs of nodes.  A step is forward pass, backward pass and Adam for one graph with mean degree 10.5.

  hyperbolic  pseudo-polar queries, keys and values; -beta d(q, k) - c with learned beta and c, softmax,
              Einstein midpoint.  The distances come from one product of matrices on the hyperboloid.
  euclidean   softmax(q k^T / 2) v
  sdpa        the same by F.scaled_dot_product_attention, which stores no scores

Every case runs in its own process, so that peak memory is its own: the rise of the process's high-water RSS
over its value after the first step of a graph of 8 nodes.
"""
import argparse
import json
import re
import resource
import statistics
import subprocess
import sys
import time

HEADS, DIM, WIDTH, HIDDEN, DEPTH, PAIRS, DEGREE = 4, 4, 16, 64, 3, 32, 10.5


def build(kind, nodes, torch):
    nn, F = torch.nn, torch.nn.functional

    def polar(x):
        d = F.normalize(x[..., :-1], dim=-1)
        r = x[..., -1:]
        return torch.cat([torch.sinh(r) * d, torch.cosh(r)], -1)

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(WIDTH, HEADS * DIM) for _ in range(3))
            self.out = nn.Linear(HEADS * DIM, WIDTH)
            if kind == "hyperbolic":
                self.beta, self.c = nn.Parameter(torch.ones(())), nn.Parameter(torch.zeros(()))

        def forward(self, x):
            q, k, v = (f(x).view(-1, HEADS, DIM).transpose(0, 1) for f in (self.q, self.k, self.v))
            if kind == "sdpa":
                y = F.scaled_dot_product_attention(q[None], k[None], v[None])[0]
            elif kind == "euclidean":
                y = torch.softmax(q @ k.transpose(-1, -2) / DIM ** 0.5, -1) @ v
            else:
                q, k, v = polar(q), polar(k), polar(v)
                sign = torch.tensor([-1.0, -1.0, -1.0, 1.0])
                distance = torch.acosh(((q * sign) @ k.transpose(-1, -2)).clamp_min(1 + 1e-6))
                sums = torch.softmax(-self.beta * distance - self.c, -1) @ v
                space, time_part = sums[..., :-1], sums[..., -1:]
                square = time_part ** 2 - (space ** 2).sum(-1, keepdim=True)
                point = space / square.clamp_min(1e-12).sqrt()
                y = torch.cat([F.normalize(point, dim=-1), torch.asinh(point.norm(dim=-1, keepdim=True))], -1)
            return self.out(y.transpose(0, 1).reshape(-1, HEADS * DIM))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.neighbours = nn.EmbeddingBag(nodes, WIDTH, mode="sum")
            self.own = nn.Parameter(torch.randn(nodes, WIDTH) * WIDTH ** -0.5)
            self.attention = Attention()
            self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3))
            self.feed = nn.Sequential(nn.Linear(WIDTH, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, WIDTH))
            self.read = nn.Sequential(nn.Linear(3 * WIDTH, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 25))

        def forward(self, columns, starts, pairs):
            x = self.neighbours(columns, starts) + self.own
            for _ in range(DEPTH):
                x = x + self.attention(self.norms[0](x))
                x = x + self.feed(self.norms[1](x))
            x = self.norms[2](x)
            a, b = x[pairs[0]], x[pairs[1]]
            return self.read(torch.cat([a + b, a * b, (a - b).abs()], -1))

    return Model()


def graph(nodes, torch):
    pairs = torch.randint(nodes, (2, int(nodes * DEGREE / 2)))
    rows, columns = torch.cat([pairs, pairs.flip(0)], 1)
    order = torch.argsort(rows)
    starts = torch.searchsorted(rows[order], torch.arange(nodes))
    return columns[order], starts, torch.randint(nodes, (2, PAIRS)), torch.randint(25, (PAIRS,))


def rss_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def child(kind, nodes, threads, seconds):
    import torch
    torch.set_num_threads(threads)
    torch.manual_seed(0)

    def stepper(nodes):
        model = build(kind, nodes, torch)
        adam = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98))

        def step():
            columns, starts, pairs, labels = graph(nodes, torch)
            t = time.perf_counter()
            adam.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(columns, starts, pairs), labels)
            loss.backward()
            adam.step()
            return time.perf_counter() - t, loss.item()
        return model, step

    stepper(8)[1]()
    base = rss_mb()
    model, step = stepper(nodes)
    step()
    times, start = [], time.perf_counter()
    while len(times) < 7 or time.perf_counter() - start < seconds:
        elapsed, loss = step()
        times.append(elapsed)
    print("RESULT " + json.dumps({
        "model": kind, "nodes": nodes, "threads": threads,
        "step_ms": round(statistics.median(times) * 1e3, 2), "reps": len(times),
        "peak_mb": round(rss_mb() - base), "torch": torch.__version__,
        "params": sum(p.numel() for p in model.parameters()), "finite": loss == loss}), flush=True)


def main():
    if sys.argv[1:2] == ["--child"]:
        return child(*json.loads(sys.argv[2]))
    ap = argparse.ArgumentParser()
    ap.add_argument("--json")
    ap.add_argument("--seconds", type=float, default=10)
    ap.add_argument("--nodes", type=int, default=1000)
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--only", default=".", help="regex on the model's name")
    a = ap.parse_args()
    rows = []
    for kind in ("hyperbolic", "euclidean", "sdpa"):
        if not re.search(a.only, kind):
            continue
        spec = json.dumps([kind, a.nodes, a.threads, a.seconds])
        p = subprocess.run([sys.executable, __file__, "--child", spec], capture_output=True, text=True)
        hit = re.search(r"RESULT (.*)", p.stdout)
        rows.append(json.loads(hit.group(1)) if hit else {"model": kind, "error": p.stderr.strip()[-200:]})
        print(json.dumps(rows[-1]), flush=True)
        if a.json:
            json.dump(rows, open(a.json, "w"), indent=0)


if __name__ == "__main__":
    main()
