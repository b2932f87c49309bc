// SPDX-License-Identifier: Apache-2.0
#include "bench/settings/sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/base/unknown_word.hpp"
#include "models/model/classify.hpp"
#include "models/model/names.hpp"
#include "models/zoo/zoo.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

// A string of an entry of a custom file; absent is "".
Result<std::string> text_of(const Json& entry, const char* key, const std::string& where) {
  if (!entry.contains(key) || entry.at(key).is_null()) return std::string();
  if (!entry.at(key).is_string())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: \"{}\" is {}, a string was expected", where, key, entry.at(key).dump()));
  auto text = entry.at(key).get<std::string>();
  if (text.find('\0') != std::string::npos)
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: \"{}\" has a zero byte in it", where, key));
  return text;
}

// A text or a list of texts; absent is none.
Result<std::vector<std::string>> texts_of(const Json& entry, const char* key, const std::string& where) {
  std::vector<std::string> texts;
  if (!entry.contains(key)) return texts;
  const Json list = entry.at(key).is_array() ? entry.at(key) : Json::array({entry.at(key)});
  for (const Json& item : list) {
    if (!item.is_string())
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: \"{}\" has {}; a text as of the option --{} is valid, or "
                              "a list of such texts",
                              where, key, json_text(item), key));
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

}  // namespace

Result<GivenShapes> shapes_in(const Json& entry, const std::string& where) {
  GivenShapes given;
  ASSAY_TRY(const std::vector<std::string> shapes, texts_of(entry, "shape", where));
  ASSAY_TRY(const std::vector<std::string> extents, texts_of(entry, "dim", where));
  for (const std::string& text : shapes) ASSAY_CHECK_OK(with_context(add_shapes(text, given.shapes), "in " + where));
  for (const std::string& text : extents) ASSAY_CHECK_OK(with_context(add_extents(text, given.extents), "in " + where));
  return given;
}

Result<std::string> model_beside(const std::string& name, const fs::path& file) {
  if (name.empty()) return name;
  if (name.starts_with("~/")) {
    const char* home = std::getenv("HOME");
    if (home == nullptr || *home == '\0')
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: '{}' cannot be found: HOME is not set", file.string(), name));
    return (fs::path(home) / name.substr(2)).string();
  }
  if (fs::path(name).is_absolute()) return name;
  std::error_code error;
  const fs::path beside = fs::absolute(file, error).parent_path() / name;
  if (fs::exists(beside, error)) return beside.lexically_normal().string();
  if (zoo::find_known(name)) return name;
  const Result<ModelReference> meant = identify_model(name);
  return meant && meant->kind == ModelReference::Kind::kName ? name : beside.lexically_normal().string();
}

Result<std::vector<ModelChoice>> models_of_set(const std::string& set) {
  const auto entries = zoo::find_set(set);
  if (!entries) return unknown_word("unknown model set", set, {"key", "small", "custom"});
  std::vector<ModelChoice> models;
  for (const zoo::SetEntry& entry : *entries) {
    ModelChoice choice;
    choice.name = entry.name;
    choice.reference = entry.model_id;
    choice.family = entry.family;
    choice.category = entry.category;
    choice.any_size = true;
    choice.from_set = true;
    models.push_back(std::move(choice));
  }
  return models;
}

Result<std::vector<ModelChoice>> models_of_file(const std::filesystem::path& path) {
  ASSAY_TRY(const Json json, read_json(path));
  if (!json.is_object() || json.empty())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: an object of models was expected, such as {}", path.string(),
                            R"({"my_bert": {"name": "prajjwal1/bert-tiny", "family": "embedding"}})"));
  std::vector<ModelChoice> models;
  for (const auto& [name, entry] : json.items()) {
    const std::string where = fmt::format("{}: \"{}\"", path.string(), name);
    if (name.empty() || name.find('\0') != std::string::npos)
      return fail(ErrorCode::kInvalidArgument,
                  where + (name.empty() ? " is an empty name of a model" : ": a zero byte in the name of a model"));
    if (!entry.is_object())
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} is {}, an object with \"name\" and \"family\" was expected", where, entry.dump()));
    ModelChoice choice;
    choice.name = name;
    choice.from_set = true;
    ASSAY_TRY(choice.reference, text_of(entry, "name", where));
    ASSAY_TRY(choice.family, text_of(entry, "family", where));
    ASSAY_TRY(choice.size, text_of(entry, "size", where));
    ASSAY_TRY(choice.modality, text_of(entry, "modality", where));
    ASSAY_TRY(choice.given, shapes_in(entry, where));
    ASSAY_TRY(choice.reference, model_beside(choice.reference, path));
    if (choice.reference.empty())
      return fail(ErrorCode::kInvalidArgument, where + " has no \"name\": a Hugging Face id or a path");
    const std::vector<std::string>& families = model_families();
    if (!choice.family.empty() && std::find(families.begin(), families.end(), choice.family) == families.end())
      return unknown_word(where + ": unknown family", choice.family, families);
    for (const auto& [key, value] : entry.items())
      if (!is_any(key, {"name", "family", "size", "modality", "shape", "dim"}))
        return unknown_word(where + ": unknown key", key, {"name", "family", "size", "modality", "shape", "dim"});
    models.push_back(std::move(choice));
  }
  return models;
}

}  // namespace assay
