#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# install_test.sh SOURCE BUILD DEPS: the installed program works without the checkout; the engine of docs/engines.md, built
# against it, conforms, is measured and is verified; the program of docs/bench.md measures.
set -eu
source=$1 build=$2 deps=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix=$folder/prefix log=$folder/log
fail() { echo "$1"; [[ ! -s $log ]] || tail -n 60 "$log"; exit 1; }
run() { "$@" >"$log" 2>&1 || fail "failed: $*"; }

run cmake --install "$build" --prefix "$prefix"
run cc -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$prefix/include" "$source/tests/install/abi_from_c.c"

# A third-party runtime.
mkdir -p "$folder/vendor/lib" "$folder/vendor/include"
run c++ -std=c++20 -O1 -fPIC -shared -o "$folder/vendor/lib/libtoy.so.0.3" "$source/tests/install/toy/toy.cpp"
cp "$source/tests/install/toy/toy.h" "$folder/vendor/include"

# The engine of docs/engines.md, built only from installed files.
run /usr/bin/python3 "$source/tests/install/example_files.py" "$source/docs/engines.md" "$folder/example"
run cmake -S "$folder/example" -B "$folder/example/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DTOY_INCLUDE_DIR="$folder/vendor/include"
run cmake --build "$folder/example/build"
plugin=$folder/example/build/engines/toy/assay_engine_toy.so
[[ $(nm -D --defined-only "$plugin" | grep -c ' [TW] .*assay') == 1 ]] || fail "the plug-in exports more than assay_engine_get"

# From another folder, without the checkout's environment: no file of the build folder may be needed.
cd "$folder"
unset ASSAY_PLUGIN_DIR ASSAY_DEPS_DIR ASSAY_ENGINE_PATH
export XDG_CACHE_HOME=$folder/cache
assay=$prefix/bin/assay
"$assay" --version | grep -q '^assay [0-9]'
"$assay" bench --engine null --iterations 20 --warmup 0 --batch-sizes 1 --output-format json --output-dir "$folder/results" >null.json 2>"$log" ||
  fail "the installed program cannot measure the null engine"
jq -e '.results[0].status == "completed"' null.json >/dev/null || fail "the null engine: $(<null.json)"

# The program of docs/bench.md, with the null engine instead of a model.
run /usr/bin/python3 "$source/tests/install/example_files.py" "$source/docs/bench.md" "$folder/benchmark"
sed -i 's/config.framework = "pytorch"/config.options = {"--engine", "null"}/; s/"resnet50"/""/' "$folder/benchmark/benchmark.cpp"
run cmake -S "$folder/benchmark" -B "$folder/benchmark/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix"
run cmake --build "$folder/benchmark/build"
"$folder/benchmark/build/benchmark" >cells 2>"$log" || fail "the program of docs/bench.md"
[[ $(grep -Ec '^batch [18]: [0-9.]+ ms, [0-9.]+ items/s, ' cells) == 2 ]] || fail "the program of docs/bench.md prints: $(<cells)"
library=$prefix/lib/libassay.so
[[ $(nm -DC --defined-only "$library" | grep ' T ' | grep -vc 'assay::\(run_inference_benchmark\|run_benchmark_suite\|BenchmarkLogger::\)') == 0 ]] ||
  fail "libassay.so exports more than its interface: $(nm -DC --defined-only "$library" | head)"

export ASSAY_ENGINE_PATH=$folder/example/build/engines
"$assay" engines toy --output-format json >engine.json
jq -e '.engines[0].why_not | contains("libtoy.so") and contains("install the toy runtime")' engine.json >/dev/null ||
  fail "without its runtime the engine does not say what is missing: $(<engine.json)"
export ASSAY_TOY_HOME=$folder/vendor
"$assay" engines toy --output-format json >engine.json
jq -e '.problems == [] and (.engines[0] | .available and .version == "0.3" and .hardware == ["cpu"] and .devices[0].id == "cpu")' engine.json >/dev/null ||
  fail "assay engines toy: $(<engine.json)"
run "$assay" engines toy --check
grep -q 'PASSED' "$log" && ! grep -q 'SKIPPED' "$log" || fail "the conformance tests did not run"
conforms=$(grep -o 'PASSED.*' "$log" | tail -n 1)

# Measured, and verified if the reference is installed.
run env PYTHONPATH="$deps/python:$deps/onnx" /usr/bin/python3 "$source/tests/install/make_model.py" layer.onnx
export ASSAY_ONNXRUNTIME_HOME=$deps/onnxruntime
wanted=verified
"$assay" engines onnxruntime --output-format json | jq -e '.engines[0].available' >/dev/null || wanted=unverified
"$assay" bench --engine toy --model layer.onnx --iterations 20 --warmup 1 --batch-sizes 1,4 --output-format json --output-dir "$folder/results" >bench.json 2>"$log" ||
  fail "assay bench --engine toy"
jq -e --arg wanted "$wanted" '.results | length == 2 and all(.status == "completed" and .engine == "toy" and .engine_version == "0.3" and .verification == $wanted)' bench.json >/dev/null ||
  fail "assay bench --engine toy: $(<bench.json)"
[[ $wanted != verified ]] || run "$assay" verify layer.onnx --engine toy --batch-sizes 1

# Installed beside assay it is found without an environment variable.
run cmake --install "$folder/example/build" --prefix "$prefix"
unset ASSAY_ENGINE_PATH
run "$assay" engines toy
# A mistake in one engine's file is shown with its line, and the other engines still work.
sed -i 's/"formats"/"fromats"/' "$prefix/lib/assay/engines/toy/engine.json"
"$assay" engines --output-format json >engines.json
jq -e '(.problems[0].message | contains("toy/engine.json:5: unknown key \"fromats\"; did you mean \"formats\"?")) and (.engines | any(.name == "null" and .available))' engines.json >/dev/null ||
  fail "a mistake in engine.json: $(jq -c .problems engines.json)"
echo "installed: $(cd "$prefix" && find . -type f | sort | tr '\n' ' ')"
echo "the engine of docs/engines.md: $conforms; $wanted"
