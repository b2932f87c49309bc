// SPDX-License-Identifier: Apache-2.0
#include "zoo/catalogue/architecture.hpp"

#include <algorithm>
#include <map>

#include "zoo/catalogue/embedded.hpp"

namespace assay::zoo {
namespace {

std::map<std::string, Json> parse_files() {
  std::map<std::string, Json> parsed;
  for (const auto& [name, text] : embedded_files()) {
    Result<Json> json = parse_json(text, name);
    ASSAY_CHECK(json.has_value(), "the zoo's own files are valid JSON");
    parsed.emplace(name, std::move(*json));
  }
  return parsed;
}

std::vector<Architecture> read_architectures(bool built) {
  std::vector<Architecture> all;
  for (const auto& [name, text] : embedded_files()) {
    const Json& json = zoo_file(name);
    if (!json.contains("model_type") || json.contains("skeleton") != built) continue;  // common, sets, planned
    all.push_back({json["model_type"], json.value("category", ""), json.value("family", ""), json.value("skeleton", ""),
                   json.value("reference_checkpoint", ""), json});
  }
  return all;
}

const Architecture* find_by_name(const std::vector<Architecture>& all, const std::string& model_type) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Architecture& architecture) { return architecture.name == model_type; });
  return found == all.end() ? nullptr : &*found;
}

// What zoo/tasks.json says of a class: a word, words by category, or null.
Json task_word(const std::string& model_class) {
  const Json& tasks = zoo_file("tasks");
  if (tasks["classes"].contains(model_class)) return tasks["classes"][model_class];
  Json word;
  std::size_t longest = 0;
  for (const auto& [ending, its_word] : tasks["endings"].items()) {
    if (ending.size() <= longest || !model_class.ends_with(ending)) continue;
    longest = ending.size();
    word = its_word;
  }
  return word;
}

}  // namespace

const Json& zoo_file(const std::string& name) {
  static const std::map<std::string, Json> files = parse_files();
  const auto found = files.find(name);
  ASSAY_CHECK(found != files.end(), "a file of zoo/ that the build lists");
  return found->second;
}

const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> all = read_architectures(true);
  return all;
}

const Architecture* find_architecture(const std::string& model_type) {
  return find_by_name(architectures(), model_type);
}

const Architecture* find_description(const std::string& model_type) {
  static const std::vector<Architecture> parts = read_architectures(false);
  const Architecture* whole = find_architecture(model_type);
  return whole != nullptr ? whole : find_by_name(parts, model_type);
}

Classification classify(const Architecture& architecture, const std::string& model_class) {
  Classification found{.family = architecture.family, .category = architecture.category, .basis = "configuration"};
  if (const Json& classes = architecture.description["classes"]; classes.contains(model_class)) {
    found.family = classes[model_class].value("family", found.family);
    found.category = classes[model_class].value("category", found.category);
  }
  const Json word = task_word(model_class);
  if (word.is_object())
    found.task = word.contains(found.category) ? word[found.category] : word["else"];
  else if (word.is_string())
    found.task = word;
  return found;
}

}  // namespace assay::zoo
