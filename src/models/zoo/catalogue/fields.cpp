// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/catalogue/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <mutex>

#include "core/base/text.hpp"

namespace assay::zoo {

const char* convert(const Json& json, Json& into) {
  into = json;
  return nullptr;
}

const char* convert(const Json& json, bool& into) {
  if (!json.is_boolean()) return "true or false";
  into = json.get<bool>();
  return nullptr;
}

const char* convert(const Json& json, std::int64_t& into) {
  if (!json.is_number_integer()) return "an integer";
  into = json.get<std::int64_t>();
  return nullptr;
}

const char* convert(const Json& json, float& into) {
  if (!json.is_number()) return "a number";
  into = json.get<float>();
  return nullptr;
}

const char* convert(const Json& json, std::string& into) {
  if (!json.is_string()) return "a string";
  into = json.get<std::string>();
  return nullptr;
}

const char* convert(const Json& json, std::vector<std::string>& into) {
  constexpr const char* kExpected = "a list of strings";
  if (!json.is_array()) return kExpected;
  for (const Json& item : json)
    if (convert(item, into.emplace_back()) != nullptr) return kExpected;
  return nullptr;
}

const char* convert(const Json& json, std::vector<std::pair<std::string, std::string>>& into) {
  constexpr const char* kExpected = "a list of pairs of strings";
  if (!json.is_array()) return kExpected;
  for (const Json& item : json) {
    std::vector<std::string> pair;
    if (convert(item, pair) != nullptr || pair.size() != 2) return kExpected;
    into.emplace_back(pair[0], pair[1]);
  }
  return nullptr;
}

namespace {

template <class T>
const char* convert_map(const Json& json, std::map<std::string, T>& into, const char* expected) {
  if (!json.is_object()) return expected;
  for (const auto& [key, item] : json.items())
    if (convert(item, into[key]) != nullptr) return expected;
  return nullptr;
}

}  // namespace

const char* convert(const Json& json, std::map<std::string, std::string>& into) {
  return convert_map(json, into, "an object of strings");
}

const char* convert(const Json& json, std::map<std::string, bool>& into) {
  return convert_map(json, into, "an object of true and false");
}

const char* convert(const Json& json, std::map<std::string, Json>& into) {
  if (!json.is_object()) return "an object";
  for (const auto& [key, item] : json.items()) into[key] = item;
  return nullptr;
}

Statement& FileLayer::note(const std::string& key) {
  // Fields point to them for as long as the program runs.
  static std::mutex mutex;
  static std::deque<Statement> all;
  const std::scoped_lock lock(mutex);
  Statement& made = all.emplace_back(file_, key);
  statements_->push_back(&made);
  return made;
}

void FileLayer::finish(ObjectReader& object) {
  Status status = object.finish();
  if (status_ && !status) status_ = std::move(status);
}

void FileLayer::refuse(ObjectReader& object, const std::string& key, const Json& json, const char* expected) {
  const std::string text = json_text(json);
  constexpr std::size_t kMost = 60;
  object.refuse(key, fmt::format("\"{}\" must be {}, not {}", key, expected,
                                 text.size() <= kMost ? text : sanitise(text.substr(0, kMost)) + " …"));
}

void FileLayer::check_word(ObjectReader& object, const std::string& key, const Json& json, const Words& valid) {
  const std::string word = json.is_string() ? json.get<std::string>() : json_text(json);
  if (word.starts_with('=') || std::ranges::find(valid, word) != valid.end()) return;
  const std::vector<std::string> near = closest(word, valid);
  object.refuse(key,
                fmt::format("\"{}\" has the unknown value \"{}\"{}", key, word,
                            near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near.front())),
                "valid are: " + join(valid, ", "));
}

}  // namespace assay::zoo
