#!/usr/bin/env bash
# Replaces the compiler and the linker in the preset `tidy`, which only runs clang-tidy: their output files are empty. The
# list of included headers is still written, so that a source is checked again when a header changed.
set -euo pipefail
args=("$@")
for i in "${!args[@]}"; do
  if [[ ${args[i]} == -o ]]; then
    output=${args[i + 1]}
    args[i + 1]=/dev/null
  elif [[ ${args[i]} == -c ]]; then
    args[i]=-E
    preprocess=1
  fi
done
[[ -z ${preprocess-} ]] || "${args[@]}"
: >"$output"
