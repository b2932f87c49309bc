# SPDX-License-Identifier: Apache-2.0
"""Runs the built program as a user would, in a folder of its own. Python's standard library only."""
import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

BINARY = os.environ["ASSAY_BINARY"]
GOLDENS = os.environ.get("ASSAY_GOLDENS_DIR", "")
GUIDES = os.environ.get("ASSAY_GUIDES_DIR", "")
DEPS = os.environ.get("ASSAY_DEPS_DIR", "")
DEADLINE = 900  # seconds for anything that is meant to be quick: a slow or busy machine is not an error of the program
SOURCE = pathlib.Path(__file__).resolve().parents[2]


class ToolTest(unittest.TestCase):
    """Each test has an empty folder as its working directory; built models and references are shared in one cache."""

    @classmethod
    def setUpClass(cls):
        cls.cache = tempfile.TemporaryDirectory(prefix="assay-cache-")
        cls.addClassCleanup(cls.cache.cleanup)
        # Tests that run side by side are no measurements that disturb each other.
        cls.runtime = tempfile.TemporaryDirectory(prefix="assay-runtime-")
        cls.addClassCleanup(cls.runtime.cleanup)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="assay-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {k: v for k, v in os.environ.items() if k != "ASSAY_DB_PATH"}
        self.environment["ASSAY_CACHE_DIR"] = self.cache.name
        self.environment["ASSAY_RUNTIME_DIR"] = self.runtime.name
        # No test depends on a network, nor on what this machine's user once fetched.
        self.environment["HF_HUB_OFFLINE"] = "1"
        self.environment["HF_HOME"] = str(self.folder / "hf-home")

    def start(self, *arguments, program=BINARY, **options):
        return subprocess.Popen([program, *(each if isinstance(each, bytes) else str(each) for each in arguments)], cwd=self.folder, env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def run_tool(self, *arguments, expect=None, timeout=DEADLINE, **options):
        process = self.start(*arguments, **options)
        out, err = process.communicate(timeout=timeout)
        result = subprocess.CompletedProcess(process.args, process.returncode, out, err)
        if expect is not None:
            self.assertEqual(result.returncode, expect, f"{process.args}\n{out}\n{err}")
        self.assertNotIn("terminate called", err)
        self.assertGreaterEqual(result.returncode, 0, f"ended by a signal: {err}")
        return result

    def run_json(self, *arguments, expect=0, **options):
        result = self.run_tool(*arguments, "--output-format", "json", expect=expect, **options)
        return json.loads(result.stdout)

    def null(self, *arguments, expect=0, batch="1", **options):
        """Rows of a bench with the null engine."""
        base = ["bench", "--engine", "null", "--iterations", "20", "--warmup", "1", "--batch-sizes", *batch.split(), "--quiet"]
        return self.run_json(*base, *arguments, expect=expect, **options)["results"]

    def engines(self, wanted):
        """The names of the available engines of `assay engines` for which `wanted` is true. Those whose runtime is among the downloads
        must be available, and at least one must be: a test of all engines cannot pass without them."""
        engines = [each for each in self.run_json("engines")["engines"] if each["built"] and wanted(each)]
        missing = {each["name"]: each["why_not"] for each in engines if not each["available"] and (pathlib.Path(DEPS) / each["name"]).is_dir()}
        self.assertEqual(missing, {}, f"their runtimes are in {DEPS}")
        available = [each["name"] for each in engines if each["available"]]
        self.assertNotEqual(available, [], f"none is available of {[each['name'] for each in engines]}")
        return available

    def wait_until(self, what, condition):
        """Polls until `condition` gives something true, and returns it."""
        deadline = time.monotonic() + DEADLINE
        while not (found := condition()):
            self.assertLess(time.monotonic(), deadline, f"waited {DEADLINE} s until {what}")
            time.sleep(0.05)
        return found

    def spool_bundles(self, spool="benchmark_db.duckdb.spool"):
        # A folder gets DONE before it gets its final name.
        return sorted(path.parent for path in (self.folder / spool).glob("*/*/DONE") if not path.parent.name.startswith(".tmp-"))


class TimedResult(unittest.TextTestResult):
    """Prints what each test took, so that the log of a run shows where its time went."""

    def startTest(self, test):
        self.began = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        self.stream.writeln(f"    {time.monotonic() - self.began:.1f} s {test.id()}")


def main():
    unittest.main(verbosity=2, testRunner=unittest.TextTestRunner(verbosity=2, resultclass=TimedResult))
