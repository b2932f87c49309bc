// SPDX-License-Identifier: Apache-2.0
#include "signature.hpp"

#include <exception>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <assay/support/plugin_support.hpp>

namespace assay::plugin {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormatVersion = 1;
constexpr assay_dtype kDtypes = 27;  // ONNX's numbers

Result<assay_dtype> dtype_named(const std::string& name) {
  for (assay_dtype dtype = 1; dtype < kDtypes; ++dtype)
    if (dtype_name(dtype) == name) return dtype;
  return fail(ErrorCode::kInvalidArgument, fmt::format("there is no dtype '{}'; write float32, int64, …", name));
}

Result<ValueInfo> read_value(const Json& json) {
  ValueInfo value;
  value.name = json.at("name").get<std::string>();
  ASSAY_TRY(value.dtype,
            with_context(dtype_named(json.at("dtype").get<std::string>()), "reading '" + value.name + "'"));
  for (const Json& extent : json.at("shape")) {
    const bool symbol = extent.is_string();
    value.dims.push_back(symbol ? -1 : extent.get<std::int64_t>());
    value.symbols.push_back(symbol ? extent.get<std::string>() : "");
    if (value.dims.back() < -1)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{}' has the extent {}; -1 is an open one", value.name, value.dims.back()));
  }
  return value;
}

Result<std::vector<ValueInfo>> read_values(const Json& list) {
  std::vector<ValueInfo> values;
  for (const Json& each : list) {
    ASSAY_TRY(ValueInfo value, read_value(each));
    values.push_back(std::move(value));
  }
  return values;
}

Result<StoredWeight> read_weight(const Json& json, const std::filesystem::path& folder) {
  StoredWeight weight;
  ASSAY_TRY(weight.value, read_value(json));
  if (json.contains("permutation"))
    return fail(ErrorCode::kUnsupported,
                fmt::format("weight '{}' has a \"permutation\", which this engine does not read", weight.value.name));
  weight.file = folder / json.at("file").get<std::string>();  // an absolute path stays itself
  weight.offset = json.at("offset").get<std::uint64_t>();
  weight.bytes = json.at("bytes").get<std::uint64_t>();
  return weight;
}

Result<Signature> read_signature(const Json& json, const std::filesystem::path& folder) {
  if (const int version = json.at("format_version").get<int>(); version != kFormatVersion)
    return fail(ErrorCode::kUnsupported,
                fmt::format("format_version is {}; this assay reads {}", version, kFormatVersion));
  Signature signature;
  ASSAY_TRY(signature.inputs, read_values(json.at("inputs")));
  ASSAY_TRY(signature.outputs, read_values(json.value("outputs", Json::array())));
  for (const Json& each : json.value("weights", Json::array())) {
    ASSAY_TRY(StoredWeight weight, read_weight(each, folder));
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
