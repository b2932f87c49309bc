// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/catalogue/catalogue.hpp"

#include <map>

#include "models/zoo/catalogue/embedded.hpp"

namespace assay::zoo {
namespace {

KnownModel known_model(const Architecture& architecture, const CheckpointSpec& checkpoint, const std::string& asked,
                       const Json& class_override) {
  const Json& config = checkpoint.config;
  KnownModel known{asked, checkpoint.id, architecture.name, {}, checkpoint.size, config};
  if (class_override.is_string()) {
    known.model_class = class_override;
  } else if (config.contains("architectures")) {
    known.model_class = config["architectures"][0];
  } else {
    known.model_class = architecture.default_class;
  }
  known.config["architectures"] = Json::array({known.model_class});
  known.config["model_type"] = architecture.name;
  return known;
}

std::map<std::string, KnownModel> read_known() {
  std::map<std::string, KnownModel> all;
  for (const Architecture& architecture : architectures()) {
    for (const CheckpointSpec& checkpoint : architecture.checkpoints) {
      all.emplace(checkpoint.id, known_model(architecture, checkpoint, checkpoint.id, nullptr));
      for (const auto& [alias, model_class] : checkpoint.aliases)
        all.emplace(alias, known_model(architecture, checkpoint, alias, model_class));
    }
  }
  return all;
}

const std::map<std::string, KnownModel>& known_models() {
  static const std::map<std::string, KnownModel> all = read_known();
  return all;
}

}  // namespace

std::optional<KnownModel> find_known(const std::string& name) {
  const auto found = known_models().find(name);
  if (found == known_models().end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> known_names() {
  std::vector<std::string> names;
  for (const auto& [name, model] : known_models()) names.push_back(name);
  return names;
}

std::vector<KnownModel> published(const std::string& architecture) {
  std::vector<KnownModel> all;
  if (const Architecture* found = find_architecture(architecture))
    for (const CheckpointSpec& checkpoint : found->checkpoints)
      all.push_back(known_model(*found, checkpoint, checkpoint.id, nullptr));
  return all;
}

std::optional<KnownModel> tiny_model(const std::string& architecture) {
  static const Json tiny = Json::parse(embedded_files().at("tiny")).at("architectures");
  const auto found = tiny.find(architecture);
  if (found == tiny.end()) return std::nullopt;
  const std::string id = "zoo:" + architecture + "/tiny";
  KnownModel model{id, id, architecture, found->at("class").get<std::string>(), "tiny", found->at("config")};
  model.config["architectures"] = Json::array({model.model_class});
  return model;
}

std::optional<PlannedModel> find_planned(const std::string& name) {
  const auto found = catalogue().planned.find(name);
  if (found == catalogue().planned.end()) return std::nullopt;
  return PlannedModel{name, found->second.first, found->second.second};
}

std::optional<std::vector<SetEntry>> find_set(const std::string& name) {
  const auto set = catalogue().sets.find(name);
  if (set == catalogue().sets.end()) return std::nullopt;
  std::vector<SetEntry> entries;
  for (const auto& [shown, model_id] : set->second) {
    SetEntry entry{shown, model_id, {}, {}, {}, false};
    if (const std::optional<KnownModel> known = find_known(entry.model_id)) {
      const Architecture& architecture = *find_architecture(known->architecture);
      entry.architecture = architecture.name;
      entry.category = architecture.category;
      entry.family = architecture.family;
      entry.built = true;
    } else if (const std::optional<PlannedModel> planned = find_planned(entry.model_id)) {
      entry.architecture = planned->architecture;
      entry.category = planned->category;
      entry.family = planned->family;
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace assay::zoo
