# SPDX-License-Identifier: Apache-2.0
"""What goes wrong gives the right verdict and message; the other cells finish; nothing measured before is lost."""
import json
import os
import resource
import signal
import subprocess
import time
import unittest
import tool


class Faults(tool.ToolTest):
    def test_the_null_engine_is_measured_and_verified(self):
        row, = self.null()
        self.assertEqual((row["status"], row["verification"]), ("completed", "verified"))
        self.assertEqual(row["steady_from"] + row["iterations"], 20, "the steady samples and those before them")
        self.assertIsInstance(row["latency_p50_ns"], int)

    def test_crash(self):
        row, = self.null("--engine-option", "crash_at_run=5", expect=1)
        self.assertEqual((row["status"], row["reason_code"]), ("failed", "worker_died"))
        self.assertIn("SIGSEGV", row["message"])

    def test_hang_ends_with_the_timeout(self):
        row, = self.null("--engine-option", "hang_at_run=5", "--timeout", "2", expect=1)
        self.assertEqual((row["status"], row["reason_code"]), ("failed", "timeout"))

    @unittest.skipIf(os.environ.get("ASSAY_SANITIZED") == "1", "no memory limit beside a sanitiser's shadow")
    def test_out_of_memory(self):
        row, = self.null("--engine-option", "oom_at_run=3", "--memory-limit", "500", expect=1)
        self.assertEqual((row["status"], row["reason_code"]), ("failed", "out_of_memory"))

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
        process = self.start("bench", "--engine", "null", "--engine-option", "cost_ns=1000000", "--iterations", "8000", "--warmup", "1",
                             "--batch-sizes", "1", "--save", "--output-format", "json", "--quiet")
        worker = None
        deadline = time.monotonic() + 60
        while worker is None and time.monotonic() < deadline:
            time.sleep(0.05)
            # The first blocks are on the disk: the worker is in mid-sample.
            if any(path.stat().st_size > 20000 for path in self.folder.glob("*.spool/*/.tmp-*/samples.bin")):
                children = subprocess.run(["pgrep", "-P", str(process.pid), "assay-worker"], capture_output=True, text=True).stdout.split()
                worker = int(children[0]) if children else None
        self.assertIsNotNone(worker)
        os.kill(worker, signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, err)
        row, = json.loads(out)["results"]
        self.assertEqual((row["status"], row["reason_code"]), ("failed", "worker_died"))
        self.assertIn("partial", row["flags"])
        self.assertGreater(row["iterations"], 100)

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
        self.assertEqual(self.spool_bundles(), before)
        self.assertIn("results: 1", self.run_tool("db", "info", expect=0).stdout)

    def test_database_locked_by_another_process(self):
        self.run_tool("db", "init", expect=0)
        # DuckDB takes a POSIX lock on the file; hold the same.
        code = ("import fcntl, time; f = open('benchmark_db.duckdb', 'r+b'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True); "
                "time.sleep(600)")
        holder = subprocess.Popen(["python3", "-c", code], cwd=self.folder, stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (holder.kill(), holder.wait(), holder.stdout.close()))
        self.assertEqual(holder.stdout.readline(), "held\n")
        result = self.run_tool("bench", "--engine", "null", "--iterations", "20", "--warmup", "1", "--batch-sizes", "1", "--save", "--quiet", expect=1)
        self.assertIn("benchmark_db.duckdb", result.stdout + result.stderr)
        self.assertEqual(len(self.spool_bundles()), 1)
        holder.kill()
        holder.wait()
        self.null("--save", "--seed", "1")
        self.assertIn("results: 2", self.run_tool("db", "info", expect=0).stdout)

    def run_small_matrix(self, *arguments):
        return ["run", "--models-set", "custom", "--custom-models", "models.json", "--engine", "null", "--batch-sizes", "1", "2", "4", "8",
                "--iterations", "300", "--warmup", "1", "--engine-option", "cost_ns=2000000", "--output-dir", "out", "--no-plots", "--quiet",
                *arguments]

    def test_kill_9_of_the_controller_loses_nothing_and_resume_takes_up_what_is_missing(self):
        (self.folder / "models.json").write_text(json.dumps({"tiny": {"name": "prajjwal1/bert-tiny", "family": "embedding"}}))
        process = self.start(*self.run_small_matrix())
        deadline = time.monotonic() + 120
        while len(self.spool_bundles()) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.kill()
        process.communicate()
        kept = self.spool_bundles()
        self.assertGreaterEqual(len(kept), 2)
        self.assertLess(len(kept), 4)
        time.sleep(1)
        self.assertEqual(subprocess.run(["pgrep", "-f", str(self.folder)], capture_output=True).stdout, b"", "a worker outlived its controller")

        json_out = self.run_json(*self.run_small_matrix("--resume"))
        shapes = json_out["benchmarks"]["embedding"]["tiny"]["cpu@null"]["benchmark_results"]
        self.assertEqual(len(shapes), 4)
        attempts = [shape["attempt_id"] for shape in shapes.values()]
        for bundle in kept:
            self.assertIn(bundle.name, attempts, "a finished cell ran again")

    def test_interrupting_keeps_what_was_measured(self):
        (self.folder / "models.json").write_text(json.dumps({"tiny": {"name": "prajjwal1/bert-tiny", "family": "embedding"}}))
        process = self.start(*self.run_small_matrix(), start_new_session=True)
        deadline = time.monotonic() + 120
        while len(self.spool_bundles()) < 1 and time.monotonic() < deadline:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: everyone in the group gets it
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, out + err)
        self.assertTrue(list((self.folder / "out").glob("benchmark_results_*.json")))
        self.assertGreaterEqual(len(self.spool_bundles()), 1)


if __name__ == "__main__":
    tool.main()
