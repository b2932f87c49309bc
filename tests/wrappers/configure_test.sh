#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# configure_test.sh ROOT DEPS: the release build is configured on a machine that has GoogleTest without GoogleMock (Debian
# has them as two packages), and the build knows from which commit it is and whether files were changed since.
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
# has_other_deps() in setup/lib.sh reads this line.
grep -qxF "ASSAY_DEPS_DIR:PATH=$deps" "$folder/build/CMakeCache.txt" || { echo "CMakeCache.txt does not name $deps"; exit 1; }

expect_commit() {
  local commit
  commit=$(cmake -D folder="$folder/checkout" -P "$folder/commit.cmake" 2>&1)
  [[ $commit == "$1" ]] || { echo "$2: expected commit '$1', got '$commit'"; exit 1; }
}
cat >"$folder/commit.cmake" <<CMAKE
include("$root/cmake/assay_git_commit.cmake")
assay_git_commit(commit "\${folder}")
execute_process(COMMAND \${CMAKE_COMMAND} -E echo_append "\${commit}")
CMAKE
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_CEILING_DIRECTORIES=$folder
mkdir "$folder/checkout"
expect_commit "" "a folder that is not a checkout"
in_checkout() { git -C "$folder/checkout" -c user.name=test -c user.email=test "$@"; }
in_checkout init -q
echo 1 >"$folder/checkout/source"
in_checkout add source
in_checkout commit -q -m first
in_checkout tag -a -m release v1
commit=$(in_checkout rev-parse --short HEAD)
expect_commit "$commit" "a clean checkout with a tag"
touch "$folder/checkout/output"
expect_commit "$commit" "a checkout with a file that git does not know"
echo 2 >"$folder/checkout/source"
expect_commit "$commit-dirty" "a changed checkout"
