# SPDX-License-Identifier: Apache-2.0
"""Suites with the null engine: configuration, folder, files, --plan, --check, --resume, and what works on folders alone."""
import csv
import io
import json
import pathlib
import re
import shutil
import signal
import sys
import unittest

import tool

sys.path.insert(0, f"{tool.DEPS}/python")
import duckdb  # noqa: E402

NULL = ["--engine", "null", "--quiet"]
TINY = {"batch_sizes": [1, 2], "sequence_lengths": [16], "warmup_iterations": 1, "benchmark_iterations": 5, "launches": 1,
        "model_families": {"embedding": ["prajjwal1/bert-tiny"], "vision": ["vit"]}, "generate_plots": False}


class SuiteTest(tool.ToolTest):
    def config(self, name="my.json", **changes):
        path = self.folder / name
        path.write_text(json.dumps({**TINY, **changes}))
        return path

    def suite(self, *arguments, expect=0, **changes):
        return self.run_tool("suite", "--config", self.config(**changes), *NULL, *arguments, expect=expect)

    def folders(self, output="benchmark_results"):
        return sorted(path for path in (self.folder / output).glob("*") if re.fullmatch(r"\d{8}_\d{6}(_\d+)?", path.name))


class Configuration(SuiteTest):
    def test_the_example_of_the_guide_is_written_and_accepted(self):
        self.run_tool("suite", "--create-config", expect=0)
        example = json.loads((self.folder / "benchmark_config.json").read_text())
        self.assertEqual(example["model_families"]["vision"], ["google/vit-base-patch16-224", "microsoft/resnet-50"])
        self.assertIn("exists already", self.run_tool("suite", "--create-config", expect=2).stderr)
        self.run_tool("suite", "--create-config", "--overwrite", expect=0)
        self.run_tool("suite", "--create-config", "other.json", expect=0)
        # It runs as it is, cut to one small model.
        plan = self.run_json("suite", "--config", "other.json", "--models", "t5-small", *NULL, "--plan")
        self.assertEqual({cell["model"] for cell in plan["cells"]}, {"t5-small"})

    def test_mistakes_name_file_line_and_column(self):
        (self.folder / "bad.json").write_text('{\n  "batch_sizes": "4",\n  "benchmark_iteration": 5\n}\n')
        said = self.run_tool("suite", "--config", "bad.json", expect=2).stderr
        self.assertIn('bad.json:2:18: "batch_sizes": "4" is a string', said)
        self.assertIn('bad.json:3:3: "benchmark_iteration" is not a key; did you mean benchmark_iterations?', said)
        self.assertIn("missing.json", self.run_tool("suite", "--config", "missing.json", expect=2).stderr)
        self.assertFalse((self.folder / "benchmark_results").exists())

    def test_models_and_unknown_words(self):
        self.assertIn("did you mean vision", self.suite("--models", "visoin", "--plan", expect=2).stderr)
        self.assertIn("cannot be combined", self.suite("--check", "--create-config", expect=2).stderr)

    def test_options_replace_keys_and_a_note_says_so(self):
        plan = self.run_json("suite", "--config", self.config(schedule={"enabled": True}), "--batch-sizes", "4", *NULL[:2], "--plan")
        self.assertEqual({cell["batch_size"] for cell in plan["cells"]}, {4})
        said = self.run_tool("suite", "--config", self.config(schedule={"enabled": True}), "--batch-sizes", "4", *NULL[:2], "--plan", expect=0).stderr
        self.assertIn("--batch-sizes replaces what", said)
        self.assertIn("schedules are not part of this version", said)

    def test_the_key_parallel_asks_for_the_same_as_the_option(self):
        note = "every target here computes on this machine's CPU, where they would disturb each other: measured one after another"
        plan = [*NULL[:2], "--plan"]
        for key, options, said in (({}, [], False), ({}, ["--parallel"], True), ({"parallel": True}, [], True), ({"parallel": False}, [], False),
                                   ({"parallel": True}, ["--no-parallel"], False), ({"parallel": False}, ["--parallel"], True)):
            text = self.run_tool("suite", "--config", self.config(**key), *options, *plan, expect=0).stdout
            self.assertEqual(note in " ".join(text.split()), said, (key, options, text))

    def test_a_cluster_is_not_part_of_this_version(self):
        for command in (["suite", "--executor", "slurm"], ["integration_benchmark.py"]):
            self.assertIn("error[not_built]: --executor slurm", self.run_tool(*command, expect=2).stderr)

    def test_check_runs_nothing(self):
        found = self.run_json("suite", "--config", self.config(), *NULL, "--check")["prerequisites"]
        self.assertEqual({(each["kind"], each["met"]) for each in found},
                         {("model", True), ("hardware", True), ("disk", True), ("database", True)})
        missing = self.run_json("suite", "--config", self.config(hardware_types=["cpu", "cuda"]), "--check", "--quiet", expect=4)
        self.assertIn(("cuda", False), {(each["name"], each["met"]) for each in missing["prerequisites"]})
        self.assertFalse((self.folder / "benchmark_results").exists())
        self.assertFalse((self.folder / "benchmark_db.duckdb").exists())

    def test_check_names_a_database_of_a_development_version_and_leaves_it_as_it_is(self):
        self.run_tool("db", "init", expect=0)
        database = self.folder / "benchmark_db.duckdb"
        with duckdb.connect(str(database)) as connection:
            connection.execute("UPDATE schema_version SET version = 9")
        before = database.read_bytes()
        found = self.run_json("suite", "--config", self.config(), *NULL, "--check", expect=4)["prerequisites"]
        (entry,) = [each for each in found if each["kind"] == "database"]
        self.assertFalse(entry["met"])
        self.assertIn("schema version 9", entry["words"])
        self.assertIn("a development version of assay", entry["words"])
        self.assertEqual(database.read_bytes(), before)
        self.assertEqual(list(self.folder.glob("*.bak")), [])


class Folder(SuiteTest):
    def test_a_suite_has_a_folder_with_the_names_of_the_guide(self):
        out = self.suite().stdout
        (folder,) = self.folders()
        self.assertIn(f"benchmark_results/{folder.name}", out)
        names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
        self.assertLessEqual({"benchmark_results.json", "benchmark_results.csv", "benchmark_report.md", "benchmark_config.json",
                              "hardware_compatibility_matrix.json"}, names)
        results = json.loads((folder / "benchmark_results.json").read_text())["benchmarks"]
        self.assertEqual({family: sorted(models) for family, models in results.items()}, {"embedding": ["prajjwal1/bert-tiny"], "vision": ["vit"]})
        rows = list(csv.DictReader(io.StringIO((folder / "benchmark_results.csv").read_text())))
        self.assertEqual(sorted({row["batch_size"] for row in rows}), ["1", "2"])
        self.assertEqual((folder / "hardware_compatibility_matrix.json").read_text().count('"vit"') > 0, True)
        self.assertTrue((folder.parent / "hardware_compatibility_matrix.json").exists())
        score = json.loads((folder / "benchmark_results.json").read_text())["how_sure"]["machine_score"]
        sql = "SELECT json_extract_string(environment, '$.doctor.score') AS score, json_array_length(environment, '$.doctor.findings') > 5 AS why FROM benchmark_runs"
        self.assertEqual(self.run_json("query", "--sql", sql)["rows"], [{"score": str(score), "why": True}])
        used = json.loads((folder / "benchmark_config.json").read_text())
        self.assertEqual(used["batch_sizes"], [1, 2])
        # What was used is a configuration again.
        self.run_tool("suite", "--config", folder / "benchmark_config.json", *NULL, "--plan", expect=0)
        self.suite()
        self.assertEqual(len(self.folders()), 2)

    def test_a_suite_that_cannot_begin_leaves_no_folder(self):
        self.run_tool("suite", "--config", self.config(), "--engine", "nul", expect=2)
        self.assertEqual(self.folders(), [])

    def test_killed_between_models_it_is_resumed_in_its_folder(self):
        slow = ["--engine-option", "cost_ns=50000000"]
        process = self.start("suite", "--config", self.config(), *NULL, *slow)
        self.wait_until("a model is finished", lambda: list((self.folder / "benchmark_results").glob("*/benchmark_results.json")))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        (folder,) = self.folders()
        before = {bundle.name for bundle in self.spool_bundles()}
        self.assertTrue(before)
        self.suite("--resume", *slow)
        self.assertEqual(self.folders(), [folder])
        rows = list(csv.DictReader(io.StringIO((folder / "benchmark_results.csv").read_text())))
        self.assertEqual(sorted((row["model"], row["batch_size"]) for row in rows),
                         [("prajjwal1/bert-tiny", "1"), ("prajjwal1/bert-tiny", "2"), ("vit", "1"), ("vit", "2")])
        after = {bundle.name for bundle in self.spool_bundles()}
        self.assertLessEqual(before, after)
        self.assertLessEqual(len(after), 5)  # one of them may have been cut short
        self.assertIn("no suite with this configuration", self.suite("--resume", "--seed", "9", expect=2).stderr)

    def test_folders_are_aggregated_and_their_matrix_is_written_again(self):
        self.suite("--models", "vit")
        self.suite("--models", "embedding")
        self.suite("--models", "embedding")
        first, second, third = self.folders()
        answer = self.run_json("suite", "--aggregate-results", first, second, third, "--output-dir", "all")
        (folder,) = self.folders("all")
        self.assertEqual(answer["written"], [f"all/{folder.name}"])
        rows = list(csv.DictReader(io.StringIO((folder / "benchmark_results.csv").read_text())))
        self.assertEqual(len(rows), 4)
        of_bert = {row["run_id"] for row in rows if "bert" in row["model"]}
        newest = {row["run_id"] for row in csv.DictReader(io.StringIO((third / "benchmark_results.csv").read_text()))}
        self.assertEqual(of_bert, newest)
        self.assertIn("3 runs of 1 machine", (folder / "benchmark_report.md").read_text())
        (second / "hardware_compatibility_matrix.json").unlink()
        self.run_tool("suite", "--update-matrix-only", second, "--db-path", "none.duckdb", expect=0)
        self.assertEqual(list(json.loads((second / "hardware_compatibility_matrix.json").read_text())["model_families"]), ["embedding"])
        self.run_tool("suite", "--update-matrix-only", second, expect=0)
        self.assertEqual(set(json.loads((second / "hardware_compatibility_matrix.json").read_text())["model_families"]), {"embedding", "vision"})
        self.assertIn("missing", self.run_tool("suite", "--update-matrix-only", "missing", expect=2).stderr)


class Budget(SuiteTest):
    LAUNCHES = ("SELECT launch_number, status, reason_code, coalesce(message, '') AS message, coalesce(flags, '') AS flags, counted FROM launches "
                "ORDER BY launch_number, status DESC")
    CELL = "SELECT status, launches, planned_launches, coalesce(message, '') AS message, coalesce(flags, '') AS flags FROM benchmark_results"

    def ask(self, sql):
        return self.run_json("query", "--sql", sql)["rows"]

    def test_a_launch_that_was_refused_says_why_in_the_database_and_resuming_measures_it(self):
        """A launch takes at least 12 s, which no estimate knows: a second one does not fit into 22 s on any machine, and a machine that is busy may take 9 s to start the first."""
        slow = ["--models", "embedding", "--engine-option", "cost_ns=400000000"]
        shape = {"batch_sizes": [1], "benchmark_iterations": 30, "launches": 2}
        self.suite(*slow, "--budget", "22", **shape)
        first, refused = self.ask(self.LAUNCHES)
        self.assertEqual((first["launch_number"], first["status"], first["counted"]), (1, "completed", True))
        self.assertEqual((refused["launch_number"], refused["status"], refused["reason_code"], refused["counted"]), (2, "skipped", "no_time", False))
        self.assertIn("--budget left no time for this launch", refused["message"])
        self.assertIn("limited_by_budget", refused["flags"])
        (cell,) = self.ask(self.CELL)
        self.assertEqual((cell["status"], cell["launches"], cell["planned_launches"]), ("completed", 1, 2))
        self.assertEqual(cell["message"], "1 of 2 launches: --budget left no time for more")
        self.assertIn("limited_by_budget", cell["flags"])
        self.run_tool("db", "rebuild", expect=0)
        self.assertEqual((self.ask(self.LAUNCHES), self.ask(self.CELL)), ([first, refused], [cell]))

        self.suite("--resume", *slow, **shape)
        launches = self.ask(self.LAUNCHES)
        self.assertEqual([(each["launch_number"], each["status"], each["counted"]) for each in launches],
                         [(1, "completed", True), (2, "skipped", False), (2, "completed", True)])
        (cell,) = self.ask(self.CELL)
        self.assertEqual((cell["status"], cell["launches"], cell["planned_launches"], cell["message"]), ("completed", 2, 2, ""))
        self.assertNotIn("limited_by_budget", cell["flags"])
        self.run_tool("db", "rebuild", expect=0)
        self.assertEqual((self.ask(self.LAUNCHES), self.ask(self.CELL)), (launches, [cell]))


class Matrix(SuiteTest):
    def entries(self, folder):
        """Models of each family, with the hardware that has a verdict."""
        families = json.loads((folder / "hardware_compatibility_matrix.json").read_text())["model_families"]
        return {family: json.dumps(content, sort_keys=True) for family, content in families.items()}

    def setUp(self):
        super().setUp()
        self.suite("--models", "vit")
        self.suite("--models", "embedding")
        self.vision, self.embedding = self.folders()

    def update(self, folder, *arguments):
        """The matrix that is made where there is none."""
        (folder / "hardware_compatibility_matrix.json").unlink()
        self.run_tool("suite", "--update-matrix-only", folder, *arguments, expect=0)
        return self.entries(folder)

    def change(self, sql):
        with duckdb.connect(str(self.folder / "benchmark_db.duckdb")) as connection:
            connection.execute(sql)

    def test_the_history_of_this_machine_is_in_it(self):
        whole = self.entries(self.embedding)
        self.assertEqual(set(whole), {"embedding", "vision"}, "that of a run has it, too")
        (self.embedding / "hardware_compatibility_matrix.json").unlink()
        written = self.run_json("suite", "--update-matrix-only", self.embedding)
        self.assertEqual(written, {"schema_version": written["schema_version"], "notes": [],
                                   "written": [f"{self.embedding}/hardware_compatibility_matrix.json"]})
        self.assertEqual(self.entries(self.embedding), whole)
        # What another run found later.
        self.change("UPDATE benchmark_results SET status = 'failed', reason_code = 'timeout', message = 'it hung' WHERE model = 'vit'")
        now = self.update(self.embedding)
        self.assertEqual(now["embedding"], whole["embedding"])
        self.assertNotEqual(now["vision"], whole["vision"])
        self.assertNotIn("it hung", whole["vision"])
        # Results of the folder are those of its files, whatever the database has of them.
        self.change("UPDATE benchmark_results SET status = 'failed' WHERE model <> 'vit'")
        self.assertEqual(self.update(self.embedding)["embedding"], whole["embedding"])

    def test_results_of_another_machine_are_not(self):
        self.change("UPDATE benchmark_results SET hardware_id = 'another machine' WHERE model = 'vit'")
        self.assertEqual(set(self.update(self.embedding)), {"embedding"})
        self.assertEqual(set(self.update(self.vision)), {"embedding", "vision"})

    def test_a_history_that_cannot_be_read_costs_no_matrix(self):
        before = (self.embedding / "hardware_compatibility_matrix.json").read_bytes()
        database = self.folder / "benchmark_db.duckdb"
        database.write_bytes(database.read_bytes()[:1000])
        (self.folder / "benchmark_db.snapshot.duckdb").unlink()
        error = self.run_tool("suite", "--update-matrix-only", self.embedding, expect=1).stderr
        self.assertIn("cannot open the database 'benchmark_db.duckdb'", error)
        self.assertIn("while reading the history", error)
        self.assertEqual((self.embedding / "hardware_compatibility_matrix.json").read_bytes(), before)
        # Nor does one that is not there, as from another folder.
        notes = self.run_json("suite", "--update-matrix-only", self.embedding, "--db-path", "none.duckdb")["notes"]
        self.assertIn('keeps an earlier matrix with results that this history lacks in its list "earlier"', notes[0])
        (self.embedding / "hardware_compatibility_matrix.json").unlink()
        notes = self.run_json("suite", "--update-matrix-only", self.embedding, "--db-path", "none.duckdb")["notes"]
        self.assertEqual(notes, ["there is no database 'none.duckdb': the matrix has the results of the folder alone"])
        self.assertEqual(set(self.entries(self.embedding)), {"embedding"})

    def test_a_run_with_another_database_costs_no_matrix(self):
        """The output folder has the matrix of the first database; a new suite's folder has none yet."""
        kept = self.vision.parent / "hardware_compatibility_matrix.json"
        self.suite("--models", "embedding", "--db-path", "other.duckdb")
        self.assertEqual(set(self.entries(self.folders()[-1])), {"embedding"})
        self.assertEqual(set(self.entries(kept.parent)), {"embedding"})
        self.assertIn("vision", json.loads(kept.read_text())["earlier"][0]["model_families"])
        self.suite("--models", "embedding")
        self.assertEqual(set(self.entries(kept.parent)), {"embedding", "vision"})
        self.assertNotIn("earlier", json.loads(kept.read_text()))

    @unittest.skipUnless(tool.GUIDES, "ASSAY_GUIDES_DIR is not set")
    def test_a_matrix_of_somebody_else_is_kept_and_a_damaged_one_stays(self):
        """The one that the hardware guide prints has hardware and models that this machine did not measure."""
        guide = next(pathlib.Path(tool.GUIDES).glob("001-*.md")).read_text()
        example = json.loads(re.search(r'```json\n(\{\s*"timestamp"[^`]*"hardware_types"[^`]*)```', guide).group(1))
        file = self.embedding / "hardware_compatibility_matrix.json"
        file.write_text(json.dumps(example))
        notes = self.run_json("suite", "--update-matrix-only", self.embedding)["notes"]
        self.assertIn('keeps an earlier matrix of another program in its list "earlier"', notes[0])
        merged = json.loads(file.read_text())
        self.assertEqual(merged["earlier"], [example])
        self.assertNotIn("cuda", merged["model_families"]["embedding"]["hardware_compatibility"])
        file.write_text('{"model_families": 3}')
        error = self.run_tool("suite", "--update-matrix-only", self.embedding, expect=1).stderr
        self.assertRegex(error, r':1:20: not a compatibility matrix: "model_families" must be an object of families.* stays as it is')
        self.assertEqual(file.read_text(), '{"model_families": 3}')
        # It is not a file of results: one that cannot be read keeps nothing else from being read.
        file.write_text("")
        error = self.run_tool("suite", "--update-matrix-only", self.embedding, expect=1).stderr
        self.assertRegex(error, r"error\[mismatch\]: .*not valid JSON at line 1, column 1.* stays as it is")
        self.run_tool("suite", "--plot-only", self.embedding, expect=0)


class GuideFolder(SuiteTest):
    def test_the_matrix_of_the_same_results_does_not_grow(self):
        folder = self.folder / "guide"
        folder.mkdir()
        shutil.copy(tool.SOURCE / "tests" / "exchange" / "guide.json", folder / "benchmark_results.json")
        for _ in range(3):
            notes = self.run_json("suite", "--update-matrix-only", folder)["notes"]
            self.assertEqual(notes, ["there is no database 'benchmark_db.duckdb': the matrix has the results of the folder alone"])
            self.assertNotIn("earlier", json.loads((folder / "hardware_compatibility_matrix.json").read_text()))


class Pictures(SuiteTest):
    GUIDE = tool.SOURCE / "tests" / "exchange" / "guide.json"

    def guide_folder(self, name, change=lambda text: text):
        folder = self.folder / name
        folder.mkdir(parents=True)
        (folder / "benchmark_results.json").write_text(change(self.GUIDE.read_text()))
        return folder

    def test_plots_are_drawn_again_from_a_folder(self):
        self.suite()
        (folder,) = self.folders()
        self.assertFalse((folder / "plots").exists(), "generate_plots is false")
        written = self.run_json("suite", "--plot-only", folder)["written"]
        self.assertEqual(written, [f"{folder}/plots", f"{folder}/index.html"])
        names = {path.stem for path in (folder / "plots").glob("*.svg")}
        self.assertLessEqual({"hardware_comparison", "batch_size_scaling", "memory_usage", "architecture_performance_matrix"}, names)
        self.assertIn("bert-tiny", (folder / "plots" / "hardware_comparison.svg").read_text())
        # Each chart is there, or named with what is missing; a suite that draws names it, and the command that says more.
        notes = self.run_json("suite", "--plot-only", folder)["notes"]
        said = self.suite(generate_plots=True).stdout
        self.assertRegex(said, r"\nDashboard: .*/index.html; \d+ charts in .*/plots\n$")
        for name in ("hardware_comparison", "model_performance", "batch_size_scaling", "relative_speedup", "memory_usage",
                     "architecture_performance_matrix", "category_comparison", "hardware_efficiency", "memory_scaling", "optimization_opportunities"):
            for text, plots in (("\n".join(notes), folder / "plots"), (said, self.folders()[-1] / "plots")):
                missing = re.search(rf"not drawn: (?:[^:\n]*, )?{name}(?:, [^:\n]*)?: .{{20}}", text) is not None
                self.assertNotEqual((plots / f"{name}.svg").exists(), missing, name)
        drawn = self.folders()[-1]
        self.assertRegex(said, rf"not drawn: [^:]*relative_speedup[^:]*: no data; `assay suite --plot-only \./benchmark_results/{drawn.name}` says what each needs")
        self.assertRegex("\n".join(notes), "not drawn: [^:]*relative_speedup[^:]*: no cell was measured on the CPU and on another target")
        self.assertIn("missing", self.run_tool("suite", "--plot-only", "missing", expect=2).stderr)

    def test_plots_of_the_guides_own_example(self):
        folder = self.guide_folder("benchmark_results/20250302_123456")
        before = (folder / "benchmark_results.json").read_bytes()
        self.run_tool("suite", "--plot-only", folder, expect=0)
        self.assertIn("bert-base-uncased", (folder / "plots" / "hardware_comparison.svg").read_text())
        self.assertGreater((folder / "index.html").stat().st_size, 100_000)
        self.assertEqual((folder / "benchmark_results.json").read_bytes(), before)

    def test_folders_are_compared_cell_by_cell(self):
        self.suite("--models", "vit", batch_sizes=[1, 2])
        self.suite("--models", "vit", batch_sizes=[1, 4])
        before, after = self.folders()
        results = after / "benchmark_results.json"
        results.write_text(results.read_text().replace('"verification": "verified"', '"verification": "unverified"'))
        answer = self.run_json("suite", "--plot-comparison", before, after, "--output-dir", "out")
        (folder,) = (self.folder / "out").iterdir()
        self.assertRegex(folder.name, r"^comparison_\d{8}_\d{6}$")
        self.assertEqual(answer["written"], [f"out/{folder.name}/{name}" for name in ("comparison.md", "comparison.csv", "comparison.json", "plots")])
        rows = {row["shape"]: row for row in csv.DictReader(io.StringIO((folder / "comparison.csv").read_text()))}
        self.assertEqual({shape: row["difference"] for shape, row in rows.items()},
                         {"batch_1": "another verdict", "batch_2": "only before", "batch_4": "only after"})
        self.assertEqual((rows["batch_1"]["verdict_before"], rows["batch_1"]["verdict_after"]), ("verified", "unverified"))
        text = (folder / "comparison.md").read_text()
        self.assertIn("1 cell of both folders: 1 change of verdict or status", text)
        self.assertIn("none is called different", text)
        self.assertIn("](plots/after)", text)
        self.assertIn("](plots/comparison.svg)", text)
        self.assertIn("How do before and after differ", (folder / "plots" / "comparison.svg").read_text())
        self.assertEqual(json.loads((folder / "comparison.json").read_text())["changes"], 1)
        self.assertTrue(list((folder / "plots" / "before").glob("*.svg")))

    def test_times_of_other_tools_are_compared_without_a_claim(self):
        before = self.guide_folder("before")
        after = self.guide_folder("after", lambda text: text.replace('"avg_latency": 0.0023', '"avg_latency": 0.0046').replace("11.8", "12.4"))
        self.run_tool("suite", "--plot-comparison", before, after, "--output-dir", "out", expect=0)
        (folder,) = (self.folder / "out").iterdir()
        (row,) = csv.DictReader(io.StringIO((folder / "comparison.csv").read_text()))
        self.assertEqual((row["latency_before_ms"], row["latency_after_ms"], float(row["ratio"]), row["time"]), ("2.3", "4.6", 2.0, "mean"))
        self.assertEqual(row["difference"], "times not compared: different runs")
        text = (folder / "comparison.md").read_text()
        self.assertIn("No verdict and no status changed.", text)
        self.assertRegex(text, r"cuda_version \| 11.8 \| 12.4")
        self.assertIn("no results", self.run_tool("suite", "--plot-comparison", before, self.cache.name, expect=2).stderr)


class Plan(SuiteTest):
    def test_that_of_folders_is_one_document(self):
        for words, plan in ((["--plot-only", "a"], (["a"], "a", False)), (["--update-matrix-only", "a"], (["a"], "a", False)),
                            (["--aggregate-results", "a", "b"], (["a", "b"], "benchmark_results", True)),
                            (["--plot-comparison", "a", "b", "--output-dir", "out"], (["a", "b"], "out", True))):
            document = self.run_json("suite", *words, "--plan")
            self.assertEqual((document["reads"], document["writes_into"].removeprefix("./"), document["new_folder"]), plan)
            self.assertIn("measures nothing", self.run_tool("suite", *words, "--plan", expect=0).stdout)

    def test_nothing_runs_and_nothing_is_written(self):
        bench = ["bench", "--engine", "null", "--model", "prajjwal1/bert-tiny", "--batch-sizes", "1", "2", "--iterations", "5"]
        text = self.run_tool(*bench, "--plan", expect=0).stdout
        self.assertIn("2 cells of 1 model on 1 target; 2 launches; about", text)
        self.assertRegex(text, r"prajjwal1/bert-tiny +cpu@null +batch_1\S* +1 +\S+ s +estimate")
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name != "hf-home"], [])
        self.run_tool(*bench, "--save", "--quiet", expect=0)
        plan = self.run_json(*bench, "--plan")
        self.assertEqual((plan["plan"]["cells"], plan["plan"]["launches"], plan["plan"]["from_history"]), (2, 2, 2))
        self.assertEqual([cell["expected_from"] for cell in plan["cells"]], ["history", "history"])
        self.assertGreater(plan["plan"]["expected_s"], 0)
        self.assertIn("history (1 launch)", self.run_tool(*bench, "--plan", expect=0).stdout)

    def test_what_does_not_run_says_why(self):
        plan = self.run_json("run", "--hardware", "cuda", "--specific-models", "bert", "--plan")
        self.assertEqual(plan["plan"]["cells"], 0)
        self.assertEqual({cell["status"] for cell in plan["cells"]}, {"unavailable"})
        text = self.run_tool("verify", "bert", "--hardware", "cuda", "--plan", expect=0).stdout
        self.assertIn("Do not run:", text)
        self.assertRegex(text, r"bert on cuda\S*: unavailable \(\w+\)")


if __name__ == "__main__":
    tool.main()
