// SPDX-License-Identifier: Apache-2.0
#include "bench/prepare/artefact.hpp"

#include <fmt/format.h>

#include <chrono>
#include <system_error>
#include <utility>

#include "bench/measure/environment.hpp"
#include "bench/prepare/generation.hpp"
#include "bench/prepare/kv_cache.hpp"
#include "core/base/files.hpp"
#include "core/base/log.hpp"
#include "models/graph/specialise.hpp"
#include "models/onnx/honest_graph.hpp"
#include "models/onnx/perturb.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr const char* kModelFile = "model.onnx";

Json name_of(const std::optional<DType>& dtype) { return dtype ? Json(to_string(*dtype)) : Json(); }

constexpr const char* kQuantised = "quantised";
const char* word_of(ArtefactSpec::HonestRun::Kind kind) {
  return kind == ArtefactSpec::HonestRun::Kind::kQuantised ? kQuantised : "rounded";
}

Json to_json(const ZooBuild& build) {
  return {{"config", build.config},
          {"class", build.model_class},
          {"weights", build.weights ? Json(build.weights->string()) : Json()},
          {"weights_hash", build.weights_hash},
          {"seed", build.seed},
          {"precision", build.precision},
          {"weights_rounded_to", name_of(build.weights_rounded_to)},
          {"generates", build.generates},
          {"kv_cache", to_string(build.kv_cache)}};
}

// Both throw what nlohmann throws, and invalid_argument; artefact_from_json() converts it to an Error.
std::optional<DType> dtype_at(const Json& json, const char* key) {
  if (json.at(key).is_null()) return std::nullopt;
  const std::optional<DType> dtype = dtype_from(json.at(key).get<std::string>());
  if (!dtype) throw std::invalid_argument(fmt::format("\"{}\" is {}", key, json.at(key).dump()));
  return dtype;
}

ZooBuild zoo_build_from(const Json& json) {
  ZooBuild build;
  build.config = json.at("config");
  build.model_class = json.at("class");
  if (!json.at("weights").is_null()) build.weights = json.at("weights").get<std::string>();
  build.weights_hash = json.at("weights_hash");
  build.seed = json.at("seed");
  build.precision = json.at("precision");
  build.weights_rounded_to = dtype_at(json, "weights_rounded_to");
  build.generates = json.at("generates");
  const std::optional<KvCache> kv_cache = from_word<KvCache>(json.at("kv_cache").get<std::string>());
  if (!kv_cache) throw std::invalid_argument(fmt::format("\"kv_cache\" is {}", json.at("kv_cache").dump()));
  build.kv_cache = *kv_cache;
  return build;
}

std::uint64_t size_of(const fs::path& file) {
  std::error_code missing;
  const std::uint64_t size = fs::file_size(file, missing);
  return missing ? 0 : size;
}

// A model's file, and the one beside it with its weights, where it has one.
std::uint64_t size_with_weights(const fs::path& model, const std::vector<EngineEntry>& engines) {
  if (model.empty()) return 0;
  const std::optional<fs::path> companion = companion_of(model, engines);
  return size_of(model) + size_of(model.string() + ".data") + (companion ? size_of(*companion) : 0);
}

Status write_honest(const fs::path& from, const ArtefactSpec::HonestRun& honest, const fs::path& to) {
  if (honest.kind == ArtefactSpec::HonestRun::Kind::kRounded)
    return write_rounded_results(from, honest.dtype, honest.seed, to);
  // Where only weights are quantised, the perturbation of the weights is all that an honest runtime may change.
  ASSAY_TRY([[maybe_unused]] const std::size_t sites, write_quantisation_noise(from, honest.seed, to));
  return {};
}

constexpr const char* kOfSteps = "while fixing the shapes of the graph of the further tokens";

const fs::path& step_file(const Artefact& artefact) {
  return artefact.step_model.empty() ? artefact.model : artefact.step_model;
}

// A graph of its own for the further tokens is not made for the prompt's shapes.
Status check_step_shapes(const ArtefactSpec& spec, const Artefact& base, const std::string& name) {
  if (base.step_model.empty() || !spec.step_shapes.empty()) return {};
  return fail(ErrorCode::kUnsupported, fmt::format("{}: the graph of further tokens has other shapes", name),
              "use --kv-cache static, or measure a forward pass with --output-tokens 0");
}

Status write_specialised(const fs::path& from, const std::map<std::string, Shape>& shapes, const fs::path& to) {
  ASSAY_TRY(const SpecialisedModel model, specialise(from, {.shapes = shapes}, to));
  if (model.dynamic.empty()) return {};
  return fail(ErrorCode::kUnsupported, no_static_shape(model.dynamic.front()),
              "use an engine that supports dynamic shapes");
}

ArtefactSpec before_conversion(ArtefactSpec spec) {
  spec.converter.clear();
  return spec;
}

}  // namespace

ArtefactSpec ArtefactSpec::with_open_shapes() const {
  ArtefactSpec open = *this;
  open.shapes.clear();
  open.step_shapes.clear();
  open.lowered_to.reset();
  return open;
}

zoo::BuildRequest ZooBuild::request() const {
  zoo::BuildRequest request;
  request.config = config;
  request.model_class = model_class;
  request.weights = weights;
  request.weights_hash = weights_hash;
  request.seed = seed;
  request.precision = precision;
  request.weights_rounded_to = weights_rounded_to;
  return request;
}

Json to_json(const ArtefactSpec& spec) {
  Json json = Json::object();
  if (!spec.file.empty()) json["file"] = spec.file.string();
  if (spec.zoo) json["zoo"] = to_json(*spec.zoo);
  if (spec.rounded_to) json["rounded_to"] = to_string(*spec.rounded_to);
  if (spec.perturbation)
    json["perturbation"] = {{"dtype", to_string(spec.perturbation->dtype)}, {"seed", spec.perturbation->seed}};
  if (spec.honest)
    json["honest"] = {
        {"kind", word_of(spec.honest->kind)}, {"dtype", to_string(spec.honest->dtype)}, {"seed", spec.honest->seed}};
  if (!spec.shapes.empty()) json["shapes"] = spec.shapes;
  if (!spec.step_shapes.empty()) json["step_shapes"] = spec.step_shapes;
  if (spec.lowered_to) json["lowered_to"] = lowering::to_string(*spec.lowered_to);
  if (!spec.converter.empty()) json["converter"] = spec.converter;
  return json;
}

Result<ArtefactSpec> artefact_from_json(const Json& json) try {
  ArtefactSpec spec;
  spec.file = json.value("file", std::string());
  if (json.contains("zoo")) spec.zoo = zoo_build_from(json.at("zoo"));
  if (json.contains("rounded_to")) spec.rounded_to = dtype_at(json, "rounded_to");
  if (json.contains("perturbation")) {
    const Json& perturbation = json.at("perturbation");
    spec.perturbation = ArtefactSpec::Perturbation{dtype_at(perturbation, "dtype").value_or(DType::kFloat32),
                                                   perturbation.at("seed").get<std::uint64_t>()};
  }
  if (json.contains("honest")) {
    using HonestRun = ArtefactSpec::HonestRun;
    const Json& honest = json.at("honest");
    const bool quantised = honest.at("kind").get<std::string>() == kQuantised;
    spec.honest =
        HonestRun{quantised ? HonestRun::Kind::kQuantised : HonestRun::Kind::kRounded,
                  dtype_at(honest, "dtype").value_or(DType::kFloat32), honest.at("seed").get<std::uint64_t>()};
  }
  if (json.contains("shapes")) spec.shapes = json.at("shapes").get<std::map<std::string, Shape>>();
  if (json.contains("step_shapes")) spec.step_shapes = json.at("step_shapes").get<std::map<std::string, Shape>>();
  if (json.contains("lowered_to")) {
    spec.lowered_to = lowering::dialect_from(json.at("lowered_to").get<std::string>());
    if (!spec.lowered_to)
      throw std::invalid_argument(fmt::format("\"lowered_to\" is {}", json.at("lowered_to").dump()));
  }
  spec.converter = json.value("converter", std::string());
  return spec;
} catch (const std::exception& problem) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("this is not an artefact: {}", problem.what()));
}

Result<Artefact> ArtefactStore::make(const ArtefactSpec& spec, const std::string& name) {
  ASSAY_CHECK_OK(check_cancelled(services_.cancelled));
  if (spec.empty()) return Artefact{};
  std::string key = json_text(to_json(spec));
  if (const auto known = made_.find(key); known != made_.end()) {
    if (std::shared_ptr<const void> owner = known->second.first.lock()) {
      Artefact again = known->second.second;
      again.owner = std::move(owner);
      log_debug("{}: the file of another task is used again: {}", name, again.model.string());
      if (const auto use = expected_.find(key); use != expected_.end()) use->second.made = again;
      return again;
    }
  }
  const WorkTimer::Scope work(services_.timer, Work::kModelFiles);
  const auto began = std::chrono::steady_clock::now();
  const bool as_it_is =
      spec.zoo.has_value() && !spec.rounded_to && !spec.perturbation && !spec.honest && spec.shapes.empty();
  Result<Artefact> made = !spec.converter.empty() ? convert(spec, name)
                          : spec.lowered_to       ? lower(spec, name)
                          : as_it_is              ? build(*spec.zoo, name)
                                                  : change(spec, name);
  if (!made) return made;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (made->owner) log_debug("{}: made {} in {:.3f} s", name, made->model.string(), seconds);
  const std::vector<EngineEntry>& engines = services_.registry->entries();
  if (!spec.lowered_to)
    made->bytes = size_with_weights(made->model, engines) + size_with_weights(made->step_model, engines);
  Artefact without_owner = *made;
  without_owner.owner.reset();
  if (const auto use = expected_.find(key); use != expected_.end()) use->second.made = *made;
  made_[std::move(key)] = {made->owner, std::move(without_owner)};
  return made;
}

void ArtefactStore::expect(const ArtefactSpec& spec) {
  if (spec.empty()) return;
  ++expected_[json_text(to_json(spec))].uses;
  if (!spec.shapes.empty()) expect(spec.with_open_shapes());
}

void ArtefactStore::done(const ArtefactSpec& spec) {
  const auto use = expected_.find(json_text(to_json(spec)));
  if (use == expected_.end()) return;
  if (--use->second.uses == 0) expected_.erase(use);
  if (!spec.shapes.empty()) done(spec.with_open_shapes());
}

Result<Artefact> ArtefactStore::build(const ZooBuild& build, const std::string& name) {
  services_.making(fmt::format("building {}", name));
  ASSAY_TRY(TemporaryDirectory made, TemporaryDirectory::create("assay-model-", services_.folder));
  const auto folder = std::make_shared<const TemporaryDirectory>(std::move(made));
  zoo::BuildRequest request = build.request();
  request.cancelled = services_.cancelled;
  // For a reference it is built while other models of the run exist already.
  if (build.weights_rounded_to) request.max_weight_bytes = free_memory() / 2;
  Artefact artefact{.model = folder->path() / kModelFile, .owner = folder};
  if (build.kv_cache != KvCache::kGrowing) {
    ASSAY_TRY(const CacheGraph graph, build_cache_graph(request, build.kv_cache, artefact.model));
    if (graph.prompt) artefact.step_model = graph.model.path;
  } else if (build.generates) {
    ASSAY_TRY(const auto graphs, build_generation(request, folder->path()));
    if (!graphs) return fail(ErrorCode::kInternal, fmt::format("{} has no graphs for generation", name));
    artefact.model = graphs->prompt.path;
    if (graphs->step) artefact.step_model = graphs->step->path;
  } else {
    ASSAY_TRY([[maybe_unused]] const auto built, zoo::build(request, artefact.model));
  }
  return artefact;
}

Result<Artefact> ArtefactStore::convert(const ArtefactSpec& spec, const std::string& name) {
  if (!spec.zoo || !spec.zoo->generates)
    return fail(ErrorCode::kInternal, fmt::format("{}: only graphs for generation are converted", name));
  ASSAY_TRY(const Artefact base, make(before_conversion(spec), name));
  ASSAY_TRY(TemporaryDirectory made, TemporaryDirectory::create("assay-model-", services_.folder));
  const auto folder = std::make_shared<const TemporaryDirectory>(std::move(made));
  // The builder returns the names of the states; the file does not have them.
  zoo::BuildRequest request = spec.zoo->request();
  request.weights_left_out = true;
  ASSAY_TRY(auto graphs, build_generation(request, folder->path() / "graph"));
  if (!graphs) return fail(ErrorCode::kInternal, fmt::format("{} has no graphs for generation", name));
  graphs->prompt.path = base.model;
  services_.making(fmt::format("converting {} for {}", name, spec.converter));
  const EngineEntry& engine = *services_.registry->entry(spec.converter);
  Stateful with;
  with.engine = engine.framework_title;
  with.program = services_.registry->converter(engine);
  with.timeout = services_.timeout;
  with.cancelled = services_.cancelled;
  ASSAY_TRY(with.runtime, services_.registry->locate(spec.converter));
  const fs::path file = folder->path() / ("model." + engine.runtime_cache->format);
  ASSAY_TRY(const CacheGraph graph, make_stateful(*graphs, with, file));
  return Artefact{.model = file, .graph_hash = graph.info.graph_hash, .note = graph.note, .owner = folder};
}

// The weights stay in the files of the model with open shapes, which the result keeps.
Result<Artefact> ArtefactStore::lower(const ArtefactSpec& spec, const std::string& name) {
  struct Files {
    TemporaryDirectory own;
    std::shared_ptr<const void> of_weights;
  };
  ASSAY_TRY(const Artefact base, make(spec.with_open_shapes(), name));
  ASSAY_CHECK_OK(check_step_shapes(spec, base, name));
  ASSAY_TRY(TemporaryDirectory made, TemporaryDirectory::create("assay-model-", services_.folder));
  const auto files = std::make_shared<const Files>(Files{std::move(made), base.owner});
  Artefact artefact{.bytes = base.bytes, .weights_in = base.model.parent_path(), .owner = files};
  const auto lowered = [&](const fs::path& from, const std::map<std::string, Shape>& shapes,
                           const char* stem) -> Result<fs::path> {
    ASSAY_CHECK_OK(check_cancelled(services_.cancelled));
    ASSAY_TRY(const StaticModel model, StaticModel::open(from));
    fs::path file = files->own.path() / fmt::format("{}.{}", stem, lowering::to_string(*spec.lowered_to));
    ASSAY_CHECK_OK(lowering::lower_to_file(model, {.shapes = shapes}, *spec.lowered_to, file));
    return file;
  };
  ASSAY_TRY(artefact.model, lowered(base.model, spec.shapes, "model"));
  if (!spec.step_shapes.empty()) {
    ASSAY_TRY(artefact.step_model, with_context(lowered(step_file(base), spec.step_shapes, "step"), kOfSteps));
  }
  return artefact;
}

Result<Artefact> ArtefactStore::change(const ArtefactSpec& spec, const std::string& name) {
  ArtefactSpec rest = spec;
  const auto last = [&]() -> std::function<Status(const fs::path&, const fs::path&)> {
    if (!spec.shapes.empty()) {
      rest.shapes.clear();
      rest.step_shapes.clear();
      return [&](const fs::path& from, const fs::path& to) { return write_specialised(from, spec.shapes, to); };
    }
    if (spec.honest) {
      rest.honest.reset();
      return [&](const fs::path& from, const fs::path& to) { return write_honest(from, *spec.honest, to); };
    }
    if (spec.perturbation) {
      rest.perturbation.reset();
      return [&](const fs::path& from, const fs::path& to) {
        return write_perturbed(from, spec.perturbation->dtype, spec.perturbation->seed, to, services_.cancelled);
      };
    }
    if (spec.rounded_to) {
      rest.rounded_to.reset();
      return [&](const fs::path& from, const fs::path& to) {
        return write_rounded(from, *spec.rounded_to, to, services_.cancelled);
      };
    }
    return {};
  }();
  if (!last) return Artefact{.model = spec.file};
  ASSAY_TRY(const Artefact base, make(rest, name));
  if (!spec.shapes.empty()) ASSAY_CHECK_OK(check_step_shapes(spec, base, name));
  ASSAY_TRY(TemporaryDirectory made, TemporaryDirectory::create("assay-model-", services_.folder));
  const auto folder = std::make_shared<const TemporaryDirectory>(std::move(made));
  // Its own name: a file called otherwise may be where the model's data belong.
  Artefact artefact{.model = folder->path() / base.model.filename(), .owner = folder};
  ASSAY_CHECK_OK(last(base.model, artefact.model));
  if (!spec.shapes.empty() && !spec.step_shapes.empty()) {
    artefact.step_model = cache_step_file(artefact.model);
    ASSAY_CHECK_OK(with_context(write_specialised(step_file(base), spec.step_shapes, artefact.step_model), kOfSteps));
  } else if (!base.step_model.empty()) {
    artefact.step_model = folder->path() / base.step_model.filename();
    ASSAY_CHECK_OK(last(base.step_model, artefact.step_model));
  }
  return artefact;
}

}  // namespace assay
