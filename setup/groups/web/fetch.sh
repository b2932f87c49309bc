# SPDX-License-Identifier: Apache-2.0
# What draws charts and pages: ECharts and the page's libraries with the tool that bundles them (npm), the script engine that runs
# ECharts in the program, the library that makes PNG files, and the HTTP library of `assay serve` (system packages).
npm_packages "$work/web"
# Only what the bundle reads: ECharts' finished builds and source maps are nine tenths of its size.
rm -rf "$work"/web/node_modules/{echarts,zrender}/{dist,build,src,i18n,map,types,ssr,extension-src}
find "$work/web/node_modules" -name '*.map' -delete
rm -rf "$deps/web"
mv "$work/web" "$deps/web"
