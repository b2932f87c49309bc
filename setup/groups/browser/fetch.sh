# SPDX-License-Identifier: Apache-2.0
# What the tests of the dashboard need: a browser (system package), the library that drives it, the checker of accessibility, and
# the checker of types (npm). Nothing of it is in the program.
command -v chromium >/dev/null && timeout 60 chromium --version >/dev/null 2>&1 ||
  die "the package chromium is installed, but 'chromium --version' does not run; the tests of the dashboard need it. On this system its package may be an empty one" \
      "  install a Chromium whose program is 'chromium', then run this again"
npm_packages "$work/browser"
rm -rf "$deps/browser"
mv "$work/browser" "$deps/browser"
