# SPDX-License-Identifier: Apache-2.0
"""`assay plot`: charts of the database and of files, and what it says without data."""
import json
import os
import re
import struct

import tool

EXAMPLES = tool.SOURCE / "tests" / "exchange"
CHARTS = re.findall(r'KindEntry\{\s*Kind::\w+,\s*"(\w+)"', (tool.SOURCE / "src" / "show" / "chart" / "chart.cpp").read_text())
REPORTS = re.findall(r'\{"([a-z_]+)"(?:, "([a-z_]+)")?\}\}',
                     (tool.SOURCE / "src" / "show" / "report" / "named_reports.cpp").read_text().replace("\n", " "))
NOT_RANKED = "Dashed outline: not ranked"


def png_size(path):
    return struct.unpack(">II", path.read_bytes()[16:24])


def svg_size(path):
    width, height = re.search(r'width="(\d+)" height="(\d+)"', path.read_text()).groups()
    return int(width), int(height)


class Plot(tool.ToolTest):
    def plot(self, *arguments, expect=0):
        return self.run_tool("plot", *arguments, expect=expect)

    def files(self, folder="plots"):
        return sorted(os.listdir(self.folder / folder))

    def test_reports_name_only_charts_that_there_are(self):
        named = {name for each in REPORTS for name in each if name}
        self.assertIn("hardware_comparison", named)
        self.assertEqual(named - set(CHARTS), set())
        self.assertEqual(len(CHARTS), 22)

    def test_a_first_try_has_every_chart_that_one_target_can_have(self):
        rows = self.null("--save", batch="1 4")
        self.assertEqual([row["status"] for row in rows], ["completed"] * 2)
        listed = self.plot("--db-path", "benchmark_db.duckdb").stdout.split()
        self.assertEqual(sorted(path.removeprefix("./plots/") for path in listed), self.files())
        for name in ("hardware_comparison", "model_performance", "memory_usage", "architecture_comparison", "architecture_performance_matrix",
                     "batch_size_scaling", "latency_distribution", "samples_over_time"):
            self.assertIn(f"{name}.svg", self.files(), name)
            width, height = svg_size(self.folder / "plots" / f"{name}.svg")
            self.assertEqual(png_size(self.folder / "plots" / f"{name}.png"), (2 * width, 2 * height))

    def test_the_guides_options(self):
        self.null("--save")
        model = json.loads(self.run_tool("query", "--sql", "SELECT model, model_id FROM benchmark_results", "--format", "json",
                                         expect=0).stdout)["rows"][0]
        for name in filter(None, model.values()):
            self.plot("--db-path", "benchmark_db.duckdb", "--model-id", name, "--chart", "memory_usage", "--output", "of_model.svg")
            self.assertIn("<svg", (self.folder / "of_model.svg").read_text())
        self.plot("--db-path", "benchmark_db.duckdb", "--architecture-comparison", "--output", "architectures")
        self.assertEqual(self.files("architectures"), ["architecture_comparison.png", "architecture_comparison.svg"])
        said = self.plot("--model-id", "no-such-model", expect=2).stderr
        self.assertIn("no-such-model", said)

    def test_formats_themes_and_scales(self):
        self.null("--save")
        self.plot("--chart", "hardware_comparison", "--format", "svg,html,json", "--output", "all")
        self.assertEqual(self.files("all"), [f"hardware_comparison.{ending}" for ending in ("html", "json", "svg")])
        document = json.loads((self.folder / "all" / "hardware_comparison.json").read_text())
        self.assertEqual((document["schema_version"], document["chart"]), ("1.0", "hardware_comparison"))
        table = document["rows"]
        self.assertEqual([row["target"] for row in table], ["cpu@null"])
        self.assertGreater(table[0]["latency_p50_ms"], 0)
        html = (self.folder / "all" / "hardware_comparison.html").read_text()
        self.assertEqual(len(re.findall("<script>", html)), 1, "interactive")
        self.assertRegex(html, r"default-src 'none'; script-src 'sha256-[^' ]+'; style-src 'sha256-[^' ]+'; img-src data:;")
        self.assertNotRegex(html.split("<script>")[0], r'(src|srcset|href)="(?!data:|#)')
        self.assertLess(len(html), 1_000_000)
        light = (self.folder / "all" / "hardware_comparison.svg").read_text()
        self.plot("--chart", "hardware_comparison", "--theme", "dark", "--output", "dark.svg")
        dark = (self.folder / "dark.svg").read_text()
        self.assertTrue("#15181C" in dark and "#15181C" not in light and "#FFFFFF" in light)
        width, height = svg_size(self.folder / "dark.svg")
        for scale in ("1", "3"):
            self.plot("--chart", "hardware_comparison", "--scale", scale, "--output", "scaled.png")
            self.assertEqual(png_size(self.folder / "scaled.png"), (int(scale) * width, int(scale) * height))
        for wrong in (("--format", "gif"), ("--theme", "blue"), ("--scale", "9"), ("--chart", "no_such_chart"), ("--cell", "nope"), ("--series", "nope"),
                      ("--output", "one.svg"), ("--json-path", EXAMPLES / "guide.json", "--db-path", "benchmark_db.duckdb")):
            self.plot(*wrong, expect=2)

    def test_an_output_that_is_no_format_is_refused(self):
        for name in ("x.pdf", "charts.PNG", "out/a.jpeg"):
            for arguments in ([], ["--chart", "hardware_comparison"], ["--db-path", "nowhere.duckdb"]):
                error = self.plot(*arguments, "--output", name, expect=2).stderr
                self.assertIn(f"--output '{name}': a chart is not written as .{name.rpartition('.')[2]}", error)
                self.assertIn("name a folder, or a file that ends in .svg, .png, .html or .json", error)
                self.assertFalse((self.folder / name).exists())
        # A folder may have a dot in its name: one that is there, or with a / at its end.
        self.null("--save")
        (self.folder / "week.47").mkdir()
        for name in ("week.47", "week.48/", ".hidden"):
            self.plot("--chart", "hardware_comparison", "--output", name, "--format", "svg")
            self.assertEqual(self.files(name), ["hardware_comparison.svg"])

    def test_files_of_results_and_of_other_tools(self):
        self.plot("--json-path", EXAMPLES / "guide.json", "--format", "json", "--output", "guide")
        for name in ("hardware_comparison", "model_performance"):
            self.assertIn(f"{name}.json", self.files("guide"))
            table = json.loads((self.folder / "guide" / f"{name}.json").read_text())["rows"]
            self.assertEqual({row["status"] for row in table}, {"unverified, not ranked, mean"}, name)  # the guide's files have no median
        self.plot("--json-path", EXAMPLES / "guide.json", "--chart", "hardware_comparison", "--output", "guide.svg")
        picture = (self.folder / "guide.svg").read_text()
        self.assertIn(NOT_RANKED, picture)
        self.assertIn("1 result has no median: the mean is shown.", picture)
        whole = {row["model"] for row in json.loads((self.folder / "guide" / "hardware_comparison.json").read_text())["rows"]}
        chosen = sorted(whole)[0]
        self.plot("--json-path", EXAMPLES / "guide.json", "--model", chosen, "--chart", "hardware_comparison", "--output", "one.json")
        self.assertEqual({row["model"] for row in json.loads((self.folder / "one.json").read_text())["rows"]}, {chosen})
        said = self.plot("--json-path", EXAMPLES / "guide.json", "--model", chosen + "x", expect=2).stderr
        self.assertIn(f"did you mean {chosen}?", said)
        said = self.plot("--json-path", EXAMPLES / "guide.json", "--until", "2001-01-01", expect=4).stderr
        self.assertIn("has all that was requested", said)
        said = self.plot("--json-path", EXAMPLES / "guide.json", "--cell", "abc", expect=2).stderr
        self.assertRegex(said, "no result has the key 'abc'(.|\n)*has its key as task_key")
        self.assertIn("missing.json", self.plot("--json-path", "missing.json", expect=2).stderr)

    def test_without_data_every_chart_says_what_is_missing_and_what_to_run(self):
        self.run_tool("db", "init", expect=0)
        said = self.plot("--db-path", "benchmark_db.duckdb", expect=4)
        self.assertEqual(said.stdout, "")
        for name in CHARTS:
            self.assertRegex(said.stderr, rf"not drawn: [^:]*\b{name}\b[^:]*: .", name)
        for line in said.stderr.splitlines():
            self.assertRegex(line, r"`assay [a-z]+|a further run", line)
        for key in ("--cell", "--series"):
            said = self.plot(key, "abc", "--db-path", "benchmark_db.duckdb", expect=4).stderr
            self.assertRegex(said, "has no results yet(.|\n)*`assay run --models-set small`", key)
        self.assertFalse((self.folder / "plots").exists())
        self.assertIn("`assay run", self.plot("--chart", "generation", expect=4).stderr)
        self.null("--save")
        self.null("--save", "--db-path", "other.duckdb")
        said = self.plot("--cell", "abc", "--db-path", "other.duckdb", expect=2).stderr
        self.assertIn("`assay query --db-path other.duckdb --sql", said)
        said = self.plot("--chart", "history", expect=4).stderr
        self.assertRegex(said, "not drawn: history: each cell has one result: a further run")
        # Without --chart, too, each chart that has no data is named.
        said = self.plot().stderr
        self.assertRegex(said, r"not drawn: [^:]*\bhistory\b[^:]*: each cell has one result")
        self.assertRegex(said, r"not drawn: [^:]*\brelative_speedup\b[^:]*: no cell was measured on the CPU and on another target")


if __name__ == "__main__":
    tool.main()
