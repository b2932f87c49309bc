// SPDX-License-Identifier: Apache-2.0
#include "signature.hpp"

#include <algorithm>
#include <exception>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <assay/support/plugin_support.hpp>

namespace assay::plugin {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kFormatVersion = 1;
constexpr const char* kFile = "the file";
constexpr const char* kIndexLimit = "index_limit";
constexpr assay_dtype kDtypes = 27;  // ONNX's numbers

Result<assay_dtype> dtype_named(const std::string& name) {
  for (assay_dtype dtype = 1; dtype < kDtypes; ++dtype)
    if (dtype_name(dtype) == name) return dtype;
  return fail(ErrorCode::kInvalidArgument, fmt::format("there is no dtype '{}'; write float32, int64, …", name));
}

/// The value of `key`; `owner` is what has it, in messages.
Result<Json> entry(const Json& json, const char* key, const std::string& owner) {
  if (!json.is_object()) return fail(ErrorCode::kInvalidArgument, fmt::format("{} is not an object", owner));
  if (const auto found = json.find(key); found != json.end()) return *found;
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} has no \"{}\"", owner, key));
}

Error wrong_type(const Json& value, const char* key, const std::string& owner, std::string_view expected) {
  std::string text = value.dump(-1, ' ', true);
  if (text.size() > 80) text = text.substr(0, 80) + "...";
  return {ErrorCode::kInvalidArgument, fmt::format("\"{}\" of {} is {}, not {}", key, owner, text, expected)};
}

Result<std::string> text_in(const Json& json, const char* key, const std::string& owner) {
  ASSAY_TRY(const Json value, entry(json, key, owner));
  if (!value.is_string()) return tl::unexpected<Error>(wrong_type(value, key, owner, "a string"));
  return value.get<std::string>();
}

Result<std::uint64_t> count_in(const Json& json, const char* key, const std::string& owner) {
  ASSAY_TRY(const Json value, entry(json, key, owner));
  if (!value.is_number_unsigned())
    return tl::unexpected<Error>(wrong_type(value, key, owner, "an integer of 0 or more"));
  return value.get<std::uint64_t>();
}

Result<Json> list_in(const Json& json, const char* key, const std::string& owner) {
  ASSAY_TRY(Json value, entry(json, key, owner));
  if (!value.is_array()) return tl::unexpected<Error>(wrong_type(value, key, owner, "an array"));
  return value;
}

Result<ValueInfo> read_value(const Json& json, const std::string& what) {
  ValueInfo value;
  ASSAY_TRY(value.name, text_in(json, "name", what));
  const std::string owner = "'" + value.name + "'";
  ASSAY_TRY(const std::string dtype, text_in(json, "dtype", owner));
  ASSAY_TRY(value.dtype, with_context(dtype_named(dtype), "reading " + owner));
  ASSAY_TRY(const Json shape, list_in(json, "shape", owner));
  for (const Json& extent : shape) {
    const bool symbol = extent.is_string();
    if (!symbol && !(extent.is_number_integer() && extent.get<std::int64_t>() >= -1))
      return tl::unexpected<Error>(
          wrong_type(shape, "shape", owner, "a list of extents: 0 or more, or open: -1 or a name"));
    value.dims.push_back(symbol ? -1 : extent.get<std::int64_t>());
    value.symbols.push_back(symbol ? extent.get<std::string>() : "");
  }
  if (!json.contains(kIndexLimit)) return value;
  const Json& limit = json[kIndexLimit];
  if (!limit.is_number_integer() || limit.get<std::int64_t>() < 1)
    return tl::unexpected<Error>(wrong_type(limit, kIndexLimit, owner, "an integer of 1 or more"));
  value.index_limit = limit.get<std::int64_t>();
  return value;
}

Result<std::vector<ValueInfo>> read_values(const Json& json, const char* key) {
  ASSAY_TRY(const Json list, list_in(json, key, kFile));
  std::vector<ValueInfo> values;
  for (const Json& each : list) {
    ASSAY_TRY(ValueInfo value, read_value(each, fmt::format("{}[{}]", key, values.size())));
    if (std::ranges::find(values, value.name, &ValueInfo::name) != values.end())
      return fail(ErrorCode::kInvalidArgument, fmt::format("\"{}\" has the name '{}' twice", key, value.name));
    values.push_back(std::move(value));
  }
  return values;
}

Result<StoredWeight> read_weight(const Json& json, std::size_t place, const std::filesystem::path& folder) {
  StoredWeight weight;
  ASSAY_TRY(weight.value, read_value(json, fmt::format("weights[{}]", place)));
  const std::string owner = fmt::format("the weight '{}'", weight.value.name);
  if (std::ranges::count(weight.value.dims, -1) > 0)
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} has an open extent", owner));
  if (json.contains("permutation"))
    return fail(ErrorCode::kUnsupported,
                fmt::format("{} has a \"permutation\", which this engine does not read", owner));
  ASSAY_TRY(const std::string file, text_in(json, "file", owner));
  weight.file = folder / file;  // an absolute path stays itself
  ASSAY_TRY(weight.offset, count_in(json, "offset", owner));
  ASSAY_TRY(weight.bytes, count_in(json, "bytes", owner));
  return weight;
}

Result<Signature> read_signature(const Json& json, const std::filesystem::path& folder) {
  ASSAY_TRY(const std::uint64_t version, count_in(json, "format_version", kFile));
  if (version != kFormatVersion)
    return fail(ErrorCode::kUnsupported,
                fmt::format("format_version is {}; this assay reads {}", version, kFormatVersion));
  Signature signature;
  ASSAY_TRY(signature.inputs, read_values(json, "inputs"));
  if (const auto by_name = json.find("names_of_arguments"); by_name != json.end())
    signature.names_of_arguments = by_name->is_boolean() && by_name->get<bool>();
  if (json.contains("outputs")) {
    ASSAY_TRY(signature.outputs, read_values(json, "outputs"));
  }
  if (!json.contains("weights")) return signature;
  ASSAY_TRY(const Json weights, list_in(json, "weights", kFile));
  for (const Json& each : weights) {
    ASSAY_TRY(StoredWeight weight, read_weight(each, signature.weights.size(), folder));
    signature.weights.push_back(std::move(weight));
  }
  return signature;
}

Json list(const std::vector<ValueInfo>& values) {
  Json all = Json::array();
  for (const ValueInfo& value : values) {
    Json shape = Json::array();
    for (std::size_t i = 0; i < value.dims.size(); ++i) {
      const bool named = i < value.symbols.size() && !value.symbols[i].empty();
      shape.push_back(named ? Json(value.symbols[i]) : Json(value.dims[i]));
    }
    all.push_back({{"name", value.name}, {"dtype", dtype_name(value.dtype)}, {"shape", std::move(shape)}});
    if (value.index_limit > 0) all.back()[kIndexLimit] = value.index_limit;
  }
  return all;
}

}  // namespace

Result<Signature> parse_signature(const std::string& text, const std::string& file,
                                  const std::filesystem::path& folder) {
  try {
    Result<Signature> signature = read_signature(Json::parse(text), folder);
    if (!signature) signature.error().message = file + ": " + signature.error().message;
    return signature;
  } catch (const std::exception& problem) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: not a signature: {}", file, problem.what()),
                R"(it needs {"format_version": 1, "inputs": [{"name", "dtype", "shape"}, …], "outputs": […]})");
  }
}

std::string signature_text(const std::vector<ValueInfo>& inputs, const std::vector<ValueInfo>& outputs) {
  return Json{{"format_version", kFormatVersion}, {"inputs", list(inputs)}, {"outputs", list(outputs)}}.dump(1);
}

}  // namespace assay::plugin
