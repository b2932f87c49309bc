// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/catalogue/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.hpp"
#include "core/base/unknown_word.hpp"
#include "models/zoo/catalogue/architecture.hpp"

namespace assay::zoo {
namespace {

constexpr std::int64_t kMaxLabels = 1 << 24;

tl::unexpected<Error> invalid(const std::string& key, const Json& value, const std::string& expected) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} = {}: expected {}", sanitise(key), shown(value), expected));
}

// JSON integers that fit; nlohmann keeps those above 2^63 as unsigned.
std::optional<std::int64_t> as_integer(const Json& value) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  if (!value.is_number_integer()) return std::nullopt;
  return value.get<std::int64_t>();
}

bool in_range(const Json& value, const KeyRule& rule) {
  const std::optional<std::int64_t> integer = as_integer(value);
  return integer && *integer >= rule.min && *integer <= rule.max;
}

// A valid integer that is beyond what this architecture is built for.
bool beyond_built(const Json& value, const KeyRule& rule) {
  const std::optional<std::int64_t> integer = as_integer(value);
  return integer && rule.usual_max.is_number() && *integer > rule.max && *integer <= rule.usual_max;
}

Status check_value(const std::string& key, const Json& value, const KeyRule& rule) {
  const std::string& type = rule.type;
  const auto range = [&] { return fmt::format("from {} to {}", rule.min.dump(), rule.max.dump()); };
  if (type == "integer") {
    if (beyond_built(value, rule)) return unsupported(key, shown(value), "built is up to " + rule.max.dump());
    if (!in_range(value, rule)) return invalid(key, value, "an integer " + range());
  } else if (type == "number") {
    // As the float32 that the graph will have; NaN is not in any range.
    const double number = value.is_number() ? value.get<double>() : std::nan("");
    if (!(number >= rule.min.get<double>() && number <= rule.max.get<double>())) {
      return invalid(key, value, "a number " + range());
    }
  } else if (type == "flag") {
    if (!value.is_boolean()) return invalid(key, value, "true or false");
  } else if (type == "text") {
    if (!value.is_string()) return invalid(key, value, "a string");
  } else if (type == "pair") {
    const bool two = value.is_array() && value.size() == 2 && in_range(value[0], rule) && in_range(value[1], rule);
    if (!two && !in_range(value, rule)) return invalid(key, value, fmt::format("an integer or two, {}", range()));
  } else if (type == "integers") {
    const auto length = static_cast<std::size_t>(rule.length);
    const bool good = value.is_array() && !value.empty() && value.size() <= length &&
                      std::all_of(value.begin(), value.end(), [&](const Json& item) { return in_range(item, rule); });
    if (!good) return invalid(key, value, fmt::format("a list of 1 to {} integers {}", length, range()));
  }
  if (!rule.values.empty() && std::ranges::find(rule.values, value) == rule.values.end())
    return unsupported(key, shown(value), fmt::format("built is {}", Json(rule.values).dump()));
  return {};
}

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::ranges::find(list, item) != list.end();
}

Result<std::int64_t> read_label_count(const Json& config, const std::string& prefix) {
  if (const auto labels = config.find("id2label"); labels != config.end() && !labels->is_null()) {
    if (!labels->is_object()) return invalid(prefix + "id2label", *labels, "an object of index to label");
    for (const auto& [index, label] : labels->items()) {
      if (!parse_number<std::int64_t>(index)) return invalid(prefix + "id2label", *labels, "integers as keys");
    }
    return static_cast<std::int64_t>(labels->size());
  }
  if (const auto count = config.find("num_labels"); count != config.end() && !count->is_null()) {
    const std::optional<std::int64_t> value = as_integer(*count);
    if (!value || *value < 0 || *value > kMaxLabels) {
      return invalid(prefix + "num_labels", *count, fmt::format("an integer from 0 to {}", kMaxLabels));
    }
    return *value;
  }
  return 2;
}

// "did you mean BertModel? <hint>"
std::string nearest_and(const std::string& word, const std::vector<std::string>& valid, const std::string& hint) {
  const std::string near = did_you_mean(word, valid);
  return near.empty() ? hint : near + " " + hint;
}

Result<std::string> read_class(const Json& config, const std::string& wanted, const Architecture& architecture) {
  std::string name = wanted;
  if (const auto listed = config.find("architectures"); name.empty() && listed != config.end() && !listed->is_null()) {
    if (!listed->is_array() || (!listed->empty() && !(*listed)[0].is_string())) {
      return invalid("architectures", *listed, "a list of class names");
    }
    if (!listed->empty()) name = (*listed)[0];
  }
  if (name.empty()) return architecture.default_class;
  if (architecture.classes.contains(name)) return name;
  std::vector<std::string> built;
  for (const auto& [key, value] : architecture.classes) built.push_back(key);
  const std::string hint =
      nearest_and(name, built, fmt::format("classes that are built for {}: {}", architecture.name, join(built, ", ")));
  if (contains(architecture.other_classes, name)) return unsupported("class", name, hint);
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("model_type {1} has no class {0}", shown(name), architecture.name), hint);
}

// "same": another name of a key, which transformers keeps for it ("hidden_size" of "d_model"): it may only repeat it.
bool is_same(const Json& config, const Architecture& architecture, const std::string& key, const Json& value) {
  const auto found = architecture.same.find(key);
  if (found == architecture.same.end()) return false;
  const std::string& meant = found->second;
  return value == (config.contains(meant) ? config[meant] : architecture.keys.at(meant).standard);
}

std::vector<std::string> known_keys(const Architecture& architecture) {
  std::vector<std::string> keys;
  for (const auto& [key, rule] : architecture.keys) keys.push_back(key);
  for (const auto& [key, part] : architecture.parts) keys.push_back(key);
  for (const auto& [key, meant] : architecture.same) keys.push_back(key);
  return keys;
}

// No key may be left that could change the graph without assay knowing.
Status check_other_keys(const Json& config, const Architecture& architecture, const std::string& prefix) {
  const Catalogue& common = catalogue();
  const auto is_part = [&](const std::string& key) {
    return architecture.parts.contains(key) ||
           std::any_of(architecture.parts.begin(), architecture.parts.end(),
                       [&](const auto& part) { return part.second.instead == key; });
  };
  for (const auto& [key, value] : config.items()) {
    if (value.is_null() || value == false || architecture.keys.contains(key) || is_part(key)) continue;
    if (contains(architecture.ignored, key) || contains(common.ignored, key)) continue;
    if (is_same(config, architecture, key, value)) continue;
    const auto neutral = common.neutral.find(key);
    if (neutral != common.neutral.end() && std::ranges::find(neutral->second, value) != neutral->second.end()) continue;
    return unsupported(prefix + sanitise(key), shown(value),
                       nearest_and(key, known_keys(architecture), "assay does not know what this key changes"));
  }
  return {};
}

}  // namespace

std::string shown(const Json& value) {
  std::string text = value.is_string() ? value.get<std::string>() : json_text(value);
  text = sanitise(text);
  if (text.size() > 80) text = text.substr(0, 80) + "…";
  return text;
}

tl::unexpected<Error> unsupported(const std::string& key, const std::string& value, std::string hint) {
  return fail(ErrorCode::kUnsupported, fmt::format("unsupported: {} = {}", key, value), std::move(hint));
}

Result<Config> Config::read(const Json& config, const std::string& model_class) {
  if (!config.is_object()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a configuration is a JSON object, this is {}", shown(config)));
  }
  const auto type = config.find("model_type");
  if (type == config.end() || !type->is_string()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("model_type = {}: expected the name of an architecture",
                            type == config.end() ? "(missing)" : shown(*type)),
                "a Hugging Face config.json has it, such as \"model_type\": \"bert\"");
  }
  Config read;
  read.architecture_ = find_architecture(type->get<std::string>());
  if (read.architecture_ == nullptr) {
    std::vector<std::string> names;
    for (const Architecture& architecture : architectures()) names.push_back(architecture.name);
    return unsupported("model_type", shown(*type),
                       nearest_and(type->get<std::string>(), names, fmt::format("built are {}", join(names, ", "))));
  }
  ASSAY_TRY(read.model_class_, read_class(config, model_class, *read.architecture_));
  ASSAY_CHECK_OK(read.read_keys(config));
  return read;
}

Status Config::read_keys(const Json& config) {
  ASSAY_CHECK_OK(check_other_keys(config, *architecture_, prefix_));
  ASSAY_TRY(label_count_, read_label_count(config, prefix_));
  for (const auto& [key, rule] : architecture_->keys) {
    const auto given = config.find(key);
    if (given == config.end()) {
      values_[key] = rule.standard;
      continue;
    }
    if (given->is_null() && rule.optional) {
      values_[key] = nullptr;
      continue;
    }
    ASSAY_CHECK_OK(check_value(path(key), *given, rule));
    values_[key] = *given;
  }
  for (const auto& [key, rule] : architecture_->parts) ASSAY_CHECK_OK(read_part(config, key, rule));
  return {};
}

Status Config::read_part(const Json& config, const std::string& key, const PartRule& rule) {
  const auto given = [&](const std::string& name) -> const Json* {
    const auto found = config.find(name);
    return found == config.end() || found->is_null() ? nullptr : &*found;
  };
  const Json* json = rule.instead.empty() ? nullptr : given(rule.instead);
  if (json == nullptr) json = given(key);
  if (json == nullptr && rule.optional) return {};
  static const Json nothing = Json::object();
  if (json == nullptr) json = rule.config.is_null() ? &nothing : &rule.config;
  if (!json->is_object()) return invalid(path(key), *json, "an object");

  const auto type = json->find("model_type");
  std::string name = rule.types.front();
  if (type != json->end() && !type->is_null()) {
    if (!type->is_string()) return invalid(path(key) + ".model_type", *type, "a string");
    if (const std::string stated = *type; !stated.empty()) name = stated;
  }
  const Architecture* architecture = contains(rule.types, name) ? find_description(name) : nullptr;
  if (architecture == nullptr) {
    return unsupported(path(key) + ".model_type", sanitise(name), fmt::format("built is {}", Json(rule.types).dump()));
  }
  Config part;
  part.architecture_ = architecture;
  part.prefix_ = path(key) + ".";
  ASSAY_CHECK_OK(part.read_keys(*json));
  parts_.emplace(key, std::make_shared<const Config>(std::move(part)));
  return {};
}

const Json& Config::value(const std::string& key) const {
  const KeyRule* rule = architecture_->keys.find(key);
  ASSAY_CHECK(rule != nullptr, ("zoo/" + architecture_->name + ".json has no key '" + key + "'").c_str());
  rule->mark();
  return values_.at(key);
}

const Json& Config::json(const std::string& key) const {
  static const Json nothing;
  return has(key) ? value(key) : nothing;
}

std::pair<std::int64_t, std::int64_t> Config::pair(const std::string& key) const {
  const Json& both = value(key);
  if (both.is_array()) return {both[0], both[1]};
  return {both, both};
}

Json Config::effective() const {
  std::map<std::string, Json> sorted;
  for (const auto& [key, value] : values_.items()) sorted.emplace(key, value);
  for (const auto& [key, part] : parts_) {
    sorted.emplace(key, part->effective());
    sorted.emplace(key + ".model_type", part->architecture().name);
  }
  return sorted;
}

Result<std::int64_t> token_id(const Config& config, const std::string& key) {
  Json value = config.json(key);
  if (value.is_array() && value.size() == 1) value = value[0];
  if (value.is_null()) return -1;
  const bool fits = value.is_number_unsigned() ? value.get<std::uint64_t>() <= INT64_MAX : value.is_number_integer();
  if (fits) return value.get<std::int64_t>();
  return unsupported(key, value.dump());
}

}  // namespace assay::zoo
