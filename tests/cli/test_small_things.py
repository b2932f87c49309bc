# SPDX-License-Identifier: Apache-2.0
"""One meaning of a word in all commands: models, precisions, versions of documents, times that are small."""
import json
import os
import re
import tool

NULL = ["--engine", "null", "--iterations", "3", "--warmup", "0", "--batch-sizes", "1", "--launches", "1", "--quiet"]
TINY = "prajjwal1/bert-tiny"


class Documents(tool.ToolTest):
    """Every command that prints or writes JSON says the version of the document in it."""

    COMMANDS = {
        "run": [["run", TINY, *NULL, "--no-plots", "--output-dir", "out"], ["run", TINY, *NULL, "--plan"]],
        "bench": [["bench", *NULL, "--save"], ["bench", *NULL, "--plan"]],
        "verify": [["verify", TINY, *NULL], ["verify", TINY, *NULL, "--plan"]],
        "suite": [["suite", "--models", "t5-small", *NULL, "--no-plots"], ["suite", "--models", "t5-small", *NULL, "--plan"],
                  ["suite", "--models", "t5-small", *NULL, "--check"], ["suite", "--create-config", "config.json"],
                  ["suite", "--plot-only", "folder"], ["suite", "--plot-only", "folder", "--plan"], ["suite", "--update-matrix-only", "folder"],
                  ["suite", "--aggregate-results", "folder", "folder"], ["suite", "--plot-comparison", "folder", "folder"]],
        "coverage": [["coverage", "--model", "bert", *NULL, "--output-dir", "covered"], ["coverage", "--model", "bert", *NULL, "--plan"],
                     ["coverage", "--incremental-benchmarks", "--model", "bert", *NULL], ["coverage", "--comparative-report"],
                     ["coverage", "--memory-scaling-chart"], ["coverage", "--memory-scaling-chart", "--plan"]],
        "hardware": [["hardware"]],
        "engines": [["engines"], ["engines", "null"]],
        "doctor": [["doctor"]],
        "cache": [["cache"]],
        "zoo list": [["zoo", "list"]],
        "zoo show": [["zoo", "show", TINY]],
        "zoo build": [["zoo", "build", TINY, "-o", "tiny.onnx"]],
        "zoo specialise": [["zoo", "specialise", TINY, "-o", "fixed.onnx", "--sequence-lengths", "8"]],
        "zoo check": [["zoo", "check", "goldens", "--engine", "null"]],
        "conform": [["conform", "nothing", "--engine", "null"]],
        "query": [["query", "--sql", "SELECT model FROM benchmark_results"], ["query", "--optimal-hardware-analysis"]],
        "report": [["report"]],
        "serve": [["serve", "--idle-timeout", "1"]],
        "db init": [["db", "init", "--db-path", "other.duckdb"]],
        "db ingest": [["db", "ingest"]],
        "db verify": [["db", "verify"]],
        "db info": [["db", "info"]],
        "db rebuild": [["db", "rebuild"]],
        "db compact": [["db", "compact"]],
        "db export": [["db", "export", "--csv", "exported"]],
        "db import": [["db", "import", str(tool.SOURCE / "tests" / "exchange" / "guide.json"), "--plan"]],
    }
    # The version is that of the bundle, in its manifest; `format_version` is that of a lowered model.
    PARTS = {"outputs.json"}

    def commands(self, *prefix):
        """The names of all commands, from the help."""
        text = self.run_tool(*prefix, "--help", expect=0).stdout
        if "Usage: " not in text or " COMMAND " not in next(line for line in text.splitlines() if line.startswith("Usage: ")):
            return [prefix]
        names = re.findall(r"^  ([a-z]+)(?: {2,}|$)", text, re.MULTILINE)
        return [command for name in names for command in self.commands(*prefix, name)]

    def test_every_one_has_a_version(self):
        self.null("--save", "--model", TINY, "--sequence-lengths", "8")
        for name in ("goldens", "nothing"):
            (self.folder / name).mkdir()
        (self.folder / "folder").mkdir()
        (self.folder / "folder" / "benchmark_results.json").write_text((tool.SOURCE / "tests" / "exchange" / "guide.json").read_text())
        prints = {" ".join(command) for command in self.commands() if "--output-format" in self.run_tool(*command, "--help", expect=0).stdout}
        self.assertEqual(prints - set(self.COMMANDS), set(), "add them to COMMANDS")
        for lines in self.COMMANDS.values():
            for line in lines:
                with self.subTest(command=line):
                    result = self.run_tool(*line, "--output-format", "json")
                    self.assertIn(result.returncode, (0, 2, 4), result.stderr)  # also an error is a document
                    document = json.loads(result.stdout)
                    self.assertIsInstance(document, dict)
                    self.assertEqual(document.get("schema_version"), "1.0", list(document))
        self.run_tool("plot", "--format", "json", "--output", "charts", expect=0)
        self.run_tool("report", "--format", "json", "--output", "report.json", expect=0)
        seen = set()
        for file in self.folder.rglob("*.json"):
            if file.name in self.PARTS or file.parent == self.folder / "folder" and file.name == "benchmark_results.json":
                continue
            with self.subTest(file=str(file)):
                self.assertIn("schema_version", json.loads(file.read_text()))
                seen.add(file.name)
        for name in ("manifest.json", "environment.json", "hardware_compatibility_matrix.json", ".assay_run.json", "benchmark_config.json", "config.json",
                     "comparison.json", "hardware_comparison.json", "report.json"):
            self.assertIn(name, seen)


class Models(tool.ToolTest):
    """A MODEL is a bare word, --model, --models or --model-id, in every command."""

    WAYS = [[TINY], ["--model", TINY], ["--model-id", TINY], [f"--model={TINY}"]]

    def test_every_command_accepts_every_way(self):
        for command in (["run", *NULL, "--no-plots"], ["bench", *NULL], ["verify", *NULL]):
            for way in [*self.WAYS, ["--models", TINY]]:
                document = self.run_json(*command, *way)
                rows = document.get("results") or list(document["benchmarks"]["embedding"])
                self.assertEqual(len(rows), 1, (command, way))
                self.assertIn(TINY, json.dumps(rows))
        for command in (["zoo", "show"], ["zoo", "build", "-o", "tiny.onnx"], ["zoo", "specialise", "-o", "fixed.onnx", "--sequence-lengths", "8"]):
            for way in self.WAYS:
                self.run_json(*command, *way)
        for command in (["coverage", *NULL, "--plan"], ["suite", *NULL, "--plan"]):
            name = "bert" if command[0] == "coverage" else "t5-small"
            for way in ([name], ["--model", name], ["--models", name], ["--model-id", name]):
                self.assertEqual({cell["model"] for cell in self.run_json(*command, *way)["cells"]}, {name})

    def test_several_and_with_commas(self):
        rows = self.run_json("bench", "prajjwal1/bert-tiny,WinKawaks/vit-tiny-patch16-224", "--model-id", "google/t5-efficient-tiny", *NULL)["results"]
        self.assertEqual({row["model"] for row in rows}, {TINY, "WinKawaks/vit-tiny-patch16-224", "google/t5-efficient-tiny"})

    def test_an_older_id_is_one_model_however_it_is_written(self):
        cells = [self.run_json("verify", *way, *NULL, "--plan")["cells"][0] for way in (["gpt2"], ["--model", "gpt2"], ["--model-id", "gpt2"])]
        self.assertEqual(len({cell["task_key"] for cell in cells}), 1)
        self.assertEqual({(cell["model"], cell["model_id"]) for cell in cells}, {("gpt2", "openai-community/gpt2")})

    def test_models_of_a_set_and_named_ones_are_two_requests(self):
        result = self.run_tool("run", "bert", "--models-set", "small", *NULL, expect=2)
        self.assertIn("the model 'bert' and --models-set cannot be combined", result.stderr)

    def test_one_that_a_list_of_engines_took_is_named(self):
        for engines, unknown in ((["onnxruntime", "bert"], "'bert', which is not an engine"), (["onnxrt", "bert"], "'onnxrt', 'bert', which are not engines"),
                                 (["null", "resnet50"], "'resnet50', which is not an engine")):
            said = self.run_tool("bench", "--engine", *engines, expect=2).stderr
            self.assertIn(f"--engine has {unknown}", said)
            self.assertIn("give the model before --engine, or as --model NAME", said)

    def test_an_unknown_one_hears_of_all_ways(self):
        said = self.run_tool("bench", "no-such-model", *NULL, expect=2).stderr
        for way in (".onnx", ".xml", ".pt", ".torchscript", ".stablehlo", ".mlir", "model.onnx", "config.json", "zoo:NAME", "Hugging Face id", "assay zoo list"):
            self.assertIn(way, said)

    def test_sizes_of_the_zoo(self):
        small = self.run_json("zoo", "show", "bert", "--size", "tiny")
        self.assertEqual(small["model_id"], self.run_json("bench", "bert", "--size", "tiny", *NULL)["results"][0]["model_id"])
        built = self.run_json("zoo", "build", "bert", "--size", "tiny", "-o", "tiny.onnx")
        self.assertEqual(built["parameter_count"], small["parameter_count"])
        self.run_tool("zoo", "specialise", "bert", "--size", "tiny", "-o", "fixed.onnx", "--sequence-lengths", "8", expect=0)
        self.assertIn("did you mean tiny?", self.run_tool("zoo", "build", "bert", "--size", "tny", "-o", "x.onnx", expect=2).stderr)
        self.assertIn("there is reference", self.run_tool("zoo", "build", "bert", "--size", "1.2b", "-o", "x.onnx", expect=1).stderr)

    def test_one_model_of_the_history_has_one_name(self):
        (self.folder / "models.json").write_text(json.dumps({"mine": {"name": TINY}, "yours": {"name": TINY}, "vit": {"name": "WinKawaks/vit-tiny-patch16-224"}}))
        self.run_tool("run", "--models-set", "custom", "--custom-models", "models.json", *NULL, "--no-plots", "--sequence-lengths", "8", expect=0)
        self.run_tool("bench", TINY, *NULL, "--sequence-lengths", "16", "--save", expect=0)
        report = self.run_json("report", "comprehensive-benchmarks")
        models = {row["model"] for section in report["sections"] for table in section["tables"] for row in table if "model" in row and "shape" in row}
        self.assertEqual(models, {TINY, "vit"})
        # Another name of the checkpoint selects its results, whatever they are called.
        for name in ("bert-tiny", TINY):
            report = self.run_json("report", "comprehensive-benchmarks", "--model", name)
            self.assertEqual(report["cells"], 2, name)  # "mine" and "yours" are one cell
        # In the files of one run each model has the name that the user gave it.
        (results,) = (self.folder / "benchmark_results").glob("benchmark_results_*.json")
        self.assertEqual(sorted(name for family in json.loads(results.read_text())["benchmarks"].values() for name in family), ["mine", "vit", "yours"])


class Words(tool.ToolTest):
    def test_usual_names_of_precisions(self):
        for word, precision in (("fp16", "float16"), ("half", "float16"), ("FP32", "float32"), ("bf16", "bfloat16"), ("f32", "float32")):
            (cell,) = self.run_json("bench", TINY, *NULL, "--precision", word, "--plan")["cells"]
            self.assertEqual(cell["precision"], precision)
        self.run_tool("zoo", "build", TINY, "--precision", "fp16", "-o", "half.onnx", expect=0)
        self.null("--save", "--model", TINY, "--precision", "float16", expect=2)  # the null engine has no such type; the row is kept
        self.assertIn(TINY, self.run_tool("report", "--precision", "fp16", expect=0).stdout)
        said = self.run_tool("bench", TINY, *NULL, "--dtype", "fp17", expect=2).stderr
        self.assertIn("--dtype: unknown value 'fp17'", said)

    def test_words_that_were_meant(self):
        for command, near in ((["bench", "bert", "--engine", "onnxrt"], "onnxruntime"), (["bench", "bert", "--engine", "ort"], "onnxruntime"),
                              (["bench", "bert", "--engines", "pytorch"], "libtorch"), (["bench", "bert", "--engine", "torch"], "libtorch"),
                              (["bench", "bert", "--hardware", "gpu"], "cuda (NVIDIA), rocm (AMD) or mps (Apple)"), (["bench", "bert", "--hardware", "nvidia"], "cuda"),
                              (["bench", "bert", "--hardware", "opnvino"], "openvino"), (["bench", "restnet50", "--engine", "null"], "resnet50"),
                              (["bnech"], "bench"), (["bench", "bert", "--batchsize", "1"], "--batch-size"), (["run", "--models-set", "smal"], "small"),
                              (["coverage", "--benchmark-category", "visoin"], "vision"), (["plot", "--chart", "hardware_comparsion"], "hardware_comparison"),
                              (["report", "--goal", "latncy"], "latency"), (["report", "optimal-hardwre"], "optimal-hardware"),
                              (["query", "--report", "overvew"], "overview"), (["engines", "onnxrt"], "onnxruntime")):
            result = self.run_tool(*command, expect=2)
            self.assertIn(f"did you mean {near}", result.stderr, command)

    def test_errors_name_the_option_that_was_typed(self):
        self.null("--save")
        for typed in ("--model", "--models", "--model-id"):
            for command in ("plot", "report", "query"):
                words = [command, "--optimal-hardware-analysis"] if command == "query" else [command]
                self.assertIn(f" {typed}: no result of", " " + self.run_tool(*words, typed, "nope", expect=2).stderr.replace("]: ", "]:  "), command)
        for typed in ("--batch-sizes", "--batch-size"):
            self.assertIn(f"]: {typed}: 'x' is not valid", self.run_tool("bench", *NULL[:2], typed, "x", expect=2).stderr)
        for typed in ("--db", "--db-path"):
            (self.folder / "folder").mkdir(exist_ok=True)
            said = self.run_tool("bench", *NULL, "--save", typed, "folder", expect=2).stderr
            self.assertIn(f"({typed})", said)
        self.assertIn("]: --model-id: the configuration has no family", self.run_tool("suite", "--model-id", "nope", *NULL, expect=2).stderr)

    def test_what_is_too_large_is_said_before_anything_runs(self):
        processors = len(os.sched_getaffinity(0))
        said = self.run_tool("bench", TINY, *NULL, "--threads", "100000", expect=2).stderr
        self.assertRegex(said, r"--threads: 100000 is too many: this process may use \d+ processors?; give at most \d+")
        self.assertEqual(len(self.run_json("bench", *NULL, "--threads", str(processors))["results"]), 1)
        rows = self.run_json("bench", TINY, "--engine", "null", "--iterations", "3", "--batch-sizes", "1", "1000000", "--quiet", expect=1)["results"]
        self.assertEqual([(row["status"], row["reason_code"] or None) for row in rows], [("completed", None), ("skipped", "too_large")])
        self.assertRegex(rows[1]["message"], r"batch size 1000000: weights of .* and activations of .* GB need about .* to run, .* are free")

    def test_no_time_is_printed_as_zero(self):
        result = self.run_tool("bench", "--engine", "null", "--iterations", "50", "--warmup", "1", "--batch-sizes", "1", expect=0)
        (shown,) = re.findall(r"Latency \(p50\): ([0-9.]+)ms", result.stdout)
        self.assertGreater(float(shown), 0)
        self.null("--save")
        for command in (["report", "comprehensive-benchmarks", "--format", "md"], ["report", "comprehensive-benchmarks"]):
            said = self.run_tool(*command, expect=0).stdout
            self.assertNotRegex(said, r"\b0\.0+\b(?!\d)")
            self.assertNotRegex(said, r"\de-0\d")

    def test_too_few_samples_are_said_in_words(self):
        result = self.run_tool("bench", "--engine", "null", "--iterations", "5", "--warmup", "0", "--batch-sizes", "1", "--output-dir", "out", expect=0)
        self.assertRegex(result.stdout, r"too few samples: 5 of the \d+ that it needs")
        self.assertNotIn("n=5", result.stdout)
        (table,) = (self.folder / "out").glob("*.csv")
        self.assertIn("few_samples(n=5<", table.read_text())

    def test_coverage_writes_files_where_it_is_told(self):
        said = self.run_tool("coverage", "--model", "bert", *NULL, "--output-dir", "covered", expect=0).stdout
        self.assertIn("Results: covered/benchmark_results_", said)
        self.assertEqual(sorted(path.suffix for path in (self.folder / "covered").glob("benchmark_*")), [".csv", ".json", ".md"])
        self.assertTrue((self.folder / "covered" / "hardware_compatibility_matrix.json").exists())
        self.assertIn("--output-dir", self.run_tool("coverage", "--comparative-report", "--output-dir", "x", expect=2).stderr)


if __name__ == "__main__":
    tool.main()
