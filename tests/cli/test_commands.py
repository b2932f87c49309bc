# SPDX-License-Identifier: Apache-2.0
"""What commands print and write beside their results: lists, paths, notes, the log."""
import csv
import json
import os
import pathlib
import re
import shlex
import shutil
import struct
import subprocess
import tool

TINY = tool.SOURCE / "tests" / "goldens" / "bert"


def samples_of(path):
    """(kind, nanoseconds) of each sample of a bundle (docs/formats.md)."""
    content = path.read_bytes()
    at = 12 + int.from_bytes(content[8:12], "little") + 4
    samples = []
    while at < len(content):
        rows = int.from_bytes(content[at + 4:at + 8], "little")
        kinds = content[at + 8:at + 8 + rows]
        times = at + 8 + rows * (1 + 4 + 8)  # after the columns kind, stream and start_ns
        samples += zip(kinds, struct.unpack_from(f"<{rows}q", content, times))
        at = times + 8 * rows + 4
    return samples


class ZooList(tool.ToolTest):
    def list(self, *arguments):
        return self.run_tool("zoo", "list", *arguments, expect=0).stdout.splitlines()

    def test_it_has_a_header_and_a_count(self):
        lines = self.list()
        self.assertEqual(lines[0].split(), ["ARCHITECTURE", "CATEGORY", "NAMES"])
        count = int(re.match(r"(\d+) architectures", lines[-1]).group(1))
        self.assertEqual(count, len(self.run_json("zoo", "list")["architectures"]))
        self.assertGreater(count, 100)

    def test_filters(self):
        vision = self.run_json("zoo", "list", "--category", "vision")["architectures"]
        self.assertTrue(vision)
        self.assertEqual({each["category"] for each in vision}, {"vision"})
        encoders = self.run_json("zoo", "list", "--skeleton", "bert_encoder")["architectures"]
        self.assertIn("bert", [each["name"] for each in encoders])
        self.assertEqual({each["skeleton"] for each in encoders}, {"bert_encoder"})
        both = self.run_json("zoo", "list", "whisper")["architectures"]
        self.assertEqual([each["name"] for each in both], ["whisper"])
        self.assertEqual([each["name"] for each in self.run_json("zoo", "list", "WhisperForConditionalGeneration")["architectures"]], ["whisper"])
        self.assertRegex(self.run_json("zoo", "list", "whispr", expect=2)["error"]["hint"], r"^did you mean whisper\?")

    def test_a_tree_of_categories_architectures_and_classes(self):
        lines = self.list("whisper", "--tree")
        self.assertEqual(lines[0], "speech_text (1)")
        self.assertEqual(lines[1].split()[0], "whisper")
        self.assertIn("WhisperForConditionalGeneration", lines[2])
        (entry,) = self.run_json("zoo", "list", "whisper")["architectures"]
        self.assertIn("WhisperForConditionalGeneration", entry["classes"])

    def test_it_fits_a_terminal_of_80_columns(self):
        import pty
        import struct
        import fcntl
        import termios
        import subprocess
        for arguments in ([], ["--tree"]):
            ours, theirs = pty.openpty()
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
            process = subprocess.Popen([tool.BINARY, "zoo", "list", *arguments], stdout=theirs, env=self.environment)
            os.close(theirs)
            text = b""
            try:
                while chunk := os.read(ours, 65536):
                    text += chunk
            except OSError:
                pass  # the other end is closed
            os.close(ours)
            self.assertEqual(process.wait(), 0)
            for line in text.decode().splitlines():
                self.assertLessEqual(len(line), 80, line)


class Files(tool.ToolTest):
    BENCH = ("bench", "--engine", "null", "--iterations", "20", "--warmup", "1", "--batch-sizes", "1")

    def written(self, out, suffix):
        return sorted(path.name for path in (self.folder / out).glob(f"[!.]*{suffix}"))

    def test_bench_writes_csv_and_json_and_prints_their_paths(self):
        for option in ("--model", "--model-id"):
            with self.subTest(option=option):
                out = "out" + option
                result = self.run_tool(*self.BENCH, option, "prajjwal1/bert-tiny", "--output-dir", out, expect=0)
                (table,), (document,) = self.written(out, ".csv"), self.written(out, ".json")
                self.assertRegex(document, r"^prajjwal1_bert-tiny_cpu_float32_\d{8}_\d{6}\.json$")
                for name in (table, document):
                    self.assertIn(f"Results saved to: {out}/{name}\n", result.stdout)
                rows = json.loads((self.folder / out / document).read_text())["results"]
                with (self.folder / out / table).open(newline="") as text:
                    self.assertEqual([row["model"] for row in csv.DictReader(text)], [row["model"] for row in rows])

    def test_each_model_and_hardware_has_a_json_of_its_own(self):
        self.run_tool(*self.BENCH, "--model", "prajjwal1/bert-tiny,bert", "--output-dir", "out", "--quiet", expect=0)
        names = self.written("out", ".json")
        self.assertEqual([name.split("_cpu_")[0] for name in names], ["bert", "prajjwal1_bert-tiny"])
        for name in names:
            rows = json.loads((self.folder / "out" / name).read_text())["results"]
            self.assertEqual({row["model"].replace("/", "_") for row in rows}, {name.split("_cpu_")[0]})

    def test_the_command_that_is_kept_can_be_given_to_a_shell(self):
        given = [*self.BENCH, "--model", "prajjwal1/bert-tiny", "--quiet", "--output-dir", "my 'out'; $HOME"]
        self.run_tool(*given, "--save", expect=0)
        (command,) = {json.loads(path.read_text())["run"]["command"]
                      for path in (self.folder / "benchmark_db.duckdb.spool").glob("*/*/environment.json")}
        self.assertEqual(shlex.split(command), ["assay", *given, "--save"])
        # As a person types it.
        typed = subprocess.run(command.replace("assay", shlex.quote(str(tool.BINARY)), 1) + " --resume --output-format json", shell=True,
                               cwd=self.folder, env=self.environment, text=True, capture_output=True)
        self.assertEqual(typed.returncode, 0, typed.stderr)
        self.assertEqual(len(json.loads(typed.stdout)["results"]), 1)

    def test_paths_in_a_custom_models_file_are_relative_to_the_file(self):
        folder = self.folder / "models"
        shutil.copytree(TINY, folder / "mine")
        (folder / "models.json").write_text(json.dumps({"near": {"name": "mine"}, "dotted": {"name": "./mine"}, "whole": {"name": str(folder / "mine")},
                                                        "named": {"name": "prajjwal1/bert-tiny"}, "home": {"name": "~/mine"}}))
        home = self.folder / "home"
        shutil.copytree(TINY, home / "mine")
        self.environment["HOME"] = str(home)
        run = ("run", "--models-set", "custom", "--custom-models", "models/models.json", "--engine", "null", "--iterations", "5", "--warmup", "1",
               "--batch-sizes", "1", "--output-dir", "out", "--quiet")
        document = self.run_json(*run)
        models = {name: targets["cpu@null"] for family in document["benchmarks"].values() for name, targets in family.items()}
        self.assertEqual({name: entry["status"] for name, entry in models.items()}, dict.fromkeys(["near", "dotted", "whole", "named", "home"], "completed"))
        self.assertEqual(models["near"]["model_id"], str(folder / "mine"))
        self.assertEqual(models["home"]["model_id"], str(home / "mine"))

    def test_a_path_that_leads_nowhere_is_named_as_it_was_tried(self):
        (self.folder / "models").mkdir()
        (self.folder / "models" / "models.json").write_text(json.dumps({"a": {"name": "none.onnx"}}))
        shutil.copytree(TINY, self.folder / "none.onnx")  # in the working folder, where nobody looks
        error = self.run_json("run", "--models-set", "custom", "--custom-models", "models/models.json", "--engine", "null", "--output-dir", "out", expect=2)["error"]
        self.assertIn(str(self.folder / "models" / "none.onnx"), error["message"])

    def test_the_folders_that_are_written_to_are_shown(self):
        self.null("--model", "prajjwal1/bert-tiny", "--save")
        shown = self.run_json("cache")
        self.assertEqual(shown["cache"], self.cache.name)
        places = {each["what"]: each for each in shown["places"]}
        self.assertEqual(places["references"]["path"], os.path.join(self.cache.name, "references"))
        self.assertEqual(places["bundles"]["path"], "benchmark_db.duckdb.spool")
        self.assertEqual(places["rates"]["path"], os.path.join(self.cache.name, "machine_rates.json"))
        for what in ("references", "database", "bundles"):
            self.assertGreater(places[what]["bytes"], 0, what)
        self.assertIn(f"rm -r '{self.cache.name}'", self.run_tool("cache", expect=0).stdout)


class Notes(tool.ToolTest):
    """What assay chose without being asked is said once, to people and in JSON."""

    def notes(self, *arguments):
        run = ("bench", "--engine", "null", "--iterations", "5", "--warmup", "1", "--batch-sizes", "1", "--output-dir", "out")
        document = self.run_json(*run, *arguments)
        printed = self.run_tool(*run, *arguments, expect=0).stdout
        for note in document["notes"]:
            self.assertIn(note, " ".join(printed.split()))  # lines are folded
        return "\n".join(document["notes"])

    def test_random_weights(self):
        self.assertEqual(self.notes("--model", "bert,vit").count("bert, vit: random weights,"), 1)
        self.assertIn("prajjwal1/bert-tiny: random weights", self.notes("--model", "prajjwal1/bert-tiny"))

    def test_a_shorter_sequence(self):
        self.assertIn("sequence length 77 instead of 128: the model has 77 positions", self.notes("--model", "openai/clip-vit-base-patch32", "--scale", "0.2"))
        self.assertNotIn("sequence length", self.notes("--model", "openai/clip-vit-base-patch32", "--scale", "0.2", "--sequence-lengths", "16"))

    def test_open_extents(self):
        file = pathlib.Path(tool.DEPS) / "onnx" / "onnx" / "backend" / "test" / "data" / "light" / "light_squeezenet.onnx"
        self.assertNotIn("open extents", self.notes("--model", str(file)))
        import onnx
        from onnx import TensorProto, helper
        value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3, "h", "w"])
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [value("x")], [value("y")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.folder / "open.onnx")
        self.assertIn("the input 'x' has open extents; it is given [batch, 3, 224, 224]", self.notes("--model", "open.onnx"))


class Log(tool.ToolTest):
    BENCH = ("bench", "--engine", "null", "--model", "prajjwal1/bert-tiny", "--iterations", "5", "--warmup", "1", "--batch-sizes", "1")

    def lines(self, *arguments):
        return self.run_tool(*self.BENCH, *arguments, expect=0).stderr.splitlines()

    def having(self, lines, pattern):
        return [line for line in lines if re.search(pattern, line)]

    def test_verbose_prints_each_step_and_its_time(self):
        lines = self.lines("--verbose")
        for step in (r"^prepared prajjwal1/bert-tiny: \d+\.\d{3} s$", r"^planned 1 cells$", r"^ran 1 cells: \d", r"loaded, verified, measured: \d"):
            self.assertEqual(len(self.having(lines, step)), 1, f"{step}\n{lines}")
        self.assertEqual(self.having(lines, "^debug:"), [])

    def test_debug_prints_processes_files_and_cache_hits_too(self):
        first, second = self.lines("--debug", "--seed", "77"), self.lines("--debug", "--seed", "77")
        for step in (r"^debug: process \d+ started: .*assay-worker", r"^debug: worker \d+: loaded .*: \d", r"^debug: worker \d+: measured: \d", "^ran 1 cells"):
            self.assertTrue(self.having(first, step), f"{step}\n{first}")
        self.assertTrue(self.having(first, "are not in the cache"), first)
        self.assertTrue(self.having(second, "are in the cache"), second)
        self.assertEqual(self.having(self.lines(), "^debug:|: [0-9.]+ s$"), [])


class NullEngineGenerates(tool.ToolTest):
    """One graph for all tokens (llama), and another for the further tokens (t5, whisper)."""

    def test_models_of_one_and_of_two_graphs(self):
        for golden in ("llama", "t5", "whisper"):
            (row,) = self.run_json("bench", "--engine", "null", "--model", str(TINY.parent / golden), "--iterations", "2", "--warmup", "1",
                                   "--batch-sizes", "1", "--output-tokens", "3")["results"]
            self.assertEqual((row["status"], row["verification"]), ("completed", "verified"), row)

    def test_reported_times_of_tokens_are_the_medians_of_the_bundles_samples(self):
        (row,) = self.run_json("bench", "--engine", "null", "--model", str(TINY.parent / "llama"), "--iterations", "40", "--warmup", "3",
                               "--batch-sizes", "1", "--output-tokens", "6", "--save")["results"]
        self.assertEqual(row["launches"], 1)
        (bundle,) = self.spool_bundles()
        samples = samples_of(bundle / "samples.bin")[row["steady_from"]:]
        for kind, field in ((1, "ttft"), (2, "tpot")):
            times = sorted(time for sample_kind, time in samples if sample_kind == kind)
            self.assertEqual(len(times), row[f"{field}_samples"])
            self.assertAlmostEqual(row[f"{field}_p50_ms"], times[(len(times) - 1) // 2] / 1e6, places=12)
        self.assertEqual(row["tpot_samples"], 5 * row["ttft_samples"])


if __name__ == "__main__":
    tool.main()
