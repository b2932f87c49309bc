#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# format_test.sh ROOT CLANG_FORMAT: every source is formatted as .clang-format says. To correct it: CLANG_FORMAT -i FILE.
cd "$1" || exit 1
sources=$(find src engines include bench tests cmake -name '*.[ch]pp' -o -name '*.[ch]')
[[ -n $sources ]] || { echo "no sources below $1"; exit 1; }
xargs "$2" --dry-run -Werror <<<"$sources"
