// SPDX-License-Identifier: Apache-2.0
#include "plan/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "measure/environment.hpp"
#include "model/classify.hpp"
#include "model/names.hpp"
#include "plan/sizes.hpp"
#include "plan/zoo_source.hpp"
#include "tensor/random.hpp"
#include "zoo/zoo.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

Target::Verdict not_built(std::string message) {
  return {CellStatus::kSkipped, std::string(reason::kNotBuilt), std::move(message),
          "`assay zoo list` shows what is built"};
}

// A folder in `cache` that goes with its last owner. Those that a killed assay left go after a week.
Result<std::shared_ptr<const TemporaryDirectory>> own_folder(const fs::path& cache) {
  constexpr auto kAbandoned = std::chrono::hours(24 * 7);
  std::error_code ignored;
  for (fs::directory_iterator it(cache, ignored), end; !ignored && it != end; it.increment(ignored)) {
    std::error_code unknown;
    const auto written = fs::last_write_time(it->path(), unknown);
    if (!unknown && fs::file_time_type::clock::now() - written > kAbandoned) fs::remove_all(it->path(), unknown);
  }
  ASSAY_TRY(TemporaryDirectory folder, TemporaryDirectory::create("", cache));
  return std::make_shared<const TemporaryDirectory>(std::move(folder));
}

// What a configuration and its weights become: seconds, and never stale. A model that generates is what
// `model.generation` is then told of.
Result<zoo::BuiltModel> build_into(zoo::BuildRequest& request, const RunSettings& settings, const fs::path& cache,
                                   PreparedModel& model) {
  ASSAY_TRY(model.built, own_folder(cache));
  // Given inputs are those of a forward pass.
  if (settings.output_tokens.front() > 0 && settings.data.empty()) {
    ASSAY_TRY(model.generation, build_generation(request, model.built->path()));
    if (model.generation && settings.form != zoo::Form::kPortable) {
      model.identity.form = zoo::form_name(settings.form);  // of a refusal too
      ASSAY_TRY(model.formed, build_form(request, settings.form, model.built->path() / "form.onnx"));
    }
    if (model.generation) return model.generation->prompt;
  }
  return zoo::build(request, model.built->path() / "model.onnx");
}

// Of a model of several towers: the text's.
std::optional<std::int64_t> max_sequence_of(const Json& config) {
  const auto key = config.find("max_position_embeddings");
  if (key == config.end()) {
    const auto text = config.find("text_config");
    return text != config.end() && text->is_object() ? max_sequence_of(*text) : std::nullopt;
  }
  if (!key->is_number_integer() || key->get<std::int64_t>() < 1) return std::nullopt;
  return key->get<std::int64_t>();
}

void describe(PreparedModel& model, const zoo::BuiltModel& built, const std::string& model_id,
              const std::string& size) {
  Record& row = model.identity;
  row.model_id = model_id;
  row.architecture = built.architecture;
  row.model_class = built.model_class;
  row.form = built.form;
  row.config_hash = built.config_hash;
  row.weights_hash = built.weights_hash;
  row.builder_version = built.builder_version;
  row.weights = built.seeded ? "seeded" : "checkpoint";
  row.size = size;
  if (built.seeded) {
    row.add_flag(flag::kSeeded);
    row.seed_scheme = std::string(seed_scheme());
  }
  model.file = built.path;
}

Status inspect(PreparedModel& model) {
  model.format = "onnx";
  ASSAY_TRY(model.info, inspect_model(model.file));
  Record& row = model.identity;
  row.graph_hash = model.info->graph_hash;
  if (row.weights_hash.empty()) row.weights_hash = model.info->weights_hash;
  row.parameter_count = model.info->parameter_count;
  row.model_size_mb = static_cast<double>(model.info->file_bytes) / 1e6;
  const Classification what = classify(*model.info);
  if (row.family.empty() && what.family != kUnknown) row.family = what.family;
  if (row.category.empty() && what.category != kUnknown) row.category = what.category;
  std::uint64_t weight_bytes = model.info->weight_bytes;
  if (model.generation && model.generation->step) {
    row.graph_hash = sha256_hex(row.graph_hash + model.generation->step_info.graph_hash);
    weight_bytes += model.generation->step_info.weight_bytes;
    *row.model_size_mb += static_cast<double>(model.generation->step_info.file_bytes) / 1e6;
  }
  // Twice the weights to run (DESIGN: weights × 2), with the activations left to luck.
  const std::uint64_t available = free_memory();
  if (weight_bytes > available / 2)
    model.verdict = {CellStatus::kSkipped, std::string(reason::kTooLarge),
                     fmt::format("weights of {:.1f} GB need about {:.1f} GB to run, {:.1f} GB are free",
                                 static_cast<double>(weight_bytes) / 1e9, static_cast<double>(weight_bytes) * 2e-9,
                                 static_cast<double>(available) / 1e9),
                     "use a smaller model, or a machine with more memory"};
  return {};
}

// Turns a refusal into a row: what is unsupported is data, what is at fault is an error.
Status refused(PreparedModel& model, const Error& error) {
  if (error.code != ErrorCode::kUnsupported && error.code != ErrorCode::kOutOfMemory)
    return tl::unexpected<Error>(error);
  const bool unsupported = error.code == ErrorCode::kUnsupported;
  model.verdict = {unsupported ? CellStatus::kUnsupported : CellStatus::kSkipped,
                   unsupported ? std::string(to_string(error.code)) : std::string(reason::kTooLarge), error.message,
                   error.hint};
  return {};
}

Status prepare_zoo(PreparedModel& model, const ZooSource& source, const RunSettings& settings, const fs::path& cache) {
  Record& row = model.identity;
  row.model_id = source.model_id;
  row.architecture = source.architecture;
  model.note = source.note;
  if (source.planned) {
    if (row.family.empty()) row.family = source.family;
    if (row.category.empty()) row.category = source.category;
    model.verdict =
        not_built(fmt::format("the architecture '{}' is not part of this version of assay", source.architecture));
    return {};
  }
  zoo::BuildRequest request;
  request.config = source.config;
  request.model_class = source.model_class;
  request.weights = source.weights;
  request.seed = settings.seed;
  request.max_weight_bytes = free_memory() / 2;  // what inspect() would refuse needs not be written first
  // "runtime" and "as_is" leave the graph in float32.
  const DType precision = dtype_from(settings.precision).value_or(DType::kFloat32);
  if (precision != DType::kFloat32) {
    request.precision = settings.precision;
    model.in_float32 = std::make_shared<zoo::BuildRequest>();
    model.in_float32->config = request.config;
    model.in_float32->model_class = request.model_class;
    model.in_float32->weights = request.weights;
    model.in_float32->seed = request.seed;
    model.in_float32->max_weight_bytes = request.max_weight_bytes;
    model.in_float32->weights_rounded_to = precision;
  }
  ASSAY_TRY(const zoo::BuiltModel built, build_into(request, settings, cache, model));
  describe(model, built, source.model_id, source.size);
  model.max_sequence = max_sequence_of(request.config);
  ASSAY_CHECK_OK(inspect(model));
  if (model.info->max_sequence) model.max_sequence = model.info->max_sequence;
  return {};
}

// Whether it does not fit, and why.
std::optional<std::string> too_large(const Status& prepared, const PreparedModel& model) {
  if (!prepared)
    return prepared.error().code == ErrorCode::kOutOfMemory ? std::optional(prepared.error().message) : std::nullopt;
  const bool large = model.verdict && model.verdict->reason_code == reason::kTooLarge;
  return large ? std::optional(model.verdict->message) : std::nullopt;
}

// The checkpoint of the size that was asked for. `named`: what the user or the set names.
Result<ZooSource> of_size(const ZooSource& named, const std::string& size) {
  if (size.empty() || named.size == "as_is" || named.size == size) return named;
  std::vector<std::string> there{named.size};
  for (const zoo::KnownModel& known : zoo::published(named.architecture)) {
    if (known.model_class == named.model_class && known.size == size) return zoo_source(known);
    if (known.model_class == named.model_class && known.size != named.size) there.push_back(known.size);
  }
  return fail(ErrorCode::kUnsupported, fmt::format("{} is not published in size '{}'; there is {}", named.architecture,
                                                   size, join(there, ", ")));
}

// The model, or the largest smaller one that fits in its place, where it may be of any size.
Status prepare_fitting(PreparedModel& model, const ZooSource& named, const RunSettings& settings,
                       const fs::path& cache) {
  ASSAY_TRY(ZooSource source, of_size(named, settings.size));
  if (settings.scale != 1.0 && !source.planned) {
    const bool weights = source.weights.has_value();
    ASSAY_TRY(source, scaled(source, settings.scale, fmt::format("{}*{}", source.size, settings.scale)));
    model.identity.add_flag(flag::kScaled);
    if (weights)
      source.note = fmt::format("{}: seeded weights, for those of its folder have all layers", model.choice.name);
  }
  const PreparedModel asked = model;
  Status prepared = prepare_zoo(model, source, settings, cache);
  const std::optional<std::string> why = too_large(prepared, model);
  if (!why || !model.choice.any_size || !settings.size.empty()) return prepared;
  for (const ZooSource& smaller : smaller_sizes(source)) {
    PreparedModel next = asked;
    const Status tried = prepare_zoo(next, smaller, settings, cache);
    if (too_large(tried, next) || (!tried && tried.error().code == ErrorCode::kUnsupported)) continue;
    ASSAY_CHECK_OK(tried);
    if (next.verdict) continue;
    next.identity.add_flag(flag::kScaled);
    next.note = fmt::format("{}: {}, size {}, stands in for {}: {}", model.choice.name, smaller.model_id, smaller.size,
                            source.model_id, *why);
    model = std::move(next);
    return {};
  }
  return prepared;
}

Status resolve(PreparedModel& model, const RunSettings& settings, const fs::path& cache, hub::Hub& hub) {
  ASSAY_TRY(const ModelReference found, identify_model(model.choice.reference));
  Record& row = model.identity;
  if (found.kind == ModelReference::Kind::kName || found.kind == ModelReference::Kind::kConfigFolder) {
    ASSAY_TRY(const ZooSource source, find_zoo_source(found, hub));
    return prepare_fitting(model, source, settings, cache);
  }
  if (settings.scale != 1.0)
    return fail(ErrorCode::kUnsupported, fmt::format("--scale {}: a model file keeps its layers", settings.scale));
  model.file = found.path;
  row.weights = "given";
  row.size = "as_is";
  switch (found.kind) {
    case ModelReference::Kind::kOnnxFile:
      return inspect(model);
    case ModelReference::Kind::kTorchScript:
      model.verdict =
          not_built("TorchScript models need the engine libtorch, which is not part of this version of assay");
      return {};
    default: {
      model.format = "xml";
      // Only OpenVINO reads its own format; two files with the same text and weights are the same model.
      ASSAY_TRY(row.graph_hash, sha256_file(found.path));
      const fs::path weights = fs::path(found.path).replace_extension(".bin");
      if (fs::exists(weights)) {
        ASSAY_TRY(row.weights_hash, sha256_file(weights));
      }
      return {};
    }
  }
}

}  // namespace

Result<PreparedModel> prepare_model(const ModelChoice& choice, const RunSettings& settings, const fs::path& cache,
                                    hub::Hub& hub) {
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
  const Status resolved = resolve(model, settings, cache, hub);
  if (!resolved) ASSAY_CHECK_OK(with_context(refused(model, resolved.error()), "while preparing " + choice.name));
  if (row.family.empty()) row.family = "other";
  return model;
}

Result<zoo::BuiltModel> build_by_name(const std::string& name, const std::string& model_class,
                                      const std::string& precision, std::uint64_t seed, const fs::path& output,
                                      hub::Hub& hub) {
  ASSAY_TRY(const ModelReference found, identify_model(name));
  if (found.kind != ModelReference::Kind::kConfigFolder && found.kind != ModelReference::Kind::kName)
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("'{}' is a model file already; `zoo build` takes a name or a folder with config.json", name));
  ASSAY_TRY(const ZooSource source, find_zoo_source(found, hub));
  if (source.planned)
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("not_built: the architecture '{}' is not part of this version of assay", source.architecture),
        "`assay zoo list` shows what is built");
  if (!source.note.empty()) log_warning("{}", source.note);
  zoo::BuildRequest request;
  request.config = source.config;
  request.model_class = model_class.empty() ? source.model_class : model_class;
  request.weights = source.weights;
  request.seed = seed;
  request.precision = precision;
  return zoo::build(request, output);
}

}  // namespace assay
