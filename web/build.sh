#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# web/build.sh PART OUT: bundles a part of web/ into the file OUT.
#   charts       ECharts with chart/runtime.js as one ES5 script: Duktape runs it in the program
#   page-script  the dashboard's script, for browsers
#   page-style   its style
#   chart-page-script, chart-page-style  those of a page with one chart
# The libraries come from the group `web` of set-up (ASSAY_DEPS_DIR).
set -euo pipefail
web=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
deps=${ASSAY_DEPS_DIR:-${web%/*}/.deps}
esbuild=$deps/web/node_modules/@esbuild/linux-x64/bin/esbuild
[[ -x $esbuild ]] || { echo "web/build.sh: '$esbuild' is missing; run: setup/fetch web" >&2; exit 1; }
export NODE_PATH=$deps/web/node_modules
common=(--bundle --legal-comments=none --log-level=warning '--define:process.env.NODE_ENV="production"')
# The licences of what a page contains, as their texts say: they go with every copy. Without carriage returns: a browser reads
# none, and the hash in the page's policy would be another one.
licences() {
  local package file
  echo "/*!"
  for package in "$@"; do
    printf '\n%s\n\n' "---- $package"
    for file in "$NODE_PATH/$package"/NOTICE* "$NODE_PATH/$package"/LICENSE* "$NODE_PATH/$package"/licenses/*; do [[ ! -f $file ]] || tr -d '\r' <"$file"; done
  done
  echo "*/"
}
# The packages that draw charts.
drawing=(echarts zrender tslib preact)
# script ENTRY OUT PACKAGE…: one of web/src with the licences of the packages that it contains.
script() {
  "$esbuild" "$web/src/$1" "${common[@]}" --format=iife --target=es2022 --jsx=automatic --jsx-import-source=preact \
    --minify --banner:js="$(licences "${@:3}")" --outfile="$2"
}
style() {
  "$esbuild" "$web/src/$1" --bundle --legal-comments=none --log-level=warning --minify --outfile="$2"
}
case $1 in
  charts)
    # Not --minify-syntax: it moves `in` into the head of a `for`, which Duktape's parser refuses.
    "$esbuild" "$web/chart/entry.mjs" "${common[@]}" --format=iife --global-name=assayCharts --target=es5 \
      --minify-whitespace --minify-identifiers --outfile="$2"
    ;;
  page-script) script main.tsx "$2" "${drawing[@]}" @tanstack/table-core @tanstack/store ;;
  page-style) style style.css "$2" ;;
  chart-page-script) script chart_page.tsx "$2" "${drawing[@]}" ;;
  chart-page-style) style chart_page.css "$2" ;;
  *)
    echo "web/build.sh: unknown part '$1'; valid: charts, page-script, page-style, chart-page-script, chart-page-style" >&2
    exit 2
    ;;
esac
