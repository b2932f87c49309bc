// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "model/classify.hpp"

namespace assay::zoo {

/// One architecture as zoo/*.json describes it.
struct Architecture {
  std::string name;      ///< model_type: "bert"
  std::string category;  ///< text_encoders, vision, …
  std::string family;    ///< embedding, vision, …
  std::string skeleton;  ///< which builder: "bert_encoder"
  std::string reference_checkpoint;
  Json description;  ///< the whole entry
};

/// Everything the zoo knows, from zoo/*.json (compiled into the program).
[[nodiscard]] const std::vector<Architecture>& architectures();

/// A file of zoo/, compiled into the program: "bert", "common", "sets", … Bug: a name that is not there.
[[nodiscard]] const Json& zoo_file(const std::string& name);

/// nullptr when no architecture of that model_type is built.
[[nodiscard]] const Architecture* find_architecture(const std::string& model_type);
/// The same, and what is built only as a part of others (a file without "skeleton").
[[nodiscard]] const Architecture* find_description(const std::string& model_type);

/// What a class of the architecture is for: family and category are the architecture's unless the class has its own,
/// the task goes by the class's name (zoo/tasks.json).
[[nodiscard]] Classification classify(const Architecture& architecture, const std::string& model_class);

}  // namespace assay::zoo
