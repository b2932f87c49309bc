#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/conformance.md: ONNX's operator tests on every engine that computes models and is installed.

    tests/conformance/record.py [--assay PROGRAM] [--tests DIR] [--engines NAME[,NAME...]]

Takes minutes for each engine. The tests come from `./setup/fetch dev`, the runtimes from `./setup/fetch NAME`.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "conformance.md"
MARK = "<!-- tables -->\n"


def run(command, accepted):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode not in accepted:
        sys.exit(f"{' '.join(command)} ended with status {done.returncode}")
    return done.stdout


def installed(assay):
    """Names of the engines that compute models and whose runtime is here."""
    engines = json.loads(run([assay, "engines", "--output-format", "json"], {0}))["engines"]
    return [engine["name"] for engine in engines if engine["available"] and engine["needs_model"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--assay", default=str(ROOT / "assay"), help="the program (default: the wrapper, which builds it)")
    parser.add_argument("--tests", default=str(ROOT / ".deps" / "onnx-node-tests"), help="folder of the tests")
    parser.add_argument("--engines", help="default: all that are installed")
    options = parser.parse_args()
    engines = options.engines or ",".join(installed(options.assay))
    # 1 and 3: some tests failed, or are wrong. The tables say which.
    tables = run([options.assay, "conform", "--engines", engines, "--output-format", "md", options.tests], {0, 1, 3})
    head, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    if not mark:
        sys.exit(f"{PAGE} has no line {MARK.strip()}")
    PAGE.write_text(head + mark + "\n" + tables.rstrip("\n") + "\n", encoding="utf-8")
    totals = re.findall(r"^\| (?:" + "|".join(engines.split(",")) + r") .*$", tables, re.MULTILINE)
    print("\n".join(totals))


if __name__ == "__main__":
    main()
