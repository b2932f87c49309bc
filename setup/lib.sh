# SPDX-License-Identifier: Apache-2.0
# What ./assay and ./test share. Sourced; `root` is the checkout. On the fast path nothing here starts a process but `find`.

deps=${ASSAY_DEPS_DIR:-$root/.deps}
case $deps in /*) ;; *) deps=$PWD/$deps ;; esac
export ASSAY_DEPS_DIR=$deps

say() { printf 'assay set-up: %s\n' "$*" >&2; }

# The first line says what is wrong, the others what to type.
die() {
  say "$1"
  [[ $# -lt 2 ]] || printf '%s\n' "${@:2}" >&2
  exit 1
}

# Runs a command with its output in a log, showing the end of it if it fails.
logged() {
  local name=$1 log
  log=${log_folder:-$deps/log}/${name//[^a-zA-Z0-9._-]/-}.log
  shift
  mkdir -p "${log%/*}"
  "$@" >"$log" 2>&1 </dev/null && return
  tail -n 20 "$log" >&2
  die "$name failed; the whole output is in $log"
}

# Sets `group_folder`: setup/groups/NAME, or the set-up part of the engine NAME.
find_group_folder() {
  group_folder=$root/setup/groups/$1
  [[ -d $group_folder ]] || group_folder=$root/engines/$1/setup
}

# True when every group named was set up after its lock files were last touched.
groups_are_current() {
  local group file group_folder
  for group; do
    [[ -f $deps/stamps/$group ]] || return 1
    find_group_folder "$group"
    for file in "$group_folder"/*; do
      [[ $file -nt $deps/stamps/$group ]] && return 1
    done
  done
  return 0
}

ensure_groups() {
  groups_are_current "$@" && return
  timed "set-up" fetch_groups "$@"
}
fetch_groups() { "$root/setup/fetch" "$@" >&2; }

# Runs a command and adds the time it took, in minutes and seconds, to `times`.
times=()
timed() {
  local name=$1 began=$SECONDS status=0 took
  shift
  "$@" || status=$?
  took=$((SECONDS - began))
  times+=("$(printf '%s %d:%02d' "$name" $((took / 60)) $((took % 60)))")
  return "$status"
}
times_text() { local text; text=$(printf ', %s' "${times[@]}"); printf '%s' "${text:2}"; }

# True when the build folder of PRESET is configured with another dependency folder than this one.
has_other_deps() {
  local cache=$root/build/$1/CMakeCache.txt text
  [[ -f $cache ]] || return 1
  IFS= read -r -d '' text <"$cache" || true
  [[ $text != *$'\n'ASSAY_DEPS_DIR:PATH="$deps"$'\n'* ]]
}

# True when PRESET, or its TARGET, was built from what lies here now, against these groups.
build_is_current() {
  local built=$root/build/$1/.built${2:+-$2} sources=(src engines include zoo cmake CMakeLists.txt CMakePresets.json) line
  [[ -f $built ]] || return 1
  ! has_other_deps "$1" || return 1
  read -r line <"$built"
  [[ $line == "$deps" ]] || return 1
  [[ $1 == release ]] || sources+=(tests bench)
  line=$(find "${sources[@]/#/$root/}" "$deps/stamps" -newer "$built" -print -quit 2>/dev/null)
  [[ -z $line ]]
}

# Runs the build tool, showing how far it is: on a terminal in one line, else a line for each tenth.
build_with_progress() {
  local preset=$1 log=$2 shown=0 line percent
  shift 2
  # Without a terminal the build tool writes a line for each step: "[ 37%] …".
  NINJA_STATUS='[%p] ' cmake --build --preset "$preset" "$@" 2>&1 </dev/null |
    while IFS= read -r line; do
      printf '%s\n' "$line" >>"$log"
      percent=${line#[}
      percent=${percent%%\%*}
      percent=${percent// /}
      [[ $line == '['* && $percent =~ ^[0-9]+$ ]] || continue
      if [[ -t 2 ]]; then
        printf '\rassay set-up: building (%s): %3d %%' "$preset" "$percent" >&2
      elif ((percent >= shown + 10)); then
        shown=$((percent / 10 * 10))
        say "building ($preset): $shown %"
      fi
    done
  local status=${PIPESTATUS[0]}
  [[ ! -t 2 ]] || printf '\n' >&2
  return "$status"
}

# The compiler cache is the user's own (ccache's default folder); it serves checkouts in any folder.
use_compiler_cache() {
  export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
  [[ -n ${HOME-}${CCACHE_DIR-}${XDG_CACHE_HOME-} ]] || export CCACHE_DIR=$deps/ccache
}

# Builds PRESET if anything changed: everything, or the TARGET that is named. One build at a time: a second caller waits,
# and then finds nothing to do.
ensure_built() {
  local preset=$1
  build_is_current "$@" && return
  timed "build $preset" build_preset "$@"
}
build_preset() {
  local preset=$1 target=${2-} folder=$root/build/$1
  local stamp=$folder/.built${target:+-$target}
  mkdir -p "$folder"
  (
    flock 9
    build_is_current "$@" && exit
    log_folder=$folder
    use_compiler_cache
    cd "$root"
    printf '%s\n' "$deps" >"$folder/.building"  # its time is the start: an edit during the build makes the next call build again
    # What was found in another dependency folder is not valid in this one.
    local fresh=() first=''
    [[ -f $stamp ]] || first=', which takes minutes the first time'
    ! has_other_deps "$preset" || fresh=(--fresh)
    logged configure cmake --preset "$preset" "${fresh[@]}" -DASSAY_DEPS_DIR="$deps" >&2
    say "building ($preset)$first; log: build/$preset/build.log"
    : >"$folder/build.log"
    if ! build_with_progress "$preset" "$folder/build.log" ${target:+--target "$target"}; then
      grep -E 'error|FAILED' -A 3 "$folder/build.log" | head -n 40 >&2 || tail -n 20 "$folder/build.log" >&2
      die "the build failed; the whole output is in $folder/build.log"
    fi
    mv "$folder/.building" "$stamp"
  ) 9>"$root/build/.$preset.lock"
}

# Prints the cases in logs of CTest, one a line: "ran PROGRAM:CASE" or "skipped PROGRAM:CASE". A test of CTest is a program
# with many cases, of GoogleTest or of Python's unittest (in verbose mode, which prints a description on a second line). One
# that is skipped as a whole is named in CTest's own output: "skipped TEST".
list_cases() {
  awk '
    /^Command: / { split($0, word, "\""); program = word[2] ~ /python[0-9.]*$/ ? word[4] : word[2]; sub(".*/", "", program) }
    /^\[ .* \([0-9]+ ms\)$/ && ($2 == "OK" || $2 == "FAILED" || $2 == "SKIPPED") {
      sub(",$", "", $4)
      print $2 == "SKIPPED" ? "skipped" : "ran", program ":" $4
    }
    /^test_[A-Za-z0-9_]+ \(/ { end("ran"); name = $2; gsub("[()]", "", name); sub("^__main__[.]", "", name) }
    / \.\.\. skipped / { end("skipped") }
    / Test +#[0-9]+: .*\*\*\*Skipped/ { sub(".*#[0-9]+: ", ""); print "skipped", $1 }
    /^----/ { end("ran") }
    END { end("ran") }
    function end(how) { if (name) print how, program ":" name; name = "" }
  ' "$@"
}

# Prints the cases that are "skipped" and never "ran" in what list_cases() printed.
never_run() {
  awk '$1 == "ran" { ran[$2] } $1 == "skipped" { skipped[$2] } END { for (name in skipped) if (!(name in ran)) print name }' "$@" | sort
}
