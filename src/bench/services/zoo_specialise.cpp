// SPDX-License-Identifier: Apache-2.0
#include "bench/services/zoo_specialise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bench/prepare/prepare.hpp"
#include "core/base/files.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/base/unknown_word.hpp"
#include "core/tensor/npy.hpp"
#include "models/model/names.hpp"
#include "models/onnx/inspect.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

template <class T>
void fill(Tensor& tensor, const std::vector<std::int64_t>& values) {
  const std::span<T> elements = tensor.as<T>();
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = static_cast<T>(values.size() == 1 ? values[0] : values[i]);
}

// "48,32" as an input of this type and shape.
Result<Tensor> constant_from(const ModelValue& input, const Shape& shape, const std::string& text) {
  const std::string what = fmt::format("--constant: '{}={}'", input.name, text);
  std::vector<std::int64_t> values;
  for (const std::string& part : split(text, ',')) {
    const auto value = parse_number<std::int64_t>(trim(part));
    if (!value) {
      return fail(ErrorCode::kInvalidArgument, what + " is not valid; give integers joined by commas, or an .npy");
    }
    values.push_back(*value);
  }
  ASSAY_TRY(Tensor tensor, Tensor::create(input.dtype, shape));
  ASSAY_TRY(const std::int64_t count, element_count(shape));
  if (values.size() != 1 && static_cast<std::int64_t>(values.size()) != count) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} has {} values; the input is {}", what, values.size(), to_string(shape)));
  }
  switch (input.dtype) {
    case DType::kInt64:
      fill<std::int64_t>(tensor, values);
      break;
    case DType::kInt32:
      fill<std::int32_t>(tensor, values);
      break;
    case DType::kBool:
      for (std::int64_t& value : values) value = value != 0 ? 1 : 0;
      fill<std::uint8_t>(tensor, values);
      break;
    case DType::kFloat32:
      fill<float>(tensor, values);
      break;
    default:
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: the input is {}; give its values as an .npy", what, to_string(input.dtype)));
  }
  return tensor;
}

// The symbols of the inputs are compared in lower case. An extent that no input has would change nothing.
Status check_extents(const ModelInfo& info, const std::map<std::string, std::int64_t>& extents) {
  std::set<std::string> symbols;
  for (const ModelValue& input : info.inputs)
    for (const std::string& symbol : input.symbols)
      if (!symbol.empty()) symbols.insert(lower(symbol));
  for (const auto& [name, extent] : extents) {
    const bool known = std::any_of(symbols.begin(), symbols.end(),
                                   [&](const std::string& symbol) { return symbol.find(name) != std::string::npos; });
    if (!known)
      return unknown_word("--extent: the inputs of the model have no extent", name, {symbols.begin(), symbols.end()});
  }
  return {};
}

// Sorts inputs into those that stay, with their shapes, and those that become constants.
Result<SpecialiseRequest> request_for(ModelInfo info, const ZooSpecialiseRequest& asked) {
  SpecialiseRequest request;
  std::map<std::string, std::string> written = asked.constants;
  for (const auto& [name, text] : asked.constants) {
    const auto input = std::find_if(info.inputs.begin(), info.inputs.end(),
                                    [&](const ModelValue& value) { return value.name == name; });
    if (input == info.inputs.end()) {
      std::vector<std::string> names;
      names.reserve(info.inputs.size());
      for (const ModelValue& value : info.inputs) names.push_back(value.name);
      return unknown_word("--constant: the model has no input", name, names);
    }
    if (!text.ends_with(".npy")) continue;
    ASSAY_TRY(Tensor tensor, read_npy(text));
    request.constants.emplace(name, std::move(tensor));
    info.inputs.erase(input);  // its shape is the file's
    written.erase(name);
  }
  InputAxes axes;
  axes.sequence = asked.sequence;
  const std::optional<std::int64_t> positions = info.max_sequence ? info.max_sequence : asked.positions;
  if (asked.cuts_sequence && positions) axes.sequence = std::min(axes.sequence, *positions);
  for (const auto& [symbol, extent] : asked.extents) axes.extents[lower(symbol)] = extent;
  ASSAY_CHECK_OK(check_extents(info, axes.extents));
  axes.given = asked.given;
  ASSAY_TRY(const std::optional<std::int64_t> fixed, fixed_batch(info, axes));
  axes.batch = asked.batch.value_or(fixed.value_or(1));
  ASSAY_TRY(const ModelInputs inputs, make_inputs(info, axes));
  if (inputs.uses_sequence && axes.sequence < asked.sequence)
    log_warning("sequence length {} instead of {}: the model has {} positions", axes.sequence, asked.sequence,
                *positions);
  for (const InputRecipe& input : inputs.recipes) {
    const auto text = written.find(input.name);
    if (text == written.end()) {
      request.shapes.emplace(input.name, input.shape);
      continue;
    }
    const auto value = std::find_if(info.inputs.begin(), info.inputs.end(),
                                    [&](const ModelValue& each) { return each.name == input.name; });
    ASSAY_TRY(Tensor tensor, constant_from(*value, input.shape, text->second));
    request.constants.emplace(input.name, std::move(tensor));
  }
  return request;
}

Result<ZooSpecialised> specialise_file(const fs::path& file, const ZooSpecialiseRequest& asked) {
  ASSAY_TRY(const SpecialiseRequest request, extents_for(file, asked));
  ASSAY_TRY(SpecialisedModel model, specialise(file, request, asked.output));
  ZooSpecialised done{std::move(model), {}};
  for (const std::string& name : done.model.inputs) done.shapes.emplace_back(name, request.shapes.at(name));
  return done;
}

}  // namespace

Result<SpecialiseRequest> extents_for(const fs::path& file, const ZooSpecialiseRequest& request) {
  ASSAY_TRY(ModelInfo info, inspect_graph(file));
  return request_for(std::move(info), request);
}

Result<ZooSpecialised> specialise_by_name(const ZooSpecialiseRequest& asked, hub::Hub& hub,
                                          const Cancelled& cancelled) {
  ASSAY_TRY(const ModelReference reference, identify_model(asked.model));
  if (reference.kind == ModelReference::Kind::kOnnxFile) return specialise_file(reference.path, asked);
  if (reference.kind != ModelReference::Kind::kConfigFolder && reference.kind != ModelReference::Kind::kName) {
    return fail(ErrorCode::kUnsupported, fmt::format("'{}' is in a format that only its runtime reads", asked.model),
                "use an .onnx file, a folder with config.json, or a name");
  }
  // In a folder beside the output and under its name: weights beside the model are then linked and not copied, and an
  // older output stays until the new one is whole.
  const fs::path output = fs::absolute(asked.output);
  ASSAY_TRY(const TemporaryDirectory folder, TemporaryDirectory::create(".assay-specialise-", output.parent_path()));
  ASSAY_TRY(const BuiltByName built, build_by_name({.name = asked.model,
                                                    .model_class = asked.model_class,
                                                    .precision = asked.precision,
                                                    .seed = asked.seed,
                                                    .allow_random_weights = asked.allow_random_weights,
                                                    .size = asked.size},
                                                   folder.path() / output.filename(), hub, cancelled));
  ZooSpecialiseRequest request = asked;
  request.positions = built.max_sequence;
  return specialise_file(built.model.path, request);
}

}  // namespace assay
