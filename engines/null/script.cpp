// SPDX-License-Identifier: Apache-2.0
#include "script.hpp"

#include <charconv>
#include <functional>
#include <string_view>
#include <utility>

namespace assay::null_engine {
namespace {

struct DTypeName {
  std::string_view name;
  assay_dtype dtype;
  std::size_t size;
};
constexpr DTypeName kDTypes[] = {{"float32", 1, 4}, {"uint8", 2, 1}, {"int8", 3, 1},    {"int32", 6, 4},
                                 {"int64", 7, 8},   {"bool", 9, 1},  {"float64", 11, 8}};

template <class Number>
bool parse(const std::string& text, Number& to) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return error == std::errc{} && end == text.data() + text.size() && to >= Number{};
}

bool parse(const std::string& text, std::string& to) { return to = text, true; }

bool parse(const std::string& text, bool& to) {
  to = text == "true" || text == "1";
  return to || text == "false" || text == "0";
}

bool parse(const std::string& text, Distribution& to) {
  constexpr std::string_view kNames[] = {"constant", "normal", "lognormal"};
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (text == kNames[i]) return to = static_cast<Distribution>(i), true;
  }
  return false;
}

struct Option {
  plugin::OptionInfo info;
  std::function<bool(const std::string&, Script&)> set;
};

template <class T>
Option option(T Script::*member, std::string name, std::string type, std::string standard, std::string help) {
  return {{std::move(name), std::move(type), std::move(standard), std::move(help)},
          [member](const std::string& text, Script& script) { return parse(text, script.*member); }};
}

Option fault(Fault which, std::string name, std::string help) {
  return {{std::move(name), "int", "0", std::move(help)}, [which](const std::string& text, Script& script) {
            return parse(text, script.fault_at_run[static_cast<std::size_t>(which)]);
          }};
}

const std::vector<Option>& table() {
  static const std::vector<Option> options{
      option(&Script::cost_ns, "cost_ns", "int", "0", "duration of one run in nanoseconds, a busy wait"),
      option(&Script::distribution, "distribution", "constant|normal|lognormal", "constant", "how cost_ns varies"),
      option(&Script::spread, "spread", "float", "0.05", "standard deviation of the cost as a share of cost_ns"),
      option(&Script::seed, "seed", "int", "1", "seed of the distribution"),
      option(&Script::stall_every, "stall_every", "int", "0", "every Nth run takes stall_ns longer; 0: none"),
      option(&Script::stall_ns, "stall_ns", "int", "10000000", "length of a stall in nanoseconds"),
      option(&Script::load_ms, "load_ms", "int", "0", "duration of loading in milliseconds"),
      option(&Script::compile_ms, "compile_ms", "int", "0", "duration of a new shape in milliseconds"),
      option(&Script::model_memory, "model_memory", "float", "0", "MB that the loaded model allocates"),
      option(&Script::growing_memory, "growing_memory", "float", "0", "MB that each run allocates and keeps"),
      fault(Fault::kCloseSocket, "close_at_run", "the Nth run closes descriptor 3, as a careless runtime may"),
      fault(Fault::kCrash, "crash_at_run", "the Nth run of a context ends with SIGSEGV; 0: never"),
      fault(Fault::kAbort, "abort_at_run", "the Nth run calls abort()"),
      fault(Fault::kExit, "exit_at_run", "the Nth run ends the process with status 3"),
      fault(Fault::kHang, "hang_at_run", "the Nth run never returns"),
      fault(Fault::kOutOfMemory, "oom_at_run", "the Nth run allocates memory until it is stopped"),
      fault(Fault::kError, "fail_at_run", "the Nth run returns an error: device_lost"),
      option(&Script::only_batch, "only_batch", "int", "0",
             "the faults above happen only with this batch size; 0: with any"),
      option(&Script::daemons, "daemons", "int", "0",
             "processes that loading starts and that leave the worker's group and session"),
      option(&Script::wrong, "wrong", "float", "0", "added to every element of floating outputs"),
      option(&Script::nan, "nan", "bool", "false", "the first element of floating outputs is NaN"),
      option(&Script::wrong_after_run, "wrong_after_run", "int", "0",
             "after N runs of a context, 1e30 is added to every element of floating outputs; 0: never"),
      option(&Script::wrong_at_token, "wrong_at_token", "int", "0",
             "the same in the Nth run after the states were reset, as if the last place of a cache were lost"),
      option(&Script::stale_set, "stale_set", "int", "0", "the Nth set of inputs has the values of the first; 0: none"),
      option(&Script::ignored_input, "ignored_input", "string", "", "outputs do not depend on this input"),
      option(&Script::unsupported, "unsupported", "string", "", "loading fails: no kernel for this operator"),
      option(&Script::effective_precision, "effective_precision", "string", "",
             "the precision that it reports, whatever was requested"),
      option(&Script::chatter, "chatter", "string", "", "printed to stdout and stderr while loading"),
      option(&Script::inputs, "inputs", "string", Script{}.inputs, "name:dtype[extents] separated by ';'"),
      option(&Script::outputs, "outputs", "string", Script{}.outputs, "likewise"),
  };
  return options;
}

Result<plugin::ValueInfo> parse_value(std::string_view text) {
  const auto malformed = [&] {
    return fail(ErrorCode::kInvalidArgument,
                "'" + std::string(text) + "' is not a valid input or output of the null engine",
                "write name:dtype[extents], for example ids:int64[batch,128]");
  };
  const auto colon = text.find(':');
  const auto open = text.find('[');
  if (colon == 0 || colon == text.npos || open == text.npos || open < colon || text.back() != ']') return malformed();
  plugin::ValueInfo value;
  value.name = text.substr(0, colon);
  for (const DTypeName& known : kDTypes) {
    if (text.substr(colon + 1, open - colon - 1) == known.name) value.dtype = known.dtype;
  }
  if (value.dtype == 0) return malformed();
  std::string_view rest = text.substr(open + 1, text.size() - open - 2);
  while (!rest.empty()) {
    const std::string extent(rest.substr(0, rest.find(',')));
    rest.remove_prefix(std::min(rest.size(), extent.size() + 1));
    std::int64_t fixed = -1;
    if (extent.empty()) return malformed();
    const bool known = parse(extent, fixed);
    value.dims.push_back(known ? fixed : -1);
    value.symbols.push_back(known || extent == "?" ? "" : extent);
  }
  return value;
}

std::string without_spaces(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of(' '), text.size());
  return std::string(text.substr(first, text.find_last_not_of(' ') + 1 - first));
}

}  // namespace

std::size_t element_size(assay_dtype dtype) {
  for (const DTypeName& known : kDTypes) {
    if (known.dtype == dtype) return known.size;
  }
  return 0;
}

Result<std::vector<plugin::ValueInfo>> parse_signature(const std::string& text) {
  std::vector<plugin::ValueInfo> values;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    ASSAY_TRY(auto value, parse_value(one));
    values.push_back(std::move(value));
  }
  return values;
}

std::optional<std::int64_t> sum_of(std::string_view extent, const std::map<std::string, std::int64_t>& extents) {
  // An input may have the whole as a name: a mask of "past + sequence" tokens.
  if (const auto whole = extents.find(std::string(extent)); whole != extents.end()) return whole->second;
  std::int64_t sum = 0;
  while (true) {
    const std::size_t length = std::min(extent.find('+'), extent.size());
    const std::string term = without_spaces(extent.substr(0, length));
    std::int64_t value = 0;
    if (!parse(term, value)) {
      const auto named = extents.find(term);
      if (named == extents.end()) return std::nullopt;
      value = named->second;
    }
    sum += value;
    if (length == extent.size()) return sum;
    extent.remove_prefix(length + 1);
  }
}

std::vector<plugin::OptionInfo> option_infos() {
  std::vector<plugin::OptionInfo> infos;
  for (const Option& o : table()) infos.push_back(o.info);
  return infos;
}

namespace {

Status set_option(const std::string& name, const std::string& value, Script& script) {
  const Option* found = nullptr;
  std::string names;
  for (const Option& o : table()) {
    if (o.info.name == name) found = &o;
    names += " " + o.info.name;
  }
  if (found == nullptr)
    return fail(ErrorCode::kInvalidArgument, "the null engine has no option '" + name + "'", "it has" + names);
  if (!found->set(value, script))
    return fail(ErrorCode::kInvalidArgument, "option " + name + " of the null engine cannot be '" + value + "'",
                "its type is " + found->info.type + ", not negative");
  return {};
}

}  // namespace

Result<Script> parse_script(const plugin::KeyValues& options) {
  Script script;
  for (const auto& [name, value] : options) ASSAY_CHECK_OK(set_option(name, value, script));
  return script;
}

}  // namespace assay::null_engine
