#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# configure_test.sh ROOT DEPS: the release build is configured on a machine that has GoogleTest without GoogleMock.
# Debian has them as two packages.
set -eu
root=$1 deps=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/gtest"
cat >"$folder/gtest/GTestConfig.cmake" <<'CMAKE'
add_library(GTest::gtest INTERFACE IMPORTED)
add_library(GTest::gtest_main INTERFACE IMPORTED)
CMAKE
cd "$root"
cmake --preset release -B "$folder/build" -DASSAY_DEPS_DIR="$deps" -DGTest_DIR="$folder/gtest" >"$folder/log" 2>&1 ||
  { echo "GoogleTest without GoogleMock: not configured"; tail -n 30 "$folder/log"; exit 1; }
