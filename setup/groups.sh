# SPDX-License-Identifier: Apache-2.0
# Which engines' groups a command line needs, so that nothing is fetched for `assay --help`. It only decides what to fetch:
# what the words mean, and whether they are right, is the program's business.

# Sets `groups` for the arguments of ./assay.
find_groups() {
  local argument command="" list="" engines="" hardware=""
  groups=(core)
  for argument; do
    case $argument in
      -h | --help | --help-all | --version) return ;;
      --engine=* | --engines=*) engines+=" ${argument#*=}" ;;
      --hardware=* | --device=* | --devices=*) hardware+=" ${argument#*=}" ;;
      --engine | --engines) list=engines ;;
      --hardware | --device | --devices) list=hardware ;;
      -*) list="" ;;
      *)
        case $list:$command:$argument in
          engines:*) engines+=" $argument" ;;
          hardware:*) hardware+=" $argument" ;;
          ::run | ::bench | ::verify | ::suite | ::zoo | ::db | ::engines | ::hardware | ::doctor | ::report) command=$argument ;;
          :zoo:check) command="zoo check" ;;
        esac
        ;;
    esac
  done
  case $command in
    run | bench | verify | suite | "zoo check") ;;
    *) return ;;
  esac
  # A named engine decides alone; the reference of every comparison is ONNX Runtime's.
  local wanted=" ${engines:-$hardware} "
  wanted=${wanted//,/ }
  case $wanted in
    "  " | *" all "* | *" openvino "*) groups+=(cpu openvino) ;;
    *" onnxruntime "*) groups+=(cpu) ;;
    *" null "*) ;;
    *) groups+=(cpu) ;;
  esac
}
