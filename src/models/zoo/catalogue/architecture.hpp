// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "models/model/classify.hpp"
#include "models/zoo/catalogue/specification.hpp"
#include "models/zoo/catalogue/variations.hpp"

namespace assay::zoo {

/// One architecture, as its file in zoo/ and the files that it extends describe it.
struct Architecture {
  std::string name;      ///< model_type: "bert"
  std::string category;  ///< text_encoders, vision, …
  std::string family;    ///< embedding, vision, …
  std::string skeleton;  ///< the name of its builder: "bert_encoder"
  std::string reference_checkpoint;
  std::string base_prefix;  ///< the module of the base model in a class with a head: "bert"
  std::string default_class;
  Named<ClassSpec> classes;                     ///< empty: it is only a part of other architectures
  std::vector<std::string> other_classes;       ///< those that are not built
  std::vector<std::string> other_head_tensors;  ///< beginnings of the names of the head tensors of `other_classes`
  Field<std::vector<std::string>> inputs;
  std::vector<std::string> constants;  ///< inputs whose values decide the graph's shapes
  Named<KeyRule> keys;
  Named<PartRule> parts;
  std::map<std::string, std::string> same;  ///< second name of a key → the key: both must have the same value
  std::vector<std::string> ignored;         ///< keys that change no graph
  std::vector<std::string> non_parameters;  ///< endings of the names of tensors that are not parameters
  std::vector<std::pair<std::string, std::string>> renames;  ///< older part of a tensor's name, newer one
  Field<std::string> layout;                                 ///< an entry of zoo/layouts.json
  LayerNames laid_out;                                       ///< the entry that `layout` names
  Field<std::int64_t> image_size{0};                         ///< height and width, if the configuration has none
  VisionSpec vision;
  TextTowerSpec text;
  Variations variations;
  std::vector<CheckpointSpec> checkpoints;

  [[nodiscard]] const LayerNames& layer_names() const {
    static_cast<void>(layout.get());
    return laid_out;
  }
  /// The variations, of the type of the skeleton. Bug: T belongs to another skeleton.
  template <class T>
  [[nodiscard]] const T& varied() const {
    const T* found = std::get_if<T>(&variations);
    ASSAY_CHECK(found != nullptr, "a skeleton reads the variations of its own family");
    return *found;
  }
};

/// An entry of zoo/tasks.json: one task for all categories, or one for each category.
struct TaskWord {
  std::string word;                                ///< "": `by_category` has the tasks
  std::map<std::string, std::string> by_category;  ///< "else": the other categories
};

/// All files of zoo/.
struct Catalogue {
  std::vector<Architecture> architectures;  ///< those that are built
  std::vector<Architecture> parts;          ///< those that are only parts of other architectures
  std::vector<std::string> ignored;         ///< keys that change no graph, whatever the architecture
  std::map<std::string, Json> neutral;      ///< keys with the values that change nothing
  std::vector<std::string> non_parameters;
  std::map<std::string, TaskWord> class_tasks, ending_tasks;
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> sets;  ///< name and model_id
  std::map<std::string, std::pair<std::string, std::string>> planned;            ///< category and family
  std::vector<Statement*> statements;  ///< every key that a file states, with its place
};

/// Reads zoo/*.json. `files`: the text of each file, by its name ("bert"). Errors: invalid_argument, with the file, the
/// line and what is valid there, for an unknown key, a value of a wrong type, an unknown word, or "extends" with a file
/// that does not exist.
[[nodiscard]] Result<Catalogue> read_catalogue(const std::map<std::string, std::string_view>& files);

/// The catalogue of the files that are compiled into the program. Bug: a file is invalid.
[[nodiscard]] const Catalogue& catalogue();

[[nodiscard]] inline const std::vector<Architecture>& architectures() { return catalogue().architectures; }
/// nullptr: no architecture of that model_type is built.
[[nodiscard]] const Architecture* find_architecture(const std::string& model_type);
/// The same, also for architectures that are only parts of others.
[[nodiscard]] const Architecture* find_description(const std::string& model_type);

/// The keys of the objects that builders read, for all skeletons: "variations.layer.query", "classes.head",
/// "vision.patch".
[[nodiscard]] std::vector<std::string> declared_keys();

/// Family, category and task of a class. Family and category are those of the class, otherwise those of the
/// architecture. The task follows from the name of the class (zoo/tasks.json).
[[nodiscard]] Classification classify(const Architecture& architecture, const std::string& model_class);

}  // namespace assay::zoo
