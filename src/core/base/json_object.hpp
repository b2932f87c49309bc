// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "core/base/json.hpp"

namespace assay {

/// A JSON text with the name that messages use ("engines/null/engine.json").
struct JsonDocument {
  Json value;
  std::string text, name;

  /// Errors: those of parse_json; invalid_argument when the text is not one object.
  [[nodiscard]] static Result<JsonDocument> parse(std::string text, std::string name);

  using Place = TextPlace;
  /// The place of the key that `path` leads to; the text's beginning for an empty path. An element of a list is named
  /// by its number, from "0".
  [[nodiscard]] Place place_of(const std::vector<std::string>& path) const;
  /// The place of its value.
  [[nodiscard]] Place place_of_value(const std::vector<std::string>& path) const;
  [[nodiscard]] int line_of(const std::vector<std::string>& path) const { return place_of(path).line; }
};

/// Reads the keys of one object of a file that people write, each with its type, and refuses every other key.
///
/// The first error is kept and later reads do nothing, so a caller reads all keys and then returns finish(). Errors are
/// invalid_argument and name the file, the line, the value and what is valid there; for an unknown key the nearest one.
/// A key that is absent leaves its variable as it was.
/// Lifetime: `document` must outlive the reader.
class ObjectReader {
 public:
  explicit ObjectReader(const JsonDocument& document) : ObjectReader(document, document.value, {}) {}

  void read(const std::string& key, std::string& into);
  void read(const std::string& key, bool& into);
  void read(const std::string& key, std::int64_t& into);
  /// A list of different, non-empty strings.
  void read(const std::string& key, std::vector<std::string>& into);
  /// An object of strings, in the order of the file.
  void read(const std::string& key, std::vector<std::pair<std::string, std::string>>& into);
  /// A string, or a list of strings, that must be among `valid`.
  void read_word(const std::string& key, std::string& into, const std::vector<std::string>& valid);
  void read_words(const std::string& key, std::vector<std::string>& into, const std::vector<std::string>& valid);
  /// The value as it stands, of any type: the caller checks it. nullptr when it is absent, and after an error.
  [[nodiscard]] const Json* value(const std::string& key);
  /// The keys of the object, in the order of the file: for objects whose keys are names that people choose.
  [[nodiscard]] std::vector<std::string> keys() const;
  /// The object behind a key; nullopt when it is absent, and after an error. The caller returns its finish() as well.
  [[nodiscard]] std::optional<ObjectReader> object(const std::string& key);
  /// The objects of a list; their errors name the line of the list. Empty when it is absent, and after an error.
  [[nodiscard]] std::vector<ObjectReader> objects(const std::string& key);
  /// finish() refuses the object when the key is absent.
  void require(const std::string& key);
  /// Keeps `message` as the error, at the line of `key`, unless there is one already.
  void refuse(const std::string& key, const std::string& message, std::string hint = {});

  /// The first error; if there is none: an unknown key, or else a key that is required and absent.
  [[nodiscard]] Status finish();

 private:
  ObjectReader(const JsonDocument& document, const Json& object, std::vector<std::string> path)
      : document_(document), object_(object), path_(std::move(path)) {}
  void refuse_type(const std::string& key, std::string_view wanted);
  void check_word(const std::string& key, const std::string& word, const std::vector<std::string>& valid);

  const JsonDocument& document_;
  const Json& object_;
  std::vector<std::string> path_, known_, required_;
  std::optional<Error> error_;
};

}  // namespace assay
