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

expect "core web"
expect "core web" --version
expect "core web" run --help
expect "core web" hardware --output-format json
expect "core web" engines
expect "core web" db rebuild
expect "core web" zoo build bert -o run
expect "core web libtorch" zoo build bert -o m.pt
expect "core web libtorch" zoo build -o out.d/m.PT bert
expect "core web libtorch" zoo build -om.pt bert
expect "core web" zoo build bert -o m.mlir
expect "core web" zoo build bert -o folder.pt/model
expect "core web libtorch" zoo build bert --output=out/m.pt --batch-size 8
expect "core web" zoo build bert -o m.torchscript
expect "core web" zoo build bert -o m.stablehlo
expect "core web" zoo specialise m.onnx -o run
expect "core web" bench --engine null --iterations 100
expect "core web onnxruntime openvino" run --models-set small
expect "core web onnxruntime openvino" run --output-dir report
expect "core web onnxruntime openvino" run --hardware all
expect "core web onnxruntime openvino" run --hardware cpu openvino --batch-sizes 1 4
expect "core web onnxruntime openvino" --db-path here verify m.onnx --hardware=openvino
expect "core web onnxruntime openvino" bench --engines onnxruntime,openvino
expect "core web onnxruntime openvino" zoo check folder
expect "core web onnxruntime" run --hardware cpu --batch-sizes 1 4
expect "core web onnxruntime" run --hardware cuda
expect "core web onnxruntime" bench --engine=null,onnxruntime --hardware all
expect "core web onnxruntime" zoo check folder --engine onnxruntime
expect "core web onnxruntime libtorch" bench --engine libtorch
expect "core web onnxruntime" bench --engine onnxruntime@1.31 --hardware cpu
expect "core web onnxruntime openvino" verify m.onnx --engine openvino@2026
expect "core web onnxruntime openvino" run --hardware OpenVINO
expect "core web onnxruntime" run --hardware no_such_word
expect "core web onnxruntime openvino xla" bench --device-prefer tpu --model resnet50
expect "core web onnxruntime xla" bench --framework jax --device-prefer=tpu
expect "core web onnxruntime openvino" suite --plan
expect "core web onnxruntime openvino" coverage --benchmark-all
expect "core web onnxruntime openvino" test/run_model_benchmarks.py --output-dir ./benchmark_results
expect "core web onnxruntime openvino" ./run_benchmark_suite.py --models embedding vision
expect "core web onnxruntime libtorch" bench/runner.py --framework pytorch --hardware cpu
expect "core web onnxruntime libtorch xla" bench --framework=both --model both
expect "core web onnxruntime xla" bench --framework JAX --model resnet50
expect "core web onnxruntime openvino" test_comprehensive_hardware_coverage --incremental-benchmarks
expect "core web" setup_benchmark_db.py --db-path run
expect "core web" benchmark_db_query.py --report run
expect "core web" query --report run
expect "core web" help run

# Engines are found by folder: in a made-up checkout, with differently formatted JSON.
made_up=$(mktemp -d)
trap 'rm -rf "$made_up"' EXIT
root=$made_up
mkdir -p "$made_up/src/core/traits"
reference() { echo "inline constexpr const char* kReferenceEngine = \"$1\";" >"$made_up/src/core/traits/engine_entry.hpp"; }
reference onnxruntime
mkdir -p "$made_up"/engines/{onnxruntime,quick,slow,planned,script}/ "$made_up"/engines/{onnxruntime,quick,slow}/setup
echo '{"name":"onnxruntime","preference":10,"hardware":["cpu","npu"],"formats":["onnx"]}' >"$made_up/engines/onnxruntime/engine.json"
printf '{\n  "name": "quick",\n  "hardware": [\n    "npu",\n    "cpu"\n  ],\n  "default_for" : [ "npu" ],\n  "preference": 90\n}\n' >"$made_up/engines/quick/engine.json"
echo '{"name": "slow", "hardware": ["cpu", "gpu"], "formats": []}' >"$made_up/engines/slow/engine.json"
echo '{"name": "planned", "planned": true, "preference": 1000, "hardware": ["web"]}' >"$made_up/engines/planned/engine.json"
echo '{"name": "script", "preference": 1000, "needs_model" : false, "hardware": ["cpu"]}' >"$made_up/engines/script/engine.json"
expect "core web onnxruntime quick" run
expect "core web onnxruntime" run --hardware cpu
expect "core web onnxruntime quick" run --hardware npu
expect "core web onnxruntime slow" run --hardware gpu
expect "core web onnxruntime" run --hardware web
expect "core web onnxruntime slow" run --engines slow,script --hardware npu
expect "core web" run --engines script
reference slow
expect "core web slow" run --hardware web
expect "core web slow quick" run --engines quick
find_engine_groups
[[ ${engine_groups[*]} == "onnxruntime quick slow" ]] || { echo "engine groups: ${engine_groups[*]}"; failed=1; }
exit $failed
