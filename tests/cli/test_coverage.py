# SPDX-License-Identifier: Apache-2.0
"""`assay coverage` with the null engine: which models and cells it takes, and what it makes of stored results."""
import json
import re

import tool

NULL = ["--engine", "null", "--quiet"]
SHORT = ["--iterations", "5", "--warmup", "1"]


class Coverage(tool.ToolTest):
    def coverage(self, *arguments, expect=0):
        return self.run_tool("coverage", *arguments, *NULL, *SHORT, expect=expect)

    def rows(self):
        return self.run_json("query", "--sql", "SELECT model, architecture, model_id, size, flags, batch_size, launches FROM benchmark_results "
                             "ORDER BY model")["rows"]


class Measuring(Coverage):
    def test_all_is_one_cell_of_every_architecture_with_the_size_tiny(self):
        built = {each["name"] for each in self.run_json("zoo", "list")["architectures"] if each.get("built", True)}
        plan = self.run_json("coverage", "--benchmark-all", *NULL, "--plan")
        self.assertEqual(len(plan["cells"]), len({cell["model"] for cell in plan["cells"]}), "one shape")
        self.assertEqual({cell["model"] for cell in plan["cells"]}, built)
        self.assertEqual({cell["batch_size"] for cell in plan["cells"]}, {1})
        self.assertEqual(list(self.folder.glob("*.duckdb*")), [])
        # A model that nobody published is built in its smallest size.
        self.coverage("--model", "bert", "albert")
        rows = {row["model"]: row for row in self.rows()}
        self.assertEqual(sorted(rows), ["albert", "bert"])
        for row in rows.values():
            self.assertEqual((row["size"], row["batch_size"], row["launches"]), ("tiny", 1, 1), row)
            self.assertIn("seeded", row["flags"])
        self.assertEqual((rows["albert"]["architecture"], rows["albert"]["model_id"]), ("albert", "zoo:albert/tiny"))
        self.assertIn("scaled", rows["albert"]["flags"])
        # The id is a name.
        self.run_tool("verify", "zoo:albert/tiny", "--engine", "null", "--sequence-lengths", "16", "--quiet", expect=0)

    def test_a_category_and_names_select(self):
        vision = self.run_json("coverage", "--benchmark-category", "vision", *NULL, "--plan")["cells"]
        names = {cell["model"] for cell in vision}
        self.assertIn("vit", names)
        self.assertNotIn("bert", names)
        both = self.run_json("coverage", "--benchmark-category", "vision", "--model", "vit", *NULL, "--plan")["cells"]
        self.assertEqual({cell["model"] for cell in both}, {"vit"})

    def test_incremental_leaves_out_what_is_there(self):
        self.coverage("--model", "bert")
        said = self.coverage("--incremental-benchmarks", "--model", "bert", "vit").stdout
        self.assertIn("1 of 2 cells have a result with this version of their engine", said)
        self.assertEqual([row["model"] for row in self.rows()], ["bert", "vit"])
        bundles = len(self.spool_bundles())
        said = self.coverage("--incremental-benchmarks", "--model", "bert", "vit").stdout
        self.assertIn("everything is up to date", said)
        self.assertEqual(len(self.spool_bundles()), bundles)
        plan = self.run_json("coverage", "--incremental-benchmarks", "--model", "bert", *NULL, *SHORT, "--plan")
        self.assertEqual(plan["cells"], [])
        answer = self.run_json("coverage", "--incremental-benchmarks", "--model", "bert", *NULL, *SHORT)
        self.assertEqual((answer["up_to_date"], answer["left_out"], answer["without_result"]), (True, 1, 0))
        # Other settings are other cells.
        self.assertIn("0 of 1 cells", self.coverage("--incremental-benchmarks", "--model", "bert", "--batch-sizes", "2").stdout)

    def test_what_failed_is_measured_again_only_when_asked(self):
        model = ["--model", "bert", "--engine-option", "crash_at_run=2"]
        self.coverage(*model, expect=1)
        bundles = len(self.spool_bundles())
        words = ("0 of 1 cells have a result with this version of their engine; failed with this version of their engine and of assay: 1 (bert); "
                 "`assay coverage --model bert` with the same other options measures every cell of these models again")
        said = self.coverage("--incremental-benchmarks", *model).stdout
        self.assertIn(words, said)
        self.assertNotIn("up to date", said)
        answer = self.run_json("coverage", "--incremental-benchmarks", *model, *NULL, *SHORT)
        self.assertEqual((answer["up_to_date"], answer["left_out"], answer["failed"]), (False, 1, 1))
        update = self.coverage("--update-benchmarks", "--older-than", "30", *model).stdout
        self.assertIn("failed with this version", update)
        self.assertNotIn("without a result", update)
        self.assertEqual(len(self.spool_bundles()), bundles)
        self.coverage(*model, expect=1)
        self.assertEqual(len(self.spool_bundles()), bundles + 1)

    def test_what_cannot_run_is_not_up_to_date(self):
        for words in (["--incremental-benchmarks"], ["--update-benchmarks", "--older-than", "30"]):
            with self.subTest(words=words):
                words += ["--model", "bert", "--hardware", "mps", "--quiet", *SHORT]
                done = self.run_tool("coverage", *words, expect=4)
                self.assertNotIn("up to date", done.stdout + done.stderr)
                answer = self.run_json("coverage", *words, expect=4)
                self.assertNotIn("up_to_date", answer)

    def test_an_update_names_what_was_never_measured(self):
        words = ["--update-benchmarks", "--older-than", "30", "--model", "bert", "vit"]
        said = self.coverage(*words).stdout
        self.assertIn("without a result: 2 (bert, vit), which --incremental-benchmarks measures", said)
        self.assertNotIn("up to date", said)
        answer = self.run_json("coverage", *words, *NULL, *SHORT)
        self.assertEqual((answer["up_to_date"], answer["left_out"], answer["without_result"]), (False, 2, 2))
        self.assertEqual(self.run_json("coverage", *words, *NULL, *SHORT, "--plan")["cells"], [])

    def test_an_update_measures_what_is_old(self):
        self.coverage("--model", "bert")
        self.assertIn("everything is up to date", self.coverage("--update-benchmarks", "--older-than", "30", "--model", "bert").stdout)
        said = self.coverage("--update-benchmarks", "--older-than", "0", "--model", "bert", "vit").stdout
        self.assertIn("1 of 2 cells have a result older than 0 days", said)
        self.assertEqual([row["model"] for row in self.rows()], ["bert", "bert"])

    def test_options_that_do_not_fit(self):
        for words, said in ((["--model", "brt"], "did you mean"), (["--benchmark-category", "text_encoder"], "text_encoders"),
                            ([], "requires an action"), (["--update-benchmarks"], "--older-than"),
                            (["--older-than", "3", "--benchmark-all"], "--older-than"),
                            *((["--update-benchmarks", "--older-than", days], f"'{days}' is not a number of days from 0 to 36500")
                              for days in ("x", "nan", "inf", "1e300", "-1", "36501")),
                            (["--incremental-benchmarks", "--update-benchmarks", "--older-than", "3"], "cannot be combined"),
                            (["--all-models", "--model", "bert"], "cannot be combined"),
                            (["--comparative-report", "--memory-scaling-chart", "--output", "x.html"], "2 are asked"),
                            (["--comparative-report", "--generate-optimization-report", "--output-format", "json"], "one report at a time"),
                            (["--comparative-report", "--generate-optimization-report", "--format", "json"], "one report at a time"),
                            (["--benchmark-all", "--output", "x.html"], "nothing is asked"),
                            (["--generate-dashboard", "--format", "md"], "--format is that of a report"),
                            (["--memory-scaling-chart", "--output", "memory.svg"], "FILE.html")):
            with self.subTest(words=words):
                self.assertIn(said, self.run_tool("coverage", *words, *NULL, expect=2).stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_not_yet(self):
        for words in (["--profile-detailed", "--model", "bert"], ["--schedule-benchmarks", "--frequency", "weekly"]):
            failure = self.run_json("coverage", *words, expect=2)["error"]
            self.assertEqual(failure["code"], "not_built")
            self.assertIn("not part of this version", failure["message"])


class Answers(Coverage):
    def setUp(self):
        super().setUp()
        self.coverage("--model", "bert", "vit")

    def test_reports_are_printed_or_written(self):
        self.assertIn("Comparison of hardware", self.coverage("--comparative-report", "--all-models", "--hardware", "all").stdout)
        self.run_tool("coverage", "--generate-optimization-report", "--output", "out/optimization.md", expect=0)
        self.assertIn("# Optimization opportunities", (self.folder / "out" / "optimization.md").read_text())
        self.assertEqual(self.run_json("coverage", "--comparative-report")["report"], "comparative")
        self.run_tool("coverage", "--comparative-report", "--format", "html", "--output", "report", expect=0)
        self.assertIn("<html", (self.folder / "report").read_text())
        only = self.run_json("coverage", "--comparative-report", "--model", "vit")
        self.assertNotIn("bert", json.dumps(only["sections"]))

    def test_charts_and_the_dashboard_are_written(self):
        self.run_tool("coverage", "--hardware-efficiency-chart", "--output", "charts/efficiency.html", expect=0)
        page = (self.folder / "charts" / "efficiency.html").read_text()
        self.assertIn("<html", page)
        self.assertTrue("<picture>" not in page and "<script" not in page and "peak" in page, "nothing is known of this machine's peak")
        out = self.run_tool("coverage", "--memory-scaling-chart", expect=0).stdout
        self.assertEqual(out.strip(), "charts/memory_scaling.html")
        page = (self.folder / "charts" / "memory_scaling.html").read_text()
        self.assertIn("<figure data-picture><picture>", page, "the picture that stands there without JavaScript")
        charts = json.loads(re.search(r'id="page-data">([^<]+)</script>', page)[1])["charts"]
        self.assertEqual([chart["name"] for chart in charts], ["memory_scaling"])
        self.assertGreater(len(charts[0]["option"]["dataset"]["source"]), 2)
        self.assertIn("Made from benchmark_db.duckdb (2 cells)", page)
        self.assertEqual(self.run_json("coverage", "--generate-dashboard", "--output", "dashboard/")["written"], ["dashboard/index.html"])
        self.assertGreater((self.folder / "dashboard" / "index.html").stat().st_size, 100_000)

    def test_an_answer_may_follow_a_measurement(self):
        out = self.coverage("--benchmark-category", "vision", "--model", "vit", "--memory-scaling-chart").stdout
        self.assertIn("charts/memory_scaling.html", out)
        self.assertEqual(len(self.rows()), 3)

    def test_a_plan_says_what_is_read_and_written(self):
        said = self.run_tool("coverage", "--generate-dashboard", "--plan", expect=0).stdout
        self.assertIn("reads benchmark_db.duckdb; writes ./dashboard/index.html", said)
        plan = self.run_json("coverage", "--generate-dashboard", "--plan")
        self.assertEqual((plan["reads"], plan["writes"]), (["benchmark_db.duckdb"], ["./dashboard/index.html"]))
        self.assertFalse((self.folder / "dashboard").exists())

    def test_an_empty_database_says_what_to_run(self):
        for words in (["--comparative-report"], ["--generate-dashboard"], ["--memory-scaling-chart"]):
            self.run_tool("db", "init", "--db-path", "new.duckdb", "--overwrite", expect=0)
            self.assertIn("has no results yet", self.run_tool("coverage", *words, "--db-path", "new.duckdb", expect=4).stderr)


if __name__ == "__main__":
    tool.main()
