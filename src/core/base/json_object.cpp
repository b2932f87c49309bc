// SPDX-License-Identifier: Apache-2.0
#include "core/base/json_object.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/text.hpp"

namespace assay {
namespace {

/// Walks a text that parse_json accepted.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  /// The place of the key that `path` leads to; 0 if there is none.
  std::size_t find(const std::vector<std::string>& path) {
    std::size_t found = 0;
    for (const std::string& key : path) {
      const char opens = peek();
      if (opens == '[' ? !enter_list(key, found) : opens != '{' || !enter(key, found)) return 0;
    }
    return found;
  }

  /// The place of its value.
  std::size_t find_value(const std::vector<std::string>& path) {
    find(path);
    peek();
    return at_;
  }

 private:
  char peek() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n,:", at_), text_.size());
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  /// Stops before the value of `key` in the object that begins here.
  bool enter(const std::string& key, std::size_t& found) {
    ++at_;
    while (peek() == '"') {
      found = at_;
      skip();
      const bool same = Json::parse(text_.substr(found, at_ - found)).get_ref<const std::string&>() == key;
      if (same) return true;
      peek();
      skip();
    }
    return false;
  }
  /// Stops before the element number `index` of the list that begins here.
  bool enter_list(const std::string& index, std::size_t& found) {
    const auto wanted = parse_number<std::size_t>(index);
    ++at_;
    for (std::size_t i = 0; wanted && i < *wanted && peek() != ']' && peek() != '\0'; ++i) skip();
    const bool there = wanted && peek() != ']';
    found = at_;
    return there;
  }
  /// Goes behind the string, number, word, object or array that begins here.
  void skip() {
    int depth = 0;
    do {
      const char c = peek();
      if (c == '"') {
        for (++at_; text_[at_] != '"'; ++at_)
          if (text_[at_] == '\\') ++at_;
        ++at_;
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at_;
      } else if (c == '}' || c == ']') {
        --depth;
        ++at_;
      } else {
        at_ = std::min(text_.find_first_of(" \t\r\n,:]}", at_), text_.size());
      }
    } while (depth > 0);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::string nearest(const std::string& word, const std::vector<std::string>& valid) {
  const std::vector<std::string> near = closest(word, valid);
  return near.empty() ? std::string() : fmt::format("; did you mean \"{}\"?", near.front());
}

std::string shown(const Json& value) {
  constexpr std::size_t kMost = 60;
  const std::string text = json_text(value);
  return text.size() <= kMost ? text : sanitise(text.substr(0, kMost)) + " …";
}

}  // namespace

Result<JsonDocument> JsonDocument::parse(std::string text, std::string name) {
  ASSAY_TRY(Json value, parse_json(text, name));
  if (!value.is_object()) {
    const Place at = place_at(text, std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}:{}:{}: the file must have one JSON object, {{…}}, not {}",
                                                         name, at.line, at.column, shown(value)));
  }
  return JsonDocument{std::move(value), std::move(text), std::move(name)};
}

JsonDocument::Place JsonDocument::place_of(const std::vector<std::string>& path) const {
  return place_at(text, Scanner(text).find(path));
}

JsonDocument::Place JsonDocument::place_of_value(const std::vector<std::string>& path) const {
  return place_at(text, Scanner(text).find_value(path));
}

void ObjectReader::refuse(const std::string& key, const std::string& message, std::string hint) {
  if (error_) return;
  std::vector<std::string> path = path_;
  if (!key.empty()) path.push_back(key);
  error_ = Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}:{}: {}", document_.name, document_.line_of(path), message),
                 {},
                 std::move(hint)};
}

void ObjectReader::refuse_type(const std::string& key, std::string_view wanted) {
  refuse(key, fmt::format("\"{}\" must be {}, not {}", key, wanted, shown(object_[key])));
}

const Json* ObjectReader::value(const std::string& key) {
  known_.push_back(key);
  const auto found = object_.find(key);
  return error_ || found == object_.end() ? nullptr : &*found;
}

void ObjectReader::read(const std::string& key, std::string& into) {
  const Json* found = value(key);
  if (found == nullptr) return;
  if (!found->is_string() || found->get_ref<const std::string&>().empty())
    return refuse_type(key, "a non-empty string");
  into = found->get<std::string>();
}

void ObjectReader::read(const std::string& key, bool& into) {
  const Json* found = value(key);
  if (found == nullptr) return;
  if (!found->is_boolean()) return refuse_type(key, "true or false");
  into = found->get<bool>();
}

void ObjectReader::read(const std::string& key, std::int64_t& into) {
  const Json* found = value(key);
  if (found == nullptr) return;
  if (!found->is_number_integer()) return refuse_type(key, "an integer");
  into = found->get<std::int64_t>();
}

void ObjectReader::read(const std::string& key, std::vector<std::string>& into) {
  const Json* found = value(key);
  if (found == nullptr) return;
  if (!found->is_array()) return refuse_type(key, "a list of non-empty strings");
  std::vector<std::string> items;
  std::set<std::string_view> known;
  for (const Json& item : *found) {
    if (!item.is_string() || item.get_ref<const std::string&>().empty())
      return refuse_type(key, "a list of non-empty strings");
    if (!known.insert(item.get_ref<const std::string&>()).second)
      return refuse(key, fmt::format("\"{}\" names {} twice", key, shown(item)));
    items.push_back(item.get<std::string>());
  }
  into = std::move(items);
}

void ObjectReader::read(const std::string& key, std::vector<std::pair<std::string, std::string>>& into) {
  const Json* found = value(key);
  if (found == nullptr) return;
  if (!found->is_object()) return refuse_type(key, "an object of strings");
  std::vector<std::pair<std::string, std::string>> items;
  for (const auto& [name, item] : found->items()) {
    if (!item.is_string()) return refuse_type(key, "an object of strings");
    items.emplace_back(name, item.get<std::string>());
  }
  into = std::move(items);
}

void ObjectReader::check_word(const std::string& key, const std::string& word, const std::vector<std::string>& valid) {
  if (std::ranges::find(valid, word) != valid.end()) return;
  refuse(key, fmt::format("\"{}\" has the unknown value \"{}\"{}", key, word, nearest(word, valid)),
         "valid are: " + join(valid, ", "));
}

void ObjectReader::read_word(const std::string& key, std::string& into, const std::vector<std::string>& valid) {
  std::string word;
  read(key, word);
  if (word.empty()) return;
  check_word(key, word, valid);
  into = std::move(word);
}

void ObjectReader::read_words(const std::string& key, std::vector<std::string>& into,
                              const std::vector<std::string>& valid) {
  std::vector<std::string> words = into;
  read(key, words);
  for (const std::string& word : words) check_word(key, word, valid);
  into = std::move(words);
}

std::optional<ObjectReader> ObjectReader::object(const std::string& key) {
  const Json* found = value(key);
  if (found == nullptr) return std::nullopt;
  if (!found->is_object()) {
    refuse_type(key, "an object");
    return std::nullopt;
  }
  std::vector<std::string> path = path_;
  path.push_back(key);
  return ObjectReader(document_, *found, std::move(path));
}

std::vector<ObjectReader> ObjectReader::objects(const std::string& key) {
  const Json* found = value(key);
  std::vector<ObjectReader> all;
  if (found == nullptr) return all;
  const bool good = found->is_array() && std::ranges::all_of(*found, [](const Json& item) { return item.is_object(); });
  if (!good) {
    refuse_type(key, "a list of objects");
    return all;
  }
  std::vector<std::string> path = path_;
  path.push_back(key);
  for (const Json& item : *found) all.push_back(ObjectReader(document_, item, path));
  return all;
}

std::vector<std::string> ObjectReader::keys() const {
  std::vector<std::string> all;
  for (const auto& [key, item] : object_.items()) all.push_back(key);
  return all;
}

void ObjectReader::require(const std::string& key) { required_.push_back(key); }

Status ObjectReader::finish() {
  for (const auto& [key, value] : object_.items()) {
    if (error_ || std::ranges::find(known_, key) != known_.end()) continue;
    refuse(key, fmt::format("unknown key \"{}\"{}", key, nearest(key, known_)), "valid are: " + join(known_, ", "));
  }
  for (const std::string& key : required_)
    if (!object_.contains(key)) refuse("", fmt::format("the key \"{}\" is missing", key));
  if (error_) return tl::unexpected<Error>(*error_);
  return {};
}

}  // namespace assay
