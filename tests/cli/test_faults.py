# SPDX-License-Identifier: Apache-2.0
"""What goes wrong gives the right verdict and message; the other cells finish; nothing measured before is lost."""
import csv
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import unittest
import uuid
import tool


def runs(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Faults(tool.ToolTest):
    def workers_of(self, process):
        """Each has a supervisor between itself and the program."""
        children = lambda parent, name: subprocess.run(["pgrep", "-P", str(parent), name], capture_output=True, text=True).stdout.split()
        return [int(each) for supervisor in children(process.pid, "assay-supervise") for each in children(supervisor, "assay-worker")]

    def test_the_null_engine_is_measured_and_verified(self):
        row, = self.null()
        self.assertEqual((row["status"], row["verification"]), ("completed", "verified"))
        self.assertEqual(row["steady_from"] + row["iterations"], 20, "the steady samples and those before them")
        self.assertIsInstance(row["latency_p50_ns"], int)

    def test_few_files_may_be_open(self):
        """ulimit -n 64: a worker starts, though no descriptor above 63 is valid."""
        def few_files():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        row, = self.null(preexec_fn=few_files)
        self.assertEqual(row["status"], "completed", row["message"])

    def test_crash(self):
        row, = self.null("--engine-option", "crash_at_run=5", expect=1)
        self.assertEqual((row["status"], row["reason_code"]), ("failed", "worker_died"))
        self.assertIn("SIGSEGV", row["message"])

    def test_hang_ends_with_the_timeout(self):
        row, = self.null("--engine-option", "hang_at_run=5", "--timeout", "10", expect=1)
        self.assertEqual((row["status"], row["reason_code"]), ("failed", "timeout"))

    def test_wrong_numbers_are_a_finding(self):
        row, = self.null("--engine-option", "wrong=0.5", expect=3)
        self.assertEqual((row["status"], row["verification"], row["reason_code"]), ("wrong", "wrong", "mismatch"))
        self.assertIsNotNone(row["latency_p50_ms"], "a wrong result is kept")

    def test_nan_is_wrong(self):
        row, = self.null("--engine-option", "nan=true", expect=3)
        self.assertEqual(row["status"], "wrong")
        self.assertIn("NaN", row["message"])

    def test_unsupported_operator(self):
        row, = self.null("--engine-option", "unsupported=FancyOp", expect=1)
        self.assertEqual((row["status"], row["reason_code"]), ("unsupported", "unsupported"))
        self.assertIn("FancyOp", row["message"])

    def test_engine_library_missing(self):
        self.environment["ASSAY_PLUGIN_DIR"] = str(self.folder)
        row, = self.null(expect=4)
        self.assertEqual((row["status"], row["reason_code"]), ("unavailable", "no_runtime"))
        self.assertIn("assay_engine_null.so", row["message"])

    def test_the_other_cells_finish(self):
        """A crash in the middle of a matrix: the fifth run is in the first shape's measuring, each shape has its own process."""
        rows = self.null("--engine-option", "crash_at_run=5", "only_batch=4", batch="1 4 8", expect=1)
        self.assertEqual([row["status"] for row in rows], ["completed", "failed", "completed"])

    def test_worker_killed_in_mid_sample_keeps_the_samples_before(self):
        process = self.start("bench", "--engine", "null", "--engine-option", "cost_ns=1000000", "--iterations", "100000", "--warmup", "1",
                             "--batch-sizes", "1", "--save", "--output-format", "json", "--quiet")
        self.addCleanup(process.kill)
        # The first blocks are on the disk, and 100 s of sampling are to come: the worker is in mid-sample.
        self.wait_until("samples are on the disk", lambda: any(
            path.stat().st_size > 20000 for path in self.folder.glob("*.spool/*/.tmp-*/samples.bin")))
        worker, = self.workers_of(process)
        os.kill(worker, signal.SIGKILL)
        out, err = process.communicate(timeout=tool.DEADLINE)
        self.assertEqual(process.returncode, 1, err)
        row, = json.loads(out)["results"]
        self.assertEqual((row["status"], row["reason_code"]), ("failed", "worker_died"))
        self.assertIn("partial", row["flags"])
        self.assertGreater(row["steady_from"] + row["iterations"], 100, "the steady samples and those before them")

    def test_disk_full_while_writing_a_bundle(self):
        """RLIMIT_FSIZE stands for the full disk: writing beyond it fails. What was kept before stays whole."""
        self.null("--save")
        before = self.spool_bundles()

        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

        result = self.run_tool("bench", "--engine", "null", "--iterations", "20", "--warmup", "1", "--batch-sizes", "1", "--save", "--quiet",
                               preexec_fn=small_files)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("write", result.stderr)
        self.assertNotIn("saved in the database", result.stderr)
        self.assertEqual(self.spool_bundles(), before)
        self.assertIn("results: 1", self.run_tool("db", "info", expect=0).stdout)

    def test_database_locked_by_another_process(self):
        self.run_tool("db", "init", expect=0)
        # DuckDB takes a POSIX lock on the file; hold the same.
        code = ("import fcntl, time; f = open('benchmark_db.duckdb', 'r+b'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True); "
                "time.sleep(36000)")
        holder = subprocess.Popen([sys.executable, "-c", code], cwd=self.folder, stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (holder.kill(), holder.wait(), holder.stdout.close()))
        self.assertEqual(holder.stdout.readline(), "held\n")
        result = self.run_tool("bench", "--engine", "null", "--iterations", "20", "--warmup", "1", "--batch-sizes", "1", "--save", "--quiet", expect=1)
        self.assertIn("benchmark_db.duckdb", result.stdout + result.stderr)
        self.assertEqual(len(self.spool_bundles()), 1)
        holder.kill()
        holder.wait()
        self.null("--save", "--seed", "1")
        self.assertIn("results: 2", self.run_tool("db", "info", expect=0).stdout)

    def test_a_notebook_that_reads_the_database_loses_nothing_and_the_snapshot_is_named(self):
        self.null("--save")
        code = ("import duckdb; held = duckdb.connect('benchmark_db.duckdb', read_only=True); print('held', flush=True); input()")
        reader = subprocess.Popen([sys.executable, "-c", code], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (reader.kill(), reader.wait(), reader.stdin.close(), reader.stdout.close()))
        self.assertEqual(reader.stdout.readline(), "held\n")
        result = self.run_tool("bench", "--engine", "null", "--iterations", "20", "--warmup", "1", "--batch-sizes", "2", "--save", "--quiet", expect=1)
        self.assertIn("Benchmark Suite Complete", result.stdout)
        self.assertIn("benchmark_db.snapshot.duckdb", result.stderr)
        self.assertIn("benchmark_db.snapshot.duckdb", self.run_tool("db", "ingest", expect=1).stderr)
        count = "import duckdb; print(duckdb.connect('benchmark_db.snapshot.duckdb', read_only=True).sql('FROM latest_results').fetchall())"
        opened = subprocess.run([sys.executable, "-c", count], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(opened.returncode, 0, opened.stderr)  # what the message advises works while the other holds its file
        reader.communicate("\n")
        self.assertEqual(self.run_json("db", "ingest")["bundles"], 1)

    def test_the_matrix_keeps_the_other_models_while_the_database_is_busy(self):
        models = lambda: [result["model_name"] for family in json.loads((self.folder / "out/hardware_compatibility_matrix.json").read_text())
                          ["model_families"].values() for hardware in family["hardware_compatibility"].values()
                          for result in hardware["benchmark_results"]]

        def run(model, code):
            (self.folder / "models.json").write_text(json.dumps({model: {"name": model}}))
            return self.run_tool("run", "--models-set", "custom", "--custom-models", "models.json", "--engine", "null", "--batch-sizes", "1",
                                 "--iterations", "5", "--warmup", "1", "--output-dir", "out", "--quiet", expect=code)
        run("prajjwal1/bert-tiny", 0)
        self.assertEqual(models(), ["prajjwal1/bert-tiny"])
        code = ("import fcntl; f = open('benchmark_db.duckdb.lock'); fcntl.flock(f, fcntl.LOCK_EX); print('held', flush=True); input()")
        holder = subprocess.Popen([sys.executable, "-c", code], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (holder.kill(), holder.wait(), holder.stdin.close(), holder.stdout.close()))
        self.assertEqual(holder.stdout.readline(), "held\n")
        run("WinKawaks/vit-tiny-patch16-224", 1)
        self.assertEqual(sorted(models()), ["WinKawaks/vit-tiny-patch16-224", "prajjwal1/bert-tiny"])
        (self.folder / "benchmark_db.snapshot.duckdb").unlink()
        result = run("google/t5-efficient-tiny", 1)
        self.assertIn("the earlier 'hardware_compatibility_matrix.json' stays as it is", result.stderr)
        self.assertEqual(len(models()), 2)

    def small_run(self, *arguments, **options):
        """Two cells of the null engine with every file of `run`."""
        (self.folder / "models.json").write_text(json.dumps({"tiny": {"name": "prajjwal1/bert-tiny", "family": "embedding"}}))
        return self.run_tool("run", "--models-set", "custom", "--custom-models", "models.json", "--engine", "null", "--batch-sizes", "1", "2",
                             "--iterations", "5", "--warmup", "1", "--output-dir", "out", "--no-plots", "--quiet", *arguments, **options)

    def files_of_run(self):
        return sorted(path.suffix for path in (self.folder / "out").iterdir() if not path.name.startswith("."))

    def test_a_bundle_folder_whose_name_is_not_text_costs_nothing(self):
        self.null("--save")
        spool = os.fsencode(self.folder / "benchmark_db.duckdb.spool")
        os.makedirs(spool + b"/task\xff/attempt")
        os.makedirs(spool + b"/task/att\xfe")
        result = self.small_run(expect=0)
        self.assertIn("tiny", result.stdout)
        self.assertEqual(self.files_of_run(), [".csv", ".json", ".json", ".md"])
        for name in ("task\\xff", "att\\xfe"):
            self.assertIn(name, result.stderr)
        self.assertEqual(self.run_json("db", "info")["results"], 3)
        for command in ("ingest", "rebuild"):
            refused = self.run_json("db", command, expect=1)["refused"]
            self.assertEqual(len(refused), 2)
            self.assertTrue(all("not valid UTF-8" in each["message"] for each in refused))
        self.assertEqual(self.run_json("db", "info")["results"], 3)

    def test_reports_are_written_before_the_database_and_the_matrix_after_it(self):
        self.small_run(expect=0)
        when = lambda pattern: next(self.folder.glob(pattern)).stat().st_mtime_ns
        reports = [when(f"out/benchmark_{name}") for name in ("results_*.json", "results_*.csv", "report_*.md")]
        self.assertLessEqual(max(reports), when("benchmark_db.duckdb"))
        self.assertLessEqual(when("benchmark_db.duckdb"), when("out/hardware_compatibility_matrix.json"))

    def test_a_database_that_fails_leaves_every_report(self):
        (self.folder / "benchmark_db.duckdb").mkdir()
        self.small_run(expect=2)  # a folder in its place is wrong usage, found before anything runs
        (self.folder / "benchmark_db.duckdb").rmdir()
        self.run_tool("db", "init", expect=0)
        database = (self.folder / "benchmark_db.duckdb").read_bytes()
        (self.folder / "benchmark_db.duckdb").write_bytes(database[:20000])  # it opens and cannot be read
        result = self.small_run(expect=1)
        self.assertIn("tiny", result.stdout)
        self.assertIn("benchmark_db.duckdb.spool", result.stderr)
        self.assertEqual(self.files_of_run(), [".csv", ".json", ".json", ".md"])
        self.assertEqual(len(self.spool_bundles()), 2 * 3, "a launch each")
        self.assertEqual(self.run_json("db", "rebuild")["bundles"], 2 * 3)

    def test_reports_that_cannot_be_written_cost_nothing_else(self):
        """Somebody puts a file in the place of the output folder while the cell is measured."""
        process = self.start("bench", "--engine", "null", "--engine-option", "cost_ns=300000000", "--iterations", "10", "--warmup", "0",
                             "--batch-sizes", "1", "--save", "--output-dir", "out", "--output-format", "json")
        self.addCleanup(process.kill)
        self.wait_until("the run has begun", lambda: (self.folder / "out" / ".assay_run.json").exists())
        shutil.rmtree(self.folder / "out")
        (self.folder / "out").write_text("a file stands in the folder's place")
        out, err = process.communicate(timeout=tool.DEADLINE)
        self.assertEqual(process.returncode, 2, err)
        self.assertIn("while writing the results", err)
        self.assertEqual(len(json.loads(out)["results"]), 1)
        self.assertEqual(self.run_json("db", "info")["results"], 1)

    def test_unsaved_results_that_are_ingested_outlive_later_runs(self):
        (row,) = self.null()
        (unsaved,) = (self.folder / "benchmark_db.duckdb.spool" / ".unsaved").iterdir()
        self.assertEqual(self.run_json("db", "ingest", "--spool", unsaved)["bundles"], 1)
        self.assertFalse(unsaved.exists())
        again = self.run_json("db", "ingest", "--spool", unsaved)
        self.assertEqual((again["bundles"], again["known"]), (0, 1))
        for _ in range(11):
            self.null()
        self.assertEqual(self.run_json("db", "verify")["findings"], [])
        self.assertEqual(self.run_json("db", "rebuild")["bundles"], 1)

    @staticmethod
    def shapes_of(report):
        """By batch size."""
        shapes = report["benchmarks"]["embedding"]["tiny"]["cpu@null"]["benchmark_results"].values()
        return {shape["batch_size"]: shape for shape in shapes}

    def matrix_that_hangs(self, *arguments, launches=1):
        """Four cells, of which the third never ends: however slow the machine, the program is found in mid-matrix."""
        (self.folder / "models.json").write_text(json.dumps({"tiny": {"name": "prajjwal1/bert-tiny", "family": "embedding"}}))
        return ["run", "--models-set", "custom", "--custom-models", "models.json", "--engine", "null", "--batch-sizes", "1", "2", "4", "8",
                "--iterations", "20", "--warmup", "1", "--engine-option", "hang_at_run=5", "only_batch=4", "--output-dir", "out",
                "--launches", str(launches), "--no-plots", "--quiet", *arguments]

    def test_a_database_has_one_mark_and_one_spool_whatever_it_is_called_by(self):
        (self.folder / "data").mkdir()
        (self.folder / "link.duckdb").symlink_to("data/history.duckdb")  # the database comes later
        (self.folder / "second.duckdb").symlink_to(self.folder / "link.duckdb")
        (self.folder / "folder").symlink_to("data")
        spool = "data/history.duckdb.spool"
        process = self.start(*self.matrix_that_hangs("--db-path", "second.duckdb"))
        self.addCleanup(process.kill)
        self.wait_until("two cells are done", lambda: len(self.spool_bundles(spool)) == 2)
        names = ("data/history.duckdb", "link.duckdb", "second.duckdb", "folder/history.duckdb", "data/../data//history.duckdb")
        for name in names:
            refused = self.run_json("bench", "--engine", "null", "--iterations", "3", "--save", "--db-path", name, expect=1)["error"]
            self.assertEqual(refused["code"], "store_busy", name)
        process.kill()
        process.communicate()
        for name in names:
            self.null("--save", "--db-path", name)
        bundles = len(self.spool_bundles(spool))
        self.assertGreaterEqual(bundles, 2 + len(names))
        self.assertEqual(self.run_json("db", "info", "--db-path", "folder/history.duckdb")["bundles"], bundles)
        self.run_tool("db", "rebuild", "--db-path", "link.duckdb", expect=0)
        self.assertTrue((self.folder / "second.duckdb").is_symlink())
        self.assertTrue((self.folder / "link.duckdb").is_symlink(), "it is not replaced by a file")
        beside = sorted(path.name for path in self.folder.iterdir() if "duckdb" in path.name)
        self.assertEqual(beside, ["link.duckdb", "second.duckdb"])

    def test_kill_9_of_the_controller_loses_nothing_and_resume_takes_up_what_is_missing(self):
        process = self.start(*self.matrix_that_hangs())
        self.addCleanup(process.kill)
        self.wait_until("two cells are done", lambda: len(self.spool_bundles()) == 2)
        kept = self.spool_bundles()
        workers = self.wait_until("the third cell runs", lambda: self.workers_of(process))
        process.kill()
        process.communicate()
        self.wait_until("no worker outlives its controller", lambda: not any(map(runs, workers)))
        self.assertEqual(self.spool_bundles(), kept)

        # The cell that hangs ends by its timeout this time, and the last one is done.
        json_out = self.run_json(*self.matrix_that_hangs("--resume", "--timeout", "30"), expect=1)
        shapes = self.shapes_of(json_out)
        self.assertEqual({batch: (shape["status"], shape["reason_code"]) for batch, shape in shapes.items()},
                         {1: ("completed", None), 2: ("completed", None), 4: ("failed", "timeout"), 8: ("completed", None)})
        self.assertEqual(sorted(bundle.name for bundle in kept), sorted(shapes[batch]["attempt_id"] for batch in (1, 2)),
                         "a finished cell ran again")
        self.assertEqual({batch: shape["kept_from"] for batch, shape in shapes.items()},
                         {1: shapes[1]["timestamp"], 2: shapes[2]["timestamp"], 4: None, 8: None})
        self.assertIsNone(json_out["interrupted"])
        self.assertIn(f"see 'benchmark_db.duckdb.spool/{shapes[4]['task_key']}/{shapes[4]['attempt_id']}/worker.log'",
                      " ".join(json_out["next_steps"]))

    def test_kill_9_between_launches_keeps_them_and_resume_adds_the_others(self):
        (self.folder / "models.json").write_text(json.dumps({"tiny": {"name": "prajjwal1/bert-tiny", "family": "embedding"}}))
        run = ["run", "--models-set", "custom", "--custom-models", "models.json", "--engine", "null", "--batch-sizes", "1", "2", "--iterations", "20",
               "--warmup", "1", "--engine-option", "cost_ns=20000000", "--output-dir", "out", "--no-plots", "--quiet"]
        process = self.start(*run)
        self.addCleanup(process.kill)
        self.wait_until("three launches are done", lambda: len(self.spool_bundles()) >= 3)
        process.kill()
        process.communicate()
        kept = set(self.spool_bundles())
        shapes = self.shapes_of(self.run_json(*run, "--resume"))
        self.assertEqual({batch: (shape["status"], shape["launches"]) for batch, shape in shapes.items()}, {1: ("completed", 3), 2: ("completed", 3)})
        self.assertLessEqual(kept, set(self.spool_bundles()))
        numbers = [part.split(":")[0] for part in shapes[1]["launch_p50_ms"].split()]
        self.assertEqual(len(set(numbers)), 3, "each launch has its round")

    def test_attempts_are_counted_across_resumes(self):
        crashing = ["--engine-option", "crash_at_run=5", "only_batch=4", "--save", "--output-dir", "out"]
        attempts = lambda rows: {row["batch_size"]: row["attempt_number"] for row in rows}
        self.assertEqual(attempts(self.null(*crashing, batch="1 4", expect=1)), {1: 1, 4: 1})
        for expected in (2, 3):
            rows = self.null(*crashing, "--resume", batch="1 4", expect=1)
            self.assertEqual(attempts(rows), {1: 1, 4: expected}, "the finished cell is taken over, the other tried again")

    def test_progress_marks_the_cells_that_resume_keeps(self):
        bench = ["bench", "--engine", "null", "--engine-option", "crash_at_run=5", "only_batch=4", "--batch-sizes", "1", "4", "--iterations", "20",
                 "--warmup", "1", "--save", "--output-dir", "out"]
        self.assertNotIn("(kept)", self.run_tool(*bench, expect=1).stderr)
        lines = self.run_tool(*bench, "--resume", expect=1).stderr.splitlines()
        self.assertEqual([line.endswith(" (kept)") for line in lines if line.startswith("[")], [True, False], lines)

    def assert_counts(self, interrupted, expected):
        """Of a matrix that hangs: its third cell may have begun, or not, when the signal comes."""
        cells, finished, partly, not_begun = (interrupted[key] for key in ("cells", "finished", "partly_measured", "not_begun"))
        self.assertEqual([cells, finished], expected[:2])
        self.assertEqual(finished + partly + not_begun, cells)
        self.assertIn(partly - expected[2], (0, 1), interrupted)

    def test_interrupting_keeps_what_was_measured(self):
        process = self.start(*self.matrix_that_hangs(), start_new_session=True)
        self.addCleanup(process.kill)
        self.wait_until("two cells are done", lambda: len(self.spool_bundles()) == 2)
        kept = self.spool_bundles()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: everyone in the group gets it
        out, err = process.communicate(timeout=tool.DEADLINE)
        self.assertEqual(process.returncode, 130, out + err)
        report = json.loads(next((self.folder / "out").glob("benchmark_results_*.json")).read_text())
        shapes = self.shapes_of(report)
        for batch in (1, 2):
            self.assertEqual(shapes[batch]["status"], "completed")
        self.assertLessEqual(set(kept), set(self.spool_bundles()))
        # The report says that it is not whole, what is missing, and how to go on.
        interrupted = report["interrupted"]
        self.assert_counts(interrupted, [4, 2, 0])
        self.assertEqual([each["shape"].split("_seq")[0] for each in interrupted["missing"]], ["batch_4", "batch_8"])
        self.assertTrue(interrupted["resume"].endswith(" --resume"), interrupted["resume"])
        self.assertRegex(out, "interrupted: 2 of 4 cells complete, [01] partly measured, [12] not begun")
        markdown = next((self.folder / "out").glob("benchmark_report_*.md")).read_text()
        self.assertRegex(markdown, r"\*\*Interrupted: 2 of 4 cells complete, [01] partly measured, [12] not begun\.\*\*")
        with next((self.folder / "out").glob("benchmark_results_*.csv")).open(newline="") as text:
            self.assertEqual([(row["batch_size"], row["reason_code"]) for row in csv.DictReader(text)],
                             [("1", ""), ("2", ""), ("4", "cancelled"), ("8", "cancelled")])

    def test_a_cell_with_one_of_three_launches_is_not_complete_and_resume_completes_it(self):
        run = self.matrix_that_hangs(launches=3)  # the third cell hangs in the first round
        process = self.start(*run, start_new_session=True)
        self.addCleanup(process.kill)
        self.wait_until("two cells have a launch", lambda: len(self.spool_bundles()) == 2)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=tool.DEADLINE)
        self.assertEqual(process.returncode, 130, out + err)
        self.assertRegex(out, "interrupted: 0 of 4 cells complete, [23] partly measured, [12] not begun")
        self.assertRegex(" ".join(out.split()), r"batch_1\S* \(1 of 3 launches\), batch_2\S* \(1 of 3 launches\), batch_4")
        interrupted = json.loads(next((self.folder / "out").glob("benchmark_results_*.json")).read_text())["interrupted"]
        self.assert_counts(interrupted, [4, 0, 2])
        self.assertEqual([(each["launches"], each["planned_launches"]) for each in interrupted["missing"]], [(1, 3), (1, 3), (0, 3), (0, 3)])
        markdown = next((self.folder / "out").glob("benchmark_report_*.md")).read_text()
        self.assertRegex(markdown, r"\*\*Interrupted: 0 of 4 cells complete, [23] partly measured, [12] not begun\.\*\*")
        with next((self.folder / "out").glob("benchmark_results_*.csv")).open(newline="") as text:
            self.assertEqual([(row["launches"], row["planned_launches"]) for row in csv.DictReader(text)][:2], [("1", "3"), ("1", "3")])

        # The cell that hangs ends by its timeout this time.
        report = self.run_json(*run, "--resume", "--timeout", "30", expect=1)
        self.assertIsNone(report["interrupted"])
        self.assertEqual({batch: shape["launches"] for batch, shape in self.shapes_of(report).items() if batch != 4}, {1: 3, 2: 3, 8: 3})

    def test_progress_counts_each_cell_once_and_never_passes_its_total(self):
        (self.folder / "models.json").write_text(json.dumps({
            "text": {"name": "prajjwal1/bert-tiny", "family": "embedding"},
            "image": {"name": "WinKawaks/vit-tiny-patch16-224", "family": "vision"}}))  # has no sequence length
        result = self.run_tool("run", "--models-set", "custom", "--custom-models", "models.json", "--engine", "null", "--batch-sizes", "1", "2",
                               "--sequence-lengths", "8", "16", "--iterations", "5", "--output-dir", "out", "--no-plots", expect=0)
        counts = [tuple(map(int, each)) for each in re.findall(r"^\[(\d+)/(\d+)\]", result.stderr, re.MULTILINE)]
        self.assertEqual(counts, [(i, 6) for i in range(1, 7)])

    def preparing(self, *arguments, **options):
        """A run that writes 440 MB of weights, found while it does, and the cache that they go to."""
        cache = self.folder / "cache"
        self.environment["ASSAY_CACHE_DIR"] = str(cache)
        process = self.start("bench", "--model", "google-bert/bert-base-uncased", "--engine", "null", "--batch-sizes", "1", "--iterations", "5",
                             "--warmup", "1", "--quiet", *arguments, **options)
        self.addCleanup(process.kill)
        self.wait_until("weights are written", lambda: process.poll() is not None or any(
            self.size_of(path) > 1_000_000 for path in (cache / "models").glob("*/files/.*")))
        self.assertIsNone(process.poll(), "it ended before")
        return process, cache

    @staticmethod
    def size_of(path):
        try:
            return path.stat().st_size
        except FileNotFoundError:
            return 0

    def test_any_signal_to_end_does_so_in_mid_preparation_and_leaves_no_model(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number.name):
                process, cache = self.preparing()
                process.send_signal(number)
                out, err = process.communicate(timeout=tool.DEADLINE)
                self.assertEqual(process.returncode, 130, out + err)
                self.assertIn("Stopping", err)
                self.assertEqual("Press Ctrl-C again" in err, number == signal.SIGINT, err)
                self.assertEqual(number.name in err, number != signal.SIGINT, err)
                self.assertEqual(list((cache / "models").iterdir()), [])

    def test_a_second_signal_ends_at_once(self):
        process = self.start(*self.matrix_that_hangs())
        self.addCleanup(process.kill)
        self.wait_until("two cells are done", lambda: len(self.spool_bundles()) == 2)
        worker, = self.wait_until("the third cell runs", lambda: self.workers_of(process))
        os.kill(worker, signal.SIGSTOP)  # it does not answer the first one
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=tool.DEADLINE)
        self.assertEqual(process.returncode, 130)

    def test_a_run_continues_after_its_terminal_closes_under_nohup(self):
        process = self.start(*self.matrix_that_hangs("--timeout", "30"), preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.addCleanup(process.kill)
        self.wait_until("a cell is done", lambda: self.spool_bundles())
        process.send_signal(signal.SIGHUP)
        out, err = process.communicate(timeout=tool.DEADLINE)
        self.assertEqual(process.returncode, 1, out + err)  # the third cell's timeout
        self.assertEqual(len(self.spool_bundles()), 4)

    def test_what_a_killed_run_left_is_removed_by_the_next_and_nothing_else(self):
        self.environment["TMPDIR"] = str(self.folder / "tmp")
        (self.folder / "tmp").mkdir()
        process, cache = self.preparing()
        process.kill()
        process.communicate()
        left = list((cache / "models").iterdir())
        self.assertTrue(left, "a killed process cannot tidy up")
        # Scratch of a run that is killed while it measures.
        measuring = self.start(*self.matrix_that_hangs())
        self.addCleanup(measuring.kill)
        self.wait_until("two cells are done", lambda: len(self.spool_bundles()) == 2)
        scratch = self.wait_until("there is scratch", lambda: list((self.folder / "tmp").glob("assay-run-*")))
        self.assertFalse(any(path.exists() for path in left), "the next run removed the model")

        own = cache / "models" / "my own model"
        own.mkdir()
        (own / "weights").write_text("mine")
        os.utime(own, (0, 0))
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "thesis").write_text("mine")
        (cache / "models" / "link").symlink_to(elsewhere)
        os.utime(elsewhere, (0, 0))
        self.null()
        self.assertTrue(scratch[0].exists(), "that run still lives")
        measuring.kill()
        measuring.communicate()
        self.null("--model", "prajjwal1/bert-tiny")
        self.assertEqual(list((self.folder / "tmp").iterdir()), [])
        self.assertEqual(sorted(path.name for path in (cache / "models").iterdir()), ["link", "my own model"])
        self.assertEqual((own / "weights").read_text() + (elsewhere / "thesis").read_text(), "minemine")

    def test_without_a_home_nothing_is_left_and_no_fixed_place_is_used(self):
        (self.folder / "tmp").mkdir()
        fixed = pathlib.Path("/tmp/.cache/assay")
        before = sorted(fixed.rglob("*")) if fixed.exists() else None
        for name in ("ASSAY_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "HF_HOME"):
            self.environment.pop(name, None)
        self.environment["TMPDIR"] = str(self.folder / "tmp")
        for home in (None, "/proc/nowhere"):
            with self.subTest(home):
                if home:
                    self.environment["HOME"] = home
                result = self.run_tool("bench", "--model", "prajjwal1/bert-tiny", "--engine", "null", "--batch-sizes", "1", "--iterations", "5",
                                       "--warmup", "1", "--output-format", "json", expect=0)
                row, = json.loads(result.stdout)["results"]
                self.assertEqual(row["verification"], "verified")
                self.assertIn("ASSAY_CACHE_DIR", result.stderr)
                self.assertEqual(list((self.folder / "tmp").iterdir()), [])
                self.assertFalse((self.folder / ".cache").exists())
        self.assertEqual(sorted(fixed.rglob("*")) if fixed.exists() else None, before)

    def test_a_cache_that_cannot_be_written_is_named(self):
        self.environment["ASSAY_CACHE_DIR"] = "/proc/nowhere/cache"
        result = self.run_tool("bench", "--engine", "null", expect=2)
        self.assertIn("/proc/nowhere", result.stderr)
        self.assertIn("ASSAY_CACHE_DIR", result.stderr)


def marked(mark):
    """The living processes whose environment contains the mark, by name."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if runs(folder.name) and mark.encode() in (folder / "environ").read_bytes():
                found.append(f"{folder.name} {(folder / 'comm').read_text().strip()}")
        except OSError:
            pass  # it has just ended
    return found


class Families(tool.ToolTest):
    """Whatever ends a run, no process of it is left: neither workers nor what these started in sessions of their own."""

    def setUp(self):
        super().setUp()
        self.mark = f"ASSAY_TEST_MARK={uuid.uuid4()}"
        self.environment["ASSAY_TEST_MARK"] = self.mark.split("=")[1]

    def daemons(self, *options):
        """A run whose worker has two daemons, as soon as it measures."""
        process = self.start("bench", "--engine", "null", "--engine-option", "daemons=2", *options, "--iterations", "100000", "--warmup", "1",
                             "--batch-sizes", "1", "--benchmark-only", "--quiet", "--output-format", "json", start_new_session=True)
        self.addCleanup(process.kill)
        self.wait_until("a worker and its daemons run", lambda: sum(each.endswith("assay-worker") for each in marked(self.mark)) == 3)
        return process

    def assert_none_is_left(self):
        self.wait_until("no process is left", lambda: not marked(self.mark))

    def test_after_a_run(self):
        self.null("--engine-option", "daemons=2")
        self.assertEqual(marked(self.mark), [])

    def test_after_a_crash(self):
        row, = self.null("--engine-option", "daemons=2", "crash_at_run=5", expect=1)
        self.assertEqual(row["reason_code"], "worker_died")
        self.assertEqual(marked(self.mark), [])

    def test_after_a_timeout(self):
        row, = self.null("--engine-option", "daemons=2", "hang_at_run=5", "--timeout", "10", expect=1)
        self.assertEqual(row["reason_code"], "timeout")
        self.assertEqual(marked(self.mark), [])

    def test_after_kill_9(self):
        process = self.daemons("hang_at_run=5")
        process.kill()
        process.communicate()
        self.assert_none_is_left()

    def test_after_kill_9_of_a_run_with_a_stopped_worker(self):
        """A worker that is stopped cannot see that its controller has ended."""
        process = self.daemons("hang_at_run=5")
        for each in marked(self.mark):
            if each.endswith("assay-worker"):
                os.kill(int(each.split()[0]), signal.SIGSTOP)
        process.kill()
        process.communicate()
        self.assert_none_is_left()

    def test_after_ctrl_c(self):
        process = self.daemons("cost_ns=1000000")
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=tool.DEADLINE)
        self.assertEqual(process.returncode, 130, out + err)
        self.assertEqual(marked(self.mark), [])

    def test_after_two_signals(self):
        process = self.daemons("hang_at_run=5")
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=tool.DEADLINE)
        self.assert_none_is_left()


class FullDisk(tool.ToolTest):
    """A small file system that is filled while a cell is measured, at each place to which a run writes."""

    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256m", "assay-test", self.disk], capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"this user may not mount a file system: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", self.disk], check=True)

    def fill(self):
        """Until not one byte more can be written."""
        with (self.disk / "filler").open("ab", buffering=0) as filler:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while True:
                        filler.write(b"x" * size)
                except OSError:
                    pass

    def run_that_meets_a_full_disk(self, *arguments, expect=1):
        """Two cells: the first is measured before, the disk is full when the second one is; its rows, and what it printed."""
        process = self.start("bench", "--engine", "null", "--engine-option", "cost_ns=100000000", "--iterations", "20", "--warmup", "0", "--batch-sizes", "1",
                             "2", "--save", "--output-format", "json", *arguments)
        self.addCleanup(process.kill)
        self.wait_until("a cell is done", lambda: len(list(self.folder.glob("**/*.spool/*/*/DONE"))) == 2)  # with that of the run before
        self.fill()
        out, err = process.communicate(timeout=tool.DEADLINE)
        self.assertEqual(process.returncode, expect, out + err)
        self.assertNotIn("terminate called", err)
        self.assertIn("results", json.loads(out), err)
        return json.loads(out)["results"], err

    def before(self, *arguments):
        self.null("--save", *arguments, batch="4")

    def test_spool(self):
        spool = ("--spool", "disk/x.spool")
        self.before(*spool)
        rows, err = self.run_that_meets_a_full_disk(*spool)
        self.assertEqual([(row["status"], row["reason_code"]) for row in rows], [("completed", None), ("failed", "internal")])
        self.assertIn("No space left on device", rows[1]["message"])
        self.assertRegex(err, r"the result of .* batch_2.* is not saved: cannot write '.*disk/x.spool/.*': No space left on device")
        self.assertNotIn("saved in the database", err)
        self.assertIn("the other results are in the database", err)
        self.assertEqual(self.run_json("db", "info")["results"], 2, "what was measured before is there")

    def test_output_folder(self):
        self.before()
        rows, err = self.run_that_meets_a_full_disk("--output-dir", "disk/out")
        self.assertEqual([row["status"] for row in rows], ["completed", "completed"])
        self.assertRegex(err, r"cannot write 'disk/out/.*': No space left on device")
        self.assertEqual(self.run_json("db", "info")["results"], 3)

    def test_database(self):
        place = ("--db-path", "disk/x.duckdb", "--spool", "x.spool")
        self.before(*place)
        rows, err = self.run_that_meets_a_full_disk(*place)
        self.assertEqual([row["status"] for row in rows], ["completed", "completed"])
        self.assertIn("the database was not updated", err)
        self.assertIn("the results are safe in 'x.spool'", err)
        self.assertNotIn("saved in the database", err)
        (self.disk / "filler").unlink()
        self.assertEqual(self.run_json("db", "ingest", *place)["bundles"], 2)

    def test_everything(self):
        place = ("--db-path", "disk/x.duckdb", "--output-dir", "disk/out")
        self.before(*place)
        rows, err = self.run_that_meets_a_full_disk(*place)
        self.assertEqual([row["status"] for row in rows], ["completed", "failed"])
        self.assertRegex(err, r"the result of .* batch_2.* is not saved: .*No space left on device")
        self.assertNotIn("saved in the database", err)
        (self.disk / "filler").unlink()
        self.run_tool("db", "ingest", "--db-path", "disk/x.duckdb", expect=0)
        # With the one that was measured before, and what is left of the second cell as a row that was cut short.
        self.assertEqual(self.run_json("db", "info", "--db-path", "disk/x.duckdb")["results"], 3)

    def test_a_disk_that_is_full_from_the_beginning(self):
        self.before("--spool", "disk/x.spool")
        self.fill()
        result = self.run_tool("bench", "--engine", "null", "--iterations", "20", "--warmup", "1", "--batch-sizes", "1", "2", "--save", "--spool",
                               "disk/x.spool", "--output-format", "json", expect=1)
        rows = json.loads(result.stdout)["results"]
        self.assertEqual([(row["status"], row["reason_code"]) for row in rows], [("failed", "internal")] * 2)
        self.assertEqual(len(re.findall(" is not saved: .*No space left on device", result.stderr)), 2, result.stderr)
        self.assertNotIn("in the database", result.stderr)


class MemoryLimits(tool.ToolTest):
    @unittest.skipIf(os.environ.get("ASSAY_SANITIZED") == "1", "no memory limit beside a sanitiser's shadow")
    def test_out_of_memory(self):
        row, = self.null("--engine-option", "oom_at_run=3", "--memory-limit", "500", expect=1)
        self.assertEqual((row["status"], row["reason_code"]), ("failed", "out_of_memory"))


if __name__ == "__main__":
    tool.main()
