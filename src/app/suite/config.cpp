// SPDX-License-Identifier: Apache-2.0
#include "app/suite/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "app/suite/config_reader.hpp"
#include "core/base/files.hpp"
#include "core/base/json_object.hpp"
#include "core/base/text.hpp"
#include "core/base/unknown_word.hpp"
#include "models/model/classify.hpp"

namespace assay::suite {
namespace fs = std::filesystem;
namespace {

constexpr const char* kExample =
#include "app/suite/example_config.inc"
    ;

Result<SuiteConfig> parse_onto(SuiteConfig config, std::string text, const fs::path& file) {
  ASSAY_TRY(const JsonDocument document, JsonDocument::parse(std::move(text), file.string()));
  ASSAY_CHECK_OK(read_keys(document, file, config));
  // Engines alone decide: their hardware is not that of the example.
  if (config.given.contains("engines") && !config.given.contains("hardware_types")) config.targets.hardware.clear();
  return config;
}

SuiteConfig example() {
  constexpr std::int64_t kLaunches = 3;
  SuiteConfig start;
  start.settings.launches = kLaunches;
  Result<SuiteConfig> config = parse_onto(std::move(start), kExample, {});
  ASSAY_CHECK(config.has_value(), "the example is valid");
  config->given.clear();
  config->settings.default_batches = false;
  return std::move(*config);
}

// Its name; with shapes, an object.
Json model_entry(const ModelChoice& model) {
  if (model.given.empty()) return model.name;
  Json entry{{"name", model.name}};
  const auto add = [&](const char* key, const auto& all) {
    for (const auto& each : all) entry[key].push_back(option_value(each));
  };
  add("shape", model.given.shapes);
  add("dim", model.given.extents);
  return entry;
}

}  // namespace

const std::string& example_config() {
  static const std::string text = kExample;
  return text;
}

const SuiteConfig& default_config() {
  static const SuiteConfig config = example();
  return config;
}

Result<SuiteConfig> parse_config(std::string text, const fs::path& file) {
  return parse_onto(default_config(), std::move(text), file);
}

Result<SuiteConfig> read_config(const fs::path& file) {
  ASSAY_TRY(std::string text, read_file(file));
  return parse_config(std::move(text), file);
}

Status choose_models(SuiteConfig& config, const std::vector<std::string>& words) {
  if (words.empty()) return {};
  const std::vector<std::string>& families = model_families();
  std::vector<std::string> valid = families;
  for (const ModelChoice& model : config.models) valid.push_back(model.name);
  std::set<std::string> wanted;
  for (const std::string& word : words) {
    bool found = std::ranges::find(families, word) != families.end();
    for (const ModelChoice& model : config.models) {
      if (model.name != word && model.reference != word && model.family != word) continue;
      wanted.insert(model.name);
      found = true;
    }
    if (!found) return unknown_word("--models: the configuration has no family and no model", word, valid);
  }
  std::erase_if(config.models, [&](const ModelChoice& model) { return !wanted.contains(model.name); });
  if (config.models.empty())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--models: the configuration has no model of {}", join(words, ", ")));
  return {};
}

Json to_json(const SuiteConfig& config) {
  const RunSettings& s = config.settings;
  const auto seconds = [](std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); };
  const auto count = [](const std::optional<std::int64_t>& n) { return n ? Json(*n) : Json(); };
  Json families = Json::object();
  for (const ModelChoice& model : config.models) families[model.family].push_back(model_entry(model));
  Json json{{"schema_version", kConfigSchema},
            {"batch_sizes", s.batch_sizes},
            {"sequence_lengths", s.sequence_lengths},
            {"warmup_iterations", count(s.measure.warmup_iterations)},
            {"benchmark_iterations", count(s.measure.iterations)},
            {"timeout", seconds(s.timeout)},
            {"model_families", std::move(families)},
            {"include_web_platforms", config.targets.include_web},
            {"parallel", config.parallel},
            {"use_resource_pool", s.resource_pool},
            {"generate_plots", config.plots},
            {"update_compatibility_matrix", config.matrix},
            {"schedule",
             {{"enabled", config.schedule.enabled},
              {"frequency", config.schedule.frequency},
              {"time", config.schedule.time}}},
            {"launches", s.launches},
            {"precision", s.precision},
            {"output_tokens", s.output_tokens},
            {"seed", s.seed}};
  if (s.max_time) json["max_time"] = seconds(*s.max_time);
  if (s.budget) json["budget"] = seconds(*s.budget);
  if (!config.targets.hardware.empty()) json["hardware_types"] = config.targets.hardware;
  if (!config.targets.engines.empty()) json["engines"] = config.targets.engines;
  if (s.threads != RunSettings().threads) json["threads"] = s.threads;
  if (s.streams != RunSettings().streams) json["streams"] = s.streams;
  if (!s.size.empty()) json["size"] = s.size;
  return json;
}

}  // namespace assay::suite
