// SPDX-License-Identifier: Apache-2.0
#include <assay/support/plugin_support.hpp>

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace assay::plugin {
namespace {

namespace fs = std::filesystem;

/// Indexed by the ONNX number.
constexpr const char* kDtypeNames[] = {
    "undefined", "float32",    "uint8",         "int8",           "uint16",          "int16",       "int32",
    "int64",     "string",     "bool",          "float16",        "float64",         "uint32",      "uint64",
    "complex64", "complex128", "bfloat16",      "float8_e4m3fn",  "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "uint4",     "int4",       "float4_e2m1fn", "float8_e8m0fnu", "uint2",           "int2"};

bool is_float(assay_dtype dtype) { return dtype == 1 || dtype == 10 || dtype == 11 || dtype == 16; }

/// "libx.so.1.9" before "libx.so.1.31": digits compare as numbers.
bool version_less(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const auto digits = [](std::string_view s) { return std::min(s.find_first_not_of("0123456789"), s.size()); };
    const std::size_t na = digits(a), nb = digits(b);
    if (na > 0 && nb > 0) {
      const auto number = [](std::string_view s) {
        unsigned long long value = 0;
        std::from_chars(s.data(), s.data() + s.size(), value);
        return value;
      };
      const unsigned long long of_a = number(a.substr(0, na)), of_b = number(b.substr(0, nb));
      if (of_a != of_b) return of_a < of_b;
      a.remove_prefix(na);
      b.remove_prefix(nb);
    } else {
      if (a.front() != b.front()) return a.front() < b.front();
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.size() < b.size();
}

/// The newest of stem, stem.1, stem.1.2 … in `folder`; empty if there is none.
fs::path newest(const fs::path& folder, std::string_view stem) {
  std::string best;
  std::error_code ignored;
  for (fs::directory_iterator it(folder, ignored), end; !ignored && it != end; it.increment(ignored)) {
    std::string name = it->path().filename().string();
    if ((name == stem || name.starts_with(std::string(stem) + ".")) && (best.empty() || version_less(best, name)))
      best = std::move(name);
  }
  return best.empty() ? fs::path() : folder / best;
}

std::string describe(std::span<const std::int64_t> dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

bool value_allowed(const OptionInfo& info, const std::string& value) {
  if (info.type == "string") return true;
  if (info.type == "bool") return value == "true" || value == "false";
  if (info.type == "int") {
    long long parsed = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    return error == std::errc() && end == value.data() + value.size();
  }
  const std::string choices = "|" + info.type + "|";
  return !value.empty() && value.find('|') == std::string::npos && choices.find("|" + value + "|") != std::string::npos;
}

/// The dtype of a precision; 0 if it has none.
assay_dtype precision_dtype(std::string_view precision) {
  if (precision == "float32") return 1;
  if (precision == "float16") return 10;
  if (precision == "bfloat16") return 16;
  return 0;
}

}  // namespace

Result<void*> open_library(const std::string& home, std::string_view stem,
                           std::span<const std::string_view> subfolders) {
  std::vector<std::string> candidates;
  if (home.empty()) {
    candidates.emplace_back(stem);
  } else {
    fs::path found = newest(home, stem);
    for (auto it = subfolders.begin(); found.empty() && it != subfolders.end(); ++it)
      found = newest(fs::path(home) / *it, stem);
    if (found.empty()) {
      return fail(ErrorCode::kNotFound,
                  fmt::format("no {} in '{}' or its folders {}", stem, home, fmt::join(subfolders, ", ")));
    }
    candidates.push_back(found.string());
  }
  if (void* library = dlopen(candidates.front().c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  const char* reason = dlerror();
  return fail(ErrorCode::kNotFound,
              fmt::format("cannot open {}: {}", candidates.front(), reason ? reason : "no reason given"));
}

Result<void*> find_symbol(void* library, const char* name) {
  if (void* symbol = dlsym(library, name)) return symbol;
  return fail(ErrorCode::kIncompatiblePlugin, fmt::format("the runtime's library has no function '{}'", name));
}

Result<Options> Options::parse(const KeyValues& given, const std::vector<OptionInfo>& infos) {
  Options options;
  for (const auto& info : infos) options.values_.emplace_back(info.name, info.default_value);
  for (const auto& [name, value] : given) {
    const auto info = std::find_if(infos.begin(), infos.end(), [&](const auto& i) { return i.name == name; });
    if (info == infos.end()) {
      std::vector<std::string> known;
      known.reserve(infos.size());
      for (const auto& i : infos) known.push_back(i.name);
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("no option '{}'; there are {}", name, fmt::join(known, ", ")));
    }
    if (!value_allowed(*info, value)) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("option {} = '{}' is not {}", name, value,
                                                           info->type == "bool" ? "true|false" : info->type));
    }
    options.values_[static_cast<std::size_t>(info - infos.begin())].second = value;
  }
  return options;
}

const std::string& Options::text(std::string_view name) const {
  static const std::string none;
  const auto found = std::find_if(values_.begin(), values_.end(), [&](const auto& v) { return v.first == name; });
  return found == values_.end() ? none : found->second;
}

Status check_only_cpu(std::string_view device, std::initializer_list<std::string_view> others) {
  if (device.empty() || device == "cpu") return {};
  const std::string_view kind = device.substr(0, device.find(':'));
  if (std::ranges::find(others, kind) != others.end())
    return fail(ErrorCode::kUnsupported,
                fmt::format("device '{}': this engine has not been run on {} yet", device, kind), "use the device cpu");
  return fail(ErrorCode::kNotFound, fmt::format("there is no device '{}', only cpu", device));
}

Status check_shapes(const std::vector<ValueInfo>& inputs, std::span<const TensorShape> shapes) {
  if (shapes.size() != inputs.size()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} shapes given for {} inputs", shapes.size(), inputs.size()));
  }
  std::map<std::string, std::int64_t> symbols;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueInfo& input = inputs[i];
    const TensorShape& shape = shapes[i];
    if (shape.dtype != input.dtype) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("input '{}' is {}, not {}", input.name,
                                                           dtype_name(input.dtype), dtype_name(shape.dtype)));
    }
    bool fits = !input.has_rank || shape.dims.size() == input.dims.size();
    for (std::size_t d = 0; fits && d < shape.dims.size(); ++d) {
      fits = shape.dims[d] >= -1;
      if (!input.has_rank) continue;
      if (input.dims[d] >= 0) fits = fits && shape.dims[d] == input.dims[d];
      const bool open = input.dims[d] < 0 && shape.dims[d] >= 0;
      if (open && d < input.symbols.size() && !input.symbols[d].empty()) {
        fits = fits && symbols.emplace(input.symbols[d], shape.dims[d]).first->second == shape.dims[d];
      }
    }
    if (!fits) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("input '{}' of shape {} cannot be {}", input.name,
                                                           describe(input.dims), describe(shape.dims)));
    }
  }
  return {};
}

Status check_input(const std::vector<ValueInfo>& inputs, std::span<const TensorShape> shapes, std::size_t index,
                   const assay_tensor& tensor) {
  if (index >= shapes.size()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("input {} of {} does not exist", index, shapes.size()));
  }
  const std::span<const std::int64_t> dims(tensor.dims, tensor.rank);
  const TensorShape& bound = shapes[index];
  if (tensor.dtype != bound.dtype || !fits_bound(dims, bound)) {
    return fail(ErrorCode::kMismatch,
                fmt::format("input '{}' is bound as {} {}, the buffer is {} {}", inputs[index].name,
                            dtype_name(bound.dtype), describe(bound.dims), dtype_name(tensor.dtype), describe(dims)));
  }
  if (tensor.memory_kind != ASSAY_MEMORY_HOST) {
    return fail(ErrorCode::kUnsupported, fmt::format("input '{}' is in device memory", inputs[index].name));
  }
  if (tensor.data == nullptr && tensor.byte_size > 0) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("input '{}' has no data", inputs[index].name));
  }
  return {};
}

Status check_alias(const ValueInfo& output, const std::string& name, const TensorShape& bound) {
  bool fits = output.dtype == bound.dtype && (!output.has_rank || output.dims.size() == bound.dims.size());
  for (std::size_t d = 0; fits && output.has_rank && d < bound.dims.size(); ++d)
    fits = output.dims[d] < 0 || bound.dims[d] < 0 || output.dims[d] == bound.dims[d];
  if (fits) return {};
  return fail(
      ErrorCode::kMismatch,
      fmt::format("output '{}' is {} {}, which cannot become input '{}', bound as {} {}", output.name,
                  dtype_name(output.dtype), describe(output.dims), name, dtype_name(bound.dtype), describe(bound.dims)),
      "bind extents that change from run to run as open (-1)");
}

bool fits_bound(std::span<const std::int64_t> dims, const TensorShape& bound) {
  return std::ranges::equal(dims, bound.dims,
                            [](auto given, auto asked) { return given >= 0 && (asked < 0 || given == asked); });
}

Status check_burst(std::size_t runs, std::size_t sets, std::size_t known_sets, const assay_samples& samples) {
  if (sets == 0 || sets > known_sets) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} input sets requested, {} are bound", sets, known_sets));
  }
  if (runs > samples.capacity) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} runs requested, room for {} samples", runs, samples.capacity));
  }
  return {};
}

std::string dtype_name(assay_dtype dtype) {
  if (dtype >= 0 && static_cast<std::size_t>(dtype) < std::size(kDtypeNames)) return kDtypeNames[dtype];
  return fmt::format("type {}", dtype);
}

Status check_precision(const std::string& precision, const std::vector<ValueInfo>& inputs,
                       const std::vector<ValueInfo>& outputs) {
  if (precision == "as_is" || precision == "runtime") return {};
  const assay_dtype asked = precision_dtype(precision);
  if (asked == 0) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("no precision '{}'; there are as_is, float32, float16, bfloat16, runtime", precision));
  }
  const ValueInfo* other = nullptr;
  for (const auto* values : {&outputs, &inputs}) {
    for (const auto& value : *values) {
      if (value.dtype == asked) return {};
      if (is_float(value.dtype) && other == nullptr) other = &value;
    }
  }
  if (other == nullptr) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("{} arithmetic in a model whose '{}' is {}: a model file keeps its own types", precision,
                          other->name, dtype_name(other->dtype)),
              "use --precision as_is, or a model built in that precision");
}

std::string model_precision(const std::vector<ValueInfo>& inputs, const std::vector<ValueInfo>& outputs) {
  constexpr assay_dtype kFloat32 = 1, kFloat16 = 10, kFloat64 = 11, kBfloat16 = 16;
  for (const assay_dtype dtype : {kBfloat16, kFloat16, kFloat32, kFloat64}) {
    for (const auto* values : {&outputs, &inputs}) {
      if (std::ranges::find(*values, dtype, &ValueInfo::dtype) != values->end()) return dtype_name(dtype);
    }
  }
  return "float32";
}

std::string processor_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.starts_with("model name")) return first_line(std::string_view(line).substr(line.find(':') + 1));
  }
  return "CPU";
}

std::uint64_t machine_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size) : 0;
}

int thread_count() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    int threads = 0;
    constexpr std::string_view kKey = "Threads:\t";
    if (line.starts_with(kKey)) {
      std::from_chars(line.data() + kKey.size(), line.data() + line.size(), threads);
      return threads;
    }
  }
  return 1;
}

std::string first_line(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

std::string between(std::string_view text, std::string_view before, std::string_view after) {
  const auto begin = text.find(before);
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin + before.size());
  const auto end = text.find(after);
  return end == std::string_view::npos ? std::string() : std::string(text.substr(0, end));
}

}  // namespace assay::plugin
