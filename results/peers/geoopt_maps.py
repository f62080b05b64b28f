#!/usr/bin/env python3
"""geoopt's gradient conversion, retraction and transport in the Poincare ball: median ms of the forward pass.

The peer of `egrad2rgrad`, `retr` and `transp` of `cargo bench --bench kernels -- --only gram`. Needs torch and geoopt.
"""
import argparse
import json
import statistics
import time

import geoopt
import torch


def median_ms(f):
    for _ in range(3):
        f()
    times, start = [], time.perf_counter()
    while len(times) < 7 or time.perf_counter() - start < 0.25:
        call = time.perf_counter()
        f()
        times.append((time.perf_counter() - call) * 1e3)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    torch.set_num_threads(parser.parse_args().threads)
    torch.manual_seed(0)
    for dtype in (torch.float32, torch.float64):
        ball = geoopt.PoincareBall(c=1.0).to(dtype)
        for n, d in ((65536, 16), (8192, 512)):
            x, y, v = (torch.empty(n, d, dtype=dtype).uniform_(-0.9, 0.9) / d**0.5 for _ in range(3))
            maps = {
                "egrad2rgrad": lambda: ball.egrad2rgrad(x, v),
                "retr": lambda: ball.retr(x, v),
                "expmap": lambda: ball.expmap(x, v),
                "transp": lambda: ball.transp(x, y, v),
            }
            for op, f in maps.items():
                row = {"op": op, "shape": f"{n}x{d}", "dtype": str(dtype)[6:], "fwd_ms": round(median_ms(f), 4)}
                print(json.dumps(row), flush=True)


main()
