// SPDX-License-Identifier: Apache-2.0
#include "bench/prepare/signature.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/prepare/generation.hpp"
#include "core/base/files.hpp"
#include "core/base/hash.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "models/inputs/fixed_extents.hpp"

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

// "--shape x:1x3x48x320 --dim width=320"
std::string given_options(const GivenShapes& given) {
  std::vector<std::string> options;
  for (const GivenShape& shape : given.shapes) options.push_back(option_text(shape));
  for (const GivenExtent& extent : given.extents) options.push_back(option_text(extent));
  return join(options, " ");
}

// `fixed`, by given shapes, and the values of an option that says the same.
Status check_agrees(const GivenShapes& given, const char* what, std::optional<std::int64_t> fixed, bool is_default,
                    const char* option, const std::vector<std::int64_t>& values, char letter) {
  if (!fixed || is_default || values == std::vector{*fixed}) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} fixes {} at {}, and {} requests {}", given_options(given), what, *fixed, option,
                          fmt::join(values, ",")),
              fmt::format("write {} in place of the number, or leave out {}", letter, option));
}

// The inputs of a file that does not say them, as --shape gives them.
Json described(const GivenShape& given) {
  Json shape = Json::array();
  for (const std::int64_t extent : given.extents)
    shape.push_back(extent == kBatchExtent      ? Json("batch")
                    : extent == kSequenceExtent ? Json("sequence_length")
                                                : Json(extent));
  const DType dtype = given.dtype == DType::kUndefined ? DType::kFloat32 : given.dtype;
  return {{"name", given.input}, {"dtype", to_string(dtype)}, {"shape", std::move(shape)}};
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
  axes.given = {settings.shapes, settings.extents};
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
  info = with_given_ranks(std::move(info), axes.given);
  if (const Result<FixedExtents> fixed = fix_extents(info, axes.given)) {
    signature.fixed_sequence = fixed->sequence;
    signature.given_shapes = given_text(info, *fixed);
  }
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

Status check_given(const ModelInfo& info, bool generates, const ModelChoice& choice, const RunSettings& of_all) {
  const RunSettings settings = settings_of(choice, of_all);
  ASSAY_CHECK_OK(check_input_shape(info, input_axes(settings, {})));
  const GivenShapes given{settings.shapes, settings.extents};
  if (given.empty()) return {};
  if (!settings.input_shape.empty())
    return fail(ErrorCode::kInvalidArgument, "--input-shape and --shape or --dim cannot be combined",
                "--shape NAME:… says all that --input-shape says");
  const ModelInfo model = with_given_ranks(info, given);
  ASSAY_TRY(const FixedExtents fixed, fix_extents(model, given));
  if (generates && !given_text(model, fixed).empty())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: the model generates tokens, and only its batch and its sequence length can be given",
                            given_options(given)),
                "--output-tokens 0 measures one forward pass instead");
  if (fixed.sequence && model.image)
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: the tokens of an image are added to the sequence length", given_options(given)),
        fmt::format("use --sequence-lengths {}", std::max<std::int64_t>(1, *fixed.sequence - model.image->count)));
  if (!choice.given.empty()) return {};  // other batches are cells that do not run, as of a file with a fixed batch
  ASSAY_CHECK_OK(check_agrees(given, "the batch", fixed.batch, settings.default_batches, "--batch-sizes",
                              settings.batch_sizes, 'B'));
  return check_agrees(given, "the sequence length", fixed.sequence, settings.default_lengths, "--sequence-lengths",
                      settings.sequence_lengths, 'S');
}

Result<EngineOptions> signature_option(const FoundEngine& engine, const InputAxes& axes,
                                       const std::filesystem::path& folder) {
  constexpr const char* kOption = "signature";
  if (std::ranges::find(engine.options, kOption, &EngineOptionInfo::name) == engine.options.end())
    return EngineOptions{};
  Json inputs = Json::array();
  if (!axes.data.empty()) {
    ASSAY_TRY(const std::vector<ModelValue> values, values_in_data(axes));  // images say no signature
    for (const ModelValue& value : values)
      inputs.push_back({{"name", value.name}, {"dtype", to_string(value.dtype)}, {"shape", value.shape}});
  }
  const bool by_name = inputs.empty();  // files of arrays may be named by their order
  if (by_name)
    for (const GivenShape& shape : axes.given.shapes) inputs.push_back(described(shape));
  if (inputs.empty()) return EngineOptions{};
  const std::string text =
      json_text({{"format_version", 1}, {"names_of_arguments", by_name}, {"inputs", std::move(inputs)}});
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
