// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "core/base/json.hpp"
#include "models/zoo/catalogue/architecture.hpp"

namespace assay::zoo {

/// A configuration that was read fully: each key the architecture reads has its type and range checked or its default
/// filled in, and no key is left that could change the graph without assay knowing.
class Config {
 public:
  /// `model_class` "": the configuration's own. Errors: unsupported ("unsupported: KEY = VALUE"), invalid_argument
  /// (a value of the wrong type or out of range, naming key and value; a class of another type).
  [[nodiscard]] static Result<Config> read(const Json& config, const std::string& model_class);

  [[nodiscard]] const Architecture& architecture() const { return *architecture_; }
  [[nodiscard]] const std::string& model_class() const { return model_class_; }

  [[nodiscard]] const ClassSpec& class_spec() const { return architecture_->classes.at(model_class_); }
  /// What the class adds to the base model: "masked_lm"; "none": it is the base model.
  [[nodiscard]] const std::string& head() const { return class_spec().head; }
  [[nodiscard]] bool bare() const { return head() == "none"; }

  /// The class's own, else the architecture's.
  [[nodiscard]] const std::vector<std::string>& usual_inputs() const {
    return class_spec().inputs.stated() ? class_spec().inputs : architecture_->inputs;
  }

  // Keys are those of the architecture's JSON file, with the type that it states there. Bug: a key that is not there.
  [[nodiscard]] std::int64_t integer(const std::string& key) const { return value(key); }
  [[nodiscard]] std::optional<std::int64_t> optional_integer(const std::string& key) const {
    return optional<std::int64_t>(key);
  }
  [[nodiscard]] std::optional<bool> optional_flag(const std::string& key) const { return optional<bool>(key); }
  [[nodiscard]] std::optional<std::string> optional_text(const std::string& key) const {
    return optional<std::string>(key);
  }
  [[nodiscard]] float number(const std::string& key) const { return value(key); }
  [[nodiscard]] bool flag(const std::string& key) const { return value(key); }
  [[nodiscard]] std::string text(const std::string& key) const { return value(key); }
  [[nodiscard]] std::vector<std::int64_t> integers(const std::string& key) const { return value(key); }
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> pair(const std::string& key) const;  ///< height, width
  /// Whether the architecture reads the key.
  [[nodiscard]] bool has(const std::string& key) const { return architecture_->keys.contains(key); }
  /// A value of any type, null if there is none or the architecture has no such key. What a value of type "json" has
  /// in it is for the reader to check.
  [[nodiscard]] const Json& json(const std::string& key) const;

  /// A nested configuration ("vision_config") that the architecture's JSON lists under "parts", read as fully as the
  /// whole. Its architecture() is that of the part, built on its own or not.
  [[nodiscard]] const Config& part(const std::string& key) const { return *parts_.at(key); }
  /// False if an optional part is absent.
  [[nodiscard]] bool has_part(const std::string& key) const { return parts_.contains(key); }
  /// A key as messages name it: "vision_config.hidden_act".
  [[nodiscard]] std::string path(const std::string& key) const { return prefix_ + key; }

  /// From id2label, else num_labels, else 2. As transformers reads them.
  [[nodiscard]] std::int64_t label_count() const { return label_count_; }

  /// What the graph depends on, keys sorted: hashed for the model's identity.
  [[nodiscard]] Json effective() const;

 private:
  Config() = default;
  [[nodiscard]] Status read_keys(const Json& config);
  [[nodiscard]] Status read_part(const Json& config, const std::string& key, const PartRule& rule);
  [[nodiscard]] const Json& value(const std::string& key) const;
  template <class T>
  [[nodiscard]] std::optional<T> optional(const std::string& key) const {
    const Json& found = value(key);
    if (found.is_null()) return std::nullopt;
    return found.get<T>();
  }

  const Architecture* architecture_ = nullptr;
  std::string model_class_;  ///< "" in a part
  std::string prefix_;       ///< "vision_config." in a part
  Json values_;
  std::map<std::string, std::shared_ptr<const Config>> parts_;
  std::int64_t label_count_ = 2;
};

/// A value as a message shows it: strings bare, everything else as JSON, long ones cut, without control characters.
[[nodiscard]] std::string shown(const Json& value);

/// "unsupported: KEY = VALUE", as users see it for whatever the zoo refuses.
[[nodiscard]] tl::unexpected<Error> unsupported(const std::string& key, const std::string& value,
                                                std::string hint = {});

/// The token at `key`: -1 for null; a list of one counts as its element. Errors: unsupported.
[[nodiscard]] Result<std::int64_t> token_id(const Config& config, const std::string& key);

}  // namespace assay::zoo
