// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/zoo/catalogue/architecture.hpp"

namespace assay::zoo {

/// A published checkpoint whose configuration the zoo has: "prajjwal1/bert-tiny", "bert-base-uncased", "resnet50", …
struct KnownModel {
  std::string id;        ///< name that users type
  std::string model_id;  ///< canonical Hugging Face id
  std::string architecture;
  std::string model_class;  ///< the class to build
  std::string size;         ///< tiny | small | reference | published name
  Json config;              ///< complete
};
[[nodiscard]] std::optional<KnownModel> find_known(const std::string& name);
[[nodiscard]] std::vector<std::string> known_names();
/// The published checkpoints of an architecture, each once, by its id; none for one that the zoo does not have.
[[nodiscard]] std::vector<KnownModel> published(const std::string& architecture);

/// The smallest model of an architecture, of some ten thousand parameters (zoo/tiny.json): nobody publishes weights of
/// it. Its id is "zoo:NAME/tiny". nullopt for an architecture that the zoo does not have.
[[nodiscard]] std::optional<KnownModel> tiny_model(const std::string& architecture);

/// An architecture that the zoo knows by name but cannot build yet ("xlstm").
/// Callers answer `skipped: not_built` for these, and "unknown" only for what is neither known nor planned.
struct PlannedModel {
  std::string architecture, category, family;
};
[[nodiscard]] std::optional<PlannedModel> find_planned(const std::string& name);

/// One model of a set of the guides: "key" (thirteen) or "small" (five).
struct SetEntry {
  std::string name;      ///< "bert", as shown and as --specific-models selects
  std::string model_id;  ///< argument for find_known or find_planned
  std::string architecture, category, family;
  bool built = false;  ///< otherwise `skipped: not_built`
};
/// nullopt for a name that is not a set.
[[nodiscard]] std::optional<std::vector<SetEntry>> find_set(const std::string& name);

}  // namespace assay::zoo
