# SPDX-License-Identifier: Apache-2.0
"""`assay query` and `assay report`: answers about the history, in five formats."""
import csv
import io
import json
import os
import re
import signal

import tool

REPORTS = ("overview", "comprehensive-benchmarks", "architecture-performance-comparison", "optimal-hardware", "optimization", "comparative",
           "coverage", "changes")
EXAMPLE = tool.SOURCE / "tests" / "exchange" / "guide.json"


class Query(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.null("--save", "--launches", "3", batch="1 4")

    def ask(self, *arguments, expect=0, command="query"):
        return self.run_tool(command, *arguments, expect=expect)

    def test_every_report_in_every_format(self):
        for name in REPORTS:
            document = json.loads(self.ask("--report", name, "--format", "json").stdout)
            self.assertEqual((document["report"], document["cells"]), (name, 2))
            self.assertTrue(document["answer"])
            self.assertTrue(self.ask("--report", name, "--format", "md").stdout.startswith(f"# {document['title']}\n"))
            self.assertIn("default-src 'none'", self.ask("--report", name, "--format", "html").stdout)
            self.assertIn(document["title"], self.ask("--report", name).stdout)
            text = self.ask("--report", name, "--format", "csv").stdout
            if text:
                self.assertEqual(len({len(row) for row in csv.reader(io.StringIO(text))}), 1)
            # The other command prints the same document, made at another time.
            other = json.loads(self.ask(name, "--format", "json", command="report").stdout)
            self.assertTrue(document.pop("made_at") and other.pop("made_at"))
            self.assertEqual(other, document)

    def test_the_guides_questions_choose_the_format_by_the_extension(self):
        self.ask("--db", "./benchmark_db.duckdb", "--report", "comprehensive-benchmarks", "--format", "html", "--output", "all.html")
        self.ask("--db", "./benchmark_db.duckdb", "--architecture-performance-comparison", "--format", "html", "--output", "architectures.html")
        self.ask("--db", "./benchmark_db.duckdb", "--optimal-hardware-analysis", "--output", "optimal_hardware.md")
        html = (self.folder / "all.html").read_text()
        self.assertTrue(html.startswith("<!doctype html>"))
        self.assertNotRegex(html, r"<script|https?://| style=")
        self.assertTrue((self.folder / "architectures.html").read_text().endswith("</html>\n"))
        markdown = (self.folder / "optimal_hardware.md").read_text()
        self.assertTrue(markdown.startswith("# Optimal hardware for latency\n"))
        for picture in re.findall(r"\]\(([^)]*\.svg)\)", markdown):
            self.assertIn("<svg", (self.folder / picture).read_text())

    def test_an_extension_that_is_no_format_is_an_error_before_anything_is_read(self):
        error = self.ask("--optimal-hardware-analysis", "--output", "a.docx", "--db", "nowhere.duckdb", expect=2).stderr
        self.assertIn("--output 'a.docx'", error)

    def test_sql_only_reads(self):
        rows = json.loads(self.ask("--sql", "SELECT batch_size, status FROM benchmark_results ORDER BY batch_size", "--format", "json").stdout)
        self.assertEqual(rows["rows"], [{"batch_size": 1, "status": "completed"}, {"batch_size": 4, "status": "completed"}])
        self.assertEqual(rows["columns"], ["batch_size", "status"])
        self.assertIn("schema_version", rows)
        self.assertEqual(self.ask("--sql", "SELECT 1 AS a, 'x,y' AS b", "--format", "csv").stdout, 'a,b\n1,"x,y"\n')
        exact = json.loads(self.ask("--sql", "SELECT true AS b, 12345678901234567 AS i, NULL AS n", "--format", "json").stdout)["rows"]
        self.assertEqual(exact, [{"b": True, "i": 12345678901234567, "n": None}])
        self.assertIn("12345678901234567", self.ask("--sql", "SELECT 12345678901234567 AS i", "--format", "csv").stdout)
        before = (self.folder / "benchmark_db.duckdb").read_bytes()
        for sql in ("DELETE FROM benchmark_results", "SELECT 1; SELECT 2", "SELECT 1); DROP TABLE benchmark_results --",
                    "COPY benchmark_results TO 'out.csv'", "SELECT * FROM read_csv('/etc/passwd')", "ATTACH 'other.duckdb'"):
            self.assertEqual(self.ask("--sql", sql, expect=None).returncode, 2, sql)
        self.assertEqual((self.folder / "benchmark_db.duckdb").read_bytes(), before)
        self.assertFalse((self.folder / "out.csv").exists())

    def test_a_query_without_end_is_interrupted(self):
        forever = "SELECT count(*) FROM range(1000000) a, range(1000000) b, range(1000000) c WHERE a.range + b.range = c.range - 1"
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start("query", "--sql", forever, "--output", "never.txt")
            # DuckDB's threads compute: the query runs.
            self.wait_until("the query runs", lambda process=process: len(os.listdir(f"/proc/{process.pid}/task")) > 1 or process.poll() is not None)
            process.send_signal(number)
            out, err = process.communicate(timeout=tool.DEADLINE)
            self.assertEqual(process.returncode, 130, err)
            self.assertEqual(out, "")
            self.assertFalse((self.folder / "never.txt").exists())
        self.ask("--sql", "SELECT 1")

    def test_a_query_has_a_memory_limit(self):
        for sql in ("SELECT list(range) FROM range(100000000)", "SELECT repeat('x', 10000) AS x FROM range(10000)"):
            error = self.ask("--sql", sql, "--memory-limit", "64", expect=1).stderr
            self.assertIn("needs more memory than its limit of 64 MB", error)
        self.assertIn("'0'", self.ask("--sql", "SELECT 1", "--memory-limit", "0", expect=2).stderr)
        self.assertIn("--sql", self.ask("--report", "overview", "--memory-limit", "64", expect=2).stderr)

    def test_errors_of_sql_quote_what_was_typed(self):
        error = self.ask("--sql", "SELECT model,\n       latency\nFROM benchmark_results", expect=2).stderr
        self.assertIn('column "latency" not found', error)
        self.assertIn("\nLINE 2:        latency\n               ^\n", error)
        for sql, line in (("SELECT * FROM result", "LINE 1: SELECT * FROM result\n                      ^"), ("SELEC 1", "LINE 1: SELEC 1\n        ^")):
            error = self.ask("--sql", sql, expect=2).stderr
            self.assertIn(line, error)
            self.assertNotIn("DESCRIBE", error)
        error = self.ask("--sql", "COPY launches TO 'x.csv'", expect=2).stderr
        self.assertIn("not a statement that only reads: 'COPY launches TO 'x.csv''", error)
        self.assertIn("SELECT, FROM, DESCRIBE, SUMMARIZE or SHOW", error)

    def test_output_format_json_is_that_of_every_command(self):
        self.assertEqual(self.run_json("query", "--sql", "SELECT 1 AS a")["rows"], [{"a": 1}])
        self.assertEqual(self.run_json("report", "changes")["report"], "changes")
        self.assertEqual(self.run_json("query", "--report", "overview", "--engine", "nul", expect=2)["error"]["code"], "invalid_argument")
        self.assertTrue(self.ask("--sql", "SELECT 1 AS a", "--output-format", "json", "--format", "csv").stdout.startswith("a\n"))

    def test_one_question_at_a_time(self):
        self.assertIn("no question was given", self.ask(expect=2).stderr)
        self.assertIn("2 questions are asked", self.ask("--sql", "SELECT 1", "--report", "overview", expect=2).stderr)
        for option in (["--model", "bert"], ["--since", "7d"], ["--batch-size", "4"], ["--limit", "5"], ["--goal", "memory"]):
            self.assertIn("--sql does not use --goal, nor options that select results", self.ask("--sql", "SELECT 1", *option, expect=2).stderr)
        self.assertIn("did you mean overview", self.ask("--report", "overviw", expect=2).stderr)

    def test_an_unknown_report_is_named_as_it_was_typed(self):
        for words, name in ((["overviw"], "REPORT"), (["--report", "overviw"], "--report"), (["--report=overviw"], "--report")):
            said = self.ask(*words, expect=2, command="report").stderr
            self.assertRegex(said, rf"^error\[invalid_argument\]: {name}: unknown value 'overviw'; valid: overview, .*changes; did you mean overview\?", words)
        self.assertNotIn("--report", self.ask("bogus", expect=2, command="report").stderr)
        # An option with two names is named by the one that was typed.
        self.assertIn("--db is given more than once", self.ask("--db", "a", "--db", "b", expect=2, command="report").stderr)

    def test_a_date_is_its_whole_day(self):
        day = json.loads(self.ask("--sql", "SELECT max(timestamp)[:10] AS day FROM benchmark_results", "--format", "json").stdout)["rows"][0]["day"]
        both = ("--since", day, "--until", day)
        self.assertEqual(json.loads(self.ask("--report", "overview", *both, "--format", "json").stdout)["cells"], 2)
        self.null("--output-dir", "results", batch="1 4")
        self.ask("--json-path", "results", "--chart", "memory_usage", "--format", "json", *both, command="plot")
        self.assertIn("no result", self.ask("--report", "overview", "--until", f"{day}T00:00:00Z", expect=4).stderr)

    def test_filters_select_and_name_the_nearest_word(self):
        self.assertEqual(json.loads(self.ask("--report", "overview", "--batch-size", "4", "--format", "json").stdout)["cells"], 1)
        self.assertEqual(json.loads(self.ask("--report", "overview", "--since", "1d", "--engine", "null", "--format", "json").stdout)["cells"], 2)
        self.assertIn("did you mean null", self.ask("--report", "overview", "--engine", "nul", expect=2).stderr)
        self.assertIn("no result", self.ask("--report", "overview", "--until", "2001-01-01", expect=4).stderr)
        self.assertIn("--since: 'soon' is not a time", self.ask("--report", "overview", "--since", "soon", expect=2).stderr)
        for option, value in (("--since", "999999999d"), ("--until", "99999999999h"), ("--limit", "0"), ("--limit", "-1"), ("--limit", "99999999999999999999")):
            self.assertIn(option, self.ask("--report", "overview", option, value, expect=2).stderr)
        self.assertEqual(json.loads(self.ask("--report", "overview", "--hardware", "all", "--format", "json").stdout)["cells"], 2)
        limited = json.loads(self.ask("--report", "overview", "--limit", "1", "--format", "json").stdout)
        self.assertEqual((limited["cells"], limited["left_out"]), (1, 1))
        self.assertIn("Only the newest 1 of 2 results", limited["answer"])


class WithoutResults(tool.ToolTest):
    def test_it_says_what_is_missing_and_what_to_run(self):
        for arguments in (["report"], ["query", "--optimal-hardware-analysis"], ["query", "--sql", "SELECT 1"]):
            error = self.run_tool(*arguments, expect=2).stderr
            self.assertIn("there is no database 'benchmark_db.duckdb'", error)
            self.assertIn("`assay run`", error)
        self.run_tool("db", "init", expect=0)
        for arguments in (["report"], ["report", "changes"], ["query", "--report", "overview"], ["query", "--optimal-hardware-analysis"],
                          ["report", "--model", "bert"], ["coverage", "--comparative-report"], ["coverage", "--generate-dashboard"],
                          ["plot", "--model", "bert"]):
            error = self.run_tool(*arguments, expect=4).stderr
            self.assertIn("has no results yet", error, arguments)
            self.assertIn("`assay run --models-set small`", error, arguments)
        self.assertEqual(self.run_json("report", expect=4)["error"]["code"], "not_found")
        self.run_tool("plot", expect=4)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir() if path.is_dir() and path.name != "hf-home"), [], "nothing is written")
        self.run_tool("query", "--sql", "SELECT count(*) FROM benchmark_results", expect=0)


if __name__ == "__main__":
    tool.main()
