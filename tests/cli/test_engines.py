#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Engines of others: what their engine.json says is what the program does. The plug-in is the null engine's."""
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import termios

import tool

NULL = pathlib.Path(tool.BINARY).parents[1] / "lib/assay/engines/assay_engine_null.so"
FAST = ["--iterations", "3", "--warmup", "0", "--batch-sizes", "1"]


def on_terminal(command, columns, folder, environment):
    """The lines that a command writes to a terminal of this width."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=terminal, stderr=subprocess.DEVNULL) as process:
        os.close(terminal)
        text = b""
        while True:
            try:
                part = os.read(controller, 65536)
            except OSError:  # Linux: the other side is closed
                break
            if not part:
                break
            text += part
    os.close(controller)
    assert process.returncode == 0, process.returncode
    return text.decode().replace("\r", "").splitlines()


class Operators(tool.ToolTest):
    def test_the_page_is_that_of_the_tables(self):
        page = self.run_tool("engines", "--ops", "--output-format", "md", expect=0).stdout
        self.assertEqual((tool.SOURCE / "docs" / "operators.md").read_text(encoding="utf-8"), page,
                         "run: assay engines --ops --output-format md > docs/operators.md")

    def test_each_operator_has_its_versions_and_exceptions(self):
        lowered = [engine for engine in self.run_json("engines")["engines"] if engine["lowered_to"]]
        self.assertEqual(len(lowered), 2)
        for engine in lowered:
            (only,) = self.run_json("engines", engine["name"], "--ops")["engines"]
            self.assertEqual((only["name"], only["lowered_to"]), (engine["name"], engine["lowered_to"]))
            rows = {row["name"]: row for row in only["operators"]}
            self.assertEqual(rows["MatMul"]["first_opset"], 1)
            self.assertGreater(rows["MatMul"]["last_opset"], 20)
            self.assertTrue(any(row["except"] for row in rows.values()))
            text = self.run_tool("engines", engine["name"], "--ops", expect=0).stdout
            self.assertIn(f"{len(rows)} operators, lowered to {engine['lowered_to']}", text)
            self.assertRegex(text, r"\n  MatMul +opsets 1 to \d+\n")

    def test_inputs_and_outputs_are_those_of_onnx(self):
        import onnx.defs
        versions = {}
        for schema in onnx.defs.get_all_schemas_with_history():
            if schema.domain == "":
                versions.setdefault(schema.name, []).append(schema)
        first = {}
        for engine in self.run_json("engines")["engines"]:
            if engine["lowered_to"]:
                (only,) = self.run_json("engines", engine["name"], "--ops")["engines"]
                for row in only["operators"]:
                    first[row["name"]] = min(row["first_opset"], first.get(row["name"], 99))
        text = (tool.SOURCE / "src/models/lower/signatures.cpp").read_text(encoding="utf-8")
        written = {name: (inputs, most, no_first) for name, inputs, most, no_first in
                   re.findall(r'{"(\w+)", "([^"]*)"(?:, (\w+))?(, false)?}', text)}
        self.assertEqual(sorted(written), sorted(first))
        for name, (inputs, most, no_first) in written.items():
            old = [schema for schema in versions[name] if schema.since_version <= first[name]]
            self.assertTrue(old, f"{name} is newer than version {first[name]}")
            used = [schema for schema in versions[name] if schema.since_version > first[name]]
            used.append(max(old, key=lambda schema: schema.since_version))
            self.assertEqual(inputs, self.inputs_of(used), name)
            outputs = [len(schema.outputs) for schema in used]
            variadic = any(str(one.option).endswith("Variadic") for schema in used for one in schema.outputs)
            self.assertEqual(most or "1", "kAny" if variadic else str(max(outputs)), name)
            optional = any(str(schema.outputs[0].option).endswith("Optional") for schema in used)
            self.assertEqual(bool(no_first), optional, name)

    def inputs_of(self, schemas):
        """As signatures.hpp describes them; equal letters only if the types are equal in all these versions."""
        letters, text = [], []
        for i in range(max(len(schema.inputs) for schema in schemas)):
            having = [schema for schema in schemas if i < len(schema.inputs)]
            same = [j for j in range(i) if all(one.inputs[i].type_str == one.inputs[j].type_str for one in having)]
            letters.append(letters[same[0]] if same else chr(ord("a") + len(set(letters))))
            options = {str(schema.inputs[i].option).split(".")[-1] if i < len(schema.inputs) else "Optional"
                       for schema in schemas}
            text.append(letters[-1] + ("*" if "Variadic" in options else "?" if "Optional" in options else ""))
        return " ".join(text)

    def test_an_engine_that_reads_onnx_says_so(self):
        result = self.run_tool("engines", "onnxruntime", "--ops", expect=1)
        self.assertIn("onnxruntime reads ONNX files itself", result.stderr)
        self.assertIn("--ops`", result.stderr)
        result = self.run_tool("engines", "--output-format", "md", expect=2)
        self.assertIn("--output-format md is the table of --ops only", result.stderr)


class Others(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.environment["ASSAY_ENGINE_PATH"] = str(self.folder / "engines")

    def engine(self, name, **keys):
        folder = self.folder / "engines" / name
        folder.mkdir(parents=True)
        content = {"name": name, "hardware": ["cpu"], "formats": ["onnx"], **keys}
        (folder / "engine.json").write_text(json.dumps(content, indent=1))
        shutil.copy(NULL, folder / f"assay_engine_{name}.so")
        return folder / "engine.json"

    def test_listing(self):
        self.engine("ours", framework="OurFrame", shapes="static", kv_cache=["static"])
        (engine,) = self.run_json("engines", "ours")["engines"]
        self.assertTrue(engine["available"], engine)
        self.assertEqual((engine["framework"], engine["shapes"], engine["kv_cache"]), ("ourframe", "static", ["static"]))
        names = [engine["name"] for engine in self.run_json("engines")["engines"]]
        self.assertEqual(names[0], "onnxruntime")
        self.assertEqual(names[-1], "ours")

    def test_the_options_and_the_output_of_bench_know_it(self):
        self.engine("ours", framework="OurFrame", needs_model=False)
        text = " ".join(self.run_tool("bench", "--help", expect=0).stdout.split())
        self.assertIn("null, ours.", text)
        self.assertIn("--framework both|pytorch|jax|ourframe", text)
        self.assertIn("ourframe selects ours", text)
        result = self.run_tool("bench", "--framework", "ourframe", "--output-dir", "out", *FAST, expect=0)
        self.assertIn("OurFrame Benchmark: ours\n", result.stdout)
        self.assertIn("Wall time per iteration:", result.stdout)
        self.assertIn("did you mean ourframe", self.run_tool("bench", "--framework", "ourfrme", expect=2).stderr)

    def test_lines_of_the_listings_fit_the_terminal(self):
        self.engine("ours")
        (self.folder / "engines" / "ours" / "assay_engine_ours.so").unlink()
        self.engine("wrong", formats=["ours"], hardwear="cpu")
        width = 72
        for command, word in (("engines", "ours "), ("hardware", "cuda ")):
            lines = on_terminal([tool.BINARY, command], width, self.folder, self.environment)
            self.assertTrue(any(line.startswith(word) for line in lines), lines)
            for line in lines:
                self.assertTrue(len(line) <= width or " " not in line.strip(), line)  # a path is not divided

    def test_why_its_cells_did_not_start_is_said_once(self):
        self.engine("ours")
        (self.folder / "engines" / "ours" / "assay_engine_ours.so").unlink()
        for command in (["verify", "vit", "--engine", "ours"], ["run", "--models-set", "small", "--engine", "ours"]):
            result = subprocess.run([tool.BINARY, *command], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=tool.DEADLINE)
            said = " ".join((result.stdout + result.stderr).split())
            self.assertEqual(said.count("the plug-in of engine ours is missing"), 1, said)
            self.assertIn("unavailable (no_runtime)", said)

    def test_rows_have_its_name_framework_and_key(self):
        self.engine("ours", framework="OurFrame", needs_model=False)
        (row,) = self.run_json("bench", "--engine", "ours", *FAST)["results"]
        self.assertEqual((row["status"], row["engine"], row["framework"], row["hardware"]), ("completed", "ours", "ourframe", "cpu"))
        self.assertEqual((row["reference"], row["verification"]), ("given", "verified"), "it is its own reference")

    def test_files_in_its_own_format(self):
        self.engine("ours", formats=["ours"])
        (self.folder / "m.ours").write_text("a model")
        (row,) = self.run_json("bench", "--engine", "ours", "--model", "m.ours", *FAST)["results"]
        self.assertEqual((row["status"], row["verification"], row["weights"]), ("completed", "unverified", "given"), row)
        self.assertIn("cpu@ours", self.run_tool("verify", "m.ours", "--engine", "ours", "--batch-sizes", "1", expect=4).stdout)
        (row,) = self.run_json("bench", "--engine", "null", "--model", "m.ours", *FAST, expect=1)["results"]
        self.assertEqual(row["status"], "unsupported")
        self.assertIn("null does not read .ours files; it reads null, onnx", row["message"])
        (self.folder / "m.stablehlo").write_text("a model")
        (row,) = self.run_json("bench", "--engine", "ours", "--model", "m.stablehlo", *FAST, expect=1)["results"]
        self.assertEqual(row["status"], "unsupported")
        self.assertIn("ours does not read .stablehlo files; it reads ours", row["message"])

    def test_a_kv_cache_that_it_does_not_run(self):
        self.engine("ours", kv_cache=["static"])
        golden = tool.SOURCE / "tests" / "goldens" / "llama"
        common = ["bench", "--engine", "ours", "--model-id", str(golden), "--sequence-lengths", "4", "--output-tokens", "2",
                  "--kv-cache", "growing", *FAST]
        (row,) = self.run_json(*common, expect=1)["results"]
        self.assertEqual(row["status"], "unsupported")
        self.assertIn("ours does not run graphs with a growing KV cache", row["message"])

    def test_a_mistake_costs_the_others_nothing(self):
        self.engine("good")
        path = self.engine("bad", hardwear=["cpu"])
        result = self.run_tool("engines", expect=0)
        self.assertIn(f"left out: {path}:9: unknown key \"hardwear\"; did you mean \"hardware\"?", result.stdout)
        self.assertIn("\ngood ", result.stdout)
        result = self.run_tool("engines", "bad", expect=2)
        self.assertIn("hardwear", result.stderr)
        self.assertIn("hardwear", self.run_tool("bench", "--engine", "null", *FAST, "--output-dir", "out", expect=0).stderr)

    def test_check_names_what_is_missing(self):
        (self.folder / "engines").mkdir()
        self.assertIn("NAME", self.run_tool("engines", "--check", expect=2).stderr)
        result = self.run_tool("engines", "browser", "--check")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("browser cannot be checked", result.stderr)

    def test_check_finds_what_is_not_as_the_file_says(self):
        self.engine("ours", formats=["ours"])
        result = self.run_tool("engines", "ours", "--check", expect=1)
        self.assertRegex(result.stdout, r"FAILED.*AgreesWithItsEngineFile/ours", "the plug-in calls itself null")
        self.assertIn("ours reads no ONNX", result.stdout)
        self.assertRegex(result.stdout, r"OK \].*ReportsItsVersionDevicesAndOptions/ours")


tool.main()
