#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# format_test.sh ROOT CLANG_FORMAT: every source is formatted as .clang-format says. To correct it: CLANG_FORMAT -i FILE.
# Without clang-format the test is skipped (exit status 77).
cd "$1" || exit 1
[[ -x $2 ]] || { echo "skipped: clang-format 16 is not installed; run: setup/fetch dev"; exit 77; }
sources=$(find src engines include bench tests cmake -name '*.[ch]pp' -o -name '*.[ch]')
[[ -n $sources ]] || { echo "no sources below $1"; exit 1; }
xargs "$2" --dry-run -Werror <<<"$sources"
