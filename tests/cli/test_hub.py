# SPDX-License-Identifier: Apache-2.0
"""Models by their Hugging Face id, from a hub that these tests serve on loopback, with its faults."""
import hashlib
import http.server
import json
import pathlib
import shutil
import threading
import unittest
import urllib.parse
import tool

COMMIT = "0123456789abcdef0123456789abcdef01234567"
GOLDEN = tool.SOURCE / "tests" / "goldens" / "bert"


def git_hash(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Hub:
    """Answers as the hub does: a description of each model, small files directly, large ones by a redirect to another host."""

    def __init__(self):
        self.models = {}  # id -> {file name: bytes}
        self.faults = {}  # path's last part -> list of faults, one for each request
        self.requests = []  # (server, path, headers)
        self.token = None
        self.front, self.store = (self._serve(name) for name in ("front", "store"))

    def _serve(self, name):
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments):
                pass

            def handle(self):
                try:
                    super().handle()
                except ConnectionError:
                    pass  # the client has closed the connection

            def do_GET(self):
                hub.requests.append((name, self.path, dict(self.headers)))
                hub.answer(self, name)

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.front.server_port}"

    def close(self):
        for server in (self.front, self.store):
            server.shutdown()
            server.server_close()

    def describe(self, files):
        listed = []
        for name, content in files.items():
            entry = {"rfilename": name, "size": len(content), "blobId": git_hash(content)}
            if name.endswith(".safetensors"):
                entry["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}
            listed.append(entry)
        return json.dumps({"id": "x", "sha": COMMIT, "siblings": listed}).encode()

    def answer(self, request, name):
        path = urllib.parse.urlparse(request.path).path
        last = path.rsplit("/", 1)[-1]
        fault = self.faults[last].pop(0) if self.faults.get(last) else None
        if isinstance(fault, int):
            return self.send(request, fault, b"an error page")
        if name == "front" and self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            return self.send(request, 401, b"who are you")
        if path.startswith("/api/models/"):
            files = self.models.get("/".join(path.split("/")[3:5]))
            return self.send(request, 404, b"no") if files is None else self.send(request, 200, self.describe(files))
        organisation, model, _, commit = path.split("/")[1:5]
        content = self.models.get(f"{organisation}/{model}", {}).get(last)
        if content is None or commit != COMMIT:
            return self.send(request, 404, b"no")
        if name == "front" and last.endswith(".safetensors"):
            request.send_response(302)
            request.send_header("Location", f"http://127.0.0.1:{self.store.server_port}{path}")
            request.send_header("Content-Length", "0")
            return request.end_headers()
        if fault == "wrong":
            content = bytes([content[0] ^ 1]) + content[1:]
        begin = 0
        if (wanted := request.headers.get("Range")) and fault != "no ranges":
            begin = int(wanted.removeprefix("bytes=").rstrip("-"))
        self.send(request, 206 if begin else 200, content[begin:], total=len(content), begin=begin,
                  cut=len(content[begin:]) // 2 if fault == "cut" else None)

    @staticmethod
    def send(request, status, content, total=None, begin=0, cut=None):
        request.send_response(status)
        request.send_header("Content-Length", str(len(content)))
        if status == 206:
            request.send_header("Content-Range", f"bytes {begin}-{total - 1}/{total}")
        if cut is not None:
            request.send_header("Connection", "close")
            request.close_connection = True
        request.end_headers()
        request.wfile.write(content if cut is None else content[:cut])


class HubTest(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.hub = Hub()
        self.addCleanup(self.hub.close)
        del self.environment["HF_HUB_OFFLINE"]
        self.environment.pop("HF_TOKEN", None)
        self.environment["HF_ENDPOINT"] = self.hub.endpoint
        self.environment["NO_PROXY"] = self.environment["no_proxy"] = "127.0.0.1"
        self.files = {name: (GOLDEN / name).read_bytes() for name in ("config.json", "model.safetensors")}
        self.hub.models["org/tiny"] = self.files
        self.cached = self.folder / "hf-home" / "hub" / "models--org--tiny"

    def build(self, model="org/tiny", expect=0):
        return self.run_tool("zoo", "build", model, "-o", "model.onnx", expect=expect)

    def asked(self, ending):
        return [path for _, path, _ in self.hub.requests if path.endswith(ending)]

    def weights_are_the_checkpoints(self, result):
        self.assertIn(hashlib.sha256(self.files["model.safetensors"]).hexdigest()[:32], self.recorded_weights(), result.stderr)

    def recorded_weights(self):
        return (self.folder / "model.onnx").read_bytes().decode("latin-1")

    def test_fetches_into_hugging_faces_layout_and_only_once(self):
        self.files["preprocessor_config.json"] = b"{}"  # of models of images
        self.weights_are_the_checkpoints(self.build())
        self.assertEqual((self.cached / "refs" / "main").read_text(), COMMIT)
        snapshot = self.cached / "snapshots" / COMMIT
        for name, content in self.files.items():
            self.assertTrue((snapshot / name).is_symlink())
            self.assertEqual((snapshot / name).read_bytes(), content)
        blobs = {git_hash(self.files["config.json"]), git_hash(b"{}"), hashlib.sha256(self.files["model.safetensors"]).hexdigest()}
        self.assertEqual({path.name for path in (self.cached / "blobs").iterdir()}, blobs)
        before = len(self.hub.requests)
        self.weights_are_the_checkpoints(self.build())
        self.assertEqual(len(self.hub.requests), before, "what is in the cache was requested again")
        self.environment["HF_HUB_OFFLINE"] = "1"
        self.weights_are_the_checkpoints(self.build())

    def test_shards(self):
        content = self.files.pop("model.safetensors")
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8:8 + length])
        header.pop("__metadata__", None)
        names = sorted(header)
        shards = {}
        for number, part in enumerate((names[::2], names[1::2]), 1):
            own, data = {}, b""
            for name in part:
                begin, end = header[name]["data_offsets"]
                own[name] = {**header[name], "data_offsets": [len(data), len(data) + end - begin]}
                data += content[8 + length + begin:8 + length + end]
            text = json.dumps(own).encode()
            shards[f"model-0000{number}-of-00002.safetensors"] = (part, len(text).to_bytes(8, "little") + text + data)
        self.files.update({name: data for name, (_, data) in shards.items()})
        index = {"weight_map": {tensor: name for name, (part, _) in shards.items() for tensor in part}}
        self.files["model.safetensors.index.json"] = json.dumps(index).encode()
        result = self.build()
        self.assertIn("weights", result.stdout)
        self.assertNotIn("seeded", result.stdout)
        self.assertEqual(len(self.asked(".safetensors")), 4)  # two shards, each at the front and at the store

    def test_a_token_goes_to_the_hub_and_nowhere_else(self):
        self.hub.token = self.environment["HF_TOKEN"] = "hf_secret"
        self.weights_are_the_checkpoints(self.build())
        servers = {name for name, _, headers in self.hub.requests if "Authorization" in headers}
        self.assertEqual(servers, {"front"})
        self.assertIn("store", {name for name, _, _ in self.hub.requests})

    def test_without_its_token_a_gated_model_says_how_to_get_in(self):
        self.hub.token = "hf_secret"
        result = self.build(expect=2)
        for text in ("org/tiny", "401", "HF_TOKEN"):
            self.assertIn(text, result.stderr)

    def test_unknown_id(self):
        result = self.build("org/unknown", expect=2)
        self.assertIn("org/unknown", result.stderr)
        self.assertFalse((self.folder / "model.onnx").exists())

    def test_a_server_that_fails_is_asked_again(self):
        self.hub.faults["main"] = [500, 503]
        self.hub.faults["config.json"] = [500]
        self.weights_are_the_checkpoints(self.build())

    def test_a_server_that_keeps_failing(self):
        self.hub.faults["main"] = [500] * 9
        result = self.build(expect=1)
        self.assertIn("500", result.stderr)
        self.assertEqual(len(self.asked("blobs=true")), 3)

    def test_a_cut_connection_is_taken_up_where_it_ended(self):
        # At the front the answer is a redirect; the store's answers are cut.
        self.hub.faults["model.safetensors"] = [None, "cut", None, "cut"]
        self.weights_are_the_checkpoints(self.build())
        ranges = [headers.get("Range") for name, path, headers in self.hub.requests if name == "store"]
        half = len(self.files["model.safetensors"]) // 2
        self.assertEqual(ranges[:2], [None, f"bytes={half}-"])
        self.assertEqual(len(ranges), 3)

    def test_a_server_without_ranges_starts_anew(self):
        self.hub.faults["model.safetensors"] = [None, "cut", None, "no ranges"]
        self.weights_are_the_checkpoints(self.build())

    def test_what_another_process_left_is_taken_up(self):
        blobs = self.cached / "blobs"
        blobs.mkdir(parents=True)
        content = self.files["model.safetensors"]
        (blobs / (hashlib.sha256(content).hexdigest() + ".incomplete")).write_bytes(content[:1000])
        self.weights_are_the_checkpoints(self.build())
        self.assertIn("bytes=1000-", [headers.get("Range") for _, _, headers in self.hub.requests])

    def test_a_wrong_checksum_is_never_used(self):
        self.hub.faults["model.safetensors"] = [None, "wrong"] * 3
        result = self.build(expect=1)
        for text in ("mismatch", "model.safetensors", "checksum"):
            self.assertIn(text, result.stderr)
        self.assertFalse((self.folder / "model.onnx").exists())
        self.assertFalse((self.cached / "refs").exists())
        self.assertEqual([path.name for path in (self.cached / "blobs").glob("*.incomplete")], [])

    def test_a_wrong_checksum_once_is_mended(self):
        self.hub.faults["model.safetensors"] = [None, "wrong"]
        self.weights_are_the_checkpoints(self.build())

    def test_a_model_without_safetensors_is_seeded_and_says_so(self):
        self.files["pytorch_model.bin"] = self.files.pop("model.safetensors")
        result = self.build()
        self.assertIn("seeded", result.stdout)
        self.assertIn("safetensors", result.stderr)

    def test_safetensors_of_another_name_are_the_weights_if_there_is_only_one_such_file(self):
        content = self.files.pop("model.safetensors")
        for name in ("model.fp16.safetensors", "diffusion_pytorch_model.safetensors"):
            self.files[name] = content
            result = self.build()
            self.assertIn(hashlib.sha256(content).hexdigest()[:32], self.recorded_weights(), result.stderr)
            self.assertIn(f"its weights are those of '{name}'", result.stderr)
            self.environment["HF_HUB_OFFLINE"] = "1"  # the cache has them under that name
            self.assertIn(name, self.build().stderr)
            del self.environment["HF_HUB_OFFLINE"]
            del self.files[name]
            shutil.rmtree(self.cached)

    def test_safetensors_that_cannot_be_told_apart_are_an_error_and_not_random_weights(self):
        content = self.files.pop("model.safetensors")
        for names in (["a.safetensors", "b.safetensors"], ["unet/diffusion_pytorch_model.safetensors"], ["model-00001-of-00002.safetensors"]):
            self.files |= {name: content for name in names}
            result = self.build(expect=1)
            for text in ("'org/tiny' has safetensors, but it is not clear which are the weights", *names):
                self.assertIn(text, result.stderr)
            for name in names:
                del self.files[name]

    def test_the_hubs_list_decides_and_not_what_the_cache_happens_to_have(self):
        content = self.files.pop("model.safetensors")
        self.files["model.fp16.safetensors"] = content
        self.build()
        shutil.rmtree(self.cached / ".assay")  # as if another program had fetched only this file
        self.files["model.safetensors"] = content[:-1] + bytes([content[-1] ^ 1])
        result = self.build()
        self.weights_are_the_checkpoints(result)
        self.assertNotIn("fp16", result.stderr)

    def test_weights_of_another_name_that_the_list_named_once_need_the_hub_no_more(self):
        content = self.files.pop("model.safetensors")
        self.files["model.fp16.safetensors"] = content
        self.build()
        before = len(self.hub.requests)
        result = self.build()
        self.assertEqual(len(self.hub.requests), before)
        self.assertIn(hashlib.sha256(content).hexdigest()[:32], self.recorded_weights())
        self.assertNotIn("did not say", result.stderr)

    def test_weights_of_another_name_in_the_cache_are_used_while_the_hub_fails(self):
        content = self.files.pop("model.safetensors")
        self.files["model.fp16.safetensors"] = content
        self.build()
        for status, said in ((503, "503"), (429, "429"), (403, "403"), (401, "401"), (404, "has no model")):
            shutil.rmtree(self.cached / ".assay", ignore_errors=True)  # of another program, or of an earlier version
            self.hub.faults["main"] = [status] * 3
            result = self.build()
            self.hub.faults["main"] = []
            self.assertIn(hashlib.sha256(content).hexdigest()[:32], self.recorded_weights(), result.stderr)
            for text in ("its weights are those of 'model.fp16.safetensors', the only ones in the cache", said):
                self.assertIn(text, result.stderr)
        describe = self.hub.describe
        self.hub.describe = lambda files: b"<html>log in to this network</html>"
        self.assertIn("the only ones in the cache", self.build().stderr)
        self.hub.describe = describe
        self.assertNotIn("the only ones in the cache", self.build().stderr)
        self.assertTrue((self.cached / ".assay").exists(), "the list was there again")

    def test_weights_in_the_cache_do_not_replace_those_that_the_list_names(self):
        weights = self.files.pop("model.safetensors")
        self.files["model.fp16.safetensors"] = weights
        self.build()
        shutil.rmtree(self.cached / ".assay")
        self.files["model.safetensors"] = weights[:-1] + bytes([weights[-1] ^ 1])
        self.hub.faults["model.safetensors"] = [503] * 9
        (self.folder / "model.onnx").unlink()
        self.assertIn("503", self.build(expect=1).stderr)
        self.assertFalse((self.folder / "model.onnx").exists())

    def test_random_weights_instead_of_those_that_cannot_be_told_apart_can_be_allowed(self):
        content = self.files.pop("model.safetensors")
        self.files |= {name: content for name in ("a.safetensors", "b.safetensors")}
        result = self.build(expect=1)
        self.assertIn("--allow-random-weights", result.stderr)
        self.assertNotIn("did you mean", result.stderr)
        result = self.run_tool("zoo", "build", "org/tiny", "--allow-random-weights", "-o", "model.onnx", expect=0)
        self.assertIn("seeded", result.stdout)
        self.assertIn("not clear which", result.stderr)

    def test_a_known_checkpoint_that_the_hub_does_not_give_is_an_error_and_not_random_weights(self):
        self.hub.token = "hf_secret"
        result = self.build("prajjwal1/bert-tiny", expect=2)
        for text in ("401", "HF_TOKEN", "--allow-random-weights"):
            self.assertIn(text, result.stderr)
        self.assertFalse((self.folder / "model.onnx").exists())
        result = self.run_tool("zoo", "build", "prajjwal1/bert-tiny", "--allow-random-weights", "-o", "model.onnx", expect=0)
        self.assertIn("seeded", result.stdout)
        self.assertIn("401", result.stderr)

    def test_a_known_checkpoint_with_a_wrong_checksum_is_an_error_in_a_measurement_too(self):
        self.hub.models["prajjwal1/bert-tiny"] = self.files
        self.hub.faults["model.safetensors"] = [None, "wrong"] * 3
        bench = ("bench", "--model", "prajjwal1/bert-tiny", "--engine", "null", "--iterations", "1", "--batch-sizes", "1", "--quiet")
        self.assertIn("checksum", self.run_tool(*bench, expect=1).stderr)
        self.hub.faults["model.safetensors"] = [None, "wrong"] * 3
        result = self.run_tool(*bench, "--allow-random-weights", "--output-format", "json", expect=0)
        self.assertIn("seeded", result.stdout)

    def test_a_configuration_alone_in_the_cache_is_no_reason_for_random_weights(self):
        weights = self.files.pop("model.safetensors")
        self.build()
        self.files["model.safetensors"] = weights
        self.hub.faults["main"] = [500] * 3
        self.assertIn("500", self.build(expect=1).stderr)
        self.environment["HF_HUB_OFFLINE"] = "1"
        result = self.build(expect=2)
        for text in ("the weights of 'org/tiny' are not in the cache", "HF_HUB_OFFLINE", "--allow-random-weights"):
            self.assertIn(text, result.stderr)
        result = self.run_tool("zoo", "build", "org/tiny", "--allow-random-weights", "-o", "model.onnx", expect=0)
        self.assertIn("seeded", result.stdout)

    def test_an_answer_that_is_not_a_description(self):
        self.hub.describe = lambda files: b'{"sha": "../..", "siblings": 7}'
        self.assertIn("does not answer with a model's description", self.build(expect=1).stderr)

    def test_a_hub_that_cannot_be_reached_is_asked_once_in_a_run(self):
        self.hub.close()
        (self.folder / "models.json").write_text(json.dumps({
            "one": {"name": "prajjwal1/bert-tiny", "family": "embedding"}, "two": {"name": "google-bert/bert-base-uncased", "family": "embedding"}}))
        result = self.run_tool("run", "--models-set", "custom", "--custom-models", "models.json", "--engine", "null", "--iterations", "3",
                               "--batch-sizes", "1", "--output-dir", "out", "--no-plots", expect=0)
        said = result.stdout + result.stderr
        self.assertEqual(said.count("cannot be reached"), 2, said)
        row = json.loads(next((self.folder / "out").glob("benchmark_results_*.json")).read_text())
        self.assertIn("seeded", json.dumps(row))

    def test_an_unknown_id_without_a_hub(self):
        self.hub.close()
        self.assertIn(self.hub.endpoint, self.build("org/unknown", expect=2).stderr)

    def test_the_zoo_fills_what_a_known_checkpoints_configuration_leaves_out(self):
        config = json.loads(self.files["config.json"])
        known = {"model_type": "bert"}  # the rest is prajjwal1/bert-tiny's, as the zoo knows it
        self.hub.models["prajjwal1/bert-tiny"] = {"config.json": json.dumps(known).encode()}
        self.assertNotEqual(config["hidden_size"], 128)
        result = self.build("prajjwal1/bert-tiny")
        self.assertIn("4.4 million", result.stdout)

    def test_a_name_of_the_zoo_needs_no_hub(self):
        self.build("zoo:prajjwal1/bert-tiny")
        self.run_tool("bench", "--model", "resnet50", "--engine", "null", "--iterations", "1", "--batch-sizes", "1", "--quiet", expect=0)
        self.assertEqual(self.hub.requests, [])


if __name__ == "__main__":
    tool.main()
