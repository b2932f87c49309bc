// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "model/classify.hpp"
#include "zoo/catalogue/specification.hpp"
#include "zoo/catalogue/variations.hpp"

namespace assay::zoo {

/// One architecture, as its file in zoo/ and the files that it extends describe it.
struct Architecture {
  std::string name;      ///< model_type: "bert"
  std::string category;  ///< text_encoders, vision, …
  std::string family;    ///< embedding, vision, …
  std::string skeleton;  ///< which builder: "bert_encoder"
  std::string reference_checkpoint;
  std::string base_prefix;  ///< where a class with a head has its base model: "bert"
  std::string default_class;
  Named<ClassSpec> classes;                     ///< none: it is only a part of others
  std::vector<std::string> other_classes;       ///< those that are not built
  std::vector<std::string> other_head_tensors;  ///< what their heads' tensors begin with
  Field<std::vector<std::string>> inputs;
  std::vector<std::string> constants;  ///< inputs whose values decide the graph's shapes
  Named<KeyRule> keys;
  Named<PartRule> parts;
  std::map<std::string, std::string> same;  ///< another name of a key, which may only repeat it
  std::vector<std::string> ignored;         ///< keys that change no graph
  std::vector<std::string> non_parameters;  ///< endings of the names of tensors that are not parameters
  std::vector<std::pair<std::string, std::string>> renames;  ///< of parts of tensors' names
  Field<std::string> layout;                                 ///< an entry of zoo/layouts.json
  LayerNames laid_out;                                       ///< that entry
  Field<std::int64_t> image_size{0};                         ///< usual side, if the configuration does not have it
  VisionSpec vision;
  TextTowerSpec text;
  Variations variations;
  std::vector<CheckpointSpec> checkpoints;

  [[nodiscard]] const LayerNames& layer_names() const {
    static_cast<void>(layout.get());
    return laid_out;
  }
  /// The variations, as the type that the skeleton reads. Bug: of another skeleton.
  template <class T>
  [[nodiscard]] const T& varied() const {
    const T* found = std::get_if<T>(&variations);
    ASSAY_CHECK(found != nullptr, "a skeleton reads the variations of its own family");
    return *found;
  }
};

/// One of zoo/tasks.json: a word for all categories, or words by category.
struct TaskWord {
  std::string word;                                ///< "" if it depends on the category
  std::map<std::string, std::string> by_category;  ///< "else": the other categories
};

/// All files of zoo/.
struct Catalogue {
  std::vector<Architecture> architectures;  ///< those that are built
  std::vector<Architecture> parts;          ///< those that are only parts of others
  std::vector<std::string> ignored;         ///< keys that change no graph, whatever the architecture
  std::map<std::string, Json> neutral;      ///< keys with the values that change nothing
  std::vector<std::string> non_parameters;
  std::map<std::string, TaskWord> class_tasks, ending_tasks;
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> sets;  ///< name and model_id
  std::map<std::string, std::pair<std::string, std::string>> planned;            ///< category and family
  std::vector<Statement*> statements;  ///< each place where a file states a key of a struct
};

/// Reads zoo/*.json: the text of each file by its name ("bert"). Errors: invalid_argument, with file, line and what is
/// valid there: an unknown key, a wrong type, an unknown word, a file that is extended and does not exist.
[[nodiscard]] Result<Catalogue> read_catalogue(const std::map<std::string, std::string_view>& files);

/// The files that are compiled into the program. Bug: one is invalid.
[[nodiscard]] const Catalogue& catalogue();

[[nodiscard]] inline const std::vector<Architecture>& architectures() { return catalogue().architectures; }
/// nullptr when no architecture of that model_type is built.
[[nodiscard]] const Architecture* find_architecture(const std::string& model_type);
/// The same, and what is built only as a part of others.
[[nodiscard]] const Architecture* find_description(const std::string& model_type);

/// The keys that the objects of a file may have, as far as builders read them: "variations.layer.query" of each family
/// of skeletons, "classes.head", "vision.patch".
[[nodiscard]] std::vector<std::string> declared_keys();

/// What a class of the architecture is for: family and category are the architecture's unless the class has its own,
/// the task goes by the class's name (zoo/tasks.json).
[[nodiscard]] Classification classify(const Architecture& architecture, const std::string& model_class);

}  // namespace assay::zoo
