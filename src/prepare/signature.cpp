// SPDX-License-Identifier: Apache-2.0
#include "prepare/signature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "prepare/generation.hpp"

namespace assay {
namespace {

std::vector<ModelValue> values_of(const std::vector<ValueSignature>& signatures) {
  std::vector<ModelValue> values;
  values.reserve(signatures.size());
  for (const ValueSignature& value : signatures) {
    ModelValue& added = values.emplace_back(ModelValue{value.name, value.dtype, value.shape, value.symbols});
    if (value.index_limit > 0) added.index_limit = value.index_limit;
  }
  return values;
}

// "x:float32[batch,64];mask:int64[batch,?]"
std::string text_of(const std::vector<ModelValue>& values) {
  std::vector<std::string> parts;
  for (const ModelValue& value : values) {
    std::vector<std::string> extents;
    for (std::size_t i = 0; i < value.shape.size(); ++i) {
      const bool named = i < value.symbols.size() && !value.symbols[i].empty();
      extents.push_back(value.shape[i] >= 0 ? std::to_string(value.shape[i]) : named ? value.symbols[i] : "?");
    }
    parts.push_back(fmt::format("{}:{}[{}]", value.name, to_string(value.dtype), join(extents, ",")));
  }
  return join(parts, ";");
}

}  // namespace

InputAxes input_axes(const RunSettings& settings, const std::filesystem::path& folder) {
  InputAxes axes;
  axes.data = settings.data;
  axes.cache = folder;
  axes.input_shape = settings.input_shape;
  return axes;
}

Signature signature_of(ModelInfo info, bool generates, const InputAxes& axes) {
  Signature signature;
  InputAxes smallest = axes;
  smallest.batch = InputAxes{}.batch;
  smallest.sequence = InputAxes{}.sequence;
  signature.fixed_batch = fixed_batch(info, smallest).value_or(std::nullopt);
  smallest.batch = signature.fixed_batch.value_or(1);
  const Result<ModelInputs> inputs = generates ? prompt_inputs(info, smallest) : make_inputs(info, smallest);
  signature.uses_sequence = inputs && inputs->uses_sequence;
  signature.info = std::move(info);
  return signature;
}

Result<ModelInfo> ask_signature(const EngineRegistry& registry, const EngineLocation& location, const LoadRequest& load,
                                std::optional<std::uint64_t> memory_limit_bytes, const Cancelled& cancelled,
                                std::chrono::nanoseconds timeout) {
  Worker::StartOptions start;
  start.executable = registry.places().worker;
  start.memory_limit_bytes = memory_limit_bytes;
  start.cancelled = cancelled;
  ASSAY_TRY(const std::unique_ptr<Worker> worker, Worker::start(location, std::move(start)));
  ASSAY_TRY(const LoadReply loaded, worker->load(load, timeout));
  ModelInfo info;
  info.path = load.model;
  info.inputs = values_of(loaded.inputs);
  info.outputs = values_of(loaded.outputs);
  if (info.outputs.empty() && !load.model.empty())
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' has no outputs", load.model.string()));
  return info;
}

Result<EngineOptions> signature_option(const FoundEngine& engine, const InputAxes& axes,
                                       const std::filesystem::path& folder) {
  constexpr const char* kOption = "signature";
  if (axes.data.empty() || std::ranges::find(engine.options, kOption, &EngineOptionInfo::name) == engine.options.end())
    return EngineOptions{};
  ASSAY_TRY(const std::vector<ModelValue> values, values_in_data(axes));
  if (values.empty()) return EngineOptions{};  // images say no signature
  Json inputs = Json::array();
  for (const ModelValue& value : values)
    inputs.push_back({{"name", value.name}, {"dtype", to_string(value.dtype)}, {"shape", value.shape}});
  const std::string text = json_text({{"format_version", 1}, {"inputs", std::move(inputs)}});
  ASSAY_CHECK_OK(make_directories(folder));
  const std::filesystem::path file = folder / (sha256_hex(text) + ".json");
  ASSAY_CHECK_OK(write_file_atomically(file, text));
  return EngineOptions{{kOption, file.string()}};
}

void add_signature(EngineOptions& options, const ModelInfo& info) {
  const auto add = [&](const char* key, const std::vector<ModelValue>& values) {
    if (std::ranges::find(options, key, &std::pair<std::string, std::string>::first) == options.end())
      options.emplace_back(key, text_of(values));
  };
  add("inputs", info.inputs);
  add("outputs", info.outputs);
}

}  // namespace assay
