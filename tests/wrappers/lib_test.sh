#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lib_test.sh ROOT: tests when the wrappers consider a group or a build current, and which cases they find in a log of CTest.
# In a made-up checkout, without network.
library=$1/setup/lib.sh
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
unset ASSAY_DEPS_DIR
. "$library"
mkdir -p "$root"/{setup/groups/core,engines/fast/setup,src/core/base,build/release} "$deps/stamps"
touch -d '1 minute ago' "$root"/setup/groups/core/lock.txt "$root"/engines/fast/setup/lock.txt "$root"/engines{/fast{/setup,},} "$root"/src/core/base/a.cpp "$root"/src{,/core{,/base}}
failed=0

expect() {
  local expected=$1 what=$2
  shift 2
  "$@" && got=yes || got=no
  [[ $got == "$expected" ]] || { echo "$what: expected $expected, got $got"; failed=1; }
}

expect no "a group never set up is current" groups_are_current core
touch "$deps/stamps/core"
expect yes "a group set up after its lock is current" groups_are_current core
expect no "a group is current though another is not" groups_are_current core cpu
touch -d '1 minute' "$root/setup/groups/core/lock.txt"
expect no "a group whose lock changed is current" groups_are_current core

touch "$deps/stamps/fast"
expect yes "an engine's group set up after its lock is current" groups_are_current fast
touch -d '1 minute' "$root/engines/fast/setup/lock.txt"
expect no "an engine's group whose lock changed is current" groups_are_current fast
touch -d '1 minute ago' "$root/engines/fast/setup/lock.txt" "$root/engines/fast/setup"

expect no "what was never built is current" build_is_current release
echo "$deps" >"$root/build/release/.built"
touch -d '1 second' "$root/build/release/.built"
expect yes "a build after the last edit is current" build_is_current release
touch -d '1 minute' "$root/src/core/base/a.cpp"
expect no "a build before an edit is current" build_is_current release
touch -d '1 minute ago' "$root/src/core/base/a.cpp"
echo /elsewhere >"$root/build/release/.built"
touch -d '1 second' "$root/build/release/.built"
expect no "a build against another dependency folder is current" build_is_current release

# One build folder has several targets with a stamp each, and one cache: that of the last configuration.
mkdir -p "$root/build/dev"
expect no "a folder that was never configured has other dependencies" has_other_deps dev
printf '%s\n' '# This is the CMakeCache file.' 'ASSAY_DEPS_DIR:PATH=/elsewhere' 'CCACHE:FILEPATH=' >"$root/build/dev/CMakeCache.txt"
expect yes "a folder that is configured with another dependency folder has other dependencies" has_other_deps dev
echo "$deps" >"$root/build/dev/.built-unit_tests"
touch -d '1 second' "$root/build/dev/.built-unit_tests"
mkdir -p "$root"/{tests,bench}
touch -d '1 minute ago' "$root"/{tests,bench}
expect no "a target is current though its folder was configured with other dependencies after it" build_is_current dev unit_tests
printf '%s\n' '# This is the CMakeCache file.' "ASSAY_DEPS_DIR:PATH=$deps" 'CCACHE:FILEPATH=' >"$root/build/dev/CMakeCache.txt"
expect no "a folder that is configured with this dependency folder has other dependencies" has_other_deps dev
expect yes "a target that was built after the last edit is current" build_is_current dev unit_tests

cat >"$root/asan.log" <<'LOG'
Command: "/build/bin/assay_limits_test" "--gtest_filter=Limits.*"
[==========] Running 3 tests from 1 test suite.
[       OK ] Limits.Time (3 ms)
a message[  SKIPPED ] not a line of its own (0 ms)
[  SKIPPED ] Limits.Memory (0 ms)
[  FAILED  ] Limits.Disk/2, where GetParam() = 3 (0 ms)
[  PASSED  ] 1 test.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Limits.Memory
[  FAILED  ] 1 test, listed below:
[  FAILED  ] Limits.Disk/2, where GetParam() = 3
Command: "/usr/bin/python3" "/tests/cli/test_faults.py" "Faults"
test_a_crash (__main__.Faults.test_a_crash) ... ok
test_a_full_disk (__main__.Faults.test_a_full_disk)
Its text stands on a second line. ... skipped 'no limit here'
test_memory (__main__.Faults.test_memory) ... skipped "no limit beside a sanitiser's shadow"
test_that_prints (__main__.Faults.test_that_prints) ... a line of the program
ok
----------------------------------------------------------------------
Ran 4 tests in 1.0s
LOG
cat >"$root/ctest.log" <<'LOG'
 1/50 Test  #1: base .............................   Passed    0.32 sec
44/50 Test #44: tree.format ......................***Skipped   0.00 sec
LOG
list_cases "$root"/{asan,ctest}.log >"$root/asan.cases"
expected='ran assay_limits_test:Limits.Time
skipped assay_limits_test:Limits.Memory
ran assay_limits_test:Limits.Disk/2
ran test_faults.py:Faults.test_a_crash
skipped test_faults.py:Faults.test_a_full_disk
skipped test_faults.py:Faults.test_memory
ran test_faults.py:Faults.test_that_prints
skipped tree.format'
[[ $(<"$root/asan.cases") == "$expected" ]] || { echo "cases of a log: $(<"$root/asan.cases")"; failed=1; }
cat >"$root/others.log" <<'LOG'
Command: "/build/bin/assay_limits_test"
[       OK ] Limits.Memory (1 ms)
Command: "/usr/bin/python3" "/tests/cli/test_other.py"
test_memory (__main__.Faults.test_memory) ... ok
LOG
list_cases "$root/others.log" >"$root/others.cases"
[[ $(never_run "$root"/{asan,others}.cases) == $'test_faults.py:Faults.test_a_full_disk\ntest_faults.py:Faults.test_memory\ntree.format' ]] ||
  { echo "cases skipped in every suite: $(never_run "$root"/{asan,others}.cases)"; failed=1; }

(logged "a step" bash -c 'echo the reason; exit 3') 2>"$root/messages"
grep -q "the reason" "$root/messages" && grep -q "a step failed; the whole output is in $deps/log/a-step.log" "$root/messages" ||
  { echo "a failing step does not say why and where: $(<"$root/messages")"; failed=1; }
exit $failed
