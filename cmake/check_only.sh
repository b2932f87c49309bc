#!/usr/bin/env bash
# Stands before the compiler and the linker in the preset `tidy`, where only what clang-tidy finds is wanted: what they
# would make is left empty. Which headers a source includes is still written, so that a changed one is checked again.
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
