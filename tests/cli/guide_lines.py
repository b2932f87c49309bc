# SPDX-License-Identifier: Apache-2.0
"""Every command line that the guides print, and what assay has to do with it: data for test_guides_lines.py.

`text` is the line as printed, joined where it is continued, without what stands before the script's name. `kind`:

    plan    measures: `--plan` shows the whole of it, and with tiny models it runs
    write   does not measure: it answers, or writes the files that the pattern `makes` finds
    not yet answers that this version does not include it; `says` is a part of the answer
"""
import pathlib
import re
import typing

import tool


class Line(typing.NamedTuple):
    guide: str
    number: int
    kind: str
    text: str
    says: str = ""
    environment: dict = {}
    makes: str = ""

    @property
    def script(self):
        return self.text.split()[0]

    def __str__(self):
        return f"{self.guide}:{self.number} {self.text}"


DB = "--db-path ./benchmark_db.duckdb"
QUERY = "test/benchmark_db_query.py --db ./benchmark_db.duckdb"
COVERAGE = "test/test_comprehensive_hardware_coverage.py"
SCHEDULE = "schedules are not part of this version of assay"
PROFILE = "flame graphs and operator times are not part of this version of assay"
VARIANTS = "comparing compressed variants of a model is not part of this version of assay"

LINES = [
    Line("000", 26, "plan", "test/run_model_benchmarks.py --output-dir ./benchmark_results"),
    Line("000", 32, "plan", "test/run_model_benchmarks.py --models-set small --output-dir ./benchmark_results"),
    Line("000", 38, "plan", "test/run_model_benchmarks.py --specific-models bert t5 vit --output-dir ./benchmark_results"),
    Line("000", 110, "plan", "test/run_model_benchmarks.py --models-set custom --custom-models my_models.json"),
    Line("000", 148, "plan", "test/run_model_benchmarks.py --verify-only --specific-models bert t5 vit"),
    Line("000", 156, "plan", "test/run_model_benchmarks.py --hardware cuda cpu --models-set small"),
    Line("000", 164, "plan", "test/run_model_benchmarks.py --verify-only"),
    Line("000", 172, "plan", "test/run_model_benchmarks.py --output-dir ./comprehensive_benchmarks"),
    Line("000", 180, "plan", "test/run_model_benchmarks.py --no-resource-pool"),
    Line("000", 207, "plan", "test/run_model_benchmarks.py --models-set small --debug"),
    Line("001", 35, "plan", "hardware_benchmark_runner.py"),
    Line("001", 38, "plan", "hardware_benchmark_runner.py --model-families embedding text_generation --hardware cuda cpu qnn"),
    Line("001", 41, "plan", "hardware_benchmark_runner.py --batch-sizes 1 4 16 --warmup 10 --iterations 50"),
    Line("001", 44, "plan", "hardware_benchmark_runner.py --parallel"),
    Line("001", 47, "plan", "hardware_benchmark_runner.py --include-web-platforms"),
    Line("001", 50, "plan", "hardware_benchmark_runner.py --output-dir ./my_benchmark_results"),
    Line("001", 83, "plan", "run_benchmark_suite.py"),
    Line("001", 86, "plan", "run_benchmark_suite.py --config my_benchmark_config.json"),
    Line("001", 89, "write", "run_benchmark_suite.py --create-config", makes="benchmark_config.json"),
    Line("001", 92, "plan", "run_benchmark_suite.py --models embedding vision"),
    Line("001", 95, "plan", "run_benchmark_suite.py --hardware cuda cpu"),
    Line("001", 98, "write", "run_benchmark_suite.py --check"),
    Line("001", 101, "write", "run_benchmark_suite.py --plot-only ./benchmark_results/20250302_123456", makes="benchmark_results/20250302_123456/plots/*.svg"),
    Line("001", 104, "write", "run_benchmark_suite.py --update-matrix-only ./benchmark_results/20250302_123456", makes="benchmark_results/20250302_123456/hardware_compatibility_matrix.json"),
    Line("001", 431, "plan", "hardware_benchmark_runner.py --debug"),
    Line("001", 434, "plan", "hardware_benchmark_runner.py --model-families embedding"),
    Line("001", 437, "write", "run_benchmark_suite.py --check"),
    Line("001", 446, "plan", "hardware_benchmark_runner.py --hardware qnn"),
    Line("001", 449, "plan", "hardware_benchmark_runner.py --hardware cuda cpu qnn --model-families embedding vision"),
    Line("001", 452, "plan", "hardware_benchmark_runner.py --hardware qnn --small-models-only"),
    Line("001", 455, "plan", "hardware_benchmark_runner.py --hardware qnn", environment={"QNN_SDK": "/path/to/sdk", "QNN_DEBUG": "1"}),
    Line("001", 488, "plan", "run_benchmark_suite.py --config custom_benchmark_config.json"),
    Line("001", 497, "write", "run_benchmark_suite.py --aggregate-results ./benchmark_results/run1 ./benchmark_results/run2", makes="benchmark_results/2*/benchmark_report.md"),
    Line("001", 500, "write", "run_benchmark_suite.py --plot-comparison ./benchmark_results/before ./benchmark_results/after", makes="benchmark_results/comparison_*/comparison.md"),
    Line("001", 513, "plan", f"{COVERAGE} --benchmark-all {DB}"),
    Line("001", 516, "plan", f'{COVERAGE} --benchmark-category "text_encoders" --hardware all {DB}'),
    Line("001", 519, "write", f"{COVERAGE} --generate-optimization-report {DB}"),
    Line("001", 522, "not yet", f"{COVERAGE} --profile-detailed --model bert --hardware all {DB}", PROFILE),
    Line("001", 525, "write", f"{COVERAGE} --comparative-report --all-models --hardware all {DB}"),
    Line("001", 551, "write", f"{QUERY} --report comprehensive-benchmarks --format html --output comprehensive_benchmark_report.html", makes="comprehensive_benchmark_report.html"),
    Line("001", 554, "write", f"{QUERY} --architecture-performance-comparison --format html --output architecture_comparison.html", makes="architecture_comparison.html"),
    Line("001", 557, "write", f"{QUERY} --optimal-hardware-analysis --output optimal_hardware.md", makes="optimal_hardware.md"),
    Line("001", 591, "write", f"{COVERAGE} --generate-dashboard {DB} --output dashboard/", makes="dashboard/index.html"),
    Line("001", 594, "write", f"{COVERAGE} --hardware-efficiency-chart {DB} --output charts/efficiency.html", makes="charts/efficiency.html"),
    Line("001", 597, "write", f"{COVERAGE} --memory-scaling-chart {DB} --output charts/memory.html", makes="charts/memory.html"),
    Line("001", 606, "not yet", f"{COVERAGE} --schedule-benchmarks --frequency weekly {DB}", SCHEDULE),
    Line("001", 609, "plan", f"{COVERAGE} --incremental-benchmarks {DB}"),
    Line("001", 612, "plan", f"{COVERAGE} --update-benchmarks --older-than 30 {DB}"),
    Line("002", 28, "write", "setup_benchmark_db.py --db-path benchmark_db.duckdb", makes="benchmark_db.duckdb"),
    Line("002", 34, "write", "setup_benchmark_db.py --db-path benchmark_db.duckdb --overwrite", makes="benchmark_db.duckdb"),
    Line("002", 42, "plan", "run_hardware_benchmark.py --model-id bert-base-uncased --device cuda --save"),
    Line("002", 48, "plan", "run_hardware_benchmark.py --model-id gpt2 --device cuda --precision float16 --batch-sizes 1,2,4,8 "
         "--sequence-lengths 128,256,512 --iterations 20 --save --output-dir benchmark_results"),
    Line("002", 64, "write", "visualize_benchmarks.py --json-path benchmark_results/gpt2_cuda_float16_20250410_120000.json", makes="plots/*.svg"),
    Line("002", 70, "write", "visualize_benchmarks.py --db-path benchmark_db.duckdb --model-id bert-base-uncased", makes="plots/latency_vs_batch_size.svg"),
    Line("002", 76, "write", "visualize_benchmarks.py --db-path benchmark_db.duckdb --architecture-comparison", makes="plots/architecture_comparison.svg"),
    Line("003", 29, "not yet", 'benchmark_models.py --models "original:models/resnet50.pt,quantized:models/quantized_model.pt,'
         'pruned:models/pruned_model.pt,distilled:models/distilled_model.pt" --dataset ./data/test --batch-size 32 --num-runs 100 '
         "--save-dir benchmark_results --report-format markdown", VARIANTS),
    Line("003", 49, "not yet", "model_flamegraph.py --model models/optimized_model.pt --dataset ./data/test --batch-size 1 "
         "--save-dir profile_results --profiler torch --use-cuda", PROFILE),
    Line("003", 138, "not yet", 'benchmark_models.py --models "original:models/original.pt,quantized:models/quantized.pt,'
         'pruned:models/pruned.pt,distilled:models/distilled.pt"', VARIANTS),
    Line("004", 10, "plan", "bench/runner.py --framework pytorch --model resnet50 --batch-sizes 1 4 --iterations 10 --warmup 3"),
    Line("004", 45, "plan", "bench/runner.py --framework both --model both"),
    Line("004", 48, "plan", "bench/runner.py --framework pytorch --model resnet50"),
    Line("004", 51, "plan", "bench/runner.py --framework jax --model vit_b_16 --batch-sizes 1 16 32 64 --iterations 100 --warmup 20"),
    Line("004", 194, "plan", "bench/runner.py --framework pytorch --model resnet50 --batch-sizes 1 16 --iterations 20 --warmup 5"),
    Line("004", 201, "plan", "bench/runner.py --framework both --model both --batch-sizes 1 8 32 128 --iterations 200 --warmup 20 "
         "--output-dir results/raw/production"),
]

# Scripts that the guides name without printing a line, and what assay does for them without arguments.
NAMED = [
    Line("000", 16, "plan", "verify_model_functionality.py"),
    Line("002", 17, "plan", "batch_benchmark.py"),
    Line("002", 18, "not yet", "integration_benchmark.py", "running on a cluster is not part of this version of assay"),
]

# Programs of others.
NOT_OURS = {"crontab", "systemctl", "tensorboard", "model_quantization.py", "model_pruning.py", "model_distillation.py"}


def printed_commands(text):
    """(line number, command) of all fenced shell blocks of a guide, without its comments, output, and files written in place."""
    found, lines, number = [], iter(enumerate(text.splitlines(), 1)), 0
    shell, end_of_file, prompts = False, None, False
    for number, line in lines:
        if line.startswith("```"):
            shell, end_of_file, prompts = not shell and line.strip() == "```bash", None, False
            continue
        if not shell or line.strip() == end_of_file:
            end_of_file = None
            continue
        if end_of_file:
            continue
        start = number
        while line.endswith("\\"):
            number, further = next(lines)
            line = line[:-1].rstrip() + " " + further.strip()
        prompts = prompts or line.startswith("$ ")
        if not line.strip() or line.startswith("#") or (prompts and not line.startswith("$ ")):
            continue
        if heredoc := re.search(r"<< *'?(\w+)'?", line):
            end_of_file = heredoc[1]
            continue
        found.append((start, line.removeprefix("$ ").strip()))
    return found


def without_python(command):
    """"A=1 python x.py --y" as "x.py --y"."""
    return re.sub(r"^(\w+=\S+ )*python ", "", command)


def aliases():
    """Each name of aliases.def with assay's words for it."""
    text = (tool.SOURCE / "src" / "app" / "cli" / "aliases.def").read_text()
    return dict(re.findall(r'^ALIAS\("(\w+)", +"([^"]+)"', text, re.MULTILINE))


def own_words(script):
    """assay's own command for a script of the guides: ["db", "init"]."""
    return aliases()[pathlib.PurePosixPath(script).stem].split()


def code_after(text, words, language):
    """The first fenced block of a language after the given words of a guide."""
    return re.compile(rf"^```{language}\n(.*?)^```", re.MULTILINE | re.DOTALL).search(text, text.index(words))[1]


def file_in_place(text, name):
    """The file that a guide writes with `cat << EOF > NAME`."""
    return re.search(rf"^cat << EOF > {re.escape(name)}\n(.*?)^EOF$", text, re.MULTILINE | re.DOTALL)[1]
