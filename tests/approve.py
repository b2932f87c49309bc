#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what assay writes with the approved files in tests/approved, and approves what it writes now.

    tests/approve.py [NAME...]           shows the difference of each document and approves it: the file is rewritten
    tests/approve.py --check [NAME...]   only compares; exit status 1 if one differs (the tests run this)

Without a name all documents; `charts` is all charts. `--build DIR` is the build folder (build/dev).

Most documents come from a scripted run (tests/approved/scripted_reports.cpp) and are equal to the last byte. If the program itself
runs, its approved file has a placeholder `<name>` for each unpredictable value: a key of PLACEHOLDERS, with the pattern that the text
must match. Approving keeps the placeholders of lines that still match; in new lines, write them manually.
"""
import argparse
import csv
import difflib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
APPROVED = ROOT / "tests" / "approved"

DECIMAL = r"\d+(\.\d+)?(e-?\d+)?"
PLACEHOLDERS = {
    "time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z",
    "stamp": r"\d{8}_\d{6}",
    "uuid": r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    "sha256": r"[0-9a-f]{64}",
    "machine": r"[0-9a-f]{16}",
    "version": r"\d+\.\d+\.\d+",
    "git_commit": r'("[0-9a-f]{7,40}(-dirty)?"|null)',  # null outside a checkout
    "host": r"[\w.-]+",
    "text_or_null": r'("[^"]*"|null)',
    "positive": r"(?=.*[1-9])" + DECIMAL,
    "decimal": DECIMAL,
    "decimal_or_null": rf"({DECIMAL}|null)",  # null if the peak is not above the memory from before
    "count": r"\d+",
    "product": r"(=\d+x[\d.]+(e\+\d+)?)?",  # of a threshold that is more than the minimum
    "noisy_or_not": r"(,noisy)?",  # on a machine that others use
    "product_words": r"( \(\d+ independent ones; here about \d+(\.\d+)? samples count as one\))?",
    "ms": r"\d+\.\d{3,}",
    "per_second": r"\d+\.\d\d",
    "megabytes": r"\d+\.\d\d",
}

NULL_BENCH = ["assay", "bench", "--engine", "null", "--engine-option", "cost_ns=100000", "--batch-sizes", "1,4", "--iterations", "5",
              "--warmup", "2", "--quiet"]
# Charts of invented results (tests/approved/scripted_charts.cpp): with a single cell, with five models, with
# thirty, with times that are not ranked, and with long names; the second page of each that pages.txt lists.
CHARTS = ("hardware_comparison", "model_performance", "batch_size_scaling", "relative_speedup", "memory_usage",
          "architecture_performance_matrix", "category_comparison", "hardware_efficiency", "memory_scaling", "optimization_opportunities",
          "latency_vs_batch_size", "throughput_vs_batch_size", "memory_usage_vs_batch_size", "architecture_comparison",
          "latency_distribution", "samples_over_time", "history", "generation", "verification", "comparison",
          "phases", "machine_noise")
# What these say of one cell instead is in charts/without_data.txt.
NEED_MORE = ("comparison", "relative_speedup", "category_comparison", "hardware_efficiency", "optimization_opportunities", "history", "generation")
NOT_RANKED = ("hardware_comparison", "model_performance", "relative_speedup", "memory_usage", "architecture_performance_matrix",
              "architecture_comparison", "category_comparison", "comparison")
LONG_NAMES = ("hardware_comparison", "model_performance", "architecture_performance_matrix", "history")
CHART_FILES = [*(f"charts/{name}.one.svg" for name in CHARTS if name not in NEED_MORE),
               *(f"charts/{name}.normal.svg" for name in CHARTS),
               *(f"charts/{name}.thirty.svg" for name in CHARTS),
               *(f"charts/{name}.unranked.svg" for name in NOT_RANKED),
               *(f"charts/{name}.long.svg" for name in LONG_NAMES),
               *(f"charts/{name}.normal.dark.svg" for name in CHARTS[:3]), "charts/comparison.two_runs.svg",
               *(f"charts/{name}_2.{data}.svg" for name, data in re.findall(r"^(\w+)\.(\w+): ", (APPROVED / "charts" / "pages.txt").read_text(), re.MULTILINE)),
               "charts/pages.txt", "charts/without_data.txt"]

DOCUMENTS = {
    **{name: ["scripted_charts", name.removeprefix("charts/")] for name in CHART_FILES},
    **{name: ["scripted_reports", name] for name in ("hardware_guide.json", "bench.json", "bench.csv", "bench.txt", "report.md",
                                                     "report_of_nothing.md", "matrix.json", "summary.txt", "interrupted.txt", "interrupted.md",
                                                     "verification.txt", "summary_wide.txt", "summary_narrow.txt", "report_overview.md",
                                                     "report_overview.txt", "report_overview.json", "report_overview.html",
                                                     "report_comprehensive.csv", "report_architectures.md", "report_optimal_hardware.md",
                                                     "report_optimization.md", "report_comparative.md", "report_coverage.md", "report_changes.md")},
    "null_bench.json": [*NULL_BENCH, "--output-format", "json"],
    "null_bench.txt": NULL_BENCH,
    "help.txt": ["assay", "--help"],
}


def pattern_of(line):
    """The regular expression of an approved line; None if it has no placeholder."""
    parts = re.split(rf"<({'|'.join(PLACEHOLDERS)})>", line)
    if len(parts) == 1:
        return None
    return re.compile("".join(f"(?:{PLACEHOLDERS[part]})" if i % 2 else re.escape(part) for i, part in enumerate(parts)))


def with_placeholders(received, approved):
    """`received`, in which each line that matches an approved line with placeholders is replaced by it. If several match, the first
    unused one counts: they have the same order."""
    templates = [(line, pattern) for line in approved if (pattern := pattern_of(line))]
    result = []
    for line in received:
        fitting = next((each for each in templates if each[1].fullmatch(line)), None)
        if fitting is not None:
            templates.remove(fitting)
            line = fitting[0]
        result.append(line)
    return result


def received_text(name, build):
    program, *arguments = DOCUMENTS[name]
    environment = {key: value for key, value in os.environ.items() if key != "ASSAY_DB_PATH"}
    with tempfile.TemporaryDirectory(prefix="assay-approve-") as folder:
        environment["ASSAY_CACHE_DIR"] = folder + "/cache"
        environment["ASSAY_RUNTIME_DIR"] = folder
        result = subprocess.run([build / "bin" / program, *arguments], cwd=folder, env=environment, text=True, capture_output=True,
                                timeout=900)
    if result.returncode != 0:
        sys.exit(f"{name}: {program} {' '.join(arguments)} ended with status {result.returncode}\n{result.stderr}")
    return result.stdout


def without_new_absent_fields(received, approved, name):
    """`received` without absent fields (null, an empty column) that the approved document does not have: so a new field of a result
    changes only the documents in which it has a value. Other tests check that absent fields are written."""
    if name.endswith(".json"):
        known = set(re.findall(r'^\s*"(\w+)": ', "\n".join(approved), re.MULTILINE))
        absent = (re.fullmatch(r'\s*"(\w+)": null,?', line) for line in received)
        return [line for line, field in zip(received, absent) if field is None or field[1] in known]
    if name.endswith(".csv") and received and approved:
        known, rows = approved[0].split(","), list(csv.reader(io.StringIO("\n".join(received), newline="")))
        kept = [i for i, column in enumerate(rows[0]) if column in known or any(row[i] for row in rows[1:])]
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([row[i] for i in kept] for row in rows)
        return text.getvalue().splitlines()
    return received


def without_the_machine(received, name):
    """`received` without the lines of `bench` that depend on what else this machine does: that its times are noisy, for instance."""
    if name != "null_bench.txt":
        return received
    depends = re.compile(r"  (noisy|unsteady|slowdown|inconsistent): .*|  Latency \(mean\): .*|note: `assay doctor` says .*")
    return [line for line in received if not depends.fullmatch(line)]


def difference(name, build):
    """The new document and its difference from the approved one, "" if there is none."""
    file = APPROVED / name
    approved = file.read_text().splitlines() if file.exists() else []
    received = without_new_absent_fields(received_text(name, build).splitlines(), approved, name)
    received = with_placeholders(without_the_machine(received, name), approved)
    diff = difflib.unified_diff(approved, received, f"{name} (approved)", f"{name} (now)", lineterm="")
    return "\n".join(received) + "\n", "\n".join(diff)


def self_test():
    approved = ["a <version>", "b", "<nothing> c <count>"]
    assert with_placeholders(["a 1.2.3", "b", "<nothing> c 7"], approved) == approved
    assert with_placeholders(["a x", "b 1", "<nothing> c -7"], approved) == ["a x", "b 1", "<nothing> c -7"]
    assert without_new_absent_fields(['"a": null,', '"b": null,', '"c": 1'], ['"a": null,'], "x.json") == ['"a": null,', '"c": 1']
    assert without_new_absent_fields(["a,b,c", '1,,"x,y"'], ["a"], "x.csv") == ["a,c", '1,"x,y"']
    assert without_new_absent_fields(['a', '"1', '2"'], ["a"], "x.csv") == ['a', '"1', '2"'], "a field of two lines stays"
    for name, pattern in PLACEHOLDERS.items():
        assert not re.fullmatch(pattern, 'any "text"'), f"the placeholder {name} accepts anything"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare only")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "dev", help="the build folder")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(DOCUMENTS))
    options = parser.parse_args()
    if "charts" in options.names:
        options.names = [name for name in options.names if name != "charts"] + CHART_FILES
    if unknown := sorted(set(options.names) - set(DOCUMENTS)):
        parser.error(f"there is no document {unknown[0]}; valid: {', '.join(DOCUMENTS)}")
    self_test()
    differing = []
    for name in options.names or DOCUMENTS:
        text, diff = difference(name, options.build.resolve())
        if not diff:
            continue
        differing.append(name)
        print(diff)
        if not options.check:
            (APPROVED / name).parent.mkdir(exist_ok=True)
            (APPROVED / name).write_text(text)
    if differing and options.check:
        print(f"\nRead the difference. If it is right: tests/approve.py {' '.join(differing)}")
        return 1
    print(f"{'approved' if differing else 'as approved'}: {', '.join(differing or options.names or DOCUMENTS)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
