#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lib_test.sh ROOT: tests when the wrappers consider a group or a build current. In a made-up checkout, without network.
library=$1/setup/lib.sh
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
unset ASSAY_DEPS_DIR
. "$library"
mkdir -p "$root"/{setup/groups/core,engines/fast/setup,src/base,build/release} "$deps/stamps"
touch -d '1 minute ago' "$root"/setup/groups/core/lock.txt "$root"/engines/fast/setup/lock.txt "$root"/engines{/fast{/setup,},} "$root"/src/base/a.cpp "$root"/src{,/base}
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
touch -d '1 minute' "$root/src/base/a.cpp"
expect no "a build before an edit is current" build_is_current release
touch -d '1 minute ago' "$root/src/base/a.cpp"
echo /elsewhere >"$root/build/release/.built"
touch -d '1 second' "$root/build/release/.built"
expect no "a build against another dependency folder is current" build_is_current release

(logged "a step" bash -c 'echo the reason; exit 3') 2>"$root/messages"
grep -q "the reason" "$root/messages" && grep -q "a step failed; the whole output is in $deps/log/a-step.log" "$root/messages" ||
  { echo "a failing step does not say why and where: $(<"$root/messages")"; failed=1; }
exit $failed
