# SPDX-License-Identifier: Apache-2.0
# Which groups a command line needs, so that nothing is fetched for `assay --help`. It only decides what to fetch: what the
# words mean, and whether they are right, is the program's business. Sourced; `root` is the checkout. No process is started.
#
# An engine's group is the folder engines/<name>/setup and has the engine's name. Which hardware words need which engine is
# read from engines/*/engine.json.

# Sets `reference_engine`, whose results every other engine's are compared with: the program's own constant.
read_reference_engine() {
  local text pattern='kReferenceEngine[[:space:]]*=[[:space:]]*"([a-z0-9_]+)"'
  IFS= read -r -d '' text <"$root/src/core/traits/engine_entry.hpp" || true
  [[ $text =~ $pattern ]] || { echo "src/core/traits/engine_entry.hpp does not define kReferenceEngine" >&2; return 1; }
  reference_engine=${BASH_REMATCH[1]}
}

# Sets `value` to the words behind a key of a JSON text: those of a list, or one; empty when the key is absent.
json_words() {
  local pattern="\"$2\"[[:space:]]*:[[:space:]]*(\\[[^]]*\\]|[^],}]*)"
  value=""
  [[ $1 =~ $pattern ]] || return 0
  value=${BASH_REMATCH[1]//[][\",$'\n']/ }
}

# Reads engines/*/engine.json: `engine_names`; by name `engine_hardware`, `engine_needs_model`, `engine_framework`,
# `engine_saves`; by hardware word `default_engine`; and `own_hardware`, the words that an engine is made for (default_for).
read_engines() {
  local file name text word rank value
  local -A best=()
  engine_names=() own_hardware=""
  declare -gA engine_hardware=() engine_needs_model=() engine_framework=() engine_saves=() default_engine=()
  for file in "$root"/engines/*/engine.json; do
    name=${file%/engine.json}
    name=${name##*/}
    IFS= read -r -d '' text <"$file" || true
    engine_names+=("$name")
    json_words "$text" needs_model
    engine_needs_model[$name]=${value// /}
    json_words "$text" framework
    value=${value// /}
    engine_framework[$name]=${value,,}
    json_words "$text" saves
    engine_saves[$name]=$value
    json_words "$text" preference
    rank=${value//[!0-9]/}
    rank=${rank:-500}
    json_words "$text" default_for
    local first=" $value "
    own_hardware+=" $value"
    json_words "$text" hardware
    engine_hardware[$name]=$value
    for word in $value; do
      local mine=$rank
      [[ $first != *" $word "* ]] || mine=-1
      [[ -n ${best[$word]-} && ${best[$word]} -le $mine ]] || { best[$word]=$mine; default_engine[$word]=$name; }
    done
  done
}

# Sets `engine_groups` to every engine that has something to fetch.
find_engine_groups() {
  local folder
  engine_groups=()
  for folder in "$root"/engines/*/setup/; do
    folder=${folder%/setup/}
    engine_groups+=("${folder##*/}")
  done
}

# Sets `command_words` to what the guides' name of a command stands for: to the word itself, if it is none of
# src/app/cli/aliases.def.
read_alias() {
  local text name=${1#./} pattern
  name=${name#test/}
  name=${name#bench/}
  name=${name%.py}
  command_words=$1
  [[ $name =~ ^[a-z_]+$ && -f $root/src/app/cli/aliases.def ]] || return 0
  IFS= read -r -d '' text <"$root/src/app/cli/aliases.def" || true
  pattern="ALIAS\\(\"$name\",[[:space:]]*\"([a-z -]+)\""
  [[ ! $text =~ $pattern ]] || command_words=${BASH_REMATCH[1]}
}

# Adds the engine's group to `groups`, once, if it has one.
add_engine_group() {
  [[ -d $root/engines/$1/setup && " ${groups[*]} " != *" $1 "* ]] || return 0
  groups+=("$1")
}

# Adds the engine that writes a file of `zoo build`, decided by its extension, as lowered_format() does: the text that a
# model is lowered to needs no engine.
add_writer() {
  local extension=${1##*.} name
  [[ $1 == *.* ]] || return 0
  extension=${extension,,}
  for name in "${engine_names[@]}"; do
    [[ " ${engine_saves[$name]} " == *" $extension "* ]] || continue
    add_engine_group "$name"
    return 0
  done
}

# Sets `groups` for the arguments of ./assay.
find_groups() {
  local argument command="" command_words list="" engines="" hardware="" frameworks="" preferred="" output="" name word computes="" reference_engine
  groups=(core web)
  for argument; do
    case $argument in
      -h | --help | --help-all | --version) return ;;
      --engine=* | --engines=*) engines+=" ${argument#*=}" ;;
      --hardware=* | --device=* | --devices=*) hardware+=" ${argument#*=}" ;;
      --device-prefer=*) preferred+=" ${argument#*=}" ;;
      --framework=*) frameworks+=" ${argument#*=}" ;;
      --output=*) output=${argument#*=} ;;
      -o | --output) list=output ;;
      -o?*) output=${argument#-o} ;;
      --engine | --engines) list=engines ;;
      --framework) list=frameworks ;;
      --device-prefer) list=preferred ;;
      --hardware | --device | --devices) list=hardware ;;
      -*) list="" ;;
      *)
        if [[ -z $list$command ]]; then
          read_alias "$argument"
          argument=${command_words%% *}
        fi
        case $list:$command:$argument in
          engines:*) engines+=" $argument" ;;
          hardware:*) hardware+=" $argument" ;;
          frameworks:*) frameworks+=" $argument" ;;
          preferred:*) preferred+=" $argument" ;;
          output:*) output=$argument list="" ;;
          ::run | ::bench | ::verify | ::suite | ::coverage | ::zoo | ::conform | ::db | ::engines | ::hardware | ::doctor | ::query | ::report | ::plot | ::serve | ::help | ::variants | ::profile) command=$argument ;;
          :zoo:check | :zoo:build) command="zoo $argument" ;;
        esac
        ;;
    esac
  done
  case $command in
    run | bench | verify | suite | coverage | conform | "zoo check") ;;
    "zoo build")
      read_engines
      add_writer "$output"
      return
      ;;
    *) return ;;
  esac
  read_engines
  read_reference_engine
  # A named engine decides alone. What an engine computes is compared with the reference.
  local wanted=()
  for name in ${engines//,/ }; do
    wanted+=("${name%%@*}")
  done
  for name in "${engine_names[@]}"; do
    word=${engine_framework[$name]}
    [[ -z $word || ! " ${frameworks,,} " =~ " "($word|both)" " ]] || wanted+=("$name")
  done
  if [[ ${#wanted[@]} -eq 0 ]]; then
    hardware=" ${hardware//,/ } "
    # What no machine is known to have is fetched when it is named: the runtime of a TPU.
    [[ $hardware != "  " && $hardware != *" all "* ]] || hardware="cpu $own_hardware $preferred"
    for word in ${hardware,,}; do
      wanted+=("${default_engine[$word]-$reference_engine}")
    done
  fi
  for name in "${wanted[@]}"; do
    [[ ${engine_needs_model[$name]-} == false ]] || computes=yes
  done
  [[ -z $computes || $command == conform ]] || add_engine_group "$reference_engine"
  for name in "${engine_names[@]}"; do
    [[ " ${wanted[*]} " != *" $name "* ]] || add_engine_group "$name"
  done
}
