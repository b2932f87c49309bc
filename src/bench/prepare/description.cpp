// SPDX-License-Identifier: Apache-2.0
#include "bench/prepare/description.hpp"
#include "models/onnx/inspect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace assay {
namespace fs = std::filesystem;
namespace {

zoo::BuildRequest graph_request(const ZooBuild& build) {
  zoo::BuildRequest request = build.request();
  request.weights_left_out = true;
  return request;
}

Result<CacheVariant> describe_graph(const ZooDescription& model, KvCache kv_cache, const fs::path& file) {
  zoo::BuildRequest request = graph_request(model.build);
  ASSAY_TRY(CacheGraph graph, build_cache_graph(request, kv_cache, file));
  CacheVariant variant{.artefact = {.zoo = model.build},
                       .info = std::move(graph.info),
                       .generation = std::move(graph.generation),
                       .kv_cache = kv_cache,
                       .own_prompt = graph.prompt.has_value()};
  variant.artefact.zoo->kv_cache = kv_cache;
  variant.config_hash = graph.model.config_hash;
  variant.graph_hash = variant.info.graph_hash;
  return variant;
}

// `file`: for the graph of an engine whose runtime cache the zoo builds itself. Its hash names the model: the same for
// every engine, so that their rows can be compared.
Result<CacheVariant> describe_converted(const ZooDescription& model, const std::string& engine, const fs::path& file) {
  ASSAY_TRY(CacheGraph graph, describe_stateful(*model.generation));
  if (const auto built = describe_graph(model, KvCache::kRuntime, file)) graph.model.config_hash = built->config_hash;
  CacheVariant variant{.artefact = {.zoo = model.build, .converter = engine},
                       .info = std::move(graph.info),
                       .generation = std::move(graph.generation),
                       .kv_cache = KvCache::kRuntime};
  variant.config_hash = graph.model.config_hash;
  return variant;
}

bool runs_caches(const EngineEntry& engine, KvCache kv_cache) {
  return std::ranges::find(engine.kv_cache, to_string(kv_cache)) != engine.kv_cache.end();
}

// Adds an error for each engine whose engine.json does not list this kind of KV cache.
void refuse_where_missing(KvCache kv_cache, const std::vector<std::string>& engines, const EngineRegistry& registry,
                          std::map<std::string, Result<CacheVariant>>& variants) {
  const std::string_view name = to_string(kv_cache);
  for (const std::string& engine : engines) {
    const EngineEntry* entry = registry.entry(engine);
    if (entry == nullptr || runs_caches(*entry, kv_cache)) continue;
    variants.emplace(engine, fail(ErrorCode::kUnsupported,
                                  fmt::format("{} does not run graphs with a {} KV cache", entry->name, name),
                                  "`assay engines --output-format json` lists the KV caches of each engine"));
  }
}

}  // namespace

ZooBuild zoo_build(const ZooSource& source, const RunSettings& settings) {
  ZooBuild build;
  build.config = source.config;
  build.model_class = source.model_class;
  build.weights = source.weights;
  build.seed = settings.seed;
  // "runtime" and "as_is" leave the graph in float32.
  if (dtype_from(settings.precision)) build.precision = settings.precision;
  return build;
}

Result<ZooDescription> describe(ZooBuild build, bool generation, const fs::path& folder, const Cancelled& cancelled,
                                const Shortfall& shortfall) {
  ASSAY_CHECK_OK(check_cancelled(cancelled));
  ASSAY_TRY(TemporaryDirectory made, TemporaryDirectory::create("assay-graph-", folder));
  ZooDescription model;
  model.folder = std::make_shared<const TemporaryDirectory>(std::move(made));
  zoo::BuildRequest request = graph_request(build);
  request.cancelled = cancelled;
  const auto check = [&](const zoo::BuiltModel& built) -> Status {
    const std::uint64_t element = build.precision == "float32" ? 4 : 2;
    const auto why = shortfall ? shortfall(element * static_cast<std::uint64_t>(built.parameter_count)) : std::nullopt;
    if (why) return fail(ErrorCode::kOutOfMemory, *why);
    return check_cancelled(cancelled);
  };
  if (generation) {
    ASSAY_TRY(model.generation, build_generation(request, model.folder->path(), check));
  }
  if (model.generation) {
    model.built = model.generation->prompt;
  } else {
    ASSAY_TRY(model.built, zoo::build(request, model.folder->path() / "model.onnx"));
    ASSAY_CHECK_OK(check(model.built));
  }
  if (model.generation && !model.generation->step) {
    model.info = model.generation->step_info;  // of the same file
  } else {
    ASSAY_TRY(model.info, inspect_graph(model.built.path));
  }
  model.weight_bytes = model.info.weight_bytes;
  if (model.generation && model.generation->step) model.weight_bytes += model.generation->step_info.weight_bytes;
  build.generates = model.generation.has_value();
  model.build = std::move(build);
  return model;
}

std::map<std::string, Result<CacheVariant>> describe_variants(const ZooDescription& model,
                                                              std::optional<KvCache> requested,
                                                              const std::vector<std::string>& engines,
                                                              const EngineRegistry& registry) {
  std::map<std::string, Result<CacheVariant>> variants;
  if (!model.generation) return variants;
  const KvCache kv_cache = requested.value_or(KvCache::kGrowing);
  const auto file = [&] { return model.folder->path() / fmt::format("variant{}.onnx", variants.size()); };
  for (const std::string& engine : engines) {
    const EngineEntry* entry = registry.entry(engine);
    const bool only_static =
        entry != nullptr && !runs_caches(*entry, KvCache::kGrowing) && runs_caches(*entry, KvCache::kStatic);
    if (!requested && only_static && !variants.contains(engine))
      variants.emplace(engine, describe_graph(model, KvCache::kStatic, file()));
  }
  if (kv_cache != KvCache::kRuntime) {
    refuse_where_missing(kv_cache, engines, registry, variants);
    if (kv_cache == KvCache::kStatic) variants.emplace("", describe_graph(model, kv_cache, file()));
    return variants;
  }
  for (const std::string& engine : engines) {
    if (variants.contains(engine)) continue;
    const EngineEntry* entry = registry.entry(engine);
    if (entry == nullptr || !entry->runtime_cache)
      variants.emplace(engine, fail(ErrorCode::kUnsupported,
                                    fmt::format("{} has no KV cache of its own", engine.substr(0, engine.find('@'))),
                                    "use --kv-cache static or --kv-cache growing"));
    else if (entry->runtime_cache->converter.empty())
      variants.emplace(engine, describe_graph(model, kv_cache, file()));
    else
      variants.emplace(engine, describe_converted(model, engine, file()));
  }
  return variants;
}

}  // namespace assay
