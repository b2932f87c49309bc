# SPDX-License-Identifier: Apache-2.0
"""Where results go is looked at before anything is measured; and two measurements at once see each other."""
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import sys
import tool

NULL = ["--engine", "null", "--iterations", "3", "--warmup", "0", "--batch-sizes", "1", "--launches", "1", "--quiet"]
NOBODY = 65534
# Every command that saves what it measures.
SAVING = [["run", "prajjwal1/bert-tiny", "--no-plots"], ["bench", "--save"], ["verify", "prajjwal1/bert-tiny", "--save"],
          ["suite", "--models", "t5-small", "--no-plots"], ["coverage", "--model", "bert"]]
KEEPING = SAVING + [["bench"], ["verify", "prajjwal1/bert-tiny"]]  # bundles, at least


class Unwritable(tool.ToolTest):
    """Runs as a user who may not write everywhere."""

    def setUp(self):
        super().setUp()
        self.options = {}
        if os.geteuid() == 0:
            self.options = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            for folder in (self.folder, pathlib.Path(self.cache.name), pathlib.Path(self.runtime.name)):
                os.chown(folder, NOBODY, NOBODY)
            self.environment["HOME"] = str(self.folder)
            probe = self.run_tool("engines", "--output-format", "json", **self.options)
            if probe.returncode != 0:
                self.skipTest("another user cannot run the program from this folder")

    def refused(self, command, *words, says, hint, **options):
        result = self.run_tool(*command, *NULL, *words, expect=2, **{**self.options, **options})
        self.assertRegex(result.stderr, r"error\[invalid_argument\]: ")
        for each in (says, hint):
            self.assertIn(each, result.stderr, command)
        self.assertEqual(self.spool_bundles(), [], "nothing was measured")
        self.assertNotIn("results are safe", result.stderr)

    def test_a_database_in_a_folder_without_permission(self):
        closed = self.folder / "closed"
        closed.mkdir()
        closed.chmod(0o555)
        for command in SAVING:
            self.refused(command, "--db-path", "closed/history.duckdb", "--spool", "spool", says="cannot write to 'closed': Permission denied", hint="--db-path")
            self.refused(command, "--db-path", "closed/new/history.duckdb", "--spool", "spool", says="cannot create the folder 'closed/new': 'closed': Permission denied", hint="--db-path")
        self.assertEqual(list(closed.iterdir()), [])

    def test_a_database_that_is_read_only(self):
        self.run_tool("db", "init", expect=0, **self.options)
        (self.folder / "benchmark_db.duckdb").chmod(0o444)
        for command in SAVING:
            self.refused(command, says="cannot write to 'benchmark_db.duckdb': Permission denied", hint="--db-path")

    def test_what_is_no_database(self):
        (self.folder / "folder").mkdir()
        (self.folder / "notes").write_text("these are my notes, not a database, and they are long enough to be one")
        (self.folder / "notes").chmod(0o666)
        for command in SAVING:
            self.refused(command, "--db-path", "folder", says="'folder' is not a file that can be replaced, but a folder", hint="--db-path")
            self.refused(command, "--db-path", "notes", says="'notes' is not a DuckDB database", hint="--db-path")
            self.refused(command, "--db-path", "notes/below", says="'notes': it is not a folder", hint="--db-path")
        self.assertTrue((self.folder / "notes").read_text().startswith("these are my notes"))

    def test_the_folder_of_the_bundles(self):
        (self.folder / "closed").mkdir(0o555)
        (self.folder / "file").write_text("")
        for command in KEEPING:
            self.refused(command, "--spool", "closed", says="cannot write to 'closed': Permission denied", hint="--spool")
            self.refused(command, "--spool", "file/below", says="'file': it is not a folder", hint="--spool")

    def test_the_folder_of_the_results(self):
        (self.folder / "closed").mkdir(0o555)
        for command, option in [(command, "--output-dir") for command in SAVING if command[0] != "verify"] + [(["bench"], "--csv-output-dir")]:
            self.refused(command, option, "closed/raw", says="closed", hint=option)

    def test_a_file_system_that_refuses_more_than_its_permissions_say(self):
        for command in SAVING:
            result = self.run_tool(*command, *NULL, "--db-path", "/proc/nowhere/history.duckdb", "--spool", "spool", expect=2)
            self.assertIn("cannot create the folder '/proc/nowhere'", result.stderr)
            self.assertEqual(self.spool_bundles("spool"), [])

    def test_missing_folders_are_created(self):
        self.run_tool("bench", *NULL, "--save", "--db-path", "new/deep/history.duckdb", "--output-dir", "other/raw", expect=0, **self.options)
        self.assertTrue((self.folder / "new/deep/history.duckdb").exists())
        self.assertEqual(len(self.spool_bundles("new/deep/history.duckdb.spool")), 1)
        self.assertTrue(list((self.folder / "other/raw").glob("*.csv")))

    def test_a_plan_says_it_too(self):
        (self.folder / "folder").mkdir()
        self.refused(["bench", "--save", "--plan"], "--db-path", "folder", says="'folder' is not a file", hint="--db-path")
        self.run_tool("bench", "--save", *NULL, "--plan", "--db-path", "new/history.duckdb", expect=0, **self.options)
        self.assertFalse((self.folder / "new").exists())

    def test_a_suite_lists_it_among_what_it_needs(self):
        (self.folder / "closed").mkdir(0o555)
        found = json.loads(self.run_tool("suite", "--models", "t5-small", *NULL, "--check", "--db-path", "closed/history.duckdb", "--spool", "spool",
                                         "--output-format", "json", expect=4, **self.options).stdout)["prerequisites"]
        (database,) = [each for each in found if each["kind"] == "database"]
        self.assertFalse(database["met"])
        self.assertIn("Permission denied", database["words"])

    def test_a_database_that_another_process_has_open_is_named_first_and_nothing_is_lost(self):
        self.run_tool("db", "init", expect=0, **self.options)
        code = "import fcntl, sys; f = open('benchmark_db.duckdb', 'rb'); fcntl.lockf(f, fcntl.LOCK_SH); print('held', flush=True); sys.stdin.read()"
        holder = subprocess.Popen([sys.executable, "-c", code], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (holder.kill(), holder.wait(), holder.stdin.close(), holder.stdout.close()))
        self.assertEqual(holder.stdout.readline(), "held\n")
        result = self.run_tool("bench", "--save", *NULL, expect=1, **self.options)
        self.assertIn(f"process {holder.pid} has the database 'benchmark_db.duckdb' open; it is tried again at the end", result.stderr)
        self.assertLess(result.stderr.index("it is tried again"), result.stderr.index("the results are safe in"))
        holder.communicate()
        self.assertEqual(self.run_json("db", "ingest", **self.options)["bundles"], 1)


class Beside(tool.ToolTest):
    """Measurements for different databases on one machine."""

    def marks(self):
        return sorted(path.name.rpartition("-")[0] for path in pathlib.Path(self.runtime.name).iterdir())

    def measuring(self, database="first.duckdb"):
        """A run that never ends by itself, once it measures."""
        process = self.start("bench", "--engine", "null", "--iterations", "5", "--warmup", "1", "--batch-sizes", "1", "2", "--save", "--db-path", database,
                             "--engine-option", "hang_at_run=3", "only_batch=2")
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        self.wait_until("a cell is measured", lambda: self.spool_bundles(f"{database}.spool"))
        return process

    def test_the_second_says_which_process_measures_and_its_rows_do_too(self):
        first = self.measuring()
        second = self.run_tool("bench", *NULL[:-1], "--save", "--db-path", "second.duckdb", "--output-format", "json", expect=0)
        self.assertRegex(second.stderr, rf"another measurement runs on this machine: process {first.pid} \(\S*assay bench .*, since "
                         rf"\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d UTC, database '\S*/first.duckdb'\); each disturbs the times of the other; --wait waits for its end")
        document = json.loads(second.stdout)
        self.assertEqual([row["message"] for row in document["results"]], ["another measurement ran on this machine meanwhile"])
        self.assertTrue(any("during 1 of 1 launch:" in note for note in document["notes"]), document["notes"])
        (bundle,) = self.spool_bundles("second.duckdb.spool")
        (named,) = json.loads((bundle / "environment.json").read_text())["attempt"]["other_measurements"]
        self.assertIn(f"process {first.pid} (", named)
        for command in (["verify", "prajjwal1/bert-tiny", "--engine", "null"], ["zoo", "check", "nowhere"], ["conform", "nowhere"]):
            self.assertIn(f"process {first.pid} (", self.run_tool(*command).stderr, command)
        self.assertNotIn("another measurement", self.run_tool("bench", *NULL, "--plan", expect=0).stderr)
        first.kill()
        first.communicate()
        alone = self.run_tool("bench", *NULL[:-1], "--output-format", "json", expect=0)
        self.assertNotIn("another measurement", alone.stderr + alone.stdout)
        self.assertEqual(self.marks(), [], "what the killed process left is removed")

    def test_wait_waits_for_its_turn(self):
        first = self.measuring()
        second = self.start("bench", *NULL[:-1], "--wait", "--output-format", "json", "--output-dir", "second")
        self.addCleanup(second.kill)
        self.wait_until("the second waits", lambda: "assay-waiting" in self.marks())
        third = self.run_tool("bench", *NULL[:-1], expect=0)
        self.assertEqual(third.stderr.count("process "), 1, "one that waits disturbs nobody")
        self.assertIsNone(second.poll())
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=tool.DEADLINE)
        out, err = second.communicate(timeout=tool.DEADLINE)
        self.assertEqual(second.returncode, 0, err)
        self.assertIn(f"waiting until this machine is free: process {first.pid} (", err)
        self.assertEqual([row["message"] for row in json.loads(out)["results"]], [None])
        self.assertEqual(self.marks(), [])

    def test_waiting_can_be_interrupted(self):
        self.measuring()
        second = self.start("run", "prajjwal1/bert-tiny", *NULL, "--wait")
        self.addCleanup(second.kill)
        self.wait_until("the second waits", lambda: "assay-waiting" in self.marks())
        second.send_signal(signal.SIGINT)
        second.communicate(timeout=tool.DEADLINE)
        self.assertEqual(second.returncode, 130)
        self.assertEqual(self.marks(), ["assay-measuring"])

    def test_a_folder_that_cannot_be_written_costs_nothing(self):
        self.environment["ASSAY_RUNTIME_DIR"] = "/proc/nowhere"
        self.run_tool("bench", *NULL, expect=0)


if __name__ == "__main__":
    tool.main()
