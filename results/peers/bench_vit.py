#!/usr/bin/env python3
"""The vision transformer of the application vit in eager PyTorch: a step, or a whole training.

Usage: bench_vit.py --data DIR [--attention sdpa|dot|penumbral|umbral] [--steps N | --epochs E] [--threads T]
                    [--seed S] [--batch B] [--key-dim K]

DIR has the four files of MNIST's format, with .gz, as Fashion-MNIST.  The model has the default size of vit: 4
layers of width 96 with 4 heads and 384 hidden units, patches of 4, normalisation before the sublayers.  Pictures
are not changed and no layer is left out, as with `vit train --flip 0 --crop-padding 0 --jitter 0 --mix 0
--stochastic-depth 0`.  The training is that of vit's defaults: batches of 128, Adam with beta = 0.9, 0.98,
decoupled decay 0.05, gradients of norm 1 at most, label smoothing 0.1, an epoch of warm-up to 0.001 and then half
a cosine to 0, the average of the parameters with decay 0.99 tested.  A tenth of the training pictures is left out
for validation, so that both train on as many.

With --steps: the median time of a step, after two that do not count.  With --epochs: also the accuracy of the
test.  sdpa is F.scaled_dot_product_attention; dot stores its scores, as penumbral and umbral do (Tseng et al.
2023, by the equations in bench_attention.py).
"""
import argparse
import gzip
import json
import math
import os
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F

from bench_lm import Attention, Layer, linear, rate

WIDTH, HEADS, LAYERS, HIDDEN, PATCH, RATE, DECAY, EMA = 96, 4, 4, 384, 4, 1e-3, 0.05, 0.99


def idx(path, dims):
    data = gzip.open(path, "rb").read()
    shape = [int.from_bytes(data[4 + 4 * i:8 + 4 * i], "big") for i in range(dims)]
    return torch.frombuffer(bytearray(data[4 + 4 * dims:]), dtype=torch.uint8).view(*shape)


def pictures(directory, part):
    path = lambda kind, dims: idx(os.path.join(directory, f"{part}-{kind}-idx{dims}-ubyte.gz"), dims)
    x = path("images", 3).float() / 127.5 - 1
    n, side, _ = x.shape
    g = side // PATCH
    x = x.view(n, g, PATCH, g, PATCH).transpose(2, 3).reshape(n, g * g, PATCH * PATCH)
    return x, path("labels", 1).long()


class Model(nn.Module):
    def __init__(self, score, key_dim, patches, numbers):
        super().__init__()
        self.patches, self.head = linear(numbers, WIDTH), linear(WIDTH, 10)
        self.token = nn.Parameter(torch.randn(1, WIDTH) * 0.02)
        self.places = nn.Parameter(torch.randn(1 + patches, WIDTH) * 0.02)
        attention = lambda: Attention(WIDTH, HEADS, score, key_dim, causal=False)
        self.layers = nn.ModuleList(Layer(attention(), WIDTH, HIDDEN, nn.GELU()) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x):
        x = self.patches(x)
        x = torch.cat([self.token.expand(len(x), 1, WIDTH), x], 1) + self.places
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x[:, 0]))


@torch.no_grad()
def accuracy(model, x, y, batch):
    right = sum((model(x[i:i + batch]).argmax(-1) == y[i:i + batch]).sum().item() for i in range(0, len(x), batch))
    return right / len(x)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", required=True)
    ap.add_argument("--attention", default="sdpa", choices=["sdpa", "dot", "penumbral", "umbral"])
    ap.add_argument("--key-dim", type=int, default=WIDTH // HEADS)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--steps", type=int, default=20, help="of a timing")
    ap.add_argument("--epochs", type=int, help="train so many passes")
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--seed", type=int, default=42)
    a = ap.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(a.seed)
    x, y = pictures(a.data, "train")
    kept = torch.randperm(len(x))[:len(x) * 9 // 10]
    x, y = x[kept], y[kept]
    model = Model(a.attention, a.key_dim, *x.shape[1:])
    average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(EMA))
    adam = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=DECAY)
    epoch_steps = -(-len(x) // a.batch)
    steps = a.epochs * epoch_steps if a.epochs else a.steps + 2
    times, losses = [], []
    for step in range(steps):
        if step % epoch_steps == 0:
            order = torch.randperm(len(x))
        items = order[step % epoch_steps * a.batch:][:a.batch]
        t = time.perf_counter()
        for group in adam.param_groups:
            group["lr"] = RATE * rate(step, steps, epoch_steps)
        adam.zero_grad()
        loss = F.cross_entropy(model(x[items]), y[items], label_smoothing=0.1)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        average.update_parameters(model)
        times.append(time.perf_counter() - t)
        losses.append(loss.item())
        if a.epochs and (step + 1) % epoch_steps == 0:
            print(f"epoch {(step + 1) // epoch_steps}: loss {statistics.mean(losses[-epoch_steps:]):.4f}", flush=True)
    result = {"attention": a.attention, "key_dim": a.key_dim, "seed": a.seed, "threads": a.threads, "batch": a.batch,
              "steps": steps, "step_ms": round(statistics.median(times[2:]) * 1e3, 1), "torch": torch.__version__,
              "parameters": sum(p.numel() for p in model.parameters()), "finite": all(map(math.isfinite, losses))}
    if a.epochs:
        result["test_accuracy"] = round(100 * accuracy(average.module, *pictures(a.data, "t10k"), a.batch), 2)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
