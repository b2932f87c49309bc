#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# groups_test.sh ROOT: which groups ./assay sets up for which arguments.
. "$1/setup/groups.sh"
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
expect "core cpu openvino" run --models-set small
expect "core cpu openvino" run --output-dir report
expect "core cpu openvino" run --hardware all
expect "core cpu openvino" run --hardware cpu openvino --batch-sizes 1 4
expect "core cpu openvino" --db-path here verify m.onnx --hardware=openvino
expect "core cpu openvino" bench --engines onnxruntime,openvino
expect "core cpu openvino" zoo check folder
expect "core cpu" run --hardware cpu --batch-sizes 1 4
expect "core cpu" run --hardware cuda
expect "core cpu" bench --engine=null,onnxruntime --hardware all
expect "core cpu" zoo check folder --engine onnxruntime
exit $failed
