// SPDX-License-Identifier: Apache-2.0
#include "bench/prepare/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "bench/measure/environment.hpp"
#include "bench/prepare/estimate.hpp"
#include "bench/prepare/zoo_preparation.hpp"
#include "bench/prepare/zoo_source.hpp"
#include "core/base/files.hpp"
#include "core/base/hash.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "models/model/names.hpp"
#include "models/onnx/inspect.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr const char* kOnnx = "onnx";

Status prepare_onnx(PreparedModel& model, const Preparing& with) {
  model.format = kOnnx;
  ASSAY_TRY(model.info, inspect_model(model.artefact.file, with.cancelled));
  model.graph = model.artefact.file;
  Record& row = model.identity;
  set_graph(row, *model.info);
  row.weights_hash = model.info->weights_hash;
  row.model_size_mb = static_cast<double>(model.info->file_bytes) / 1e6;
  if (const auto why = memory_shortfall(model.info->weight_bytes, 0, free_memory())) model.refusal = too_large(*why);
  return {};
}

// A model that assay itself cannot read. Two files with the same bytes are the same model.
Status prepare_runtime_file(PreparedModel& model, const std::string& format, const Preparing& with) {
  std::vector<std::string> readers;
  bool built = false;
  for (const EngineEntry& engine : with.registry->entries()) {
    if (!engine.reads(format)) continue;
    readers.push_back(engine.name);
    built |= engine.built;
  }
  if (!built) {
    model.refusal = {CellStatus::kSkipped, Reason::kNotBuilt,
                     fmt::format(".{} files need the engine {}, which is not part of this version of assay", format,
                                 join(readers, " or ")),
                     "`assay engines` lists what each engine reads"};
    return {};
  }
  model.format = format;
  const fs::path& file = model.artefact.file;
  ASSAY_TRY(model.identity.graph_hash, sha256_file(file, with.cancelled));
  if (const std::optional<fs::path> weights = companion_of(file, with.registry->entries())) {
    ASSAY_TRY(model.identity.weights_hash, sha256_file(*weights, with.cancelled));
  }
  return {};
}

// The extensions of files that only runtimes read.
std::vector<std::string> runtime_formats(const std::vector<EngineEntry>& engines) {
  std::vector<std::string> formats;
  for (const EngineEntry& engine : engines)
    std::ranges::copy_if(engine.formats, std::back_inserter(formats), [](const auto& each) { return each != kOnnx; });
  return formats;
}

Status resolve(PreparedModel& model, const RunSettings& settings, const Preparing& with) {
  using Kind = ModelReference::Kind;
  ASSAY_TRY(ModelReference found, identify_model(model.choice.reference, runtime_formats(with.registry->entries())));
  if (found.kind == Kind::kName || found.kind == Kind::kConfigFolder) {
    // Nothing is fetched for a model that no engine runs.
    if (with.engines.empty() && zoo::find_known(found.name)) found.zoo_only = true;
    ASSAY_TRY(const ZooSource source, find_zoo_source(found, *with.hub, settings.allow_random_weights));
    ASSAY_CHECK_OK(prepare_zoo(model, source, settings, with));
    if (model.info && (found.kind == Kind::kConfigFolder || source.weights))
      model.info->source = found.kind == Kind::kConfigFolder ? found.path : source.weights->parent_path();
    return {};
  }
  if (settings.scale != 1.0)
    return fail(ErrorCode::kUnsupported,
                fmt::format("--scale {}: the layers of a model file cannot be changed", settings.scale));
  model.artefact.file = found.path;
  model.identity.weights = Weights::kGiven;
  model.identity.size = "as_is";
  return found.kind == Kind::kOnnxFile ? prepare_onnx(model, with) : prepare_runtime_file(model, found.format, with);
}

// An unsupported model is a result, a row with a refusal; a wrong name or file is an error.
Status refused(PreparedModel& model, const Error& error) {
  if (error.code != ErrorCode::kUnsupported && error.code != ErrorCode::kOutOfMemory)
    return tl::unexpected<Error>(error);
  const bool unsupported = error.code == ErrorCode::kUnsupported;
  model.refusal = {unsupported ? CellStatus::kUnsupported : CellStatus::kSkipped,
                   unsupported ? reason_of(error.code) : Reason::kTooLarge, error.message, error.hint};
  return {};
}

// Inputs and outputs that came with a model file, and the signature of a file that assay reads.
void look_beside(PreparedModel& model, const RunSettings& settings, const Preparing& with) {
  if (!model.info || model.refusal) return;
  const InputAxes axes = input_axes(settings, with.inputs);
  model.signatures.emplace("", signature_of(*model.info, model.generation.has_value(), axes));
  if (model.artefact.file.empty() || !settings.data.empty()) return;
  Result<std::optional<GivenData>> given = find_given_data(*model.info, with.inputs);
  if (given) {
    model.given = std::move(*given);
    return;
  }
  model.given_note = "the outputs given with the model are not used: " + given.error().message;
  log_warning("{}: {}", model.choice.name, model.given_note);
}

template <class T>
const Result<T>* find_for(const std::map<std::string, Result<T>>& all, const std::string& engine) {
  auto found = all.find(engine);
  if (found == all.end()) found = all.find("");
  return found == all.end() ? nullptr : &found->second;
}

}  // namespace

const Result<CacheVariant>* PreparedModel::variant_for(const std::string& engine) const {
  return find_for(variants, engine);
}

const Result<Signature>* PreparedModel::signature_for(const std::string& engine, const std::string& device) const {
  return find_for(signatures, signature_key(engine, device));
}

Result<PreparedModel> prepare_model(const ModelChoice& choice, const RunSettings& of_all, const Preparing& with) {
  const RunSettings settings = settings_of(choice, of_all);
  PreparedModel model;
  model.choice = choice;
  Record& row = model.identity;
  row.model = choice.name;
  row.model_id = choice.reference;
  row.family = choice.family;
  row.category = choice.category;
  row.size = choice.size;
  row.modality = choice.modality;
  if (choice.reference.empty()) return model;  // an engine that needs no file
  const Status resolved = resolve(model, settings, with);
  if (!resolved) ASSAY_CHECK_OK(with_context(refused(model, resolved.error()), "while preparing " + choice.name));
  look_beside(model, settings, with);
  if (row.family.empty()) row.family = "other";
  return model;
}

Json chosen_sizes(const std::vector<PreparedModel>& models) {
  Json sizes = Json::array();
  for (const PreparedModel& model : models) {
    const Record& row = model.identity;
    const bool chosen = model.choice.any_size && !model.refusal;
    sizes.push_back(chosen ? Json{{"model", row.model}, {"model_id", row.model_id}, {"size", row.size}} : Json());
  }
  return sizes;
}

std::optional<std::string> different_size(const Json& before, const Json& now) {
  if (!before.is_array() || !now.is_array()) return std::nullopt;
  const auto word = [](const Json& size, const char* key) {
    return size.contains(key) && size[key].is_string() ? size[key].get<std::string>() : std::string("unknown");
  };
  const auto text = [&](const Json& size) {
    return fmt::format("{}, size {}", word(size, "model_id"), word(size, "size"));
  };
  for (std::size_t i = 0; i < std::min(before.size(), now.size()); ++i) {
    const Json &old = before[i], &size = now[i];
    if (!old.is_object() || !size.is_object() || old == size) continue;
    return fmt::format("{} was {} and is now {}", word(size, "model"), text(old), text(size));
  }
  return std::nullopt;
}

Json with_earlier_sizes(Json now, const Json& before) {
  if (!before.is_array()) return now;
  for (std::size_t i = 0; i < std::min(before.size(), now.size()); ++i)
    if (now[i].is_null()) now[i] = before[i];
  return now;
}

Result<BuiltByName> build_by_name(const BuildByName& asked, const fs::path& output, hub::Hub& hub,
                                  const Cancelled& cancelled) {
  ASSAY_TRY(const ModelReference found, identify_model(asked.name));
  if (found.kind != ModelReference::Kind::kConfigFolder && found.kind != ModelReference::Kind::kName)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is a model file already; `zoo build` expects a name or a folder with config.json",
                            asked.name));
  ASSAY_TRY(const ZooSource named, find_zoo_source(found, hub, asked.allow_random_weights));
  ASSAY_TRY(const ZooSource source, source_of_size(named, asked.size));
  if (source.planned)
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("not_built: the architecture '{}' is not part of this version of assay", source.architecture),
        "`assay zoo list` shows what is built");
  if (!source.note.empty()) log_warning("{}", source.note);
  zoo::BuildRequest request;
  request.config = source.config;
  request.model_class = asked.model_class.empty() ? source.model_class : asked.model_class;
  request.weights = source.weights;
  request.seed = asked.seed;
  request.precision = asked.precision;
  request.cancelled = cancelled;
  ASSAY_TRY(zoo::BuiltModel built, zoo::build(request, output));
  return BuiltByName{std::move(built), max_sequence_of(source.config)};
}

}  // namespace assay
