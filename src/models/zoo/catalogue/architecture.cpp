// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/catalogue/architecture.hpp"

#include <algorithm>

#include "models/zoo/catalogue/embedded.hpp"

namespace assay::zoo {
namespace {

const Architecture* find_by_name(const std::vector<Architecture>& all, const std::string& model_type) {
  const auto found = std::ranges::find(all, model_type, &Architecture::name);
  return found == all.end() ? nullptr : &*found;
}

// What zoo/tasks.json says about a class: its own word, else that of the longest ending of its name.
const TaskWord* task_word(const std::string& model_class) {
  const auto own = catalogue().class_tasks.find(model_class);
  if (own != catalogue().class_tasks.end()) return &own->second;
  const TaskWord* word = nullptr;
  std::size_t longest = 0;
  for (const auto& [ending, its_word] : catalogue().ending_tasks) {
    if (ending.size() <= longest || !model_class.ends_with(ending)) continue;
    longest = ending.size();
    word = &its_word;
  }
  return word;
}

Catalogue read_embedded() {
  Result<Catalogue> read = read_catalogue(embedded_files());
  ASSAY_CHECK(read.has_value(), read ? "" : to_string(read.error()).c_str());
  return std::move(*read);
}

}  // namespace

const Catalogue& catalogue() {
  static const Catalogue all = read_embedded();
  return all;
}

const Architecture* find_architecture(const std::string& model_type) {
  return find_by_name(architectures(), model_type);
}

const Architecture* find_description(const std::string& model_type) {
  const Architecture* whole = find_architecture(model_type);
  return whole != nullptr ? whole : find_by_name(catalogue().parts, model_type);
}

Classification classify(const Architecture& architecture, const std::string& model_class) {
  Classification found{.family = architecture.family, .category = architecture.category, .basis = "configuration"};
  if (const ClassSpec* spec = architecture.classes.find(model_class)) {
    if (!spec->family->empty()) found.family = *spec->family;
    if (!spec->category->empty()) found.category = *spec->category;
  }
  const TaskWord* task = task_word(model_class);
  if (task == nullptr) return found;
  const auto own = task->by_category.find(found.category);
  const auto others = task->by_category.find("else");
  if (!task->word.empty())
    found.task = task->word;
  else if (own != task->by_category.end())
    found.task = own->second;
  else if (others != task->by_category.end())
    found.task = others->second;
  return found;
}

}  // namespace assay::zoo
