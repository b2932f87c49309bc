#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# groups_test.sh ROOT: tests which groups ./assay sets up for its arguments.
root=$1
. "$root/setup/groups.sh"
failed=0

expect() {
  local expected=$1
  shift
  find_groups "$@"
  [[ ${groups[*]} == "$expected" ]] || { echo "assay $*: expected '$expected', got '${groups[*]}'"; failed=1; }
}

expect "core"
expect "core" --version
expect "core" run --help
expect "core" hardware --output-format json
expect "core" engines
expect "core" db rebuild
expect "core" zoo build bert -o run
expect "core" zoo specialise m.onnx -o run
expect "core" bench --engine null --iterations 100
expect "core onnxruntime openvino" run --models-set small
expect "core onnxruntime openvino" run --output-dir report
expect "core onnxruntime openvino" run --hardware all
expect "core onnxruntime openvino" run --hardware cpu openvino --batch-sizes 1 4
expect "core onnxruntime openvino" --db-path here verify m.onnx --hardware=openvino
expect "core onnxruntime openvino" bench --engines onnxruntime,openvino
expect "core onnxruntime openvino" zoo check folder
expect "core onnxruntime" run --hardware cpu --batch-sizes 1 4
expect "core onnxruntime" run --hardware cuda
expect "core onnxruntime" bench --engine=null,onnxruntime --hardware all
expect "core onnxruntime" zoo check folder --engine onnxruntime
expect "core onnxruntime" bench --engine libtorch
expect "core onnxruntime" bench --engine onnxruntime@1.31 --hardware cpu
expect "core onnxruntime openvino" verify m.onnx --engine openvino@2026
expect "core onnxruntime openvino" run --hardware OpenVINO
expect "core onnxruntime" run --hardware no_such_word

# Engines are found by folder: in a made-up checkout, with differently formatted JSON.
made_up=$(mktemp -d)
trap 'rm -rf "$made_up"' EXIT
root=$made_up
mkdir -p "$made_up/src/engine"
reference() { echo "inline constexpr const char* kReferenceEngine = \"$1\";" >"$made_up/src/engine/engine_entry.hpp"; }
reference onnxruntime
mkdir -p "$made_up"/engines/{onnxruntime,quick,slow,planned,script}/ "$made_up"/engines/{onnxruntime,quick,slow}/setup
echo '{"name":"onnxruntime","preference":10,"hardware":["cpu","npu"],"formats":["onnx"]}' >"$made_up/engines/onnxruntime/engine.json"
printf '{\n  "name": "quick",\n  "hardware": [\n    "npu",\n    "cpu"\n  ],\n  "default_for" : [ "npu" ],\n  "preference": 90\n}\n' >"$made_up/engines/quick/engine.json"
echo '{"name": "slow", "hardware": ["cpu", "gpu"], "formats": []}' >"$made_up/engines/slow/engine.json"
echo '{"name": "planned", "planned": true, "preference": 1000, "hardware": ["web"]}' >"$made_up/engines/planned/engine.json"
echo '{"name": "script", "preference": 1000, "needs_model" : false, "hardware": ["cpu"]}' >"$made_up/engines/script/engine.json"
expect "core onnxruntime quick slow" run
expect "core onnxruntime" run --hardware cpu
expect "core onnxruntime quick" run --hardware npu
expect "core onnxruntime slow" run --hardware gpu
expect "core onnxruntime" run --hardware web
expect "core onnxruntime slow" run --engines slow,script --hardware npu
expect "core" run --engines script
reference slow
expect "core slow" run --hardware web
expect "core slow quick" run --engines quick
find_engine_groups
[[ ${engine_groups[*]} == "onnxruntime quick slow" ]] || { echo "engine groups: ${engine_groups[*]}"; failed=1; }
exit $failed
