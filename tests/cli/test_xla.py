# SPDX-License-Identifier: Apache-2.0
"""StableHLO files of users, and jaxlib or Python in a state in which the engine xla cannot use them: each gets the right verdict, and the
next cell runs."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import tool

TWICE = """module @twice {
  func.func public @main(%pixels: tensor<2x3xf32>) -> (tensor<2x3xf32>) {
    %0 = stablehlo.add %pixels, %pixels : tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}
"""
# Sorts 2^46 numbers, which no processor can address.
LARGE = """module @large {
  func.func public @main(%pixels: tensor<2x3xf32>) -> tensor<2xf32> {
    %0 = stablehlo.slice %pixels [0:1, 0:1] : (tensor<2x3xf32>) -> tensor<1x1xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x1xf32>) -> tensor<f32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<70368744177664xf32>
    %3 = stablehlo.iota dim = 0 : tensor<70368744177664xf32>
    %4 = stablehlo.multiply %2, %3 : tensor<70368744177664xf32>
    %5 = "stablehlo.sort"(%4) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
    }) {dimension = 0 : i64} : (tensor<70368744177664xf32>) -> tensor<70368744177664xf32>
    %6 = stablehlo.slice %5 [0:2] : (tensor<70368744177664xf32>) -> tensor<2xf32>
    return %6 : tensor<2xf32>
  }
}
"""
CUSTOM = """module {
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.custom_call @cusolver_potrf_ffi(%x) {api_version = 4 : i32, backend_config = {}} : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
"""
PACKAGES = pathlib.Path(tool.DEPS) / "xla"


@unittest.skipUnless(PACKAGES.is_dir(), "jaxlib is not installed")
class Files(tool.ToolTest):
    def bench(self, *models, expect=0):
        """Status, reason and message of each row."""
        rows = self.run_json("bench", "--engine", "xla", "--model", *models, "--batch-sizes", 2, "--iterations", 5, "--quiet", expect=expect)
        return [(row["status"], row["reason_code"], row["message"]) for row in rows["results"]]

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return name

    def test_texts_run_without_a_reference(self):
        for name in ("twice.mlir", "twice.stablehlo", "zwéi mål.mlir"):
            (status, reason, message), = self.bench(self.write(name, TWICE))
            self.assertEqual((status, reason), ("completed", None), message)

    def test_a_text_that_assay_wrote_has_the_positions_and_the_rows_of_the_model(self):
        built = self.run_tool("zoo", "build", tool.SOURCE / "tests/goldens/bert", "-o", "bert.stablehlo", "--batch-size", 2, expect=0)
        self.assertIn("sequence length 64 instead of 128: the model has 64 positions", built.stderr)
        inputs = {each["name"]: each for each in json.loads((self.folder / "bert.stablehlo.json").read_text())["inputs"]}
        self.assertEqual((inputs["input_ids"]["shape"], inputs["input_ids"]["index_limit"]), ([2, 64], 99))
        self.assertNotIn("index_limit", inputs["attention_mask"])
        (status, _, message), = self.bench("bert.stablehlo")
        self.assertEqual(status, "completed", message)

    def test_a_syntax_error_has_its_place_and_the_next_model_runs(self):
        bad = self.write("bad.mlir", TWICE.replace("add %pixels,", "add %pixels"))
        first, second = self.bench(bad, self.write("good.mlir", TWICE), expect=2)
        self.assertEqual(first, ("failed", "invalid_argument", "'bad.mlir' is not a StableHLO module: line 3, column 31: expected ','"))
        self.assertEqual(second[0], "completed")

    def test_open_extents_are_unsupported(self):
        (status, _, message), = self.bench(self.write("open.mlir", TWICE.replace("2x3", "?x3")), expect=1)
        self.assertEqual(status, "unsupported")
        self.assertIn("argument 0 of main has open extents: tensor<?x3xf32>", message)

    def test_a_module_without_main_is_refused(self):
        (status, reason, message), = self.bench(self.write("other.mlir", TWICE.replace("@main", "@other")), expect=2)
        self.assertEqual((status, reason), ("failed", "invalid_argument"))
        self.assertIn("'other.mlir' has no function main", message)

    def test_a_sidecar_that_does_not_fit_is_refused(self):
        self.write("twice.mlir.json", '{"format_version": 1, "inputs": [], "outputs": [], "weights": []}')
        (status, reason, message), = self.bench(self.write("twice.mlir", TWICE), expect=2)
        self.assertEqual((status, reason), ("failed", "invalid_argument"))
        self.assertIn("main has 1 arguments, 'twice.mlir.json' has 0", message)


    def test_an_incomplete_entry_of_a_sidecar_is_named(self):
        self.write("twice.mlir.json", '{"format_version": 1, "inputs": [], "outputs": [], "weights": [{"name": "w", "dtype": "float32", "shape": [2, 3], "file": "w"}]}')
        (status, reason, message), = self.bench(self.write("twice.mlir", TWICE), expect=2)
        self.assertEqual((status, reason), ("failed", "invalid_argument"))
        self.assertIn("'twice.mlir.json' is not the signature of a lowered model: the weight 'w' has no \"offset\"", message)

    def test_a_run_that_needs_more_memory_than_there_is(self):
        (status, reason, message), = self.bench(self.write("large.mlir", LARGE), expect=1)
        self.assertEqual((status, reason), ("failed", "out_of_memory"), message)
        self.assertIn("Out of memory allocating 281474976710656 bytes", message)


# Writes modules of jax into the working folder. Two processors, so that a mesh may have one or two.
MODULES = """
import numpy as np, jax, jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec
x = jax.ShapeDtypeStruct((4, 4), jnp.float32)
def write(name, f, **how):
    open(name + ".stablehlo", "w").write(jax.jit(f, **how).lower(x).as_text())
write("cholesky", lambda x: jnp.linalg.cholesky(x @ x.T + 4 * jnp.eye(4)))
write("qr", lambda x: jnp.linalg.qr(x))
write("svd", lambda x: jnp.linalg.svd(x)[1])
write("solve", lambda x: jnp.linalg.solve(x @ x.T + 4 * jnp.eye(4), x))
write("fft", lambda x: jnp.abs(jnp.fft.fft(x)))
write("callback", lambda x: jax.pure_callback(np.asarray, x, x))
for count in 1, 2:
    rows = NamedSharding(Mesh(np.array(jax.devices()[:count]), ("d",)), PartitionSpec("d", None))
    write(f"mesh{count}", lambda x: jax.lax.with_sharding_constraint(2 * x, rows).sum(0), in_shardings=rows)
open("exported.mlir", "wb").write(jax.export.export(jax.jit(jnp.linalg.cholesky))(x).mlir_module_serialized)
"""


@unittest.skipUnless((PACKAGES / "jax").is_dir() and sys.version_info[:2] == (3, 11), "jax is not installed for this Python")
class OfJax(tool.ToolTest):
    """Files that jax writes, as docs/lowering.md says."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.modules = pathlib.Path(cls.cache.name) / "modules"
        cls.modules.mkdir()
        environment = {**os.environ, "PYTHONPATH": str(PACKAGES), "XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
        subprocess.run([sys.executable, "-c", MODULES], cwd=cls.modules, env=environment, check=True)

    def rows(self, *names, expect=0):
        found = self.run_json("bench", "--engine", "xla", "--model", *(self.modules / name for name in names), "--iterations", 5, "--quiet", expect=expect)
        return [(row["status"], row["message"]) for row in found["results"]]

    def test_modules_with_shardings_and_lapack_run(self):
        names = ["cholesky.stablehlo", "qr.stablehlo", "svd.stablehlo", "solve.stablehlo", "fft.stablehlo", "mesh1.stablehlo", "exported.mlir"]
        self.assertIn("sdy.sharding", (self.modules / "mesh1.stablehlo").read_text())
        self.assertIn("lapack_spotrf_ffi", (self.modules / "cholesky.stablehlo").read_text())
        for name, row in zip(names, self.rows(*names), strict=True):
            self.assertEqual(row[0], "completed", f"{name}: {row[1]}")

    def test_what_cannot_run_is_unsupported_and_named(self):
        (self.folder / "gpu.mlir").write_text(CUSTOM)
        names = ["mesh2.stablehlo", "callback.stablehlo", self.folder / "gpu.mlir"]
        said = ["is a program for several devices (2 partitions)", "calls a Python function of the program that made it", "cusolver_potrf_ffi"]
        for (status, message), right in zip(self.rows(*names, expect=1), said, strict=True):
            self.assertEqual(status, "unsupported", message)
            self.assertIn(right, message)

    def test_without_scipy_the_row_says_what_is_missing(self):
        folder = self.folder / "packages"
        folder.mkdir()
        for file in PACKAGES.iterdir():
            if not file.name.startswith("scipy"):
                (folder / file.name).symlink_to(file)
        self.environment["ASSAY_XLA_HOME"] = str(folder)
        first, second = self.rows("cholesky.stablehlo", "fft.stablehlo", expect=1)
        self.assertEqual((first[0], second[0]), ("unsupported", "completed"))
        self.assertIn("'cholesky.stablehlo' calls 'lapack_spotrf_ffi', and the library of jaxlib with this function cannot be opened: No module named 'scipy'", first[1])


@unittest.skipUnless(PACKAGES.is_dir(), "jaxlib is not installed")
class Runtime(tool.ToolTest):
    def unavailable(self):
        """The message of a cell of xla, beside which one of another engine completes."""
        rows = self.run_json("bench", "--engine", "xla", "onnxruntime", "--model", "zoo:bert", "--size", "tiny", "--batch-sizes", 1,
                             "--iterations", 5, "--quiet")["results"]
        self.assertEqual([(row["engine"], row["status"]) for row in rows], [("xla", "unavailable"), ("onnxruntime", "completed")])
        self.assertEqual(rows[0]["reason_code"], "no_runtime")
        return rows[0]["message"]

    def packages(self, without=()):
        """A folder of links to the packages, or to the files of jaxlib, except for some."""
        folder = self.folder / "packages"
        (folder / "jaxlib").mkdir(parents=True)
        for file in [*PACKAGES.iterdir(), *(PACKAGES / "jaxlib").iterdir()]:
            to = folder / file.relative_to(PACKAGES)
            if not to.exists() and not any(file.name.startswith(name) for name in without):
                to.symlink_to(file)
        self.environment["ASSAY_XLA_HOME"] = str(folder)
        return folder

    def test_a_wheel_without_its_version(self):
        self.packages(without=("jaxlib-",))
        self.assertIn("has a folder jaxlib, but not the jaxlib-VERSION.dist-info of its version", self.unavailable())

    def test_a_wheel_without_its_metadata(self):
        folder = self.packages(without=("jaxlib-",))
        known, = PACKAGES.glob("jaxlib-*.dist-info")
        (folder / known.name).mkdir()
        self.assertIn("the jaxlib-VERSION.dist-info in '", self.unavailable())

    def test_a_library_that_was_cut_short(self):
        folder = self.packages(without=("libjax_common.so",))
        with (PACKAGES / "jaxlib/libjax_common.so").open("rb") as whole:
            (folder / "jaxlib/libjax_common.so").write_bytes(whole.read(1 << 20))
        self.assertRegex(self.unavailable(), "libjax_common.so is not whole: it has 1048576 of at least")

    def test_a_source_that_was_cut_short(self):
        folder = self.packages(without=("xla_client.py",))
        (folder / "jaxlib/xla_client.py").write_text("def profiler(")
        self.assertRegex(self.unavailable(), "jaxlib in '.*' is not complete: '\\(' was never closed")

    def test_a_wheel_without_a_module(self):
        self.packages(without=("_jax.",))
        self.assertRegex(self.unavailable(), "jaxlib in '.*' is not complete: cannot import name '_jax'.*install jaxlib again")

    def test_another_version_than_was_tested(self):
        folder = self.packages(without=("jaxlib-",))
        known, = PACKAGES.glob("jaxlib-*.dist-info")
        other = folder / "jaxlib-0.11.1.dist-info"
        other.mkdir()
        shutil.copy(known / "WHEEL", other)
        (other / "METADATA").write_text("Metadata-Version: 2.1\nName: jaxlib\nVersion: 0.11.1\n")
        self.assertRegex(self.unavailable(), "is version 0.11.1, but this plug-in was tested with 0.10; `pip install --target FOLDER")

    def test_another_python_than_the_interpreter(self):
        folder = self.packages(without=("jaxlib-",))
        known, = PACKAGES.glob("jaxlib-*.dist-info")
        other = folder / known.name
        other.mkdir()
        shutil.copy(known / "METADATA", other)
        (other / "WHEEL").write_text("Wheel-Version: 1.0\nTag: cp313-cp313-manylinux_2_27_x86_64\n")
        self.assertRegex(self.unavailable(), "is for Python 3.13, but this plug-in starts Python 3.11")

    def test_a_plug_in_for_another_device_is_listed_and_not_run(self):
        notes = self.run_json("engines", "xla")["engines"][0]["notes"]
        self.assertIn("no plug-in of jax in '", notes["cuda"])
        folder = self.packages()
        about = folder / "jax_cuda13_plugin-0.10.2.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: jax-cuda13-plugin\nVersion: 0.10.2\n")
        (about / "entry_points.txt").write_text("[jax_plugins]\nxla_cuda13 = jax_plugins.xla_cuda13\n")
        (folder / "jax_plugins/xla_cuda13").mkdir(parents=True)
        (folder / "jax_plugins/xla_cuda13/__init__.py").write_text("raise SystemExit('nothing may import this')")
        engine, = self.run_json("engines", "xla")["engines"]
        found = "found jax's plug-in xla_cuda13 (jax-cuda13-plugin 0.10.2), which is not run in this version of assay"
        self.assertEqual(engine["notes"]["cuda"], found)
        self.assertIn("no plug-in of jax in '", engine["notes"]["tpu"])
        self.assertEqual([device["id"] for device in engine["devices"]], ["cpu"])
        text = " ".join(self.run_tool("engines", "xla", expect=0).stdout.split())
        self.assertIn(f"no device for cuda: {found}", text)

    def test_an_interpreter_that_does_not_start(self):
        self.environment["ASSAY_XLA_PYTHON"] = str(self.folder / "nowhere")
        self.assertRegex(self.unavailable(), "the interpreter of Python 3.11 does not start with the prefix '.*nowhere'")


if __name__ == "__main__":
    tool.main()
