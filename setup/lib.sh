# SPDX-License-Identifier: Apache-2.0
# What ./assay and ./test share. Sourced; `root` is the checkout. On the fast path nothing here starts a process but `find`.

deps=${ASSAY_DEPS_DIR:-$root/.deps}
case $deps in /*) ;; *) deps=$PWD/$deps ;; esac
export ASSAY_DEPS_DIR=$deps

say() { printf 'assay set-up: %s\n' "$*" >&2; }

# The first line tells what is wrong, further ones what to type.
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

# True when every group named was set up after its lock files were last touched.
groups_are_current() {
  local group file
  for group; do
    [[ -f $deps/stamps/$group ]] || return 1
    for file in "$root/setup/groups/$group"/*; do
      [[ $file -nt $deps/stamps/$group ]] && return 1
    done
  done
  return 0
}

ensure_groups() {
  groups_are_current "$@" || "$root/setup/fetch" "$@" >&2 || exit
}

# True when PRESET was built from what lies here now, against these groups.
build_is_current() {
  local built=$root/build/$1/.built sources=(src engines include zoo cmake CMakeLists.txt CMakePresets.json) line
  [[ -f $built ]] || return 1
  read -r line <"$built"
  [[ $line == "$deps" ]] || return 1
  [[ $1 == release ]] || sources+=(tests bench)
  line=$(find "${sources[@]/#/$root/}" "$deps/stamps" -newer "$built" -print -quit 2>/dev/null)
  [[ -z $line ]]
}

# Builds PRESET if anything changed. One build at a time: a second caller waits, and then finds nothing to do.
ensure_built() {
  local preset=$1 folder=$root/build/$1
  build_is_current "$preset" && return
  mkdir -p "$folder"
  (
    exec 1>&2
    flock 9
    build_is_current "$preset" && exit
    log_folder=$folder
    export CCACHE_DIR=$deps/ccache CCACHE_MAXSIZE=2G CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
    cd "$root"
    printf '%s\n' "$deps" >"$folder/.building"  # its time is the start: an edit during the build makes the next call build again
    # Against another dependency folder nothing that was found before is true.
    local fresh=()
    [[ ! -f $folder/.built || $(<"$folder/.built") == "$deps" ]] || fresh=(--fresh)
    logged configure cmake --preset "$preset" "${fresh[@]}" -DASSAY_DEPS_DIR="$deps"
    say "building ($preset)$([[ -f $folder/.built ]] || echo ', which takes minutes the first time'); log: build/$preset/build.log"
    if [[ -t 2 ]]; then
      NINJA_STATUS='[%f/%t, %e s] ' cmake --build --preset "$preset" || exit
    else
      logged build cmake --build --preset "$preset"
    fi
    mv "$folder/.building" "$folder/.built"
  ) 9>"$root/build/.$preset.lock" || exit
}
