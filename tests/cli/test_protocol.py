# SPDX-License-Identifier: Apache-2.0
"""A worker that breaks its protocol costs one row: `failed`, with a reason code and a message. The other cells of the run complete."""
import json
import os
import pathlib
import shutil
import struct
import tool

NESTED = b'{"ok": ' + b"[" * 300_000 + b"]" * 300_000 + b"}"
LOADED = ("runtime_load_ms", "model_load_s", "engine_version", "inputs", "outputs", "effective", "rss_before_model_bytes", "peak_load_bytes")
MEASURED = ("measurement", "peak_rss_bytes", "mean_rss_bytes", "environment", "generations")
WINDOW = ("steady_from", "steady_class", "warmup_iterations", "warmup_ns", "window_ns", "loop_ns", "relative_half_width", "stop_reason", "failure")


def framed(body):
    return (struct.pack("<I", len(body)) + body).hex()


class Protocol(tool.ToolTest):
    def setUp(self):
        super().setUp()
        built = pathlib.Path(tool.BINARY).resolve().parent
        own = self.folder / "own" / "bin"
        own.mkdir(parents=True)
        try:
            os.link(tool.BINARY, own / "assay")  # programs are found beside the file that runs
        except OSError:
            shutil.copy(tool.BINARY, own / "assay")
        (own / "assay-supervise").symlink_to(built / "assay-supervise")
        (own / "assay-worker").symlink_to(pathlib.Path(__file__).resolve().parent / "fake_worker.py")
        self.environment["ASSAY_PLUGIN_DIR"] = str(built.parent / "lib/assay/engines")
        self.environment["ASSAY_REAL_WORKER"] = str(built / "assay-worker")
        self.program = own / "assay"

    def rows(self, fault, *arguments, expect=1):
        (self.folder / "fault.json").write_text(json.dumps(fault))
        self.environment["ASSAY_FAKE"] = str(self.folder / "fault.json")
        return self.run_json("bench", "--engine", "null", "--iterations", "5", "--warmup", "1", "--batch-sizes", "1", "2", "3", "--benchmark-only",
                             "--quiet", *arguments, expect=expect, program=self.program)["results"]

    def assert_second_fails(self, fault, *arguments, code="worker_died", message="invalid message"):
        rows = self.rows({"batch": 2, **fault}, *arguments)
        self.assertEqual([row["status"] for row in rows], ["completed", "failed", "completed"], rows[1]["message"])
        self.assertEqual(rows[1]["reason_code"], code, rows[1]["message"])
        self.assertIn(message, rows[1]["message"])
        self.assertLess(len(rows[1]["message"]), 1000)

    def test_messages_that_are_none(self):
        for name, body in {"nested": NESTED, "brackets": b"[" * 3_000_000, "text": b"hello", "nothing": b"", "NUL": b'{"ok": {\0}}',
                           "not UTF-8": b'{"ok": "\xff"}', "a number too large": b'{"ok": {"run_ms": 1e999}}', "neither": b"{}", "a list": b"[]"}.items():
            with self.subTest(name):
                self.assert_second_fails({"op": "infer", "bytes": framed(body)})
        with self.subTest("garbage"):
            self.assert_second_fails({"op": "infer", "bytes": b"HTTP/1.1 200 OK".hex()})

    def test_the_first_message(self):
        for name, body in {"nested": NESTED, "nested, as long as is valid": b'{"protocol": ' + b"[" * 20_000 + b"]" * 20_000 + b"}", "text": b"hello", "a list": b"[]",
                           "version": b'{"protocol": {"a": 1}}', "error": b'{"protocol": 1, "error": [1]}'}.items():
            with self.subTest(name):
                row, = self.rows({"op": "hello", "bytes": framed(body)}, expect=4)
                self.assertEqual((row["status"], row["reason_code"]), ("unavailable", "no_runtime"), "the engine cannot be used at all")
                self.assertRegex(row["message"], "sent an invalid message and was ended|has protocol version")
                (self.folder / "fault.json.starts").unlink()
        rows = self.rows({"op": "hello", "from_start": 2, "bytes": framed(NESTED)})  # the first one listed the devices
        self.assertEqual({(row["status"], row["reason_code"]) for row in rows}, {("failed", "worker_died")})

    def test_a_message_that_stays_away(self):
        self.assert_second_fails({"op": "measure", "silence": True}, "--timeout", "20", code="timeout", message="did not answer")
        self.assert_second_fails({"op": "measure", "close": True}, message="closed its connection")

    def test_each_field_that_is_missing_or_of_another_type(self):
        wrong = {"abc": True}
        for op, field in [("load", name) for name in LOADED] + [("bind", "effective"), ("infer", "run_ms")] + [("measure", name) for name in MEASURED]:
            for change in ({"remove": ["ok", field]}, {"set": [["ok", field], [wrong]]}):
                with self.subTest(op=op, change=change):
                    if op != "load":
                        self.assert_second_fails({"op": op, **change}, message=field)
                        continue
                    rows = self.rows({"op": op, **change})  # the worker stays warm for all shapes
                    self.assertEqual({(row["status"], row["reason_code"]) for row in rows}, {("failed", "worker_died")})
                    self.assertTrue(all(field in row["message"] for row in rows))

    def test_each_field_of_a_measurement(self):
        for field in WINDOW:
            with self.subTest(field):
                self.assert_second_fails({"op": "measure", "set": [["ok", "measurement", field], [{"abc": True}]]}, message=field)

    def test_numbers_out_of_range(self):
        for op, path, value in (("infer", ["run_ms"], -1), ("infer", ["run_ms"], "nan"), ("bind", ["compilation_ms"], -1), ("measure", ["peak_rss_bytes"], -5),
                                ("measure", ["peak_rss_bytes"], 2**64 - 1), ("measure", ["measurement", "window_ns"], -1),
                                ("measure", ["measurement", "stop_reason"], 17), ("measure", ["measurement", "steady_class"], "odd"),
                                ("measure", ["measurement", "relative_half_width"], "nan")):
            with self.subTest(op=op, path=path, value=value):
                self.assert_second_fails({"op": op, "set": [["ok", *path], value]}, message=path[-1])

    def test_more_steady_samples_than_there_are(self):
        rows = self.rows({"op": "measure", "batch": 2, "set": [["ok", "measurement", "steady_from"], 10**9]})
        self.assertEqual([row["status"] for row in rows], ["completed", "failed", "completed"])


if __name__ == "__main__":
    tool.main()
