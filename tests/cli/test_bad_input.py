# SPDX-License-Identifier: Apache-2.0
"""Bad input: status 2 (or what docs/metrics.md says), a message that names the value and what would be valid, and
nothing half-written."""
import json
import os
import resource
import shutil
import signal
import sys

import tool

sys.path.insert(0, f"{tool.DEPS}/python")
import duckdb  # noqa: E402

EXAMPLE = tool.SOURCE / "tests" / "exchange" / "guide.json"


class BadInput(tool.ToolTest):
    def refused(self, *arguments, says, status=2):
        result = self.run_tool(*arguments, expect=status)
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(sorted(os.listdir(self.folder)), self.before, "something was written")

    def setUp(self):
        super().setUp()
        self.before = []

    def write(self, name, content):
        (self.folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        self.before = sorted(os.listdir(self.folder))
        return name

    def test_unknown_subcommand_and_option(self):
        self.refused("fly", says="fly")
        self.refused("run", "--wings", "2", says="--wings")
        self.refused(says="requires a command")

    def test_unknown_model(self):
        self.refused("bench", "--model", "no-such-model", "--engine", "null", says=["no-such-model", "resnet50"])
        self.refused("verify", "missing.onnx", says="missing.onnx")

    def test_unknown_hardware_and_engine(self):
        self.refused("bench", "--model", "resnet50", "--device", "gpu9", says=["gpu9", "openvino", "qualcomm"])
        self.refused("bench", "--model", "resnet50", "--engine", "tensorlight", says=["tensorlight", "onnxruntime"])

    def test_engine_that_does_not_serve_the_hardware(self):
        self.refused("bench", "--model", "resnet50", "--engine", "openvino", "--device", "cuda", says=["openvino", "cuda"])

    def test_numbers(self):
        self.refused("bench", "--engine", "null", "--batch-sizes", "-1", says=["--batch-sizes", "-1"])
        self.refused("bench", "--engine", "null", "--batch-sizes", "0", says=["--batch-sizes", "0"])
        self.refused("bench", "--engine", "null", "--batch-sizes", "four", says="four")
        for tokens in ("-1", "8193", "some"):
            self.refused("bench", "--model", "gpt2", "--output-tokens", tokens, says=["--output-tokens", tokens])
        self.refused("bench", "--model", "gpt2", "--output-tokens", "0,4", says=["--output-tokens", "'0'"])
        self.refused("bench", "--model", "gpt2", "--kv-cache", "liquid", says=["--kv-cache", "liquid", "growing, static, runtime"])
        self.refused("bench", "--model", "gpt2", "--size", "enormous", says=["enormous", "reference"])
        for scale in ("0", "1.5", "-1", "nan"):
            self.refused("bench", "--model", "gpt2", "--scale", scale, says=["--scale", scale])
        self.refused("bench", "--engine", "null", "--batch-sizes", "99999999999999999999", says="99999999999999999999")
        self.refused("bench", "--engine", "null", "--iterations", "0", says=["--iterations", "0"])
        for option in ("--iterations", "--warmup", "--seed"):
            for text in ("99999999999999999999", "-1", "2.5", "many", ""):
                self.refused("bench", "--engine", "null", f"{option}={text}", says=[option, text])
        self.refused("zoo", "build", "prajjwal1/bert-tiny", "-o", "m.onnx", "--seed=99999999999999999999", says=["--seed"])
        self.refused("bench", "--engine", "null", "--timeout", "-5", says=["--timeout", "-5"])
        self.refused("bench", "--engine", "null", "--timeout", "nan", says="nan")
        for launches in ("0", "101", "some"):
            self.refused("bench", "--engine", "null", "--launches", launches, says=["--launches", launches])
        for time in ("0", "-1", "nan", "soon"):
            self.refused("bench", "--engine", "null", "--max-time", time, says=["--max-time", time])
        for time in ("0", "5x", "m", "5m3", "3s5m", "1e9h", "nan", ""):
            self.refused("bench", "--engine", "null", "--budget", time, says=["--budget", "5m or 1h30m"])
        self.refused("bench", "--engine", "null", "--precision", "float7", says=["float7", "bfloat16"])
        for limit in ("nan", "0", "-1", "inf"):
            self.refused("bench", "--engine", "null", f"--memory-limit={limit}", says=["--memory-limit", limit])

    def test_bytes_that_are_not_text(self):
        self.refused("bench", "--engine", "null", "--output-dir", b"o\xff", says=["argument 5", "UTF-8"])
        self.refused("verify", b"u\xff/m.onnx", says=["argument 2", "UTF-8", "'u\\xff/m.onnx'"])
        self.environment["ASSAY_DB_PATH"] = os.fsdecode(b"d\xff.duckdb")
        self.refused("bench", "--engine", "null", "--save", says=["ASSAY_DB_PATH", "d\\xff.duckdb"])

    def test_empty_names(self):
        self.refused("verify", "", says="name of a model is empty")
        self.refused("bench", "--engine", "null", "--model", "", says="name of a model is empty")
        self.refused("zoo", "build", "bert", "-o", "", says="--output")

    def test_a_format_that_nothing_writes(self):
        for name in ("m.xml", "m.pt2"):
            self.refused("zoo", "build", "bert", "-o", name, says=["--output", name[1:], ".mlir"])

    def test_options_that_contradict_each_other(self):
        self.refused("bench", "--engine", "null", "--dtype", "float32", "--precision", "float16", says=["--dtype float32", "--precision float16"])
        self.refused("zoo", "build", "bert", "-o", "b.onnx", "--precision", "float99", says=["float99", "bfloat16"])
        self.refused("zoo", "check", ".", "--timeout", "nan", says=["--timeout", "nan"])

    def test_a_device_is_not_replaced_by_a_file(self):
        device = self.folder / "pipe"
        os.mkfifo(device)
        self.before = ["pipe"]
        self.refused("zoo", "build", "prajjwal1/bert-tiny", "-o", device, says=["pipe", "replaced"])
        self.assertTrue(device.is_fifo())

    def test_pipes_are_not_files(self):
        """No process writes into this one: a reader would wait for ever."""
        os.mkfifo(self.folder / "pipe")
        self.before = ["pipe"]
        bench = ("bench", "--engine", "null")
        for arguments in [("run", "--models-set", "custom", "--custom-models", "pipe"), (*bench, "--data", "pipe"), (*bench, "--db-path", "pipe"),
                          (*bench, "--save", "--db-path", "pipe"), ("db", "info", "--db-path", "pipe"), ("db", "init", "--db-path", "pipe"),
                          ("verify", "pipe"), ("zoo", "build", "pipe", "-o", "m.onnx"), (*bench, "--output-dir", "pipe")]:
            self.refused(*arguments, says="pipe")

    def test_values_of_engine_options(self):
        for option, says in [("nan=maybe", ["nan", "maybe", "true, false"]), ("cost_ns=1e3", ["cost_ns", "an integer"]), ("spread=wide", ["spread", "a number"]),
                             ("distribution=gauss", ["gauss", "constant, normal, lognormal"]), ("wings=2", ["wings", "cost_ns"]), ("wings", "KEY=VALUE")]:
            self.refused("bench", "--engine", "null", "--engine-option", option, says=says)

    def test_nothing_that_a_terminal_would_obey_is_printed(self):
        """The name in the results stays as it is in the file; only the printed name is changed."""
        name = "a\u001b[31m\u009b2J"
        self.write("models.json", json.dumps({name: {"name": "./none.onnx"}, "b": {"name": "./none.onnx"}}))
        result = self.run_tool("run", "--models-set", "custom", "--custom-models", "models.json", "--engine", "null", "--output-dir", "out", expect=2)
        for text in (result.stdout, result.stderr):
            self.assertNotIn("\x1b", text)
            self.assertNotIn("\x9b", text)
        self.assertIn("a[31m2J", result.stdout)
        written = json.loads(next((self.folder / "out").glob("benchmark_results_*.json")).read_text())
        self.assertIn(name, written["benchmarks"]["other"])

    def test_weights_that_lead_nowhere(self):
        folder = self.folder / "dangling"
        folder.mkdir()
        shutil.copy(tool.SOURCE / "tests" / "goldens" / "bert" / "config.json", folder)
        (folder / "model.safetensors").symlink_to("../blobs/abc")
        self.before = ["dangling"]
        self.refused("zoo", "build", folder, "-o", "m.onnx", says=["model.safetensors", "read"])

    def test_empty_list(self):
        self.refused("bench", "--engine", "null", "--batch-sizes", says="--batch-sizes")
        self.refused("run", "--specific-models", says="--specific-models")

    def test_unknown_names_in_a_set(self):
        self.refused("run", "--models-set", "small", "--specific-models", "brt", says=["brt", "whisper"])
        self.refused("run", "--models-set", "tiny", says=["tiny", "small"])
        self.refused("run", "--model-families", "poetry", says=["poetry", "vision"])

    def test_malformed_custom_models_name_line_and_column(self):
        self.write("models.json", '{\n  "a": {"name": "bert",}\n}\n')
        self.refused("run", "--models-set", "custom", "--custom-models", "models.json", says=["models.json", "line 2", "column"])

    def test_custom_models_of_the_wrong_kind(self):
        for content, says in [("[]", "object"), ('{"a": 1}', '"a"'), ('{"a": {"family": "vision"}}', '"name"'),
                              ('{"a": {"name": "bert", "family": "poems"}}', "poems"), ('{"a": {"name": 7}}', "7"),
                              ('{"a": {"name": "bert"}, "a": {"name": "vit"}}', "twice"), ("", "models.json"),
                              ('{"a": {"name": 1e400}}', ["1e400", "line 1, column"]), ('{"a\\u0000": {"name": "bert"}}', "zero byte"),
                              ('{"a": {"name": "be\\u0000rt"}}', ["zero byte", '"name"']), ('{"": {"name": "bert"}}', "empty name")]:
            self.write("models.json", content)
            self.refused("run", "--models-set", "custom", "--custom-models", "models.json", says=says)
        self.refused("run", "--models-set", "custom", says="--custom-models")
        self.refused("run", "--models-set", "custom", "--custom-models", "nowhere.json", says="nowhere.json")

    def test_output_folder_that_cannot_be_made(self):
        self.write("file", "x")
        self.refused("run", "--models-set", "small", "--output-dir", "file/results", "--engine", "null", says="file/results")

    def test_folders_without_a_model(self):
        (self.folder / "empty").mkdir()
        self.before = ["empty"]
        self.refused("verify", "empty", says=["empty", "config.json"])

    def test_malformed_configuration(self):
        (self.folder / "m").mkdir()
        (self.folder / "m" / "config.json").write_text('{"model_type": "bert",\n "hidden_size": }')
        self.before = ["m"]
        self.refused("verify", "m", says=["config.json", "line 2"])

    def test_hostile_configurations(self):
        (self.folder / "m").mkdir()
        self.before = ["m"]
        for key, value in [("hidden_size", -4), ("num_hidden_layers", 10**9), ("num_attention_heads", 7), ("vocab_size", "many"),
                           ("layer_norm_eps", "tiny"), ("intermediate_size", 2.5)]:
            config = {"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 32, "num_attention_heads": 4,
                      "num_hidden_layers": 2, "intermediate_size": 64, "vocab_size": 99, key: value}
            (self.folder / "m" / "config.json").write_text(json.dumps(config))
            self.refused("verify", "m", says=key)

    def test_files_that_are_not_models(self):
        for name, content in [("empty.onnx", b""), ("text.onnx", b"hello, this is text\n" * 9), ("zip.onnx", b"PK\x03\x04" + b"\0" * 99),
                              ("cut.onnx", b"\x08\x07\x12\x05pytor")]:
            self.write(name, content)
            self.refused("verify", name, says=name)

    def test_options_that_exclude_each_other(self):
        self.refused("run", "--verify-only", "--benchmark-only", says="--verify-only")
        self.refused("bench", "--model", "resnet50", "--framework", "jax", "--engine", "onnxruntime", says="--framework")

    def test_nothing_that_was_asked_for_is_built(self):
        result = self.run_tool("bench", "--model", "resnet50", "--engine", "browser", "--batch-sizes", "1", expect=2)
        self.assertIn("not_built", result.stdout + result.stderr)
        self.run_tool("suite", "--config", "x.json", expect=2)

    def test_suite_configurations(self):
        """Wrong keys and values: src/app/suite/config_test.cpp."""
        for content, says in [('{\n  "batch_sizes": [1],\n  "benchmark_iteration": 5\n}', ["my.json:3:3: ", "did you mean benchmark_iterations?"]),
                              ('{"timeout": "long"}', ["my.json:1:13: ", '"timeout"']), ('{"parallel": 1}', ["my.json:1:14: ", '"parallel"']),
                              ('{"batch_sizes": [1],}', ["my.json", "line 1, column"]), ("", "my.json"), ("[]", "one JSON object"),
                              (b'{"output_dir": "\xff"}', "my.json"), ("[" * 100_000, "my.json"), ('{"batch_sizes": [1],\n "batch_sizes": [2]}', "twice in one object, again at line 2, column 2"),
                              ('{"output_dir": "a\\u0000"}', ["my.json:1:16: ", "the path of a folder"]), ('{"model_families": {"vision": ["./none.onnx"]}}', "none.onnx")]:
            self.write("my.json", content)
            with self.subTest(content=content[:40]):
                self.refused("suite", "--config", "my.json", "--engine", "null", "--plan", says=says)
        os.mkfifo(self.folder / "pipe")
        self.before = sorted(os.listdir(self.folder))
        self.refused("suite", "--config", "pipe", says="pipe")
        self.refused("suite", "--config", ".", says="'.'")
        self.refused("suite", "--config", "nowhere.json", says="nowhere.json")
        self.refused("suite", "--check", "--create-config", says="cannot be combined")
        self.refused("suite", "--plot-comparison", "one", says="--plot-comparison requires 2 values: BEFORE AFTER")

    def test_database_that_is_something_else(self):
        self.write("notes.duckdb", "these are my notes, not a database")
        result = self.run_tool("db", "info", "--db-path", "notes.duckdb", expect=2)
        self.assertIn("notes.duckdb", result.stderr)
        self.assertEqual((self.folder / "notes.duckdb").read_text(), "these are my notes, not a database")
        self.write("empty.duckdb", "")
        self.refused("db", "info", "--db-path", "empty.duckdb", says=["empty.duckdb", "0 bytes", "db init"])


class TwoAtOnce(tool.ToolTest):
    """A second command that measures for a database would disturb the times of the first."""

    def measuring(self, *arguments):
        """A run that never ends by itself, once it measures."""
        before = len(self.spool_bundles())
        process = self.start("run", "--models-set", "custom", "--custom-models", "models.json", "--engine", "null", "--batch-sizes", "1", "2",
                             "--iterations", "5", "--warmup", "1", "--launches", "1", "--no-plots", "--quiet", "--engine-option", "hang_at_run=3", "only_batch=2",
                             *arguments)
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        self.wait_until("a cell is measured", lambda: len(self.spool_bundles()) > before)
        return process

    def setUp(self):
        super().setUp()
        (self.folder / "models.json").write_text(json.dumps({"tiny": {"name": "prajjwal1/bert-tiny", "family": "embedding"}}))

    def test_the_second_is_refused_and_nothing_is_lost(self):
        self.null("--save")
        bundles = len(self.spool_bundles())
        process = self.measuring()
        for command in (["suite", "--models", "t5-small", "--engine", "null", "--output-dir", "suites"], ["run", "--specific-models", "bert", "--engine", "null"],
                        ["bench", "--engine", "null", "--save"], ["verify", "prajjwal1/bert-tiny", "--engine", "null", "--save"]):
            failure = self.run_json(*command, expect=1)["error"]
            self.assertEqual(failure["code"], "store_busy")
            self.assertRegex(failure["message"], rf"process {process.pid} \(\S*assay run --models-set custom .*, since \d\d\d\d-\d\d-\d\d "
                             r"\d\d:\d\d:\d\d UTC\) is measuring for the database 'benchmark_db.duckdb'")
            self.assertIn("disturb each other's times", failure["hint"])
        self.assertEqual(list((self.folder / "suites").glob("*")), [])
        # What does not measure for this database works.
        self.null()
        self.null("--save", "--db-path", "other.duckdb")
        self.run_tool("report", expect=0)
        self.run_tool("suite", "--models", "t5-small", "--engine", "null", "--plan", expect=0)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=tool.DEADLINE)
        self.assertEqual(process.returncode, 130, out + err)
        self.assertEqual(len(self.spool_bundles()), bundles + 2)
        self.assertEqual([path.name for path in self.folder.iterdir() if "measuring" in path.name or "progress" in path.name], [])
        self.null("--save")

    def test_a_killed_run_blocks_nobody(self):
        process = self.measuring()
        process.kill()
        process.communicate()
        self.assertTrue((self.folder / "benchmark_db.duckdb.measuring").exists())
        self.null("--save")
        self.assertFalse((self.folder / "benchmark_db.duckdb.measuring").exists())


# Commands that read the history.
READING = [["query", "--sql", "SELECT 1"], ["query", "--optimal-hardware-analysis"], ["report"], ["report", "changes", "--output", "r.html"], ["plot"],
           ["plot", "--architecture-comparison", "--output", "a.svg"], ["db", "info"], ["db", "verify"], ["db", "compact"], ["db", "export", "--csv", "out"]]


class Databases(tool.ToolTest):
    """A database that is missing, empty, of a newer version, or damaged: every command says so, and the file stays as it is."""

    database = "benchmark_db.duckdb"

    def bytes_of(self, name=database):
        return (self.folder / name).read_bytes()

    def refused(self, command, *says, expect=2):
        before = sorted(os.listdir(self.folder))
        result = self.run_tool(*command, expect=expect)
        for words in says:
            self.assertIn(words, result.stderr, command)
        self.assertEqual(result.stdout, "", command)
        self.assertEqual(set(os.listdir(self.folder)) - set(before) - {f"{self.database}.lock"}, set(), f"{command} wrote something")

    def test_missing(self):
        for command in READING:
            self.refused(command, "there is no database 'benchmark_db.duckdb'")
        for command in (["query", "--optimal-hardware-analysis"], ["report"], ["plot"]):
            self.refused(command, "`assay run`")

    def test_empty(self):
        self.run_tool("db", "init", expect=0)
        for command in READING[1:4]:
            self.refused(command, "'benchmark_db.duckdb' has no results yet", "`assay run --models-set small`", expect=4)
        for command in READING[4:6]:
            result = self.run_tool(*command, expect=4)
            self.assertIn("`assay run --models-set small`", result.stderr)
            self.assertFalse(list(self.folder.rglob("*.svg")))
        self.assertEqual(self.run_json("query", "--sql", "SELECT count(*) AS n FROM benchmark_results")["rows"], [{"n": 0}])
        for command in READING[6:]:
            self.run_tool(*command, expect=0)
        self.assertEqual(self.run_json("db", "info")["results"], 0)

    def test_of_a_newer_version(self):
        self.null("--save")
        with duckdb.connect(str(self.folder / self.database)) as connection:
            connection.execute("INSERT INTO schema_version VALUES (999, 'later', now()::TIMESTAMP, '9.9')")
        (self.folder / "benchmark_db.snapshot.duckdb").unlink()
        before = self.bytes_of()
        says = ["has schema version 999, and this assay reads up to", "use the assay that wrote it or a newer one"]
        for command in READING + [["db", "ingest"], ["db", "rebuild"], ["db", "import", EXAMPLE]]:
            with self.subTest(command=command):
                self.refused(command, *says, expect=1)
        # What is measured stays in the spool, for the newer version.
        result = self.run_tool("bench", "--engine", "null", "--iterations", "5", "--save", "--seed", "1", "--quiet", expect=1)
        self.assertIn("the results are safe in 'benchmark_db.duckdb.spool'", result.stderr)
        self.assertIn(says[0], result.stderr)
        self.assertEqual(self.bytes_of(), before)
        self.assertEqual(len({path.parent for path in self.spool_bundles()}), 2)

    def test_damaged(self):
        self.null("--save")
        whole = self.bytes_of()
        (self.folder / "benchmark_db.snapshot.duckdb").unlink()
        for content, says in ((b"", "is empty: 0 bytes"), (whole[:1000], "`assay db rebuild`"), (whole[:4096] + b"\xff" * 8192 + whole[12288:], "`assay db rebuild`"),
                              (b"PK\3\4" + bytes(10_000), "is not a DuckDB database")):
            (self.folder / self.database).write_bytes(content)
            for command in READING:
                with self.subTest(command=command, size=len(content)):
                    result = self.run_tool(*command)
                    self.assertEqual(result.returncode, 1 if "rebuild" in says else 2, result.stderr)
                    self.assertIn("is not a DuckDB database" if command == ["db", "compact"] and not content else says, result.stderr)
                    self.assertEqual(result.stdout, "")
                    self.assertEqual(self.bytes_of(), content)
            if content:  # Said before anything is measured.
                self.assertIn(says, self.run_tool("bench", "--engine", "null", "--save", "--plan").stderr)
        # Nothing is lost: the bundles are all there.
        (self.folder / self.database).write_bytes(whole[:1000])
        self.run_tool("db", "rebuild", expect=0)
        self.assertEqual(self.run_json("query", "--sql", "SELECT count(*) AS n FROM benchmark_results")["rows"], [{"n": 1}])
        self.assertEqual([path.read_bytes() for path in self.folder.glob(f"{self.database}.bak-*")], [whole[:1000]], "the damaged file is kept")

    def test_damaged_files_of_results(self):
        whole = EXAMPLE.read_text()
        (self.folder / "folder").mkdir()
        results = self.folder / "folder" / "benchmark_results.json"
        for content, says in ((whole[:200], "line"), ("[1, 2]", "results"), ('{"benchmarks": {"embedding": 3}}', "benchmarks.embedding is not an object"),
                              ("", "benchmark_results.json")):
            results.write_text(content)
            for command in (["plot", "--json-path", results], ["db", "import", results], ["suite", "--plot-only", "folder"],
                            ["suite", "--update-matrix-only", "folder"], ["suite", "--aggregate-results", "folder", "folder"]):
                with self.subTest(command=command, content=content[:20]):
                    self.refused(command, says)
                    self.assertEqual(os.listdir(self.folder / "folder"), ["benchmark_results.json"])


class FullDisk(tool.ToolTest):
    """A limit of file sizes is what a full disk is: what was there stays, and nothing is half-written."""

    def test_of_everything_that_writes_answers(self):
        self.null("--save", "--launches", "3", batch="1 4")
        (self.folder / "suite").mkdir()
        shutil.copy(EXAMPLE, self.folder / "suite" / "benchmark_results.json")
        (self.folder / "old.html").write_text("an older report")
        (self.folder / "old.svg").write_text("an older chart")
        before = {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file() and ".lock" not in path.name}

        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

        for command in (["report", "--output", "old.html"], ["query", "--sql", "SELECT * FROM benchmark_results", "--output", "rows.csv"],
                        ["plot", "--chart", "batch_size_scaling", "--output", "old.svg"], ["plot", "--output", "plots"],
                        ["report", "--output", "new.md"], ["coverage", "--generate-dashboard"],
                        ["suite", "--create-config", "new.json"], ["suite", "--update-matrix-only", "suite"], ["suite", "--plot-only", "suite"],
                        ["suite", "--aggregate-results", "suite", "suite"], ["suite", "--plot-comparison", "suite", "suite"],
                        ["db", "export", "--csv", "csv"], ["db", "export", "--parquet", "parquet"], ["db", "import", EXAMPLE], ["db", "compact"]):
            with self.subTest(command=command):
                result = self.run_tool(*command, expect=1, preexec_fn=small_files)
                self.assertIn("error[internal]", result.stderr)
                after = {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file() and ".lock" not in path.name}
                self.assertEqual({str(path) for path in after if after[path] != before.get(path)}, set())
                self.assertEqual(set(before) - set(after), set())
        self.assertEqual([path.name for path in (self.folder / "benchmark_results").glob("*")], [], "a new folder without results is removed")
        self.assertFalse((self.folder / "csv").exists() or (self.folder / "parquet").exists())

    def test_of_what_is_larger_than_the_rest(self):
        """The dashboard does not fit any more, the charts do: they are drawn, and the command fails all the same."""
        def no_dashboard():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

        for name in ("suite", "other"):
            (self.folder / name).mkdir()
            shutil.copy(EXAMPLE, self.folder / name / "benchmark_results.json")
        error = self.run_tool("suite", "--plot-only", "suite", expect=1, preexec_fn=no_dashboard).stderr
        self.assertRegex(error, r"error\[internal\]: cannot write 'suite/index.html': File too large\n  while writing the dashboard")
        self.assertTrue((self.folder / "suite" / "plots" / "hardware_comparison.svg").exists())
        self.assertFalse((self.folder / "suite" / "index.html").exists())
        error = self.run_tool("suite", "--aggregate-results", "suite", "other", expect=1, preexec_fn=no_dashboard).stderr
        (folder,) = (self.folder / "benchmark_results").iterdir()
        self.assertIn(f"while adding charts to './benchmark_results/{folder.name}', which has the results", error)
        self.assertTrue((folder / "benchmark_results.json").exists())

    def test_of_one_place(self):
        """A file stands where the folder of the charts would be."""
        (self.folder / "suite").mkdir()
        shutil.copy(EXAMPLE, self.folder / "suite" / "benchmark_results.json")
        (self.folder / "suite" / "plots").write_text("mine")
        error = self.run_tool("suite", "--plot-only", "suite", expect=2).stderr
        self.assertIn("suite/plots", error)
        self.assertIn("while drawing the charts", error)
        self.assertEqual((self.folder / "suite" / "plots").read_text(), "mine")
        self.assertTrue((self.folder / "suite" / "index.html").exists(), "the dashboard does not need them")


if __name__ == "__main__":
    tool.main()
