#!/usr/bin/env python3
"""How far attention keeps to the clauses of a sentence: Tseng et al. 2023, Figure 5, as a number.

Usage: heatmap_clauses.py TRANSFORMER SENTENCES.tsv[.gz] MODEL...
For every source sentence with one ", während" the program TRANSFORMER draws the weights of the encoder's last layer
(`transformer attend --queries source`). Printed for each model and head: the share of the weights that a token gives to
the tokens of its own clause, a mean over tokens and sentences; and that share if all weights were equal.
"""
import gzip
import html
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SPLIT = "während"


def heads(svg):
    """Of each head, its weights as (query, key, weight) in the order of the squares."""
    for part in svg.split('font-weight="bold"')[1:]:
        titles = [html.unescape(title) for title in re.findall(r"<title>\s*(.*?)\s*</title>", part)]
        yield [float(title.rsplit(": ", 1)[1]) for title in titles]


def shares(weights, tokens):
    """The share of a token's weights in its own clause, and that of equal weights, for each token."""
    n, cut = len(tokens), tokens.index(SPLIT)
    for i in range(n):
        row = weights[i * n:(i + 1) * n]
        own = row[:cut] if i < cut else row[cut:]
        yield sum(own) / sum(row), len(own) / n


def main():
    program, sentences, *models = sys.argv[1:]
    opened = gzip.open if sentences.endswith(".gz") else open
    with opened(sentences, "rt", encoding="utf-8") as file:
        lines = [line.split("\t")[0] for line in file]
    chosen = [line for line in lines if line.count(SPLIT) == 1 and f", {SPLIT}" in line]
    for model in models:
        found, equal, used = {}, [], 0
        for sentence in chosen:
            with tempfile.TemporaryDirectory() as directory:
                out = Path(directory) / "attention.svg"
                command = [program, "attend", "--model", model, "--sentence", sentence, "--queries", "source"]
                subprocess.run([*command, "--out", str(out)], check=True, capture_output=True)
                svg = out.read_text()
            labels = re.findall(r'<text text-anchor="end"[^>]*>\s*(.*?)\s*</text>', svg)
            all_heads = list(heads(svg))
            tokens = labels[:len(labels) // len(all_heads)]
            if SPLIT not in tokens:
                continue
            used += 1
            for number, weights in enumerate(all_heads, 1):
                pairs = list(shares(weights, tokens))
                found.setdefault(number, []).extend(share for share, _ in pairs)
                if number == 1:
                    equal.extend(share for _, share in pairs)
        mean = sum(equal) / len(equal)
        own = ", ".join(f"{sum(list_) / len(list_):.3f}" for list_ in found.values())
        print(f"{Path(model).name}: {used} sentences; heads {own}; equal weights {mean:.3f}", flush=True)


if __name__ == "__main__":
    main()
