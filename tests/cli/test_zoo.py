# SPDX-License-Identifier: Apache-2.0
"""`assay zoo check` on goldens that are made from the committed ones."""
import json
import shutil
import struct
import zipfile

import tool

GOLDENS = tool.SOURCE / "tests" / "goldens"
PADDED = 1  # the sequence of the golden that ends in padding


def read_safetensors(path):
    """{name: (dtype, shape, bytes)}"""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    body = data[8 + length:]
    return {name: (t["dtype"], t["shape"], body[slice(*t["data_offsets"])]) for name, t in header.items()}


def write_safetensors(path, tensors):
    header, body = {}, b""
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def rows(tensor, first, count):
    """Rows of the leading axis."""
    dtype, shape, data = tensor
    size = len(data) // shape[0]
    return (dtype, [count] + shape[1:], data[first * size:(first + count) * size])


def twice(tensor):
    dtype, shape, data = rows(tensor, PADDED, 1)
    return (dtype, [2] + shape[1:], data * 2)


class SharedInputs(tool.ToolTest):
    """Every sequence of the batch is the golden's padded one; what forward spreads over the batch is given once."""

    def golden(self, *shared):
        folder = self.folder / "bert"
        shutil.copytree(GOLDENS / "bert", folder)
        for name in ("inputs", "outputs"):
            path = folder / (name + ".safetensors")
            write_safetensors(path, {key: rows(value, PADDED, 1) if key in shared else twice(value)
                                     for key, value in read_safetensors(path).items()})
        return folder

    def check(self, folder):
        (result,) = self.run_json("zoo", "check", folder, expect=None)["results"]
        return result

    def test_one_row_of_token_types_serves_the_batch(self):
        result = self.check(self.golden("token_type_ids"))
        self.assertEqual(result["status"], "passed", result)

    def test_one_row_of_the_mask_serves_the_batch(self):
        result = self.check(self.golden("attention_mask", "token_type_ids"))
        self.assertEqual(result["status"], "passed", result)

    def test_numbers_beyond_the_tolerance_fail_and_name_the_output(self):
        folder = self.golden()
        outputs = read_safetensors(folder / "outputs.safetensors")
        dtype, shape, data = outputs["pooler_output"]
        outputs["pooler_output"] = (dtype, shape, struct.pack("<f", 7.0) + data[4:])
        write_safetensors(folder / "outputs.safetensors", outputs)
        result = self.check(folder)
        self.assertEqual((result["status"], result["worst_output"]), ("failed", "pooler_output"), result)
        self.assertGreater(result["worst"], 1)
        self.assertIn("instead of 7", result["message"])

    def test_positions_that_the_mask_leaves_out_do_not_count(self):
        folder = self.golden()
        _, (_, length), data = read_safetensors(folder / "inputs.safetensors")["attention_mask"]
        mask = struct.unpack("<%dq" % length, data[:8 * length])
        outputs = read_safetensors(folder / "outputs.safetensors")
        for position, expected in ((mask.index(0), "passed"), (mask.index(1), "failed")):
            dtype, shape, data = outputs["last_hidden_state"]
            at = position * shape[2] * 4
            changed = dict(outputs, last_hidden_state=(dtype, shape, data[:at] + struct.pack("<f", 7.0) + data[at + 4:]))
            write_safetensors(folder / "outputs.safetensors", changed)
            self.assertEqual(self.check(folder)["status"], expected, position)


class Lowered(tool.ToolTest):
    """`zoo build -o` in a format of one set of shapes."""

    def has(self, engine):
        return any(each["name"] == engine and each["available"] for each in self.run_json("engines")["engines"])

    def test_a_text_has_its_signature_and_all_weights_beside_it(self):
        for name, begins in (("m.stablehlo", "module @assay"), ("n.mlir", "module @assay"), ("m.torchscript", "def forward(self, x0: Tensor")):
            built = self.run_json("zoo", "build", GOLDENS / "bert", "-o", name, "--batch-size", 2, "--sequence-length", 5)
            self.assertEqual(built["path"], name)
            shapes = {each["name"]: each["shape"] for each in built["inputs"]}
            self.assertEqual(shapes["input_ids"], [2, 5])
            self.assertTrue((self.folder / name).read_text().startswith(begins))
            sidecar = json.loads((self.folder / f"{name}.json").read_text())
            self.assertEqual({each["name"]: each["shape"] for each in sidecar["inputs"]}, shapes)
            self.assertEqual({each["file"] for each in sidecar["weights"]}, {f"{name}.weights"}, "no other file is needed")
            self.assertEqual(sum(each["bytes"] for each in sidecar["weights"]), (self.folder / f"{name}.weights").stat().st_size)
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name.startswith(".")], [], "temporary folders are removed")

    def test_an_engine_runs_the_text(self):
        if not self.has("xla"):
            self.skipTest("its runtime is not installed")
        self.run_tool("zoo", "build", GOLDENS / "bert", "-o", "m.stablehlo", "--sequence-length", 16, expect=0)
        (row,) = self.run_json("bench", "--model", "m.stablehlo", "--engine", "xla", "--batch-sizes", 1, "--iterations", 3, "--warmup", 1, "--quiet")["results"]
        self.assertEqual((row["status"], row["verification"]), ("completed", "unverified"), row["message"])

    def test_pytorch_writes_a_file_of_its_own(self):
        if not self.has("libtorch"):
            result = self.run_tool("zoo", "build", GOLDENS / "bert", "-o", "m.pt", expect=4)
            self.assertIn("libtorch", result.stderr)
            return
        self.run_tool("zoo", "build", GOLDENS / "bert", "-o", "m.pt", "--sequence-length", 16, expect=0)
        with zipfile.ZipFile(self.folder / "m.pt") as file:
            self.assertTrue(any("/code/" in name for name in file.namelist()), file.namelist())

    def test_an_extension_that_means_no_format_is_refused(self):
        for name in ("m.foo", "m.xml"):
            result = self.run_tool("zoo", "build", GOLDENS / "bert", "-o", name, expect=2)
            self.assertIn(f"assay does not write {name[1:]} files", result.stderr)
            self.assertFalse((self.folder / name).exists())

    def test_an_invalid_batch_writes_nothing(self):
        result = self.run_tool("zoo", "build", GOLDENS / "bert", "-o", "m.stablehlo", "--batch-size", 0, expect=2)
        self.assertIn("--batch-size", result.stderr)
        self.assertFalse((self.folder / "m.stablehlo").exists())


class Engines(tool.ToolTest):
    def test_a_folder_counts_once_on_however_many_engines(self):
        result = self.run_json("zoo", "check", GOLDENS / "bert", "--engines", "onnxruntime", "openvino")
        self.assertEqual((result["passed"], result["failed"], result["unsupported"]), (1, 0, 0))
        (row,) = result["results"]
        self.assertEqual(row["engines"], {"onnxruntime": "passed", "openvino": "passed"})

    def test_all_engines_are_looked_at_before_any_runs(self):
        for name, says in [("tensorlight", "onnxruntime, openvino"), ("null", "computes no model")]:
            result = self.run_tool("zoo", "check", GOLDENS / "bert", "--engines", "onnxruntime", name, expect=2)
            self.assertEqual(result.stdout, "")
            self.assertIn(name, result.stderr)
            self.assertIn(says, result.stderr)

    def test_an_engine_of_a_later_version_is_a_note_beside_one_that_is_here(self):
        result = self.run_tool("zoo", "check", GOLDENS / "bert", "--engines", "onnxruntime", "browser", expect=0)
        self.assertIn("passed 1, failed 0", result.stdout)
        self.assertIn("browser", result.stderr)
        result = self.run_tool("zoo", "check", GOLDENS / "bert", "--engine", "browser", expect=2)
        self.assertIn("not_built", result.stderr)

    def test_an_engine_that_is_not_here_cannot_tell(self):
        self.environment["ASSAY_OPENVINO_HOME"] = str(self.folder / "nowhere")
        result = self.run_tool("zoo", "check", GOLDENS / "bert", "--engine", "openvino", expect=4)
        self.assertIn("no_runtime", result.stderr)


if __name__ == "__main__":
    tool.main()
