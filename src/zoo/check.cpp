// SPDX-License-Identifier: Apache-2.0
#include "zoo/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "tensor/safetensors.hpp"
#include "zoo/catalogue.hpp"
#include "zoo/config.hpp"

namespace assay::zoo {
namespace fs = std::filesystem;
namespace {

constexpr double kUsualTolerance = 1e-4;  ///< where meta.json states none
constexpr const char* kMask = "attention_mask";

std::string text_of(const Json& meta, const std::string& key) {
  const auto found = meta.find(key);
  return found != meta.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Result<double> tolerance_of(const Json& meta, const std::string& key) {
  const auto found = meta.find(key);
  if (found == meta.end() || found->is_null()) return kUsualTolerance;
  if (!found->is_number() || !(found->get<double>() >= 0.0)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("meta.json: {} = {}: expected a number from 0", key, found->dump()));
  }
  return found->get<double>();
}

// Constant arguments of forward, as Python literals; those that say what forward does anyway change nothing.
Status check_fixed_arguments(const Json& meta) {
  const auto arguments = meta.find("fixed_args");
  if (arguments == meta.end() || !arguments->is_object()) return {};
  for (const auto& [name, value] : arguments->items()) {
    const std::string literal = value.is_string() ? value.get<std::string>() : value.dump();
    if (literal == "None" || literal == "False" || literal == "false" || literal == "null") continue;
    if (name == "return_dict") continue;
    return unsupported("fixed_args." + sanitise(name), sanitise(literal));
  }
  return {};
}

// What a folder of another library or an architecture that is not built has instead of what Config wants.
Status check_known(const Json& config, const Json& meta) {
  const std::string type = config.is_object() ? text_of(config, "model_type") : std::string();
  if (type.empty()) return unsupported("model_type", sanitise(text_of(meta, "model_type")));
  const Architecture* architecture = find_architecture(type);
  if (architecture == nullptr) return unsupported("model_type", sanitise(type));
  const std::string model_class = text_of(meta, "class");
  if (!model_class.empty() && !architecture->description["classes"].contains(model_class)) {
    return unsupported("class", sanitise(model_class));
  }
  return {};
}

}  // namespace

Result<std::vector<fs::path>> find_goldens(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    return fail(ErrorCode::kNotFound, fmt::format("'{}' is no folder", directory.string()), "check the path");
  }
  if (fs::is_regular_file(directory / "meta.json", error)) return std::vector{directory};
  std::set<fs::path> found;
  for (fs::directory_iterator entry(directory, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    std::error_code ignored;
    if (fs::is_regular_file(entry->path() / "meta.json", ignored)) found.insert(entry->path());
  }
  if (error) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("cannot read '{}': {}", directory.string(), error.message()));
  }
  if (found.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' holds no golden: no folder in it has a meta.json", directory.string()));
  }
  return std::vector(found.begin(), found.end());
}

Result<GoldenCase> prepare_golden(const fs::path& folder, const fs::path& work) {
  ASSAY_TRY(const Json meta, read_json(folder / "meta.json"));
  if (!meta.is_object()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is no JSON object", (folder / "meta.json").string()));
  }
  ASSAY_TRY(const Json config, read_json(folder / "config.json"));
  ASSAY_CHECK_OK(check_known(config, meta));
  ASSAY_CHECK_OK(check_fixed_arguments(meta));

  GoldenCase golden;
  golden.folder = folder;
  golden.name = fs::absolute(folder).lexically_normal().filename().string();
  if (golden.name.empty()) golden.name = fs::absolute(folder).lexically_normal().parent_path().filename().string();
  ASSAY_TRY(golden.tolerance.absolute, tolerance_of(meta, "tolerance_atol"));
  ASSAY_TRY(golden.tolerance.relative, tolerance_of(meta, "tolerance_rtol"));

  BuildRequest request;
  request.config = config;
  request.model_class = text_of(meta, "class");
  request.weights = folder;
  const fs::path inputs_file = folder / "inputs.safetensors";
  ASSAY_TRY(const SafetensorsFile inputs, SafetensorsFile::open(inputs_file));
  if (inputs.names().empty()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' has no input", inputs_file.string()));
  }
  for (const std::string& name : inputs.names()) {
    ASSAY_TRY(const TensorView view, inputs.tensor(name));
    request.input_shapes[name] = view.shape;
    request.input_dtypes[name] = view.dtype;
    golden.inputs.push_back({name, view.dtype, view.shape, Fill::kFile, 0.0, 1.0, inputs_file});
  }
  ASSAY_TRY(golden.model, build(request, work / (golden.name + ".onnx")));
  if (inputs.contains(kMask)) golden.mask_input = kMask;

  golden.outputs_file = folder / "outputs.safetensors";
  ASSAY_TRY(const SafetensorsFile outputs, SafetensorsFile::open(golden.outputs_file));
  const auto is_in = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  for (const std::string& name : outputs.names()) {
    if (!is_in(golden.model.outputs, name)) {
      return fail(ErrorCode::kUnsupported, fmt::format("unsupported: output {}", sanitise(name)),
                  "the graph that assay builds does not give it");
    }
    ASSAY_TRY(const TensorView view, outputs.tensor(name));
    const bool masked = !golden.mask_input.empty() && is_in(golden.model.token_outputs, name);
    golden.outputs.push_back({name, view.dtype, view.shape, masked});
  }
  if (golden.outputs.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' has no output to compare with", golden.outputs_file.string()));
  }
  std::error_code ignored;
  if (fs::exists(folder / "past", ignored)) golden.refused_part = "unsupported: past/";
  return golden;
}

}  // namespace assay::zoo
