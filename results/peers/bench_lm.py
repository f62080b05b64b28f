#!/usr/bin/env python3
"""The language model of the application lm in eager PyTorch: a step, or a whole training.

Usage: bench_lm.py --data DIR [--attention sdpa|dot|penumbral|umbral] [--steps N | --epochs E] [--threads T]
                   [--seed S] [--key-dim K]

DIR has train.txt, valid.txt and test.txt, plain or with .gz, as WikiText-2.  The model has the default options
of lm: words in bands of 4,000, 8,000 and the others, with vectors of 256, 64 and 16 numbers that the output
shares; sinusoidal positions; 3 causal layers of width 256, 4 heads, 1,024 hidden units, normalisation before the
sublayers; dropout 0.2.  The training too: 8 blocks of 512 tokens a step, Adam with beta = 0.9, 0.98, decoupled
decay 0.01, gradients of norm 1 at most, 500 steps of warm-up to 0.001 and then half a cosine to 0.

With --steps: the median time of a step, after two that do not count.  With --epochs: also the perplexity of the
test, each token from those of its block (context 0), by the model with the least validation loss.  sdpa is
F.scaled_dot_product_attention; dot stores its scores, as penumbral and umbral do (Tseng et al. 2023, by the
equations in bench_attention.py).
"""
import argparse
import collections
import gzip
import json
import math
import os
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F

from bench_attention import from_paper

WIDTH, HEADS, LAYERS, HIDDEN, DROPOUT, BLOCK, BATCH = 256, 4, 3, 1024, 0.2, 512, 8
CUTOFFS, FACTOR, RATE, WARM_UP = [4000, 12000], 4, 1e-3, 500


def lines(directory, part):
    path = os.path.join(directory, part + ".txt")
    opened = open(path, encoding="utf-8") if os.path.exists(path) else gzip.open(path + ".gz", "rt", encoding="utf-8")
    with opened as f:
        return f.read().splitlines()


def streams(directory):
    text = {part: lines(directory, part) for part in ("train", "valid", "test")}
    counts = collections.Counter(w for line in text["train"] for w in line.split() + ["<eos>"])
    counts.setdefault("<unk>", 0)
    words = sorted(counts, key=lambda w: (-counts[w], w.encode()))
    numbers = {w: i for i, w in enumerate(words)}
    tokens = lambda part: [numbers["<eos>"]] + [
        numbers.get(w, numbers["<unk>"]) for line in text[part] for w in line.split() + ["<eos>"]]
    return {part: torch.tensor(tokens(part)) for part in text}, len(words)


class Attention(nn.Module):
    def __init__(self, width, heads, score, key_dim, causal):
        super().__init__()
        self.heads, self.key_dim, self.score, self.causal = heads, key_dim, score, causal
        self.q, self.k = (linear(width, heads * key_dim) for _ in range(2))
        self.v, self.out = (linear(width, width) for _ in range(2))
        self.cone = from_paper(score, torch) if score in ("penumbral", "umbral") else None

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = (f(x).view(n, length, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        if self.score == "sdpa":
            y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        else:
            s = self.cone(q, k) if self.cone else q @ k.transpose(-1, -2) / self.key_dim ** 0.5
            if self.causal:
                s = s.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), -math.inf)
            y = torch.softmax(s, -1) @ v
        return self.out(y.transpose(1, 2).reshape(n, length, width))


def linear(n, m):
    layer = nn.Linear(n, m)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


class Layer(nn.Module):
    """An encoder layer that normalises before its sublayers. It has heads of width / heads values."""
    def __init__(self, attention, width, hidden, activation, dropout=0.0):
        super().__init__()
        self.attention, self.dropout = attention, nn.Dropout(dropout)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.feed = nn.Sequential(linear(width, hidden), activation, linear(hidden, width))

    def forward(self, x):
        x = x + self.dropout(self.attention(self.norms[0](x)))
        return x + self.dropout(self.feed(self.norms[1](x)))


class Model(nn.Module):
    def __init__(self, score, key_dim, vocabulary):
        super().__init__()
        self.ends = CUTOFFS + [vocabulary]
        sizes = [b - a for a, b in zip([0] + CUTOFFS, self.ends)]
        dims = [WIDTH // FACTOR ** i for i in range(len(sizes))]
        self.tables = nn.ParameterList(torch.randn(n, d) * d ** -0.5 for n, d in zip(sizes, dims))
        self.projections = nn.ParameterList(torch.randn(d, WIDTH) * WIDTH ** -0.5 for d in dims[1:])
        self.bands = nn.Parameter(torch.randn(len(sizes) - 1, WIDTH) * WIDTH ** -0.5)
        attention = lambda: Attention(WIDTH, HEADS, score, key_dim, causal=True)
        self.layers = nn.ModuleList(Layer(attention(), WIDTH, HIDDEN, nn.ReLU(), DROPOUT) for _ in range(LAYERS))
        self.norm, self.dropout = nn.LayerNorm(WIDTH), nn.Dropout(DROPOUT)
        place, i = torch.arange(BLOCK)[:, None], torch.arange(WIDTH // 2)
        angle = place * 10000.0 ** (-2 * i / WIDTH)
        self.register_buffer("places", torch.stack([angle.sin(), angle.cos()], -1).flatten(1))

    def split(self, words):
        starts = [0] + self.ends[:-1]
        for band, (start, end) in enumerate(zip(starts, self.ends)):
            at = ((words >= start) & (words < end)).nonzero().squeeze(1)
            if len(at):
                yield band, at, words[at] - start

    def embed(self, words):
        order, vectors = [], []
        for band, at, own in self.split(words.flatten()):
            rows = self.tables[band][own]
            vectors.append(rows @ self.projections[band - 1] if band else rows)
            order.append(at)
        x = torch.cat(vectors)[torch.argsort(torch.cat(order))]
        return x.view(*words.shape, WIDTH)

    def loss(self, given, following):
        """The mean cross entropy of the following tokens, each from those of its row up to it."""
        x = self.dropout(self.embed(given) * WIDTH ** 0.5 + self.places[:given.shape[1]])
        for layer in self.layers:
            x = layer(x)
        x, following = self.norm(x).flatten(0, 1), following.flatten()
        head = x @ torch.cat([self.tables[0], self.bands]).T
        labels, total = torch.empty_like(following), 0.0
        for band, at, own in self.split(following):
            labels[at] = own if band == 0 else CUTOFFS[0] + band - 1
            if band:
                logits = x[at] @ self.projections[band - 1].T @ self.tables[band].T
                total = total + F.cross_entropy(logits, own, reduction="sum") / len(following)
        return total + F.cross_entropy(head, labels)


@torch.no_grad()
def mean_loss(model, tokens):
    model.eval()
    total, n = 0.0, len(tokens) - 1
    for start in range(0, n, BLOCK):
        end = min(start + BLOCK, n)
        total += model.loss(tokens[None, start:end], tokens[None, start + 1:end + 1]).item() * (end - start)
    model.train()
    return total / n


def rate(step, steps, warm_up):
    """The learning rate of a step, as a part of the largest one."""
    if step < warm_up:
        return (step + 1) / warm_up
    return 0.5 * (1 + math.cos(math.pi * (step - warm_up) / max(steps - warm_up, 1)))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", required=True)
    ap.add_argument("--attention", default="sdpa", choices=["sdpa", "dot", "penumbral", "umbral"])
    ap.add_argument("--key-dim", type=int, default=WIDTH // HEADS)
    ap.add_argument("--steps", type=int, default=10, help="of a timing")
    ap.add_argument("--epochs", type=int, help="train so many passes")
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--seed", type=int, default=42)
    a = ap.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(a.seed)
    text, vocabulary = streams(a.data)
    model = Model(a.attention, a.key_dim, vocabulary)
    adam = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    train = text["train"]
    blocks = (len(train) - 1) // BLOCK
    epoch_steps = -(-blocks // BATCH)
    steps = a.epochs * epoch_steps if a.epochs else a.steps + 2
    times, best, losses, order = [], (math.inf, None), [], []
    for step in range(steps):
        if step % epoch_steps == 0:
            order = torch.randperm(blocks)
        items = order[step % epoch_steps * BATCH:][:BATCH] * BLOCK
        at = items[:, None] + torch.arange(BLOCK)
        t = time.perf_counter()
        for group in adam.param_groups:
            group["lr"] = RATE * rate(step, steps, WARM_UP)
        adam.zero_grad()
        loss = model.loss(train[at], train[at + 1])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        times.append(time.perf_counter() - t)
        losses.append(loss.item())
        if a.epochs and (step + 1) % epoch_steps == 0:
            validation = mean_loss(model, text["valid"])
            print(f"epoch {(step + 1) // epoch_steps}: loss {statistics.mean(losses[-epoch_steps:]):.4f}, "
                  f"validation {validation:.4f}", flush=True)
            if validation < best[0]:
                best = (validation, {k: v.clone() for k, v in model.state_dict().items()})
    result = {"attention": a.attention, "key_dim": a.key_dim, "seed": a.seed, "threads": a.threads, "steps": steps,
              "step_s": round(statistics.median(times[2:]), 4), "vocabulary": vocabulary,
              "parameters": sum(p.numel() for p in model.parameters()), "torch": torch.__version__,
              "finite": all(math.isfinite(x) for x in losses)}
    if a.epochs:
        model.load_state_dict(best[1])
        result |= {"validation": round(best[0], 4),
                   "test_perplexity": round(math.exp(mean_loss(model, text["test"])), 2)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
