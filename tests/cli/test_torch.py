# SPDX-License-Identifier: Apache-2.0
"""TorchScript: the files that assay writes and those that users bring, and what is wrong with a file or an installation."""
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest
import zipfile

import numpy
import tool

MODEL = "prajjwal1/bert-tiny"
TORCH = pathlib.Path(tool.DEPS) / "libtorch/torch/lib"


class TorchTest(tool.ToolTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.built = pathlib.Path(cls.cache.name) / "bert.pt"
        command = [tool.BINARY, "zoo", "build", MODEL, "-o", str(cls.built), "--allow-random-weights", "--batch-size", "2", "--sequence-length", "16"]
        done = subprocess.run(command, env={**os.environ, "HF_HUB_OFFLINE": "1", "ASSAY_CACHE_DIR": cls.cache.name}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def bench(self, model, *arguments, expect=0):
        rows = self.run_json("bench", "--engine", "libtorch", "--model", model, "--batch-sizes", "2", "--iterations", "5", "--warmup", "1", "--quiet",
                             *arguments, expect=expect)["results"]
        self.assertEqual(len(rows), 1)
        return rows[0]

    def changed(self, name, change):
        """A copy of the file whose records `change` may rename, replace or remove (with None)."""
        path = self.folder / name
        with zipfile.ZipFile(self.built) as whole, zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as copy:
            for record in whole.infolist():
                content = change(record.filename.split("/", 1)[1], whole.read(record))
                if content is not None:
                    copy.writestr(record.filename, content)
        return path

    def without_signature(self):
        return self.changed("bare.pt", lambda name, content: None if name == "extra/assay.json" else content)

    def signature(self):
        with zipfile.ZipFile(self.built) as whole:
            return json.loads(next(whole.read(name) for name in whole.namelist() if name.endswith("extra/assay.json")))


class Files(TorchTest):
    def test_a_file_that_assay_wrote_runs_and_has_its_signature(self):
        row = self.bench(self.built)
        self.assertEqual((row["status"], row["verification"]), ("completed", "unverified"))
        self.assertEqual([each["name"] for each in self.signature()["inputs"]], ["input_ids", "token_type_ids", "attention_mask"])

    def test_without_a_signature_the_error_shows_the_ways_to_give_it(self):
        row = self.bench(self.without_signature(), expect=2)
        self.assertEqual(row["reason_code"], "invalid_argument")
        self.assertIn("bare.pt' does not have the types and shapes of its inputs (x0, x1, x2)", row["message"])
        self.assertIn("give shapes with --shape, values with --data (x0.npy, x1.npy, x2.npy)", row["message"])
        self.assertIn("for example --shape x0:Bx3x224x224 --shape x1:Bx3x224x224", row["hint"])
        self.assertIn("bare.pt.json': {\"format_version\": 1, \"inputs\": [{\"name\": \"x0\", ", row["message"])

    def test_a_signature_beside_the_file(self):
        path = self.without_signature()
        inputs = [{**each, "shape": ["batch", 16]} for each in self.signature()["inputs"]]
        pathlib.Path(f"{path}.json").write_text(json.dumps({"format_version": 1, "inputs": inputs[:2]}))
        row = self.bench(path, expect=2)
        self.assertIn("the signature has 2 inputs (input_ids, token_type_ids), forward has 3 (x0, x1, x2)", row["message"])
        pathlib.Path(f"{path}.json").write_text(json.dumps({"format_version": 1, "inputs": [{**each, "shape": [2, 16]} for each in inputs]}))
        self.assertEqual(self.bench(path)["status"], "completed")

    def test_a_signature_from_shapes_by_name(self):
        path = self.without_signature().rename(self.folder / "bert.jit")
        row = self.bench(path, "--shape", ",".join(f"x{i}:2x16:int64" for i in range(3)))  # the file was lowered for this shape
        self.assertEqual(row["given_shapes"], "x0:Bx16,x1:Bx16,x2:Bx16")
        self.assertEqual((row["status"], row["verification"], row["input_shape"]), ("completed", "unverified", "x0=(2, 16), x1=(2, 16), x2=(2, 16)"), row["message"])
        for arguments, why in ((["--shape", "y:2x16:int64"], "--shape y: forward of '"), (["--shape", "x0:2x16:int64"], "'x1' has no --shape"), (["--shape", "y:2x16"], "has the arguments x0, x1, x2")):
            row = self.bench(path, *arguments, expect=2)
            self.assertIn(why, row["message"])
        # Its own signature says more: a shape must fit it.
        self.assertEqual(self.bench(self.built, "--shape", "input_ids:2x16")["status"], "completed")
        error = self.run_tool("bench", "--engine", "libtorch", "--model", self.built, "--shape", "input_ids:2x17", "--quiet", expect=2).stderr
        self.assertIn("extent 2 of the input 'input_ids' is fixed at 16", error)

    def test_a_signature_from_data(self):
        path = self.without_signature()
        (self.folder / "data").mkdir()
        for i in range(3):
            numpy.save(self.folder / f"data/x{i}.npy", numpy.ones((2, 16), "int64"))
        row = self.bench(path, "--data", "data")
        self.assertEqual(row["status"], "completed")

    def test_ids_are_drawn_from_the_table_of_the_model(self):
        golden = tool.SOURCE / "tests/goldens/bert"
        built = self.run_tool("zoo", "build", golden, "-o", "golden.pt", "--batch-size", 2, expect=0)
        self.assertIn("sequence length 64 instead of 128: the model has 64 positions", built.stderr)
        with zipfile.ZipFile(self.folder / "golden.pt") as whole:
            signature = json.loads(whole.read("golden/extra/assay.json"))
        limits = {each["name"]: each.get("index_limit") for each in signature["inputs"]}
        self.assertEqual((limits["input_ids"], limits["token_type_ids"], limits["attention_mask"]), (99, 2, None))
        row = self.bench(self.folder / "golden.pt")
        self.assertEqual(row["status"], "completed", row["message"])

        # A file of a user, whose signature states no limit, and then states one.
        for each in signature["inputs"]:
            each.pop("index_limit", None)
        sidecar = self.folder / "golden.pt.json"
        sidecar.write_text(json.dumps(signature))
        row = self.bench(self.folder / "golden.pt", expect=2)
        self.assertEqual(row["reason_code"], "invalid_argument")
        self.assertIn("the model fails with these inputs: index out of range in self", row["message"])
        self.assertIn("write \"index_limit\" for the input into FILE.pt.json", row["hint"])
        self.assertIn("assay drew the values of 'input_ids' from 0 to 999; --data gives others", row["hint"])
        for each in signature["inputs"]:
            if each["name"] == "input_ids":
                each["index_limit"] = 99
        sidecar.write_text(json.dumps(signature))
        self.assertEqual(self.bench(self.folder / "golden.pt")["status"], "completed")

    def test_a_custom_operator_is_unsupported_by_name(self):
        def custom(name, content):
            return content.replace(b"torch.layer_norm(", b"ops.mine.frobnicate(", 1) if name.endswith(".py") else content
        row = self.bench(self.changed("custom.pt", custom), expect=1)
        self.assertEqual((row["status"], row["reason_code"]), ("unsupported", "unsupported"))
        self.assertIn("mine::frobnicate", row["message"])

    def test_a_file_of_a_newer_pytorch_is_unsupported_with_both_versions(self):
        row = self.bench(self.changed("newer.pt", lambda name, content: b"9999\n" if name in ("version", ".data/version") else content), expect=1)
        self.assertEqual((row["status"], row["reason_code"]), ("unsupported", "unsupported"))
        self.assertIn("version 9999, but the maximum supported version for reading is", row["message"])

    def test_a_torn_file(self):
        path = self.folder / "torn.pt"
        path.write_bytes(self.built.read_bytes()[:-3000])
        result = self.run_tool("bench", "--engine", "libtorch", "--model", path, "--quiet", expect=2)
        self.assertIn("torn.pt", result.stderr + result.stdout)

    def test_a_pickle_names_the_line_that_converts_it(self):
        path = self.folder / "pickled.pt"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr("pickled/data.pkl", b"\x80\x02}q\x00.")
            archive.writestr("pickled/version", b"3\n")
        result = self.run_tool("bench", "--engine", "libtorch", "--model", path, "--quiet", expect=2)
        self.assertIn("is a Python pickle (torch.save), not TorchScript", result.stderr)
        self.assertIn("torch.jit.script(m).save(", result.stderr)

    def archive(self, name, **records):
        """A file with the entries that PyTorch 2.15 writes into all its archives, and these."""
        path = self.folder / name
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
            for record in ("archive_format", "archive_version", ".data/version", "byteorder", ".data/serialization_id", *records):
                content = {"archive_format": b"pt2", "archive_version": b"0", ".data/version": b"6\n", "byteorder": b"little"}.get(record, b"{}")
                archive.writestr(f"{path.stem}/{record}", records.get(record, content))
        return path

    def test_an_exported_program_says_what_converts_it(self):
        # The values of its arguments are a pickle inside of it.
        pickle = self.folder / "model.pt"
        with zipfile.ZipFile(pickle, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr("model/data.pkl", b"\x80\x02}q\x00.")
        records = {"data/weights/weight_0": b"\0\0\0\0", "data/weights/model_weights_config.json": b"{}",
                   "data/constants/model_constants_config.json": b'{"config": {}}', "models/model.json": b"{}",
                   "data/sample_inputs/model.pt": pickle.read_bytes()}
        for name in ("exported.pt2", "exported.pt"):
            row = self.bench(self.archive(name, **records), expect=1)
            self.assertEqual((row["status"], row["reason_code"]), ("unsupported", "unsupported"), name)
            self.assertIn("is a program of torch.export, which PyTorch runs in Python only", row["message"])
            self.assertIn("m = torch.export.load(sys.argv[1]); ", row["hint"])

    def test_machine_code_of_a_program_is_unsupported(self):
        for name in ("compiled.pt2", "compiled.pt"):
            row = self.bench(self.archive(name, **{"data/aotinductor/model/code.so": b"\x7fELF"}), expect=1)
            self.assertEqual((row["status"], row["reason_code"]), ("unsupported", "unsupported"), name)
            self.assertIn("is a package of AOTInductor: machine code of one processor", row["message"])


class Installations(tool.ToolTest):
    """Another libtorch than the one that was tested: the row says so, and the other engine's cell runs."""

    def rows(self, expect):
        rows = self.run_json("bench", "--engine", "libtorch", "null", "--model-id", MODEL, "--batch-sizes", "1", "--iterations", "5", "--warmup", "1",
                             "--quiet", expect=expect)["results"]
        return {row["engine"]: row for row in rows}

    def install(self, **changed):
        """A folder like that of the wheel, with links to its files, or what `changed` has for them."""
        torch = self.folder / "torch"
        (torch / "lib").mkdir(parents=True)
        shutil.copy(TORCH.parent / "version.py", torch / "version.py")
        for file in TORCH.iterdir():
            (torch / "lib" / file.name).symlink_to(file)
        for name, content in changed.items():
            target = torch / name.replace("__", "/").replace("_so", ".so").replace("_py", ".py")
            target.unlink()
            if content is not None:
                target.write_bytes(content)
        self.environment["ASSAY_LIBTORCH_HOME"] = str(torch / "lib")

    def test_a_library_is_missing(self):
        self.install(lib__libc10_so=None)
        rows = self.rows(expect=0)
        self.assertEqual((rows["libtorch"]["status"], rows["libtorch"]["reason_code"]), ("unavailable", "no_runtime"))
        self.assertIn("libc10.so", rows["libtorch"]["message"])
        self.assertEqual(rows["null"]["status"], "completed")

    def test_a_library_was_cut_short(self):
        with (TORCH / "libtorch_cpu.so").open("rb") as whole:
            self.install(lib__libtorch_cpu_so=whole.read(1 << 20))
        rows = self.rows(expect=0)
        self.assertEqual((rows["libtorch"]["status"], rows["libtorch"]["reason_code"]), ("unavailable", "no_runtime"))
        self.assertIn("is not whole: it has 1048576 of at least", rows["libtorch"]["message"])
        self.assertEqual(rows["null"]["status"], "completed")

    def test_another_version(self):
        self.install(version_py=b"__version__ = '2.9.1+cpu'\n")
        rows = self.rows(expect=0)
        self.assertEqual(rows["libtorch"]["status"], "unavailable")
        self.assertIn("is version 2.9.1+cpu; this engine was built for 2.", rows["libtorch"]["message"])
        self.assertEqual(rows["null"]["status"], "completed")


def tensors(path):
    """The arrays of a .safetensors file."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + length])
    types = {"F32": "float32", "I64": "int64", "BOOL": "bool"}
    return {name: numpy.frombuffer(content[8 + length:][slice(*about["data_offsets"])], types[about["dtype"]]).reshape(about["shape"])
            for name, about in header.items() if name != "__metadata__"}


@unittest.skipUnless(importlib.util.find_spec("torch"), "Python has no torch (docs/building.md, Tests)")
class InPython(tool.ToolTest):
    def test_the_lines_that_convert_files_of_pytorch_convert_them(self):
        code = ("import torch; m = torch.nn.Bilinear(3, 3, 2).eval(); m.requires_grad_(False); x = torch.ones(2, 3); "
                "save = lambda name, *a, **k: torch.export.save(torch.export.export(m, a, kwargs=k), name); "
                "save('plain.pt2', x, x); save('mixed.pt', x, input2=x); save('named.pt2', input1=x, input2=x); torch.save(m, 'pickle.pt')")
        subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=self.folder, check=True)
        for name in ("plain.pt2", "mixed.pt", "named.pt2"):
            rows = self.run_json("bench", "--engine", "libtorch", "--model", name, "--iterations", 5, "--quiet", expect=1)["results"]
            self.assertEqual((rows[0]["status"], "torch.export" in rows[0]["message"]), ("unsupported", True), rows[0]["message"])
            line = rows[0]["hint"].removeprefix("convert it: ").replace("python3", f"{sys.executable} -W ignore").replace("FILE.pt2", name)
            subprocess.run(line.replace("FILE.script.pt", "converted.pt"), shell=True, cwd=self.folder, check=True)
            value = {"dtype": "float32", "shape": [2, 3]}
            (self.folder / "converted.pt.json").write_text(json.dumps({"format_version": 1, "inputs": [{"name": each, **value} for each in "ab"]}))
            rows = self.run_json("bench", "--engine", "libtorch", "--model", "converted.pt", "--batch-sizes", 2, "--iterations", 5, "--quiet")["results"]
            self.assertEqual(rows[0]["status"], "completed", rows[0]["message"])
        result = self.run_tool("bench", "--engine", "libtorch", "--model", "pickle.pt", "--quiet", expect=2)
        self.assertIn("is a Python pickle (torch.save), not TorchScript", result.stderr)

    def test_pytorch_in_python_computes_a_golden_from_the_file(self):
        golden = tool.SOURCE / "tests/goldens/bert"
        inputs, expected = tensors(golden / "inputs.safetensors"), tensors(golden / "outputs.safetensors")
        batch, sequence = inputs["input_ids"].shape
        self.run_tool("zoo", "build", golden, "-o", "bert.pt", "--batch-size", batch, "--sequence-length", sequence, expect=0)
        with zipfile.ZipFile(self.folder / "bert.pt") as archive:
            signature = json.loads(next(archive.read(name) for name in archive.namelist() if name.endswith("extra/assay.json")))
        for i, each in enumerate(signature["inputs"]):
            numpy.save(self.folder / f"x{i}.npy", inputs[each["name"]])
        code = ("import numpy, sys, torch; m = torch.jit.load('bert.pt'); "
                "x = [torch.from_numpy(numpy.load(f'x{i}.npy')) for i in range(int(sys.argv[1]))]; "
                "[numpy.save(f'y{i}.npy', y.detach().numpy()) for i, y in enumerate(m(*x))]")
        subprocess.run([sys.executable, "-c", code, str(len(signature["inputs"]))], cwd=self.folder, check=True)
        tolerance = json.loads((golden / "meta.json").read_text())
        mask = inputs["attention_mask"].astype(bool)
        for i, each in enumerate(signature["outputs"]):
            found, right = numpy.load(self.folder / f"y{i}.npy"), expected[each["name"]]
            self.assertEqual(found.shape, right.shape)
            if found.shape[:2] == mask.shape:  # positions of padding do not count
                found, right = found[mask], right[mask]
            numpy.testing.assert_allclose(found, right, atol=tolerance["tolerance_atol"], rtol=tolerance["tolerance_rtol"])


if __name__ == "__main__":
    tool.main()
