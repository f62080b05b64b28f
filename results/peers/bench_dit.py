#!/usr/bin/env python3
"""The diffusion transformer of the application dit in eager PyTorch: the time of a training step.

Usage: bench_dit.py --data DIR [--attention sdpa|dot|penumbral|umbral] [--size small|dit-s|dit-b] [--steps N]
                    [--threads T] [--seed S] [--batch B] [--key-dim K]

DIR has the four files of MNIST's format, with .gz, as Fashion-MNIST.  The model is DiT (Peebles & Xie 2023) as dit
has it: patches of 4, fixed sinusoidal positions of a grid, times and classes that give each block its shifts, scales
and gates (adaLN-Zero), noise of a fixed variance.  The training is that of dit's sizes: Adam with beta = 0.9, 0.999,
gradients of norm 1 at most, a class left out for a tenth of the pictures, an average of the parameters.

Prints the median time of a step, after two that do not count, and the mean loss of the last tenth of the steps.
sdpa is F.scaled_dot_product_attention; dot stores its scores, as penumbral and umbral do (Tseng et al. 2023, by the
equations in bench_attention.py).
"""
import argparse
import json
import math
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F

from bench_lm import Attention, linear
from bench_vit import pictures

# Layers, width, heads, pictures in a batch, learning rate, decay of the average.
SIZES = {"small": (6, 192, 6, 128, 1e-3, 0.999), "dit-s": (12, 384, 6, 256, 1e-4, 0.9999),
         "dit-b": (12, 768, 12, 256, 1e-4, 0.9999)}
TIMES, FREQUENCIES, CLASSES, CLASS_DROPOUT = 1000, 256, 10, 0.1


def sinusoidal(length, width):
    angle = torch.arange(length)[:, None] * 10000.0 ** (-2 * torch.arange(width // 2) / width)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


def grid(side, width):
    line = sinusoidal(side, width // 2)
    return torch.cat([line.repeat_interleave(side, 0), line.repeat(side, 1)], 1)


def zero(n, m):
    layer = nn.Linear(n, m)
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def modulated(x, shift, scale):
    return F.layer_norm(x, x.shape[-1:], eps=1e-6) * (1 + scale) + shift


class Block(nn.Module):
    def __init__(self, width, heads, score, key_dim):
        super().__init__()
        self.attention = Attention(width, heads, score, key_dim, causal=False)
        self.feed = nn.Sequential(linear(width, 4 * width), nn.GELU(), linear(4 * width, width))
        self.modulation = zero(width, 6 * width)

    def forward(self, x, condition):
        shift, scale, gate, shift_2, scale_2, gate_2 = self.modulation(condition)[:, None].chunk(6, -1)
        x = x + gate * self.attention(modulated(x, shift, scale))
        return x + gate_2 * self.feed(modulated(x, shift_2, scale_2))


class Model(nn.Module):
    def __init__(self, layers, width, heads, score, key_dim, patches, numbers):
        super().__init__()
        self.patches, self.head = linear(numbers, width), zero(width, numbers)
        self.time = nn.Sequential(nn.Linear(FREQUENCIES, width), nn.SiLU(), nn.Linear(width, width))
        self.classes = nn.Embedding(CLASSES + 1, width)
        for weight in (self.time[0].weight, self.time[2].weight, self.classes.weight):
            nn.init.normal_(weight, std=0.02)
        for layer in (self.time[0], self.time[2]):
            nn.init.zeros_(layer.bias)
        self.blocks = nn.ModuleList(Block(width, heads, score, key_dim) for _ in range(layers))
        self.modulation = zero(width, 2 * width)
        self.register_buffer("places", grid(math.isqrt(patches), width))
        self.register_buffer("sinusoids", sinusoidal(TIMES, FREQUENCIES))

    def forward(self, x, times, classes):
        condition = F.silu(self.time(self.sinusoids[times]) + self.classes(classes))
        x = self.patches(x) + self.places
        for block in self.blocks:
            x = block(x, condition)
        shift, scale = self.modulation(condition)[:, None].chunk(2, -1)
        return self.head(modulated(x, shift, scale))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", required=True)
    ap.add_argument("--attention", default="sdpa", choices=["sdpa", "dot", "penumbral", "umbral"])
    ap.add_argument("--size", default="small", choices=sorted(SIZES))
    ap.add_argument("--key-dim", type=int, help="of a head's queries and keys")
    ap.add_argument("--batch", type=int)
    ap.add_argument("--steps", type=int, default=20)
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--seed", type=int, default=42)
    a = ap.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(a.seed)
    layers, width, heads, batch, lr, ema = SIZES[a.size]
    batch = a.batch or batch
    x, y = pictures(a.data, "train")
    model = Model(layers, width, heads, a.attention, a.key_dim or width // heads, *x.shape[1:])
    average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(ema))
    adam = torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.999), weight_decay=0.0)
    left = torch.cumprod(1 - torch.linspace(1e-4, 0.02, TIMES, dtype=torch.float64), 0).float()
    times, losses = [], []
    for _ in range(a.steps + 2):
        items = torch.randint(len(x), (batch,))
        begin = time.perf_counter()
        data, noise, t = x[items], torch.randn(batch, *x.shape[1:]), torch.randint(TIMES, (batch,))
        classes = torch.where(torch.rand(batch) < CLASS_DROPOUT, CLASSES, y[items])
        share = left[t][:, None, None]
        adam.zero_grad()
        loss = F.mse_loss(model(share.sqrt() * data + (1 - share).sqrt() * noise, t, classes), noise)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        average.update_parameters(model)
        times.append(time.perf_counter() - begin)
        losses.append(loss.item())
    print(json.dumps({
        "attention": a.attention, "size": a.size, "key_dim": a.key_dim or width // heads, "seed": a.seed,
        "threads": a.threads, "batch": batch, "steps": a.steps, "step_ms": round(statistics.median(times[2:]) * 1e3, 1),
        "loss": round(statistics.mean(losses[-max(a.steps // 10, 1):]), 4), "torch": torch.__version__,
        "parameters": sum(p.numel() for p in model.parameters()), "finite": all(map(math.isfinite, losses))}))


if __name__ == "__main__":
    main()
