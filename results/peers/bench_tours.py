#!/usr/bin/env python3
"""A training step of the value network of tours in eager PyTorch.

Usage: bench_tours.py [--json FILE] [--seconds S] [--cities N] [--batch B] [--threads T] [--only REGEX]

The agent of the application tours with its default options: 7 features of each city through a linear layer,
one block of full attention applied three times, 4 heads of 8 numbers, width 32, 128 hidden units,
normalisation before the sublayers, a read-out of each city.  A step takes B decisions from memory: the values
of the next states by the online and by the target network (double Q-learning), without gradients; the value of
the decision, its squared error, backward pass, clipping, Adam.  States are made before the clock starts.

  polar        pseudo-polar queries, keys and values; -beta d(q, k) - c with learned beta and c, softmax,
               Einstein midpoint.  The distances come from one product of matrices on the hyperboloid.
  weierstrass  the same with x as the point (x, sqrt(1 + |x|^2)) of the hyperboloid
  euclidean    softmax(q k^T / sqrt(8)) v
  sdpa         the same by F.scaled_dot_product_attention, which stores no scores

Every case runs in its own process.
"""
import argparse
import json
import re
import statistics
import subprocess
import sys
import time

FEATURES, HEADS, DIM, WIDTH, HIDDEN, DEPTH = 7, 4, 8, 32, 128, 3


def build(kind, torch):
    nn, F = torch.nn, torch.nn.functional

    def point(x):
        if kind == "polar":
            d, r = F.normalize(x[..., :-1], dim=-1), x[..., -1:]
            return torch.cat([torch.sinh(r) * d, torch.cosh(r)], -1)
        return torch.cat([x, (1 + (x * x).sum(-1, keepdim=True)).sqrt()], -1)

    def value(space):
        if kind == "polar":
            return torch.cat([F.normalize(space, dim=-1), torch.asinh(space.norm(dim=-1, keepdim=True))], -1)
        return space

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(WIDTH, HEADS * DIM) for _ in range(3))
            self.out = nn.Linear(HEADS * DIM, WIDTH)
            if kind in ("polar", "weierstrass"):
                self.beta, self.c = nn.Parameter(torch.ones(())), nn.Parameter(torch.zeros(()))
                self.sign = torch.ones(DIM if kind == "polar" else DIM + 1)
                self.sign[:-1] = -1

        def forward(self, x):
            shape = (*x.shape[:2], HEADS, DIM)
            q, k, v = (f(x).view(shape).transpose(1, 2) for f in (self.q, self.k, self.v))
            if kind == "sdpa":
                y = F.scaled_dot_product_attention(q, k, v)
            elif kind == "euclidean":
                y = torch.softmax(q @ k.transpose(-1, -2) / DIM ** 0.5, -1) @ v
            else:
                q, k, v = point(q), point(k), point(v)
                distance = torch.acosh(((q * self.sign) @ k.transpose(-1, -2)).clamp_min(1 + 1e-6))
                sums = torch.softmax(-self.beta * distance - self.c, -1) @ v
                space, time_part = sums[..., :-1], sums[..., -1:]
                square = time_part ** 2 - (space ** 2).sum(-1, keepdim=True)
                y = value(space / square.clamp_min(1e-12).sqrt())
            return self.out(y.transpose(1, 2).reshape(*x.shape[:2], HEADS * DIM))

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Linear(FEATURES, WIDTH)
            self.attention = Attention()
            self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3))
            self.feed = nn.Sequential(nn.Linear(WIDTH, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, WIDTH))
            self.read = nn.Sequential(nn.Linear(WIDTH, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1))

        def states(self, x):
            x = self.encoder(x)
            for _ in range(DEPTH):
                x = x + self.attention(self.norms[0](x))
                x = x + self.feed(self.norms[1](x))
            return self.norms[2](x)

        def forward(self, x, actions=None):
            x = self.states(x)
            if actions is not None:
                x = x[torch.arange(len(x)), actions]
            return self.read(x).squeeze(-1)

    return Network()


def states(batch, cities, torch):
    """Features of states with 1 to cities - 1 visited cities, and of the states after one more."""
    places = torch.rand(batch, cities, 2)
    order = torch.rand(batch, cities).argsort(-1)
    visited = torch.randint(1, cities, (batch,))

    def features(visited):
        rows = torch.arange(batch)
        rank = order.argsort(-1)
        marks = [rank < visited[:, None], rank == 0, rank == visited[:, None] - 1]
        to = [order[:, 0], order[rows, visited - 1]]
        distances = [(places - places[rows, city][:, None]).norm(dim=-1) for city in to]
        return torch.cat([2 * places - 1, torch.stack([*(mark.float() for mark in marks), *distances], -1)], -1)

    action = order[torch.arange(batch), visited]
    open_next = order.argsort(-1) > visited[:, None]
    return features(visited), action, features((visited + 1).clamp_max(cities)), open_next


def child(kind, cities, batch, threads, seconds):
    import torch
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    online, target = build(kind, torch), build(kind, torch)
    adam = torch.optim.Adam(online.parameters(), lr=1e-3)

    def step():
        state, action, after, is_open = states(batch, cities, torch)
        reward = -torch.rand(batch)
        goes_on = is_open.any(-1)
        after, is_open = after[goes_on], is_open[goes_on]
        t = time.perf_counter()
        adam.zero_grad()
        with torch.no_grad():
            best = online(after).masked_fill(~is_open, float("-inf")).argmax(-1)
            goal = reward.clone()
            goal[goes_on] += target(after)[torch.arange(len(best)), best]
        loss = 0.5 * (online(state, action) - goal).square().mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(online.parameters(), 1.0)
        adam.step()
        return time.perf_counter() - t, loss.item()

    for _ in range(5):
        step()
    times, start = [], time.perf_counter()
    while len(times) < 20 or time.perf_counter() - start < seconds:
        elapsed, loss = step()
        times.append(elapsed)
    print("RESULT " + json.dumps({
        "model": kind, "cities": cities, "batch": batch, "threads": threads,
        "step_ms": round(statistics.median(times) * 1e3, 3), "reps": len(times), "torch": torch.__version__,
        "params": sum(p.numel() for p in online.parameters()), "finite": loss == loss}), flush=True)


def main():
    if sys.argv[1:2] == ["--child"]:
        return child(*json.loads(sys.argv[2]))
    ap = argparse.ArgumentParser()
    ap.add_argument("--json")
    ap.add_argument("--seconds", type=float, default=10)
    ap.add_argument("--cities", type=int, default=10)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--only", default=".", help="regex on the model's name")
    a = ap.parse_args()
    rows = []
    for kind in ("polar", "weierstrass", "euclidean", "sdpa"):
        if not re.search(a.only, kind):
            continue
        spec = json.dumps([kind, a.cities, a.batch, a.threads, a.seconds])
        p = subprocess.run([sys.executable, __file__, "--child", spec], capture_output=True, text=True)
        hit = re.search(r"RESULT (.*)", p.stdout)
        rows.append(json.loads(hit.group(1)) if hit else {"model": kind, "error": p.stderr.strip()[-200:]})
        print(json.dumps(rows[-1]), flush=True)
        if a.json:
            json.dump(rows, open(a.json, "w"), indent=0)


if __name__ == "__main__":
    main()
