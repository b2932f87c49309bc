#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# install_test.sh SOURCE BUILD: the installed tree works on its own: the program, and a plug-in built against its headers.
set -eu
source=$1 build=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix=$folder/prefix
cmake --install "$build" --prefix "$prefix" >"$folder/log"

cmake -S "$source/tests/install" -B "$folder/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >"$folder/log"
ninja -C "$folder/consumer" >"$folder/log" || { cat "$folder/log"; exit 1; }
nm -D --defined-only "$folder/consumer/assay_engine_outside.so" | grep -q ' T assay_engine_get$' ||
  { echo "the plug-in does not export assay_engine_get"; exit 1; }

# From another folder, without the checkout's environment: nothing of the build folder may be needed.
cd "$folder"
unset ASSAY_PLUGIN_DIR ASSAY_DEPS_DIR
"$prefix/bin/assay" --version | grep -q '^assay [0-9]'
"$prefix/bin/assay" bench --engine null --iterations 20 --warmup 0 --batch-sizes 1 --output-format json --output-dir "$folder/results" |
  jq -e '.results[0].status == "completed"' >/dev/null || { echo "the installed program cannot run its own worker"; exit 1; }
echo "installed: $(cd "$prefix" && find . -type f | sort | tr '\n' ' ')"
