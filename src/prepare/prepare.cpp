// SPDX-License-Identifier: Apache-2.0
#include "prepare/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "measure/environment.hpp"
#include "model/classify.hpp"
#include "model/names.hpp"
#include "prepare/estimate.hpp"
#include "prepare/sizes.hpp"
#include "prepare/zoo_source.hpp"
#include "tensor/random.hpp"
#include "zoo/zoo.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFloat32 = "float32";

Refusal not_built(std::string message) {
  return {CellStatus::kSkipped, std::string(reason::kNotBuilt), std::move(message),
          "`assay zoo list` shows what is built"};
}

Refusal too_large(std::string message) {
  return {CellStatus::kSkipped, std::string(reason::kTooLarge), std::move(message),
          "use a smaller model, or a machine with more memory"};
}

// Engines that do not run a form of cache, in the words of engine.json: "growing", "static".
void refuse_form(const Preparing& with, std::string_view cache, zoo::Form form, PreparedModel& model) {
  for (const std::string& engine : with.engines) {
    const EngineEntry* entry = with.registry != nullptr ? with.registry->entry(engine) : nullptr;
    if (entry == nullptr || std::ranges::find(entry->kv_cache, cache) != entry->kv_cache.end()) continue;
    model.formed.emplace(engine, fail(ErrorCode::kUnsupported,
                                      fmt::format("the form {}: {} has none", zoo::form_name(form), entry->name),
                                      "`assay engines --output-format json` lists the forms of each engine"));
  }
}

// The form that was asked for: one graph for every engine, or each engine's own.
void build_forms(zoo::BuildRequest& request, const RunSettings& settings, const Preparing& with, PreparedModel& model) {
  const fs::path folder = model.built->path();
  if (settings.form != zoo::Form::kNative) {
    refuse_form(with, "static", settings.form, model);
    model.formed.emplace("", build_form(request, settings.form, folder / "form.onnx"));
    return;
  }
  for (const std::string& engine : with.engines) {
    const std::string name = engine.substr(0, engine.find('@'));
    if (model.formed.contains(engine)) continue;
    Result<FormGraph> graph = fail(ErrorCode::kUnsupported, fmt::format("the form native: {} has none", name),
                                   "--form fixed and --form portable are for every engine");
    const EngineEntry* entry = with.registry != nullptr ? with.registry->entry(engine) : nullptr;
    if (entry != nullptr && entry->runtime_cache && !entry->runtime_cache->graph.empty()) {
      graph = build_form(request, settings.form, folder / fmt::format("form{}.onnx", model.formed.size()));
    } else if (entry != nullptr && entry->runtime_cache) {
      Stateful stateful;
      stateful.program = with.registry->converter(*entry);
      stateful.timeout = settings.timeout;
      stateful.cancelled = with.cancelled;
      if (Result<EngineLocation> runtime = with.registry->locate(engine)) {
        stateful.runtime = *runtime;
        graph = make_stateful(*model.generation, stateful,
                              folder / fmt::format("form{}.{}", model.formed.size(), entry->runtime_cache->format));
      } else {
        graph = tl::unexpected<Error>(runtime.error());
      }
    }
    model.formed.emplace(engine, std::move(graph));
  }
}

// What a configuration and its weights become: seconds, and never stale. A model that generates is what
// `model.generation` is then told of.
Result<zoo::BuiltModel> build_into(zoo::BuildRequest& request, const RunSettings& settings, const Preparing& with,
                                   PreparedModel& model) {
  ASSAY_TRY(TemporaryDirectory folder, TemporaryDirectory::create("assay-model-", with.cache));
  model.built = std::make_shared<const TemporaryDirectory>(std::move(folder));
  // Given inputs are those of a forward pass.
  if (settings.output_tokens.front() > 0 && settings.data.empty()) {
    ASSAY_TRY(model.generation, build_generation(request, model.built->path()));
    if (model.generation && settings.form != zoo::Form::kPortable) build_forms(request, settings, with, model);
    if (model.generation && settings.form == zoo::Form::kPortable) refuse_form(with, "growing", settings.form, model);
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

Status inspect(PreparedModel& model, const Cancelled& cancelled) {
  model.format = "onnx";
  ASSAY_TRY(model.info, inspect_model(model.file, cancelled));
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
  if (const auto why = lack_of_memory(weight_bytes, 0, free_memory())) model.verdict = too_large(*why);
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

Status prepare_zoo(PreparedModel& model, const ZooSource& source, const RunSettings& settings, const Preparing& with) {
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
  zoo::BuildRequest request = build_request(source, settings);
  request.cancelled = with.cancelled;
  if (request.precision != kFloat32) {
    model.in_float32 = std::make_shared<zoo::BuildRequest>(build_request(source, settings));
    model.in_float32->cancelled = with.cancelled;
    model.in_float32->precision = kFloat32;
    model.in_float32->max_weight_bytes = free_memory() / 2;
    model.in_float32->weights_rounded_to = dtype_from(settings.precision);
  }
  ASSAY_TRY(const zoo::BuiltModel built, build_into(request, settings, with, model));
  describe(model, built, source.model_id, source.size);
  model.max_sequence = max_sequence_of(request.config);
  ASSAY_CHECK_OK(inspect(model, with.cancelled));
  if (model.info->max_sequence) model.max_sequence = model.info->max_sequence;
  return {};
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

// Whether it does not fit, and why.
std::optional<std::string> too_large(const Status& prepared, const PreparedModel& model) {
  if (!prepared)
    return prepared.error().code == ErrorCode::kOutOfMemory ? std::optional(prepared.error().message) : std::nullopt;
  const bool large = model.verdict && model.verdict->reason_code == reason::kTooLarge;
  return large ? std::optional(model.verdict->message) : std::nullopt;
}

/// What keeps a model from running here, before it is built.
struct Lack {
  std::optional<std::string> memory, time;
  double cell_s = 0;
};

// `rate`: nullptr for what the user named, which is held to its weights alone.
Result<Lack> lack_of(const ZooSource& source, const RunSettings& settings, const MachineRate* rate,
                     const Cancelled& cancelled) {
  ASSAY_CHECK_OK(check_cancelled(cancelled));
  const Result<Estimate> told = estimate(source, settings, rate);
  Lack lack;
  if (!told) return tl::unexpected<Error>(told.error());
  lack.memory = lack_of_memory(told->weight_bytes, told->activation_bytes, free_memory());
  lack.time = lack_of_time(*told, settings);
  lack.cell_s = told->cell_s;
  return lack;
}

// The largest of a model's smaller sizes that fits into memory and into a cell's time, in place of it; of those too
// slow, the quickest. Leaves `model` as it is where none fits into memory. `asked`: what each of them begins with.
Status prepare_smaller(PreparedModel& model, const PreparedModel& asked, const ZooSource& source, const Lack& lack,
                       const RunSettings& settings, const Preparing& with) {
  const std::string& why = lack.memory ? *lack.memory : *lack.time;
  const auto try_size = [&](const ZooSource& size) -> Result<bool> {
    PreparedModel next = asked;
    const Status tried = prepare_zoo(next, size, settings, with);
    if (too_large(tried, next)) return false;
    ASSAY_CHECK_OK(tried);
    if (size.size != source.size || size.model_id != source.model_id) {
      next.identity.add_flag(flag::kScaled);
      next.note = fmt::format("{}: {}, size {}, stands in for {}: {}", model.choice.name, size.model_id, size.size,
                              source.model_id, why);
    }
    model = std::move(next);
    return true;
  };
  std::vector<std::pair<double, ZooSource>> slow;
  if (!lack.memory) slow.emplace_back(lack.cell_s, source);
  for (ZooSource& size : smaller_sizes(source, with.cancelled)) {
    const Result<Lack> its = lack_of(size, settings, with.rate, with.cancelled);
    if (!its && its.error().code == ErrorCode::kUnsupported) continue;
    if (!its) return tl::unexpected<Error>(its.error());
    if (its->memory) continue;
    if (its->time) {
      slow.emplace_back(its->cell_s, std::move(size));
      continue;
    }
    ASSAY_TRY(const bool done, try_size(size));
    if (done) return {};
  }
  std::ranges::stable_sort(slow, {}, [](const auto& each) { return each.first; });
  for (const auto& [seconds, size] : slow) {
    ASSAY_TRY(const bool done, try_size(size));
    if (done) return {};
  }
  return {};
}

// The model, or, where it may be of any size, the largest that fits in its place.
Status prepare_fitting(PreparedModel& model, const ZooSource& named, const RunSettings& settings,
                       const Preparing& with) {
  ASSAY_TRY(ZooSource source, of_size(named, settings.size));
  if (settings.scale != 1.0 && !source.planned) {
    const bool weights = source.weights.has_value();
    ASSAY_TRY(source, scaled(source, settings.scale, fmt::format("{}*{}", source.size, settings.scale)));
    model.identity.add_flag(flag::kScaled);
    if (weights)
      source.note = fmt::format("{}: seeded weights, for those of its folder have all layers", model.choice.name);
  }
  model.identity.model_id = source.model_id;
  model.identity.architecture = source.architecture;
  model.note = source.note;
  if (source.planned) return prepare_zoo(model, source, settings, with);
  const bool any_size = model.choice.any_size && settings.size.empty();
  ASSAY_TRY(Lack lack, lack_of(source, settings, any_size ? with.rate : nullptr, with.cancelled));
  const PreparedModel asked = model;
  if (!lack.memory && !lack.time) {
    Status prepared = prepare_zoo(model, source, settings, with);
    lack.memory = too_large(prepared, model);
    if (!lack.memory || !any_size) return prepared;
    model = asked;
  }
  model.verdict = too_large(lack.memory ? *lack.memory : *lack.time);
  return any_size ? prepare_smaller(model, asked, source, lack, settings, with) : Status();
}

// The extension of a file that only a runtime reads, where an engine says that it does; empty for others.
std::string runtime_format(const std::string& reference, const std::vector<EngineEntry>& engines) {
  std::error_code error;
  const fs::path file = reference;
  if (file.extension() == ".onnx" || !fs::is_regular_file(file, error)) return {};
  const std::string format = lower(file.extension().string());
  const bool known = format.size() > 1 && std::ranges::any_of(engines, [&](const EngineEntry& engine) {
                       return engine.reads(std::string_view(format).substr(1));
                     });
  return known ? format.substr(1) : std::string();
}

// A model that assay itself cannot look into. Two files with the same bytes are the same model.
Status take_runtime_file(PreparedModel& model, const std::string& format, const std::vector<EngineEntry>& engines,
                         const std::function<bool()>& cancelled) {
  std::vector<std::string> readers;
  bool built = false;
  for (const EngineEntry& engine : engines) {
    if (!engine.reads(format)) continue;
    readers.push_back(engine.name);
    built |= engine.built;
  }
  if (!built) {
    model.verdict = {CellStatus::kSkipped, std::string(reason::kNotBuilt),
                     fmt::format(".{} files need the engine {}, which is not part of this version of assay", format,
                                 join(readers, " or ")),
                     "`assay engines` lists what each engine reads"};
    return {};
  }
  model.format = format;
  Record& row = model.identity;
  ASSAY_TRY(row.graph_hash, sha256_file(model.file, cancelled));
  if (const fs::path weights = fs::path(model.file).replace_extension(".bin"); fs::exists(weights)) {
    ASSAY_TRY(row.weights_hash, sha256_file(weights, cancelled));
  }
  return {};
}

Status resolve(PreparedModel& model, const RunSettings& settings, const Preparing& with) {
  const std::vector<EngineEntry>& engines = with.registry != nullptr ? with.registry->entries() : own_engines();
  Record& row = model.identity;
  const std::string format = runtime_format(model.choice.reference, engines);
  const bool own_kind = format.empty() || format == "xml" || format == "pt";  // what identify_model looks into
  if (!own_kind) {
    model.file = model.choice.reference;
    row.weights = "given";
    row.size = "as_is";
    return take_runtime_file(model, format, engines, with.cancelled);
  }
  ASSAY_TRY(const ModelReference found, identify_model(model.choice.reference));
  if (found.kind == ModelReference::Kind::kName || found.kind == ModelReference::Kind::kConfigFolder) {
    ASSAY_TRY(const ZooSource source, find_zoo_source(found, *with.hub));
    return prepare_fitting(model, source, settings, with);
  }
  if (settings.scale != 1.0)
    return fail(ErrorCode::kUnsupported, fmt::format("--scale {}: a model file keeps its layers", settings.scale));
  model.file = found.path;
  row.weights = "given";
  row.size = "as_is";
  switch (found.kind) {
    case ModelReference::Kind::kOnnxFile:
      return inspect(model, with.cancelled);
    case ModelReference::Kind::kTorchScript:
      return take_runtime_file(model, "pt", engines, with.cancelled);
    default:
      return take_runtime_file(model, "xml", engines, with.cancelled);
  }
}

}  // namespace

const Result<FormGraph>* PreparedModel::form_for(const std::string& engine) const {
  auto found = formed.find(engine);
  if (found == formed.end()) found = formed.find("");
  return found == formed.end() ? nullptr : &found->second;
}

Result<PreparedModel> prepare_model(const ModelChoice& choice, const RunSettings& settings, const Preparing& with) {
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
  if (row.family.empty()) row.family = "other";
  return model;
}

Result<zoo::BuiltModel> build_by_name(const std::string& name, const std::string& model_class,
                                      const std::string& precision, std::uint64_t seed, const fs::path& output,
                                      hub::Hub& hub, const Cancelled& cancelled) {
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
  request.cancelled = cancelled;
  return zoo::build(request, output);
}

}  // namespace assay
