// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "core/base/json_object.hpp"

namespace assay::zoo {

// How the structs of specification.hpp are filled from zoo/*.json. Each struct lists its keys once, in fields(): a key
// that no struct lists is refused, and a test finds the key that a file states and no builder reads.

/// A place in a file of zoo/ that states a value, and whether a builder has read the value since.
struct Statement {
  std::string file, key;  ///< "bert", "variations.layer.query"
  bool unused = false;    ///< the file says so itself
  bool fixed = false;  ///< a key with one built value: configurations with another are refused, so no builder reads it
  mutable std::atomic<bool> read = false;

  Statement(std::string its_file, std::string its_key) : file(std::move(its_file)), key(std::move(its_key)) {}
};

/// The value of a key. Reading it marks the statement that it comes from.
template <class T>
class Field {
 public:
  Field() = default;
  Field(T usual) : value_(std::move(usual)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] const T& get() const {
    if (statement_ != nullptr) statement_->read.store(true, std::memory_order_relaxed);
    return value_;
  }
  [[nodiscard]] const T& operator*() const { return get(); }
  [[nodiscard]] const T* operator->() const { return &get(); }
  operator const T&() const { return get(); }  // NOLINT(google-explicit-constructor)
  operator std::string_view() const            // NOLINT(google-explicit-constructor)
    requires std::same_as<T, std::string>
  {
    return get();
  }

  /// The value, unmarked: for checks of the files.
  [[nodiscard]] const T& peek() const { return value_; }
  /// Whether a file states it; otherwise the value is the struct's usual one.
  [[nodiscard]] bool stated() const { return statement_ != nullptr; }
  void state(T value, const Statement& where) {
    value_ = std::move(value);
    statement_ = &where;
  }

 private:
  T value_{};
  const Statement* statement_ = nullptr;
};

/// A value that the file states, or the key of the configuration that has it: 4 or "=num_layers". Neither for null.
template <class T>
struct Setting {
  std::optional<T> value{};
  std::string key{};

  Setting() = default;
  Setting(T its_value) : value(std::move(its_value)) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] static Setting of(const std::string& its_key) {
    Setting setting;
    setting.key = its_key;
    return setting;
  }
};

/// Values by name, in the order of the files.
template <class T>
class Named {
 public:
  [[nodiscard]] const T* find(const std::string& name) const {
    for (const auto& [key, value] : items_)
      if (key == name) return &value;
    return nullptr;
  }
  [[nodiscard]] const T& at(const std::string& name) const {
    const T* found = find(name);
    ASSAY_CHECK(found != nullptr, ("zoo/*.json has no entry '" + name + "' here").c_str());
    return *found;
  }
  [[nodiscard]] bool contains(const std::string& name) const { return find(name) != nullptr; }
  [[nodiscard]] auto begin() const { return items_.begin(); }
  [[nodiscard]] auto end() const { return items_.end(); }
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] std::size_t size() const { return items_.size(); }

  T& operator[](const std::string& name) {
    for (auto& [key, value] : items_)
      if (key == name) return value;
    return items_.emplace_back(name, T{}).second;
  }
  void erase(const std::string& name) {
    std::erase_if(items_, [&](const auto& item) { return item.first == name; });
  }

 private:
  std::vector<std::pair<std::string, T>> items_;
};

/// The values that a key may have.
using Words = std::vector<std::string>;

struct AnyVisitor {
  template <class Member, class... Rest>
  void operator()(const char*, Member, const Rest&...) const {}
};
/// A struct that lists its keys: `fields(visit)` calls visit("key", &Struct::member) for each, a text's with the words
/// that it may be.
template <class T>
concept HasFields = requires(AnyVisitor visit) { T::fields(visit); };

// Reads a value of JSON; what is expected instead when it has another type. Null is handled by the caller.
[[nodiscard]] const char* convert(const Json& json, Json& into);
[[nodiscard]] const char* convert(const Json& json, bool& into);
[[nodiscard]] const char* convert(const Json& json, std::int64_t& into);
[[nodiscard]] const char* convert(const Json& json, float& into);
[[nodiscard]] const char* convert(const Json& json, std::string& into);
[[nodiscard]] const char* convert(const Json& json, std::vector<std::string>& into);
[[nodiscard]] const char* convert(const Json& json, std::vector<std::pair<std::string, std::string>>& into);
[[nodiscard]] const char* convert(const Json& json, std::map<std::string, std::string>& into);
[[nodiscard]] const char* convert(const Json& json, std::map<std::string, bool>& into);
[[nodiscard]] const char* convert(const Json& json, std::map<std::string, Json>& into);
template <class T>
[[nodiscard]] const char* convert(const Json& json, Setting<T>& into) {
  into = {};
  if (json.is_string() && json.get_ref<const std::string&>().starts_with('=')) {
    into.key = json.get<std::string>().substr(1);
    return nullptr;
  }
  return convert(json, into.value.emplace());
}

/// Reads one file, or a block of one, over what the files that it extends state.
///
/// Keys that are absent leave values as they are, null takes a value away. The first error is kept and ends the
/// reading: see finish().
/// Lifetime: the document, and the list of statements, must outlive the layer; statements outlive all fields.
class FileLayer {
 public:
  /// `statements`: what the file is found to state is added there.
  FileLayer(std::string file, std::vector<Statement*>& statements) : file_(std::move(file)), statements_(&statements) {}

  /// The keys of `object` that T lists, into `into`. `path`: the path of the object in the file ("variations.").
  template <HasFields T>
  void read(ObjectReader& object, const std::string& path, T& into) {
    T::fields(
        [&](const char* key, auto member, const auto&... rest) { read_key(object, path, key, into.*member, rest...); });
  }
  /// The object behind `key`.
  template <HasFields T>
  void read_key(ObjectReader& object, const std::string& path, const std::string& key, T& into) {
    const Json* json = object.value(key);
    if (json == nullptr) return;
    if (json->is_null()) {
      into = T{};
      return;
    }
    if (std::optional<ObjectReader> inner = object.object(key)) {
      read(*inner, path + key + ".", into);
      finish(*inner);
    }
  }
  /// A list of objects: replaces the one before.
  template <HasFields T>
  void read_key(ObjectReader& object, const std::string& path, const std::string& key, std::vector<T>& into) {
    const Json* json = object.value(key);
    if (json == nullptr) return;
    into.clear();
    if (json->is_null()) return;
    for (ObjectReader& inner : object.objects(key)) {
      read(inner, path + key + ".", into.emplace_back());
      finish(inner);
    }
  }
  /// Objects by name: each over the one of that name before, null takes it away. `rename` gives the names.
  template <HasFields T, class Rename>
  void read_named(ObjectReader& object, const std::string& path, const std::string& key, Named<T>& into,
                  const Rename& rename) {
    std::optional<ObjectReader> inner = object.object(key);
    if (!inner) return;
    for (const std::string& name : inner->keys()) {
      const Json* json = inner->value(name);
      if (json != nullptr && json->is_null()) {
        into.erase(rename(name));
      } else {
        read_key(*inner, path + key + ".", name, into[rename(name)]);
      }
    }
    finish(*inner);
  }
  template <class T, class... Valid>
  void read_key(ObjectReader& object, const std::string& path, const std::string& key, Field<T>& into,
                const Valid&... valid) {
    T value{};
    if (read_value(object, key, value, valid...)) into.state(std::move(value), note(path + key));
  }
  /// A value whose reading is not watched.
  template <class T, class... Valid>
    requires(!HasFields<T>)
  void read_key(ObjectReader& object, const std::string&, const std::string& key, T& into, const Valid&... valid) {
    T value{};
    if (read_value(object, key, value, valid...)) into = std::move(value);
  }

  /// Notes that the file states `key`.
  [[nodiscard]] Statement& note(const std::string& key);
  /// Keeps the reader's error, if it has one.
  void finish(ObjectReader& object);
  /// The first error: of a key that nothing lists, a value of another type, a word that is not among the valid ones.
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  template <class T>
  bool read_value(ObjectReader& object, const std::string& key, T& into, const Words& valid = {}) {
    const Json* json = object.value(key);
    if (json == nullptr) return false;
    if (json->is_null()) return true;
    if (const char* expected = convert(*json, into)) {
      refuse(object, key, *json, expected);
      return false;
    }
    if (!valid.empty()) check_word(object, key, *json, valid);
    return true;
  }
  void refuse(ObjectReader& object, const std::string& key, const Json& json, const char* expected);
  void check_word(ObjectReader& object, const std::string& key, const Json& json, const Words& valid);

  std::string file_;
  std::vector<Statement*>* statements_;
  Status status_;
};

/// Calls `see("key")` for each key that T and the structs within it list: "layer.query".
template <HasFields T, class See>
void each_key(const std::string& path, const See& see);

namespace detail {
template <class T>
struct Within {
  using Type = T;
};
template <class T>
struct Within<std::vector<T>> {
  using Type = T;
};
}  // namespace detail

template <HasFields T, class See>
void each_key(const std::string& path, const See& see) {
  T::fields([&]<class Member>(const char* key, Member T::*, const auto&...) {
    using Inner = typename detail::Within<Member>::Type;
    if constexpr (requires { Inner::kRepeats; }) {
      return;
    } else if constexpr (HasFields<Inner>) {
      each_key<Inner>(path + key + ".", see);
    } else {
      see(path + key);
    }
  });
}

/// What `over` states, into `under`.
template <HasFields T>
void overlay(T& under, const T& over) {
  T::fields([&]<class Member>(const char*, Member T::*member, const auto&...) {
    if constexpr (HasFields<Member>) {
      overlay(under.*member, over.*member);
    } else if constexpr (requires { (over.*member).stated(); }) {
      if ((over.*member).stated()) under.*member = over.*member;
    }
  });
}

}  // namespace assay::zoo
