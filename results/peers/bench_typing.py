#!/usr/bin/env python3
"""A training step of the hyperbolic entity typer (Lopez & Strube 2020) in PyTorch + geoopt.

Usage: bench_typing.py [--space hyperbolic|euclidean] [--size base|large] [--steps N] [--warm-up N]
         [--threads N] [--batch N] [--maps geoopt|plain] [--train FILE --types FILE --words FILE]
         [--json FILE] [--check]

The model of `typing train` with its defaults: float32, 10,331 types, batches of 100, at most 5 words
of a mention, 25 of a context, 10 characters.  Adam at a rate of 2e-3, gradient norm 5, dropout 0.2 of
words and 0.1 of what is concatenated.  An epoch of `typing train` on the crowd data is 100 such steps
(five passes over 1,969 mentions) and one pass over 1,998 dev mentions without gradients (forward_s a batch).

Without --train, words, characters and types are drawn at random, and all sequences have full length.
With it, --train is a file `number, left, mention, right, types` (tabs; may be packed with gzip), --types
the list of types (9 coarse, 121 fine, then ultra-fine) and --words an array .npy with words.txt beside it,
or the directory of both.  All batches are made before the clock starts; a last one that is not full is
left out.  Set the allocator as README.md says.

Hyperbolic: all operations in the Poincare ball, with the least work that eager mode allows.
  Words are kept as log0 of their points (exp0 in a ball of radius 0.5), and dropout acts there.
  Both directions of the GRU and all gates of the inputs are computed together; each log0 is shared.
  All logits come from one product of matrices.  With P = |p|^2 and X = |x|^2 the denominator of -p (+) x
  cancels in eq. 20, and the argument of arsinh is
    2 (<x, (1 - P) a + 2 <p, a> p> - <p, a> (1 + X)) / ((1 - X) (1 - P) |a|).
  This was faster than two products, <x, a> and <x, p>.  Where x is near p in float32 its terms cancel.
  The arsinh is written out, because torch.asinh is slow on a CPU.
  --maps geoopt  exp0, log0, (+), distance and midpoint by geoopt, which projects every result
  --maps plain   the same written out in a few torch operations, without projection
  geoopt.optim.RiemannianAdam for all parameters.
Euclidean: its twin with nn.Linear and nn.GRU, attention by Euclidean distance, the logits 4<x - p, a> by
one addmm; torch.optim.Adam, fused.  The character RNN is a loop: nn.RNN has no identity.

--check trains on one batch, and compares logits with geoopt's distance to the hyperplane.
"""
import argparse
import gzip
import json
import math
import pathlib
import statistics
import time
import types
import warnings

warnings.filterwarnings("ignore")
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import geoopt
from geoopt import ManifoldParameter as MP

SIZES = {"base": (40, 20, 20), "large": (100, 50, 50)}       # d_M, d_C, d_S: Table 8
TYPES, LEVELS = 10331, (9, 121)                              # all types; coarse and fine ones
WORDS, CHARS, CONTEXT = 5, 10, 25                            # the most that is read
WIDTH, VOCABULARY, CHARACTERS, RADIUS = 100, 20000, 63, 0.5
RATE, CLIP, DROP_WORDS, DROP_PARTS = 2e-3, 5.0, 0.2, 0.1
BALL = geoopt.PoincareBall(c=1.0)


# ---- Data

def random_data(count, gen):
    """Mentions with random numbers, of full length."""
    vectors = 0.4 * torch.randn(VOCABULARY, WIDTH, generator=gen)

    def draw(n, high):
        return torch.randint(high, (n,), generator=gen).tolist()

    examples = []
    for _ in range(count):
        left = (CONTEXT - WORDS) // 2
        right = CONTEXT - WORDS - left
        positions = [*range(CONTEXT - left, CONTEXT), *[CONTEXT] * WORDS, *range(CONTEXT + 1, CONTEXT + right + 1)]
        fine = sum(LEVELS)
        gold = {*draw(1, LEVELS[0]), *(LEVELS[0] + i for i in draw(1, LEVELS[1])),
                *(fine + i for i in draw(3, TYPES - fine))}
        examples.append((draw(CONTEXT, VOCABULARY), positions, draw(WORDS, VOCABULARY), draw(CHARS, CHARACTERS),
                         sorted(gold)))
    return examples, vectors, CHARACTERS, TYPES


PLAIN = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}", "``": '"', "''": '"',
         "“": '"', "”": '"', "`": "'", "‘": "'", "’": "'", "—": "--", "–": "--"}


def real_data(train, type_file, words):
    """The mentions of a file as numbers, as `typing train` reads them."""
    words = pathlib.Path(words)
    if words.is_dir():
        named = words / "vectors.npy"
        words = named if named.exists() else max(words.glob("*.npy"), key=lambda f: f.stat().st_size)
    array = np.load(words)
    unknown = array[:1000][np.any(array[:1000] != 0, axis=1)].mean(0, keepdims=True)
    vectors = torch.from_numpy(np.concatenate([unknown, array]).astype(np.float32))
    lines = (words.parent / "words.txt").read_text(encoding="utf-8").split("\n")
    by_word = {w: i + 1 for i, w in reversed(list(enumerate(lines[:len(array)])))}
    names = pathlib.Path(type_file).read_text(encoding="utf-8").split("\n")
    by_type = {t.strip(): i for i, t in enumerate(names) if t.strip()}

    def word(token):
        forms = (token, token.lower(), PLAIN.get(token.upper()))
        return next((by_word[f] for f in forms if f in by_word), 0)

    with (gzip.open if str(train).endswith(".gz") else open)(train, "rt", encoding="utf-8") as f:
        rows = [[c.split() for c in line.rstrip("\n").split("\t")[1:]] for line in f if line.strip()]
    rows = [row for row in rows if row[3]]
    counts = {}
    for row in rows:
        for c in " ".join(row[1]):
            counts[c] = counts.get(c, 0) + 1
    chars = {c: i + 1 for i, c in enumerate(sorted(c for c in counts if counts[c] > 1))}
    examples = []
    for left, mention, right, gold in rows:
        span = mention[:CONTEXT]
        room = CONTEXT - len(span)
        before = min(len(left), max(room // 2, room - len(right)))
        after = min(len(right), room - before)
        context = left[len(left) - before:] + span + right[:after]
        positions = [*range(CONTEXT - before, CONTEXT), *[CONTEXT] * len(span),
                     *range(CONTEXT + 1, CONTEXT + after + 1)]
        examples.append(([word(t) for t in context], positions, [word(t) for t in mention[:WORDS]],
                         [chars.get(c, 0) for c in " ".join(mention)[:CHARS]], sorted({by_type[t] for t in gold})))
    return examples, vectors, len(chars) + 1, len(by_type)


def padded(sequences):
    """Numbers [batch, len], padded with 0, and where they are inside: [batch, len]."""
    lengths = torch.tensor([len(s) for s in sequences])
    numbers = torch.zeros(len(sequences), int(lengths.max()), dtype=torch.long)
    for row, s in zip(numbers, sequences):
        row[:len(s)] = torch.tensor(s)
    return numbers, torch.arange(numbers.shape[1]) < lengths[:, None]


def make_batch(examples):
    """What a step reads.  Sequences are [len, batch], masks and positions [batch, len]."""
    context, positions, mention, chars, gold = zip(*examples)
    b = types.SimpleNamespace(size=len(examples))
    (context, b.context_in), (b.positions, _) = padded(context), padded(positions)
    (mention, b.mention_in), (chars, b.chars_in) = padded(mention), padded(chars)
    b.context, b.mention, b.chars = context.t().contiguous(), mention.t().contiguous(), chars.t().contiguous()
    # The place of each word when sequences are read from their end; padding stays at the end.
    lengths, t = b.context_in.sum(1), torch.arange(context.shape[1])[:, None]
    b.reverse = (torch.where(t < lengths, lengths - 1 - t, t) * b.size + torch.arange(b.size)).flatten()
    # The multi-task loss: the mean over the mentions that have a type of a level, of the mean over the level.
    rows = torch.tensor([i for i, g in enumerate(gold) for _ in g])
    columns = torch.tensor([t for g in gold for t in g])
    level = (columns >= LEVELS[0]).long() + (columns >= sum(LEVELS))
    has = torch.zeros(b.size, 3)
    has[rows, level] = 1
    b.gold = (rows, columns, level)
    b.has = has / has.sum(0).clamp_min(1)
    return b


class Loss(nn.Module):
    """Sum over the levels of the binary cross-entropies, softplus(x) - target * x."""

    def __init__(self, count):
        super().__init__()
        level = (torch.arange(count) >= LEVELS[0]).long() + (torch.arange(count) >= sum(LEVELS))
        self.levels = F.one_hot(level, 3).float()
        self.levels /= self.levels.sum(0).clamp_min(1)

    def prepare(self, batch):
        rows, columns, level = batch.gold
        batch.gold_at = rows * len(self.levels) + columns
        batch.gold_weight = batch.has[rows, level] * self.levels[columns, level]

    def forward(self, logits, batch):
        every = (F.softplus(logits) @ self.levels * batch.has).sum()
        return every - (logits.flatten().index_select(0, batch.gold_at) * batch.gold_weight).sum()


# ---- Hyperbolic

class Geoopt:
    """geoopt's own functions: each projects its result into the ball."""
    exp0, log0, add, dist = BALL.expmap0, BALL.logmap0, BALL.mobius_add, BALL.dist

    @staticmethod
    def midpoint(x, w):                          # x: [batch, len, n], w: [batch, len]
        return BALL.weighted_midpoint(x, w, reducedim=[1])


class Plain:
    """The same maps in few operations, without projection."""

    @staticmethod
    def norm(x):
        return torch.linalg.vector_norm(x, dim=-1, keepdim=True).clamp(1e-15, 1 - 2 ** -24)

    @staticmethod
    def exp0(u):
        n = torch.linalg.vector_norm(u, dim=-1, keepdim=True).clamp_min(1e-15)
        return u * (n.tanh() / n)

    @staticmethod
    def log0(x):
        n = Plain.norm(x)
        return x * (n.atanh() / n)

    @staticmethod
    def add(x, y):
        x2, y2, xy = (x * x).sum(-1, keepdim=True), (y * y).sum(-1, keepdim=True), 2 * (x * y).sum(-1, keepdim=True)
        d = 1 + xy + x2 * y2
        return (1 + xy + y2) / d * x + (1 - x2) / d * y

    @staticmethod
    def dist(x, y):
        return 2 * Plain.norm(Plain.add(-x, y)).squeeze(-1).atanh()

    @staticmethod
    def midpoint(x, w):
        lam = 2 / (1 - (x * x).sum(-1))
        m = torch.bmm((w * lam)[:, None], x).squeeze(1) / ((lam - 1) * w).sum(1, keepdim=True)
        return m / (1 + (1 - (m * m).sum(-1, keepdim=True)).clamp_min(0).sqrt())    # 1/2 (x) m


class Square(torch.autograd.Function):
    """|x|^2 of rows."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.linalg.vector_norm(x, dim=-1, keepdim=True).square()

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]


class Arsinh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        root = (x * x).add_(1).sqrt_()
        ctx.save_for_backward(root)
        return torch.copysign((root + x.abs()).log_(), x)

    @staticmethod
    def backward(ctx, g):
        return g / ctx.saved_tensors[0]


def glorot(*shape):
    m, n = shape[-2:]
    return nn.Parameter(torch.empty(shape).uniform_(-1, 1) * math.sqrt(6 / (m + n)))


def point(*shape):
    return MP(torch.zeros(shape), manifold=BALL)


def near_origin(*shape):
    return torch.empty(shape).uniform_(-1e-4, 1e-4)


class HypEncoder(nn.Module):
    """Eq. 5, 6, 15, and 7 for both directions."""

    def __init__(self, maps, width, characters, dims):
        super().__init__()
        self.maps, (d_m, d_c, d_s) = maps, dims
        self.w_m, self.b_m = glorot(d_m, width), point(d_m)
        self.chars = MP(BALL.expmap0(near_origin(characters, d_c)), manifold=BALL)
        self.u_c, self.w_c, self.b_c = glorot(d_c, d_c), glorot(d_c, d_c), point(d_c)
        # [directions, gates, out, in]: reset, update, candidate.
        self.u, self.w_gates, self.w = glorot(2, 3, d_s, width), glorot(2, 2, d_s, d_s), glorot(2, d_s, d_s)
        self.b_gates, self.b = point(2, 1, 2, d_s), point(2, 1, d_s)
        self.m, self.b_s = glorot(2, 2 * d_s, d_s), point(2 * d_s)

    def forward(self, batch, words):
        f = self.maps
        m = f.add(f.exp0(F.dropout(words[batch.mention], DROP_WORDS) @ self.w_m.t()), self.b_m)
        m = f.exp0(f.log0(m).tanh())
        x = F.dropout(words[batch.context], DROP_WORDS)
        return m.transpose(0, 1), self.read_chars(batch.chars), self.read_context(x, batch.reverse)

    def read_chars(self, numbers):
        f, w = self.maps, self.w_c.t()
        ux = f.exp0(f.log0(F.embedding(numbers, self.chars)) @ self.u_c.t())
        h, states = ux.new_zeros(ux.shape[1:]), []
        for u in ux.unbind(0):
            h = f.add(f.add(f.exp0(f.log0(h) @ w), u), self.b_c)
            states.append(h)
        return torch.stack(states, 1)

    def read_context(self, x, reverse):          # x: [len, batch, width], tangent vectors at 0
        f, (length, size, width) = self.maps, x.shape
        n = self.w.shape[-1]
        rows = x.view(-1, width)
        both = torch.stack([rows, rows.index_select(0, reverse)])
        ux = torch.bmm(both, self.u.flatten(1, 2).transpose(1, 2))
        ux = f.exp0(ux.view(2, length, size, 3, n))
        of_gates, of_candidate = ux.split([2, 1], 3)
        of_gates, of_candidate = of_gates.unbind(1), of_candidate.squeeze(3).unbind(1)
        w_gates, w = self.w_gates.flatten(1, 2).transpose(1, 2), self.w.transpose(1, 2)
        h, states = x.new_zeros(2, size, n), []
        for t in range(length):
            v = f.log0(h)
            gates = f.exp0(torch.bmm(v, w_gates).view(2, size, 2, n))
            gates = f.add(f.add(gates, of_gates[t]), self.b_gates)
            r, z = f.log0(gates).sigmoid().unbind(2)
            c = f.add(f.add(f.exp0(torch.bmm(r * v, w)), of_candidate[t]), self.b)
            c = f.exp0(f.log0(c).tanh())
            h = f.add(h, f.exp0(z * f.log0(f.add(-h, c))))
            states.append(h)
        v = f.log0(torch.stack(states, 1)).view(2, length * size, n)
        s = f.exp0(torch.bmm(v, self.m.transpose(1, 2)))
        s = f.add(f.add(s[0], s[1].index_select(0, reverse)), self.b_s)
        return s.view(length, size, -1).transpose(0, 1)


class HypAttention(nn.Module):
    """Eq. 8 and 9."""

    def __init__(self, maps, n, positions):
        super().__init__()
        self.maps = maps
        self.positions = MP(BALL.expmap0(near_origin(positions, n)), manifold=BALL)
        self.w, self.b = glorot(2, n, n), point(2, n)              # queries and keys
        self.beta = nn.Parameter(torch.ones(1))

    def forward(self, x, positions, inside):
        f, n = self.maps, x.shape[-1]
        r = f.add(x, positions)
        y = f.exp0((f.log0(r) @ self.w.flatten(0, 1).t()).view(*x.shape[:2], 2, n))
        q, k = f.add(y, self.b).unbind(2)
        scores = (-self.beta * f.dist(q, k)).masked_fill(~inside, -math.inf)
        return f.midpoint(x, scores.softmax(-1))


class HypConcat(nn.Module):
    """Eq. 7 of mention, characters and context."""

    def __init__(self, maps, widths, dim):
        super().__init__()
        self.maps = maps
        self.w = nn.ParameterList([nn.Parameter(w.clone()) for w in glorot(dim, sum(widths)).data.split(widths, 1)])
        self.b = point(dim)

    def forward(self, parts):
        f = self.maps
        y = [f.exp0(F.dropout(f.log0(x), DROP_PARTS, self.training) @ w.t()) for x, w in zip(parts, self.w)]
        return f.add(f.add(f.add(y[0], y[1]), y[2]), self.b)


class HypMLR(nn.Module):
    """Eq. 20, all logits from one product of matrices."""

    def __init__(self, dim, count):
        super().__init__()
        self.p, self.a = point(count, dim), glorot(count, dim)

    def forward(self, x):
        p, a = self.p, self.a
        margin, length = 1 - Square.apply(p), Square.apply(a).clamp_min(1e-30).sqrt()
        pa = (p * a).sum(-1, keepdim=True)
        scale = 2 / (margin * length).clamp_min(1e-15)
        normal = (margin * scale) * a + (2 * pa * scale) * p
        x2 = (x * x).sum(-1, keepdim=True)
        lam = 1 / (1 - x2).clamp_min(1e-7)
        z = torch.addr((x * lam) @ normal.t(), ((1 + x2) * lam).squeeze(1), (pa * scale).squeeze(1), alpha=-1)
        return Arsinh.apply(z) * (2 * length.squeeze(1))

    def by_rows(self, x):
        """The same by geoopt, for --check.  In float64, because its arsinh cancels for negative numbers."""
        x, p, a = x.double(), self.p.double(), self.a.double()
        return 2 * torch.linalg.vector_norm(a, dim=-1) * BALL.dist2plane(x[:, None], p, a, signed=True)


# ---- Euclidean

class EucEncoder(nn.Module):
    def __init__(self, width, characters, dims):
        super().__init__()
        d_m, d_c, d_s = dims
        self.mention = nn.Linear(width, d_m)
        self.chars = nn.Parameter(near_origin(characters, d_c))
        self.u_c, self.w_c = nn.Linear(d_c, d_c), glorot(d_c, d_c)
        self.onward, self.backward = nn.GRU(width, d_s), nn.GRU(width, d_s)
        for gru in (self.onward, self.backward):     # the model has one bias for each gate
            gru.bias_hh_l0.data.zero_()
            gru.bias_hh_l0.requires_grad_(False)
        self.concat = nn.Linear(2 * d_s, 2 * d_s)

    def forward(self, batch, words):
        m = self.mention(F.dropout(words[batch.mention], DROP_WORDS)).tanh()
        ux, w = self.u_c(F.embedding(batch.chars, self.chars)), self.w_c.t()
        h, states = ux[0], [ux[0]]
        for u in ux.unbind(0)[1:]:
            h = torch.addmm(u, h, w)
            states.append(h)
        x = F.dropout(words[batch.context], DROP_WORDS)
        rows = x.view(-1, x.shape[-1])
        back = self.backward(rows.index_select(0, batch.reverse).view_as(x))[0]
        back = back.reshape(rows.shape[0], -1).index_select(0, batch.reverse).view_as(back)
        s = self.concat(torch.cat([self.onward(x)[0], back], -1))
        return m.transpose(0, 1), torch.stack(states, 1), s.transpose(0, 1)


class EucAttention(nn.Module):
    def __init__(self, n, positions):
        super().__init__()
        self.positions = nn.Parameter(near_origin(positions, n))
        self.queries_and_keys = nn.Linear(n, 2 * n)
        self.beta = nn.Parameter(torch.ones(1))

    def forward(self, x, positions, inside):
        q, k = self.queries_and_keys(x + positions).chunk(2, -1)
        scores = -self.beta * torch.linalg.vector_norm(q - k, dim=-1)
        return midpoint(x, scores.masked_fill(~inside, -math.inf).softmax(-1))


def midpoint(x, w):
    return torch.bmm((w / w.sum(1, keepdim=True))[:, None], x).squeeze(1)


class EucConcat(nn.Linear):
    def forward(self, parts):
        return super().forward(F.dropout(torch.cat(parts, -1), DROP_PARTS, self.training))


class EucMLR(nn.Module):
    """Eq. 21: 4<x - p, a>."""

    def __init__(self, dim, count):
        super().__init__()
        self.p, self.a = nn.Parameter(torch.zeros(count, dim)), glorot(count, dim)

    def forward(self, x):
        return torch.addmm((self.p * self.a).sum(-1), x, self.a.t(), beta=-4, alpha=4)


# ---- Both

class Model(nn.Module):
    def __init__(self, space, maps, dims, vectors, characters, count):
        super().__init__()
        d_m, d_c, d_s = dims
        widths, width, positions = [d_m, d_c, 2 * d_s], vectors.shape[1], 2 * CONTEXT + 1
        dim = sum(widths)
        if space == "hyperbolic":
            # log0 of r tanh(|v| / r) v / |v|.
            n = vectors.norm(dim=1, keepdim=True).clamp_min(1e-15)
            self.words = vectors / n * torch.atanh(RADIUS * torch.tanh(n / RADIUS))
            self.encoder, self.midpoint = HypEncoder(maps, width, characters, dims), maps.midpoint
            self.of_mention, self.of_context = HypAttention(maps, d_m, WORDS), HypAttention(maps, 2 * d_s, positions)
            self.concat, self.mlr = HypConcat(maps, widths, dim), HypMLR(dim, count)
        else:
            self.words = vectors
            self.encoder, self.midpoint = EucEncoder(width, characters, dims), midpoint
            self.of_mention, self.of_context = EucAttention(d_m, WORDS), EucAttention(2 * d_s, positions)
            self.concat, self.mlr = EucConcat(dim, dim), EucMLR(dim, count)

    def text(self, batch):
        m, c, s = self.encoder(batch, self.words)
        m = self.of_mention(m, self.of_mention.positions[:m.shape[1]], batch.mention_in)
        s = self.of_context(s, F.embedding(batch.positions, self.of_context.positions), batch.context_in)
        return self.concat([m, self.midpoint(c, batch.chars_in.to(c.dtype)), s])

    def forward(self, batch):
        return self.mlr(self.text(batch))


class Trainer:
    def __init__(self, a, data):
        examples, vectors, characters, count = data
        maps = Geoopt if a.maps == "geoopt" else Plain
        self.model = Model(a.space, maps, SIZES[a.size], vectors, characters, count)
        self.params = [p for p in self.model.parameters() if p.requires_grad]
        if a.space == "hyperbolic":
            self.adam = geoopt.optim.RiemannianAdam(self.params, lr=RATE)
        else:
            self.adam = torch.optim.Adam(self.params, lr=RATE, fused=True)
        self.loss = Loss(count)
        order = torch.randperm(len(examples)).tolist()
        whole = [order[i:i + a.batch] for i in range(0, len(order) - a.batch + 1, a.batch)]
        self.batches = [make_batch([examples[i] for i in part]) for part in whole]
        for batch in self.batches:
            self.loss.prepare(batch)

    def count(self):
        return sum(p.numel() for p in self.params)

    def optimise(self):
        nn.utils.clip_grad_norm_(self.params, CLIP)
        self.adam.step()

    def step(self, i):
        batch = self.batches[i % len(self.batches)]
        self.adam.zero_grad()
        loss = self.loss(self.model(batch), batch)
        loss.backward()
        self.optimise()
        return loss


def timed(f, steps, warm_up):
    for i in range(warm_up):
        f(i)
    times = []
    for i in range(warm_up, warm_up + steps):
        t = time.perf_counter()
        f(i)
        times.append(time.perf_counter() - t)
    return statistics.median(times), min(times)


def run(a, data):
    trainer = Trainer(a, data)
    model, batches = trainer.model, trainer.batches
    losses = []
    median, fastest = timed(lambda i: losses.append(trainer.step(i).detach()), a.steps, a.warm_up)
    with torch.no_grad():
        shapes = [torch.randn_like(x) for x in model.encoder(batches[0], model.words)]
        text = model.text(batches[0])
        grad = torch.randn_like(model.mlr(text)) / text.shape[0]

    def encoder(i):
        model.encoder.zero_grad()
        torch.autograd.backward(model.encoder(batches[0], model.words), shapes)

    def mlr(i):
        model.mlr.zero_grad()
        model.mlr(text.detach().requires_grad_()).backward(grad)

    def forward(i):
        with torch.no_grad():
            model(batches[i % len(batches)])

    alone = {name: timed(f, a.steps, 2)[0] for name, f in (("encoder_s", encoder), ("mlr_s", mlr))}
    model.eval()
    alone["forward_s"] = timed(forward, a.steps, 2)[0]
    # Last, because it moves the parameters.
    alone["optimizer_s"] = timed(lambda i: trainer.optimise(), a.steps, 1)[0]
    row = {"space": a.space, "size": a.size, "threads": a.threads,
           "maps": a.maps if a.space == "hyperbolic" else None, "data": "real" if a.train else "random",
           "batch": a.batch, "steps": a.steps, "step_s": median, "step_fastest_s": fastest,
           "mentions_s": a.batch / median, **alone, "parameters": trainer.count(),
           "loss_first": float(losses[0]), "loss_last": float(losses[-1]),
           "finite": all(math.isfinite(x) for x in losses), "torch": torch.__version__, "geoopt": geoopt.__version__}
    return {k: float(f"{v:.5g}") if type(v) is float else v for k, v in row.items()}


def check(a, data):
    """Trains on one batch; compares logits with geoopt's."""
    trainer = Trainer(a, data)
    if a.size == "base" and data[2:] == (CHARACTERS, TYPES) and data[1].shape[1] == WIDTH:
        assert trainer.count() == 2107382, trainer.count()
    losses = [float(trainer.step(0)) for _ in range(30)]
    assert all(map(math.isfinite, losses)), losses
    assert losses[-1] < 0.5 * losses[0], losses
    row = {"check": "passed", "space": a.space, "size": a.size,
           "maps": a.maps if a.space == "hyperbolic" else None, "parameters": trainer.count(),
           "losses": [round(x, 4) for x in losses[::5] + losses[-1:]]}
    if a.space == "hyperbolic":
        with torch.no_grad():
            x = trainer.model.text(trainer.batches[0])[:10]
            ours, theirs = trainer.model.mlr(x), trainer.model.mlr.by_rows(x)
        row["logits_differ"] = float((ours - theirs).abs().max() / theirs.abs().max())
        assert row["logits_differ"] < 1e-4, row
    return row


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--space", choices=["hyperbolic", "euclidean"], default="hyperbolic")
    ap.add_argument("--size", choices=list(SIZES), default="base")
    ap.add_argument("--steps", type=int, default=30)
    ap.add_argument("--warm-up", type=int, default=5)
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--batch", type=int, default=100)
    ap.add_argument("--maps", choices=["geoopt", "plain"], default="geoopt")
    ap.add_argument("--train", help="mentions; with --types and --words")
    ap.add_argument("--types")
    ap.add_argument("--words")
    ap.add_argument("--json")
    ap.add_argument("--check", action="store_true")
    a = ap.parse_args()
    if len({bool(a.train), bool(a.types), bool(a.words)}) > 1:
        ap.error("--train, --types and --words belong together")
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    data = real_data(a.train, a.types, a.words) if a.train else random_data(20 * a.batch, gen)
    row = check(a, data) if a.check else run(a, data)
    print(json.dumps(row), flush=True)
    if a.json:
        json.dump(row, open(a.json, "w"))


if __name__ == "__main__":
    main()
