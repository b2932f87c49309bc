# SPDX-License-Identifier: Apache-2.0
"""`assay db import` and `assay db export`: results of files become bundles, once, and leave as Parquet and CSV."""
import csv
import json
import resource
import signal
import sys
import unittest

import tool

sys.path.insert(0, f"{tool.DEPS}/python")
import duckdb  # noqa: E402

EXAMPLES = tool.SOURCE / "tests" / "exchange"
# Example file: its format, its results, and whether they were measured elsewhere by another tool.
FILES = {
    "guide.json": ("guide", 1),
    "guide.csv": ("csv", 2),
    "google_benchmark.json": ("google-benchmark", 4),
    "benchmark_app.json": ("benchmark-app", 1),
    "benchmark_app_cpp.json": ("benchmark-app", 1),
    "llama_bench.json": ("llama-bench", 3),
    "optimum_benchmark.json": ("optimum-benchmark", 1),
    "optimum_report_only.json": ("optimum-benchmark", 1),
}


class Import(tool.ToolTest):
    def ask(self, sql, database="benchmark_db.duckdb"):
        with duckdb.connect(str(self.folder / database), read_only=True) as connection:
            return connection.execute(sql).fetchall()

    def import_files(self, *paths, expect=0, database="benchmark_db.duckdb"):
        return self.run_json("db", "import", *paths, "--db-path", database, expect=expect)

    def test_results_of_other_tools_are_imported_once_and_never_ranked(self):
        paths = [EXAMPLES / name for name in FILES]
        files = self.import_files(*paths)["files"]
        self.assertEqual({entry["file"].split("/")[-1]: (entry["format"], entry["added"]) for entry in files}, FILES)
        self.assertEqual([entry["ranked"] for entry in files], [0] * len(FILES))
        total = sum(count for _, count in FILES.values())
        rows = self.ask("SELECT count(*), count(*) FILTER (verification = 'unverified'), count(DISTINCT series_key), "
                        "count(*) FILTER (flags LIKE '%imported%') FROM benchmark_results")
        self.assertEqual(rows, [(total, total, total, total)])
        self.assertEqual(len(self.spool_bundles()), total)
        # The samples that a file has are samples of the history; 15 of llama-bench, 27 and 4 of optimum-benchmark.
        self.assertEqual(self.ask("SELECT count(*) FROM raw_benchmark_data"), [(15 + 3 + 3 + 21 + 4,)])
        self.assertEqual(self.ask("SELECT json_extract_string(environment, '$.imported_from.file') FROM benchmark_runs WHERE run_id = "
                                  "(SELECT run_id FROM benchmark_results WHERE model = 'vit')"), [("benchmark_app_cpp.json",)])
        again = self.import_files(*paths)["files"]
        self.assertEqual([(entry["added"], entry["known"]) for entry in again], [(0, count) for _, count in FILES.values()])
        self.assertEqual(self.ask("SELECT count(*) FROM benchmark_results"), [(total,)])
        # The bundles are the source of truth for these results, too.
        self.run_tool("db", "verify", expect=0)
        (self.folder / "benchmark_db.duckdb").unlink()
        self.assertEqual(self.run_json("db", "rebuild")["bundles"], total)
        self.assertEqual(self.ask("SELECT count(*) FROM benchmark_results"), [(total,)])

    def test_a_plan_writes_nothing(self):
        plan = self.run_json("db", "import", EXAMPLES / "llama_bench.json", "--plan")
        self.assertEqual((plan["plan"], plan["files"][0]["added"]), (True, 3))
        self.assertEqual(list(self.folder.iterdir()), [])
        text = self.run_tool("db", "import", EXAMPLES / "llama_bench.json", "--plan", expect=0).stdout
        self.assertIn("llama-bench, results: 3, to be added: 3, in the database already: 0\nnothing was written", text)

    def test_own_results_come_back_as_they_were(self):
        rows = self.null("--save", "--output-dir", "out", "--batch-size", "1,4", "--launches", "3")
        names = [field for field in rows[0] if field not in ("flags", "attempt_id")]
        out = self.folder / "out"
        for kind in ("csv", "json"):
            path, = out.glob(f"[!.]*.{kind}")
            imported = self.import_files(path, database=f"{kind}.duckdb")["files"][0]
            self.assertEqual((imported["added"], imported["known"]), (2, 0), kind)
            self.assertEqual(self.import_files(path, database=f"{kind}.duckdb")["files"][0]["known"], 2)
            original = self.ask(f"SELECT {', '.join(names)} FROM benchmark_results ORDER BY batch_size")
            copied = self.ask(f"SELECT {', '.join(names)} FROM benchmark_results ORDER BY batch_size", f"{kind}.duckdb")
            for before, after in zip(original, copied, strict=True):
                self.assertEqual({n: (a, b) for n, a, b in zip(names, before, after) if a != b}, {}, kind)
            self.run_tool("db", "verify", "--db-path", f"{kind}.duckdb", expect=0)
            # In the database that measured them they are known, whatever the file.
            self.assertEqual(self.import_files(path)["files"][0]["known"], 2, kind)
        self.assertEqual(self.ask("SELECT count(*) FROM benchmark_results"), [(2,)])

    def test_an_import_never_replaces_own_results(self):
        """The same cells, faster and of the year 9999, by both kinds of files, before and after another own run."""
        self.null("--save", "--output-dir", "out")
        path, = (self.folder / "out").glob("[!.]*.csv")
        rows = list(csv.DictReader(path.read_text().splitlines()))
        own = self.ask("SELECT latency_p50_ms, flags FROM latest_results")
        forged = self.folder / "forged.csv"
        with forged.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            for row in rows:
                writer.writerow({**row, "run_id": "another", "latency_p50_ms": "0.000001", "timestamp": "9999-12-31T23:59:59.000000Z"})
        entry = self.import_files(forged)["files"][0]
        self.assertEqual(entry["added"], len(rows))
        self.assertIn("cannot be true", entry["notes"][0])
        self.assertEqual(self.ask("SELECT latency_p50_ms, flags FROM latest_results"), own)
        flags, time = self.ask("SELECT flags, timestamp FROM benchmark_results WHERE run_id = 'another'")[0]
        self.assertEqual([each for each in flags.split(",") if each in ("doubtful_time", "imported")], ["doubtful_time", "imported"])
        self.assertLess(time, "9999")
        matrix = json.loads(self.run_tool("query", "--report", "comprehensive-benchmarks", "--format", "json", expect=0).stdout)
        self.assertNotIn("0.000001", json.dumps(matrix))
        self.run_tool("db", "verify", expect=0)
        # Its charts are drawn: an axis until the year 9999 has millions of ticks.
        self.run_tool("plot", "--format", "svg", "--output", "plots", expect=0)
        self.assertNotIn("9999-12-31", self.run_tool("plot", "--json-path", "forged.csv", "--format", "svg", "--output", "more", expect=0).stderr)

    def test_a_number_that_cannot_be_true_is_refused_before_anything_is_written(self):
        for value in ("-1", "0", "nan", "inf"):
            bad = self.folder / "bad.csv"
            bad.write_text(f"model,framework,device_type,batch_size,latency_p50_ms\nbert,pytorch,cpu,1,2.5\nbert,pytorch,cpu,4,{value}\n")
            failure = self.run_json("db", "import", EXAMPLES / "guide.json", bad, expect=2)["error"]
            self.assertIn(f"line 3 ('bert'): latency_p50_ms is {value}; valid is a finite number above 0", failure["message"])
        self.assertFalse((self.folder / "benchmark_db.duckdb").exists())
        self.assertFalse((self.folder / "benchmark_db.duckdb.spool").exists())

    def test_a_bad_file_changes_nothing(self):
        bad = self.folder / "bad.json"
        bad.write_text('{"benchmarks": {"embedding": 3}}')
        failure = self.run_json("db", "import", EXAMPLES / "guide.json", bad, expect=2)["error"]
        self.assertIn("benchmarks.embedding is not an object", failure["message"])
        self.assertFalse((self.folder / "benchmark_db.duckdb").exists())
        failure = self.run_json("db", "import", "none.json", expect=2)["error"]
        self.assertEqual(failure["code"], "not_found")
        failure = self.run_json("db", "import", EXAMPLES / "guide.json", "--as", "llama-bench", expect=2)["error"]
        self.assertIn("not a list of tests", failure["message"])
        failure = self.run_json("db", "import", EXAMPLES / "guide.json", "--as", "lama-bench", expect=2)["error"]
        self.assertIn("llama-bench", failure["message"] + failure["hint"])


class Export(tool.ToolTest):
    def test_every_table_is_a_file(self):
        self.null("--save", "--batch-size", "1,2")
        document = self.run_json("db", "export", "--parquet", "out/parquet")
        tables = {table["name"]: table for table in document["tables"]}
        self.assertEqual(tables["benchmark_results"]["rows"], 2)
        self.assertIsNone(tables["raw_benchmark_data"]["file"])
        self.assertEqual(tables["raw_benchmark_data"]["rows"], 40)
        folder = self.folder / "out" / "parquet"
        self.assertEqual({path.name for path in folder.iterdir()},
                         {f"{name}.parquet" for name in tables if name != "raw_benchmark_data"} | {"schema.json"})
        with duckdb.connect() as connection:
            read = connection.execute(f"SELECT model, batch_size FROM read_parquet('{folder}/benchmark_results.parquet') ORDER BY 2").fetchall()
        self.assertEqual([batch for _, batch in read], [1, 2])
        schema = json.loads((folder / "schema.json").read_text())
        self.assertGreaterEqual(schema["schema_version"], 8)
        result = next(table for table in schema["tables"] if table["name"] == "benchmark_results")
        self.assertIn({"name": "latency_p50_ms", "type": "DOUBLE", "unit": "ms", "meaning": "median latency of the steady samples"},
                      result["columns"])

    def test_samples_are_exported_when_asked(self):
        self.null("--save")
        text = self.run_tool("db", "export", "--csv", "a", expect=0).stdout
        self.assertIn("left out: 20 samples", text)
        self.run_tool("db", "export", "--csv", "b", "--samples", expect=0)
        with open(self.folder / "b" / "raw_benchmark_data.csv", newline="") as file:
            samples = list(csv.DictReader(file))
        self.assertEqual([int(row["seq"]) for row in samples], list(range(20)))

    def test_a_folder_with_files_is_refused(self):
        self.null("--save")
        (self.folder / "a").mkdir()
        (self.folder / "a" / "file").write_text("x")
        failure = self.run_json("db", "export", "--csv", "a", expect=2)["error"]
        self.assertIn("is not an empty folder", failure["message"])
        self.assertEqual([path.name for path in (self.folder / "a").iterdir()], ["file"])
        self.assertEqual(self.run_json("db", "export", expect=2)["error"]["message"], "give one of --parquet DIR and --csv DIR")
        self.assertEqual(self.run_json("db", "export", "--csv", "c", "--db-path", "none.duckdb", expect=2)["error"]["code"], "not_found")

    def test_a_full_disk_leaves_nothing(self):
        self.null("--save")
        before = sorted(path.name for path in self.folder.iterdir())

        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

        for kind in ("--csv", "--parquet"):
            result = self.run_tool("db", "export", kind, "a", expect=1, preexec_fn=small_files)
            self.assertIn("while exporting the table", result.stderr)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before)


if __name__ == "__main__":
    tool.main()
