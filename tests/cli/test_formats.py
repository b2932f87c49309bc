# SPDX-License-Identifier: Apache-2.0
"""What is written can be read back by others' readers, and every format says the same."""
import csv
import json
import tool


class Formats(tool.ToolTest):
    def test_csv_says_what_json_says(self):
        rows = self.null("--output-dir", "out", "--engine-option", "chatter=a \"b\", c", batch="1 4")
        file, = (self.folder / "out").glob("benchmark_results_*.csv")
        with file.open(newline="") as text:
            table = list(csv.DictReader(text))
        self.assertEqual(len(table), len(rows))
        for line, row in zip(table, rows):
            self.assertEqual(list(line), list(row))
            self.assertIn("\"b\", c", line["engine_options"])
            for name, value in row.items():
                read = None if line[name] == "" else line[name] if isinstance(value, str) else json.loads(line[name])
                self.assertEqual(read, value, name)

    def test_each_device_has_a_file_of_its_own(self):
        self.run_tool("bench", "--model-id", "prajjwal1/bert-tiny", "--device", "qnn,tpu", "--batch-sizes", "1", "--output-dir", "out", "--quiet")
        files = sorted((self.folder / "out").glob("[!.]*.json"))
        self.assertEqual([file.name.rsplit("_", 2)[0] for file in files],
                         ["prajjwal1_bert-tiny_qnn_float32", "prajjwal1_bert-tiny_tpu_float32"])
        for file, hardware in zip(files, ("qnn", "tpu")):
            self.assertEqual([row["hardware"] for row in json.loads(file.read_text())["results"]], [hardware])

    def test_a_person_can_read_what_machine_and_software_it_was(self):
        document = self.run_json("bench", "--engine", "null", "--iterations", "5", "--quiet")
        environment = document["environment"]
        self.assertTrue(environment["processor"])
        self.assertIn("-with-glibc", environment["platform"])
        self.assertGreater(environment["memory_gb"], 0)
        self.assertEqual(environment["assay"], document["run"]["tool_version"])
        self.assertEqual(list(environment["runtimes"]), ["null"])

    def test_results_of_the_same_second_do_not_overwrite_each_other(self):
        for _ in range(3):
            self.null("--output-dir", "out")
        self.assertEqual(len(list((self.folder / "out").glob("benchmark_results_*.csv"))), 3)


if __name__ == "__main__":
    tool.main()
