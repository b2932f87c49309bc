# SPDX-License-Identifier: Apache-2.0
"""Pairs of fresh processes that measure the same model: assay and another program. For torch_lowering.py and xla_lowering.py."""
import math
import os
import pathlib
import random
import statistics
import sys

# Student's t for a two-sided 95 % interval, by degrees of freedom from 1 on.
STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093]


class Failed(Exception):
    """A process that did not measure, and what it said."""


def add_options(parser, models, iterations):
    parser.add_argument("--assay", type=lambda text: pathlib.Path(text).resolve(), default=pathlib.Path("build/release/bin/assay").resolve())
    parser.add_argument("--models", nargs="+", choices=models, default=list(models))
    parser.add_argument("--batch-sizes", nargs="+", type=int, default=[1, 8])
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--warmup", type=int, default=5, help="of each process")
    parser.add_argument("--iterations", type=int, default=iterations, help="of each process")


def ratio_words(pairs):
    """The geometric mean of assay / other with its 95 % interval (Student's t of the logarithms)."""
    logs = [math.log(ours / theirs) for ours, theirs in pairs]
    mean = statistics.mean(logs)
    if len(logs) < 2:
        return f"{math.exp(mean):.3f} (no interval)"
    half = STUDENT[min(len(logs) - 1, len(STUDENT)) - 1] * statistics.stdev(logs) / math.sqrt(len(logs))
    return f"{math.exp(mean):.3f} ({math.exp(mean - half):.3f} to {math.exp(mean + half):.3f})"


def compare(options, other, time_ours, time_theirs):
    """Prints a row for each model and batch as soon as it is known. time_ours(model, batch) returns milliseconds and the verdict of the
    outputs, time_theirs(model, batch) milliseconds; each starts its process, and raises Failed if that measures nothing. The order
    within a pair is random. After a failure the row has the pairs before it, and the next row begins. Returns how many rows are cut short."""
    cut_short = 0
    print(f"{options.threads} threads, {options.warmup} warm-ups and {options.iterations} samples in each process; medians in ms\n")
    print(f"| model | batch | pairs | {other} | assay | assay / {other} (95 %) | verification |\n| --- | --- | --- | --- | --- | --- | --- |")
    for model in options.models:
        for batch in options.batch_sizes:
            pairs, verdicts = [], set()
            try:
                for _ in range(options.pairs):
                    if first := random.random() < 0.5:
                        theirs = time_theirs(model, batch)
                    ours, verdict = time_ours(model, batch)
                    if not first:
                        theirs = time_theirs(model, batch)
                    pairs.append((ours, theirs))
                    verdicts.add(verdict)
            except Failed as failure:
                cut_short += 1
                print(f"{model}, batch {batch}, pair {len(pairs) + 1} of {options.pairs}: {failure}", file=sys.stderr, flush=True)
            if not pairs:
                print(f"| {model} | {batch} | 0 | | | | failed |", flush=True)
                continue
            ours, theirs = (statistics.median(side) for side in zip(*pairs))
            print(f"| {model} | {batch} | {len(pairs)} | {theirs:.2f} | {ours:.2f} | {ratio_words(pairs)} | {', '.join(sorted(verdicts))} |", flush=True)
    return cut_short
