# SPDX-License-Identifier: Apache-2.0
"""The goldens of the large collection that passed once: none may stop passing, on either engine."""
import pathlib
import tempfile
import unittest

import tool

LIST = tool.SOURCE / "tests" / "goldens" / "passing.txt"


def names():
    return [line for line in LIST.read_text().split("\n") if line]


class Passing(tool.ToolTest):
    def test_the_list_is_sorted_and_without_doubles(self):
        self.assertEqual(names(), sorted(set(names())))

    @unittest.skipUnless(tool.GOLDENS, "ASSAY_GOLDENS_DIR is not set")
    def test_every_golden_of_the_list_passes_on_both_engines(self):
        collection = pathlib.Path(tool.GOLDENS).resolve()
        with tempfile.TemporaryDirectory(prefix="assay-goldens-") as folder:
            for name in names():
                self.assertTrue((collection / name / "meta.json").is_file(), f"{name} is not in the collection")
                (pathlib.Path(folder) / name).symlink_to(collection / name)
            for engine in ("onnxruntime", "openvino"):
                with self.subTest(engine=engine):
                    result = self.run_json("zoo", "check", folder, "--engine", engine, expect=None, timeout=1500)
                    lost = [(r["name"], r["status"], r["message"]) for r in result["results"] if r["status"] != "passed"]
                    self.assertEqual(lost, [])
                    self.assertEqual(result["passed"], len(names()))


if __name__ == "__main__":
    tool.main()
