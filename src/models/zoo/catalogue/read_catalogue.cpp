// SPDX-License-Identifier: Apache-2.0
// zoo/*.json as types.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/text.hpp"
#include "models/zoo/catalogue/architecture.hpp"
#include "models/zoo/catalogue/architecture_files.hpp"
#include "models/zoo/catalogue/skeleton_spec.hpp"

namespace assay::zoo {
namespace {

Status read_common(const JsonDocument& document, Catalogue& made) {
  FileLayer layer("common", made.statements);
  ObjectReader object(document);
  std::string comment;
  object.read("comment", comment);
  layer.read_key(object, "", "ignored", made.ignored);
  layer.read_key(object, "", "neutral", made.neutral);
  layer.read_key(object, "", "non_parameters", made.non_parameters);
  layer.finish(object);
  return layer.status();
}

Status read_tasks(const JsonDocument& document, Catalogue& made) {
  ObjectReader object(document);
  std::string comment;
  object.read("comment", comment);
  for (const auto& [key, into] : {std::pair{"classes", &made.class_tasks}, std::pair{"endings", &made.ending_tasks}}) {
    std::optional<ObjectReader> words = object.object(key);
    if (!words) break;
    for (const std::string& name : words->keys()) {
      const Json* json = words->value(name);
      if (json == nullptr) break;
      TaskWord& word = (*into)[name];
      if (convert(*json, word.word) != nullptr && convert(*json, word.by_category) != nullptr)
        words->refuse(name, fmt::format("\"{}\" must be a task, or tasks by category", name));
    }
    ASSAY_CHECK_OK(words->finish());
  }
  return object.finish();
}

Status read_sets(const JsonDocument& document, Catalogue& made) {
  ObjectReader object(document);
  for (const std::string& name : object.keys()) {
    for (ObjectReader& item : object.objects(name)) {
      auto& [shown, id] = made.sets[name].emplace_back();
      item.require("name");
      item.require("model_id");
      item.read("name", shown);
      item.read("model_id", id);
      ASSAY_CHECK_OK(item.finish());
    }
  }
  return object.finish();
}

Status read_planned(const JsonDocument& document, Catalogue& made) {
  ObjectReader object(document);
  std::string comment;
  object.read("comment", comment);
  if (std::optional<ObjectReader> entries = object.object("architectures")) {
    for (const std::string& name : entries->keys()) {
      std::vector<std::string> words;
      const Json* json = entries->value(name);
      if (json == nullptr) break;
      if (convert(*json, words) != nullptr || words.size() != 2)
        entries->refuse(name, fmt::format("\"{}\" must be [category, family]", name));
      else
        made.planned[name] = {words[0], words[1]};
    }
    ASSAY_CHECK_OK(entries->finish());
  }
  return object.finish();
}

}  // namespace

Result<Catalogue> read_catalogue(const std::map<std::string, std::string_view>& files) {
  Documents documents;
  for (const auto& [name, text] : files) {
    if (name == "tiny") continue;  // read when it is needed: tiny_model()
    ASSAY_TRY(JsonDocument document, JsonDocument::parse(std::string(text), "zoo/" + name + ".json"));
    documents.emplace(name, std::move(document));
  }
  for (const std::string& name : shared_files())
    if (!documents.contains(name)) return fail(ErrorCode::kInvalidArgument, "zoo/" + name + ".json is missing");
  Catalogue made;
  ASSAY_CHECK_OK(read_common(documents.at("common"), made));
  ASSAY_CHECK_OK(read_tasks(documents.at("tasks"), made));
  ASSAY_CHECK_OK(read_sets(documents.at("sets"), made));
  ASSAY_CHECK_OK(read_planned(documents.at("planned"), made));
  ASSAY_TRY(ArchitectureFiles reader, ArchitectureFiles::over(documents, made.statements));
  for (const auto& [name, document] : documents) {
    if (shared_files().contains(name)) continue;
    ASSAY_TRY(Architecture architecture, reader.read(name));
    (architecture.classes.empty() ? made.parts : made.architectures).push_back(std::move(architecture));
  }
  return made;
}

std::vector<std::string> declared_keys() {
  std::set<std::string> keys;
  const auto add = [&](const std::string& key) { keys.insert(key); };
  each_key<ClassSpec>("classes.", add);
  each_key<VisionSpec>("vision.", add);
  each_key<TextTowerSpec>("text.", add);
  for (const SkeletonSpec& spec : skeleton_specs())
    std::visit([&]<class T>(const T&) { each_key<T>("variations.", add); }, spec.variations);
  return {keys.begin(), keys.end()};
}

}  // namespace assay::zoo
