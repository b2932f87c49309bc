# SPDX-License-Identifier: Apache-2.0
"""`assay serve`: the server as a browser and as an attacker find it."""
import fcntl
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import unittest

import tool


class Serve(tool.ToolTest):
    def serve(self, *arguments):
        """Starts it; returns the process and its port."""
        process = self.start("serve", *arguments)
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        line = process.stdout.readline()
        port = re.match(r"http://127\.0\.0\.1:(\d+)/ shows ", line)
        self.assertTrue(port, line or process.stderr.read())
        return process, int(port[1])

    def ask(self, port, target="/", method="GET", headers=None, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=tool.DEADLINE)
        self.addCleanup(connection.close)
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in {"Host": f"127.0.0.1:{port}", **(headers or {})}.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        return response, response.read()

    def raw(self, port, data):
        """What comes back for bytes that no client would send."""
        with socket.create_connection(("127.0.0.1", port), timeout=tool.DEADLINE) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            answer = b""
            while part := connection.recv(65536):
                answer += part
        return answer

    def events(self, port):
        """Opens a reader; gives its lines."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=tool.DEADLINE)
        self.addCleanup(connection.close)
        connection.request("GET", "/events")
        response = connection.getresponse()
        return response

    @staticmethod
    def next_event(response):
        """Comments alone, which keep the connection open, are no event."""
        lines = []
        while not lines:
            while line := response.readline().decode():
                if line == "\n":
                    break
                if not line.startswith(":"):
                    lines.append(line.rstrip("\n"))
            else:
                raise EOFError("the stream of events ended")
        return dict(line.split(": ", 1) for line in lines)

    def test_the_page_and_its_document(self):
        self.null("--save", "--batch-size", "1,2")
        process, port = self.serve()
        page, html = self.ask(port)
        self.assertEqual((page.status, page.getheader("Content-Type")), (200, "text/html; charset=utf-8"))
        self.assertIn(b"<!doctype html>", html[:100].lower())
        self.assertIn("frame-ancestors 'none'", page.getheader("Content-Security-Policy"))
        self.assertIn(b"connect-src 'self'", html)
        data, document = self.ask(port, "/data")
        self.assertEqual((data.status, data.getheader("Cache-Control")), (200, "no-store"))
        self.assertTrue(document)
        again, nothing = self.ask(port, "/data", headers={"If-None-Match": data.getheader("ETag")})
        self.assertEqual((again.status, nothing), (304, b""))
        _, version = self.ask(port, "/api/version")
        self.assertIn("tool", json.loads(version))
        cell, content = self.ask(port, "/api/cell/1")
        self.assertEqual(cell.status, 200)
        self.assertEqual(json.loads(content)["launches"][0]["status"], "completed")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(tool.DEADLINE), 0)

    def test_a_path_never_reaches_a_file(self):
        self.null("--save")
        (self.folder / "secret").write_text("secret")
        _, port = self.serve()
        for target in ("/secret", "/../secret", "/%2e%2e/secret", "/..%2fsecret", "//etc/passwd", "/benchmark_db.duckdb", "/data/../secret",
                       "/api/cell/../../secret", "/data%00", "/.%00./secret"):
            response, body = self.ask(port, target)
            self.assertIn(response.status, (400, 404), target)
            self.assertNotIn(b"secret", body.replace(target.encode(), b""))
        self.assertIn(self.ask(port, "/" + "a" * 10000)[0].status, (404, 414))
        for data in (b"GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port, b"GET \0 HTTP/1.1\r\n\r\n", b"nonsense\r\n\r\n", b"\r\n\r\n",
                     b"GET / HTTP/1.1\r\n" + b"X: " + b"a" * 100_000 + b"\r\n\r\n"):
            answer = self.raw(port, data)
            self.assertNotIn(b" 200 ", answer.split(b"\r\n", 1)[0], data[:60])
        self.assertEqual(self.ask(port)[0].status, 200, "it still answers")

    def test_it_only_reads_and_only_for_this_machine(self):
        self.null("--save")
        _, port = self.serve()
        for method in ("POST", "PUT", "DELETE", "TRACE", "OPTIONS", "PATCH"):
            response, _ = self.ask(port, "/data", method)
            self.assertEqual((response.status, response.getheader("Allow")), (405, "GET, HEAD"), method)
        self.assertEqual(self.ask(port, "/data", "POST", {"Content-Length": "3"}, b"abc")[0].status, 405)
        self.assertEqual(self.ask(port, "/data", "GET", {"Content-Length": "3"}, b"abc")[0].status, 413)
        # Many overlapping parts of a large page would be a large answer.
        response, body = self.ask(port, "/", headers={"Range": "bytes=" + ",".join(["0-"] * 1000)})
        self.assertEqual(response.status, 416)
        self.assertLess(len(body), 1_000_000)
        head, body = self.ask(port, "/", "HEAD")
        self.assertEqual((head.status, body), (200, b""))
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", None):
            self.assertEqual(self.ask(port, "/data", headers={"Host": host})[0].status, 421, host)
        self.assertEqual(self.ask(port, "/data", headers={"Host": f"localhost:{port}"})[0].status, 200)
        self.assertEqual(self.ask(port, "/data", headers={"Origin": "http://evil.example"})[0].status, 421)
        sockets = pathlib.Path("/proc/net/tcp").read_text() + pathlib.Path("/proc/net/tcp6").read_text()
        listening = [line.split()[1] for line in sockets.splitlines() if f":{port:04X} " in line and line.split()[3] == "0A"]
        self.assertEqual(listening, [f"0100007F:{port:04X}"], "on 127.0.0.1 only")

    def test_without_a_database_it_says_what_is_missing_and_waits_for_it(self):
        _, port = self.serve()
        self.assertEqual(self.ask(port)[0].status, 200)
        data, text = self.ask(port, "/data")
        self.assertEqual(data.status, 503)
        self.assertIn("there is no database 'benchmark_db.duckdb'", text.decode())
        self.assertIn("assay run", text.decode())
        self.null("--save")
        self.wait_until("the new database is shown", lambda: self.ask(port, "/data")[0].status == 200)

    def test_readers_learn_of_new_results_and_of_progress(self):
        self.null("--save")
        process, port = self.serve()
        reader = self.events(port)
        self.assertEqual(reader.getheader("Content-Type"), "text/event-stream")
        first = self.next_event(reader)
        self.assertEqual((first["event"], first["data"]), ("snapshot", self.ask(port, "/data")[0].getheader("ETag")))
        (self.folder / "benchmark_db.progress.json").write_text(json.dumps({"pid": os.getpid(), "done": 3}))
        self.assertEqual(self.next_event(reader), {"event": "progress", "data": json.dumps({"pid": os.getpid(), "done": 3}).replace(" ", "")})
        (self.folder / "benchmark_db.progress.json").unlink()
        self.assertEqual(self.next_event(reader), {"event": "progress", "data": "null"})
        self.null("--save", "--seed", "1")
        second = self.next_event(reader)
        while second["event"] == "progress":  # a busy machine measures for so long that its progress is published
            second = self.next_event(reader)
        self.assertEqual(second["event"], "snapshot")
        self.assertNotEqual(second["data"], first["data"])
        # A database that is used is not in the way of those who write it.
        self.assertEqual(self.run_tool("db", "info", expect=0).stdout.count("results: 2"), 1)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(tool.DEADLINE), 0)
        self.assertEqual(reader.read(), b"")

    def test_a_suite_is_followed_while_it_measures(self):
        (self.folder / "two.json").write_text(json.dumps({
            "batch_sizes": [1, 2], "sequence_lengths": [16], "warmup_iterations": 1, "benchmark_iterations": 5, "launches": 1,
            "model_families": {"embedding": ["prajjwal1/bert-tiny"], "vision": ["vit"]}, "generate_plots": False}))
        _, port = self.serve()
        reader = self.events(port)
        snapshot = self.folder / "benchmark_db.snapshot.duckdb"
        for cost_ms in (200, 800, 3200):
            snapshot.unlink(missing_ok=True)
            suite = self.start("suite", "--config", "two.json", "--engine", "null", "--quiet", "--engine-option", f"cost_ns={cost_ms}000000")
            self.addCleanup(lambda process=suite: (process.kill(), process.communicate()))
            self.wait_until("the first model is published", lambda: snapshot.exists() or suite.poll() is not None)
            suite.send_signal(signal.SIGSTOP)  # however slow this machine: it is found between its models
            progress = self.folder / "benchmark_db.progress.json"
            if suite.poll() is None and progress.exists():
                break
        written = json.loads(progress.read_text())
        self.assertEqual((written["pid"], written["cells"], written["launches"]), (suite.pid, 4, 4))
        self.assertGreaterEqual(written["cells_done"], 2)
        self.assertIn("bert-tiny on cpu@null batch_1", written["lines"][0])
        self.assertTrue(written["command"].startswith("assay suite --config two.json") or "assay suite" in written["command"], written)
        seen = {}
        while "progress" not in seen or "snapshot" not in seen or json.loads(seen["progress"])["cells_done"] != written["cells_done"]:
            event = self.next_event(reader)
            seen[event["event"]] = event["data"]
        self.assertEqual(json.loads(seen["progress"]), written)
        self.assertEqual(self.ask(port, "/data")[0].getheader("ETag"), seen["snapshot"])
        self.assertEqual(self.run_json("query", "--sql", "SELECT DISTINCT model FROM benchmark_results")["rows"], [{"model": "prajjwal1/bert-tiny"}])
        suite.send_signal(signal.SIGTERM)
        suite.send_signal(signal.SIGCONT)
        suite.communicate(timeout=tool.DEADLINE)
        self.assertEqual(suite.returncode, 130)
        self.assertFalse(progress.exists())
        while (event := self.next_event(reader))["event"] != "progress" or event["data"] != "null":
            pass

    def test_there_are_few_readers_at_a_time(self):
        self.null("--save")
        _, port = self.serve()
        readers = [self.events(port) for _ in range(9)]
        self.assertEqual([reader.status for reader in readers], [200] * 8 + [503])
        self.assertEqual(self.ask(port, "/data")[0].status, 200)

    def test_it_ends_by_itself_when_asked(self):
        self.null("--save")
        process, port = self.serve("--once")
        self.assertEqual(self.ask(port)[0].status, 200)
        self.assertEqual(self.ask(port, "/data")[0].status, 200)
        self.assertEqual(process.wait(tool.DEADLINE), 0)
        process, port = self.serve("--idle-timeout", "1")
        self.assertEqual(process.wait(tool.DEADLINE), 0)

    def test_a_database_without_a_snapshot_gets_one(self):
        self.null("--save")
        snapshot, database = self.folder / "benchmark_db.snapshot.duckdb", self.folder / "benchmark_db.duckdb"
        snapshot.unlink()
        before = database.read_bytes()
        _, port = self.serve()
        self.assertEqual(self.ask(port, "/data")[0].status, 200)
        self.assertTrue(snapshot.exists())
        self.assertEqual(database.read_bytes(), before)

    def test_a_database_that_a_reader_keeps_open_is_named_with_what_publishes_its_snapshot(self):
        self.null("--save", "--db-path", "e.duckdb")
        (self.folder / "e.snapshot.duckdb").unlink()
        with (self.folder / "e.duckdb.lock").open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            process = self.start("serve", "--db-path", "e.duckdb")
            self.addCleanup(lambda: (process.kill(), process.communicate()))
            line = process.stdout.readline()
            self.assertRegex(line, r"another process uses, and which has no snapshot: .*`assay db ingest --db-path e\.duckdb`")
            port = int(re.match(r"http://127\.0\.0\.1:(\d+)/ shows ", line)[1])
            data, text = self.ask(port, "/data")
            self.assertEqual(data.status, 503)
            self.assertIn("`assay db ingest --db-path e.duckdb` publishes its snapshot", text.decode())

    def test_the_status_says_whether_there_were_results(self):
        for database in (["none.duckdb"], ["empty.duckdb", "init"]):
            if database[1:]:
                self.run_tool("db", "init", "--db-path", database[0], expect=0)
            process, _ = self.serve("--idle-timeout", "1", "--db-path", database[0])
            said = process.communicate(timeout=tool.DEADLINE)[1]
            self.assertEqual(process.returncode, 4, database)
            self.assertIn(f"note: '{database[0]}' has no results yet: `assay run --models-set small --db-path {database[0]}` measures", said)

    def test_a_port_in_use_is_an_error(self):
        _, port = self.serve()
        result = self.run_tool("serve", "--port", port, expect=2)
        self.assertIn(f"port {port} of 127.0.0.1 cannot be used", result.stderr)
        self.run_tool("serve", "--port", "70000", expect=2)

    def test_a_damaged_snapshot_is_named(self):
        self.null("--save")
        (self.folder / "benchmark_db.snapshot.duckdb").write_bytes(b"not a database" * 1000)
        _, port = self.serve()
        data, text = self.ask(port, "/data")
        self.assertEqual(data.status, 503)
        self.assertIn("benchmark_db.snapshot.duckdb", text.decode())


if __name__ == "__main__":
    tool.main()
