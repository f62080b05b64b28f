#!/usr/bin/env python3
"""Training a relation network on pictures in eager PyTorch, beside the application reason.

Usage: bench_relation.py [--json FILE] [--ours reason] [--seconds S] [--threads T] [--units U ...] [--only REGEX]

The model of the application reason with its default options (Santoro et al. 2017; Gulcehre et al. 2019, section
3.2): four convolutions of 3 x 3, stride 2, with 32, 64, 128 and 256 filters, each with batch normalisation and
ReLU; 25 objects with two coordinates; g of four layers of U units over all 625 pairs and an 11-bit question; h
of 2000, 1000, 500, 100 and 12 units.  A step is 32 pictures of 75 x 75 pixels with ten questions each: forward,
backward, Adam.

  none        every pair has the weight 1
  euclidean   logistic weights of dot products of 8-dimensional queries and keys, which read the question
  hyperbolic  logistic weights of -beta d(q, k) - c in pseudo-polar coordinates, sums of values

The first layer of g is a sum of three products in both programs, so that pairs need no concatenation.  With
--ours each case is followed by the application's training of 100 steps in the same run: its figure includes
the pictures' making, the running statistics of 512 pictures and one validation of ten.
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
import time

KEY, QUESTION, ANSWERS, IMAGES, ASKED, STEPS = 8, 11, 12, 32, 10, 100


def build(kind, units, torch):
    nn, F = torch.nn, torch.nn.functional

    class Terms(nn.Module):
        """A linear layer of objects, given several times, and of a question."""

        def __init__(self, objects, width):
            super().__init__()
            self.objects = nn.ModuleList(nn.Linear(258, width, bias=False) for _ in range(objects))
            self.question = nn.Linear(QUESTION, width)

    class Relation(nn.Module):
        def __init__(self):
            super().__init__()
            layers, channels = [], 3
            for filters in (32, 64, 128, 256):
                layers += [nn.Conv2d(channels, filters, 3, 2, 1, bias=False), nn.BatchNorm2d(filters), nn.ReLU()]
                channels = filters
            self.vision = nn.Sequential(*layers)
            self.first = Terms(2, units)
            self.g = nn.Sequential(*(x for _ in range(3) for x in (nn.Linear(units, units), nn.ReLU())))
            sizes = [units, 2000, 1000, 500, 100]
            hidden = (x for a, b in zip(sizes, sizes[1:]) for x in (nn.Linear(a, b), nn.ReLU()))
            self.h = nn.Sequential(*hidden, nn.Linear(100, ANSWERS))
            if kind != "none":
                self.q, self.k = Terms(1, KEY), Terms(1, KEY)
            self.beta, self.c = nn.Parameter(torch.ones(())), nn.Parameter(torch.zeros(()))
            place = (torch.arange(5) * 2 + 1) / 5 - 1
            self.register_buffer("place", torch.cartesian_prod(place, place).flip(-1))

        def weights(self, x, question):
            q, k = (t.objects[0](x)[:, None] + t.question(question)[:, :, None] for t in (self.q, self.k))
            if kind == "euclidean":
                return torch.sigmoid(q @ k.transpose(-1, -2) / KEY ** 0.5)

            def polar(x):
                return torch.cat([torch.sinh(x[..., -1:]) * F.normalize(x[..., :-1], dim=-1),
                                  torch.cosh(x[..., -1:])], -1)

            q, k = polar(q), polar(k)
            sign = torch.ones(KEY)
            sign[:-1] = -1
            distance = torch.acosh(((q * sign) @ k.transpose(-1, -2)).clamp_min(1 + 1e-6))
            return torch.sigmoid(-self.beta * distance - self.c)

        def forward(self, images, question):
            maps = self.vision(images).flatten(2).transpose(1, 2)
            x = torch.cat([maps, self.place.expand(len(maps), -1, -1)], -1)
            left, right = (layer(x) for layer in self.first.objects)
            pairs = left[:, None, :, None] + right[:, None, None] + self.first.question(question)[:, :, None, None]
            values = self.g(torch.relu(pairs))
            if kind == "none":
                return self.h(values.sum((2, 3)))
            weights = self.weights(x, question)
            return self.h((weights[..., None, :] @ values).squeeze(-2).sum(2))

    return Relation()


def measure(kind, units, seconds, threads):
    import torch
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model = build(kind, units, torch)
    adam = torch.optim.Adam(model.parameters(), 1e-3)
    images = torch.rand(IMAGES, 3, 75, 75)
    question = (torch.rand(IMAGES, ASKED, QUESTION) < 0.3).float()
    answer = torch.randint(0, ANSWERS, (IMAGES * ASKED,))

    def step():
        adam.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images, question).flatten(0, 1), answer)
        loss.backward()
        adam.step()
        return loss.item()

    for _ in range(3):
        step()
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        step()
        steps += 1
    return IMAGES * steps / (time.perf_counter() - start)


def ours(program, kind, units, threads):
    with tempfile.TemporaryDirectory() as out:
        more = ["--matching", kind] + (["--aggregate", "euclidean"] if kind == "hyperbolic" else [])
        subprocess.run([program, *more, "--units", str(units), "--scenes", str(IMAGES * STEPS), "--held-out", "10",
                        "--epochs", "1", "--threads", str(threads), "--quiet", "--out", out + "/run"], check=True)
        with open(out + "/run/metrics.json") as file:
            return IMAGES * STEPS / json.load(file)["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    parser.add_argument("--ours")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--units", type=int, nargs="+", default=[2, 32, 256])
    parser.add_argument("--only", default="")
    parser.add_argument("--case", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.case:
        print(measure(args.case[0], int(args.case[1]), args.seconds, args.threads))
        return
    rows = []
    for units in args.units:
        for kind in ("none", "euclidean", "hyperbolic"):
            if not re.search(args.only, f"{kind} {units}"):
                continue
            command = [sys.executable, __file__, "--case", kind, str(units), "--seconds", str(args.seconds),
                       "--threads", str(args.threads)]
            torch_rate = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            row = {"matching": kind, "units": units, "threads": args.threads, "pytorch": torch_rate}
            if args.ours:
                row["ours"] = ours(args.ours, kind, units, args.threads)
            rows.append(row)
            print(json.dumps(row), flush=True)
    if args.json:
        with open(args.json, "w") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)


if __name__ == "__main__":
    main()
