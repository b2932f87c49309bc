#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# typescript_test.sh ROOT BIOME: every script of web is formatted as web/biome.jsonc says, and its linter finds nothing.
# To correct what can be corrected automatically: cd web && BIOME check --write
[[ -x $2 ]] || { echo "'$2' is missing; run: setup/fetch dev" >&2; exit 1; }
cd "$1/web" || exit 1
report=$("$2" check --colors=off --error-on-warnings --max-diagnostics=100 . 2>&1)
status=$?
echo "$report"
# Findings of the lowest level do not change the exit status.
[[ $status == 0 && $report != *$'\n'"Found "* ]]
