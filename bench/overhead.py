#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long `assay bench` of a tiny model takes beside loading, verifying and measuring.

    bench/overhead.py [--assay build/release/bin/assay] [--runs 15]

Runs one cell of prajjwal1/bert-tiny on ONNX Runtime, without and with `--save`. Of each run: the wall time of the command, and the
part that its own row accounts for: loading (runtime and model), verifying (two inferences), warm-up and samples. Prints medians. The
first run of each kind is left out: it makes the reference, the cache and the database.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time


def run(assay, folder, arguments):
    """Wall time and accounted time of one command, in seconds."""
    environment = {**os.environ, "ASSAY_CACHE_DIR": str(folder / "cache"), "HF_HUB_OFFLINE": "1"}
    command = [str(assay), "bench", "--model-id", "prajjwal1/bert-tiny", "--batch-sizes", "1", "--engine", "onnxruntime", "--quiet",
               "--output-format", "json", *arguments]
    began = time.perf_counter()
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    wall = time.perf_counter() - began
    if result.returncode != 0:
        raise SystemExit(result.stderr)
    (row,) = json.loads(result.stdout)["results"]
    load = row["runtime_load_ms"] + 1e3 * row["model_load_time"]
    measure = row["warmup_time_ms"] + row["window_ns"] / 1e6
    return wall, (load + 2 * row["first_inference_ms"] + measure) / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assay", type=pathlib.Path, default=pathlib.Path("build/release/bin/assay"))
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    print("| command | runs | wall s | work s | beside s | wall / work |\n| --- | --- | --- | --- | --- | --- |")
    for name, arguments in (("bench", []), ("bench --save", ["--save"])):
        with tempfile.TemporaryDirectory(prefix="assay-overhead-") as folder:
            times = [run(options.assay.resolve(), pathlib.Path(folder), arguments) for _ in range(options.runs + 1)][1:]
        wall, work = (statistics.median(each) for each in zip(*times))
        beside = statistics.median(a - b for a, b in times)
        print(f"| {name} | {options.runs} | {wall:.3f} | {work:.3f} | {beside:.3f} | {wall / work:.2f} |", flush=True)


if __name__ == "__main__":
    main()
