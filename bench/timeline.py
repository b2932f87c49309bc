#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `assay run …` and writes how long its steps took: timeline.py OUTPUT.json build/release/bin/assay run …

The command gets --verbose, --output-dir and --no-plots; its report goes to stderr. OUTPUT.json has each model's cells with what the estimates use of them, the time of
its references, and the launches in their order with their times. src/bench/run/time_plan_test.cpp gives such timelines to TimePlan. At the end the
script prints the forecasts of the progress lines: elapsed, left, and the error of the sum against the time that the run took.
"""
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LAUNCHED = re.compile(r"\(\d+/\d+\) (\S+) on (\S+) (\S+), launch \d+: (?:median (\S+) ms|(\w+)); \S+ elapsed, about ((?:\d+:)+\d+) left")
ATTEMPT = re.compile(r"(\S+) on (\S+), (\S+): loaded, verified, measured: (\S+) s")


def seconds(clock):
    total = 0
    for part in clock.split(":"):
        total = 60 * total + int(part)
    return total


def number(text):
    return float(text.replace(",", "")) if text else 0.0


def run(command, folder):
    """Launches (at, model, cell, took, median in ms, seconds left), and the seconds that the run took."""
    launches, took = [], 0.0
    began = time.monotonic()
    program = subprocess.Popen(command + ["--verbose", "--no-plots", "--output-dir", folder], stdout=sys.stderr, stderr=subprocess.PIPE, text=True)
    for line in program.stderr:
        at = time.monotonic() - began
        print(f"{at:8.2f} {line}", end="", file=sys.stderr, flush=True)
        if found := ATTEMPT.match(line):
            took = float(found[4])
        elif found := LAUNCHED.match(line):
            launches.append((at, found[1], f"{found[2]} {found[3]}", took, number(found[4]), seconds(found[6])))
            took = 0.0
    if program.wait() not in (0, 1):
        sys.exit(f"{command[0]} ended with {program.returncode}")
    return launches, time.monotonic() - began


def rows_of(folder):
    with next(Path(folder).glob("*.csv")).open() as file:
        return list(csv.DictReader(file))


def machine_rate():
    """What the estimates began with: with --budget the program measures it and keeps it beside its models."""
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay"
    file = Path(os.environ.get("ASSAY_CACHE_DIR") or usual) / "machine_rates.json"
    rates = list(json.loads(file.read_text()).values()) if file.exists() else []
    return {key: rates[-1][key] for key in ("flops_per_s", "bytes_per_s")} if rates else None


def shape_of(row):
    parts = [f"batch_{row['batch_size']}"]
    if row["sequence_length"]:
        parts.append(f"seq_{row['sequence_length']}")
    return "_".join(parts)


def main():
    output, command = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        launches, took = run(command, folder)
        rows = rows_of(folder)
    models, ended = [], 0.0
    for at, name, cell, launch_s, median, _ in launches:
        if not models or models[-1]["model"] != name:
            cells = [row for row in rows if row["model"] == name]
            models.append({"model": name, "prepare_s": round(at - launch_s - ended, 3), "cells": [], "launches": []})
            for row in cells:
                models[-1]["cells"].append({
                    "target": row["hardware"], "batch": int(row["batch_size"]), "flops": float(row["flops"]), "bytes": float(row["bytes"]),
                    "parameters": int(row["parameter_count"]), "generates": bool(row["output_tokens"]),
                    "sets": int((re.match(r"\d+", row["checked"]) or [4])[0])})
            names = [f"{row['hardware']} {shape_of(row)}" for row in cells]
            ended = at - launch_s
        place = next(i for i, known in enumerate(names) if cell == known or cell.startswith(known + "_"))
        models[-1]["launches"].append({"cell": place, "s": round(at - ended, 3), "median_ms": median})
        ended = at
    with open(output, "w") as file:
        lines = [json.dumps(model) for model in models]
        file.write('{"command": ' + json.dumps(" ".join(["assay"] + command[1:])) + ', "total_s": ' + f"{took:.1f}" + ', "rate": ' + json.dumps(machine_rate()) + ', "models": [\n' + ",\n".join(lines) + "\n]}\n")
    for at, name, cell, _, _, left in launches:
        print(f"{at:6.1f} s, {left:4d} s left: {100 * ((at + left) / took - 1):+5.1f} %  {name} {cell}")
    print(f"{took:.1f} s in all")


if __name__ == "__main__":
    main()
