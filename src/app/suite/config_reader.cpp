// SPDX-License-Identifier: Apache-2.0
#include "app/suite/config_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/settings/sets.hpp"
#include "core/base/text.hpp"
#include "core/base/unknown_word.hpp"
#include "core/result/hardware_words.hpp"
#include "core/result/precision_words.hpp"
#include "models/model/classify.hpp"

namespace assay::suite {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kMostExtent = 1 << 24, kMostTokens = 8192, kMostLaunches = 100, kMostRuns = 10'000'000;
constexpr double kMostSeconds = 1e7;

const std::vector<std::string>& frequencies() {
  static const std::vector<std::string> words{"daily", "weekly", "monthly"};
  return words;
}

std::chrono::nanoseconds nanoseconds(double seconds) { return std::chrono::nanoseconds(std::llround(seconds * 1e9)); }

// "5m", "1h30m", "90s"; nullopt: it is none.
std::optional<double> duration_s(const std::string& text) {
  double total = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find_first_not_of("0123456789.", at);
    if (end == at || end == std::string::npos) return std::nullopt;
    const auto number = parse_number<double>(text.substr(at, end - at));
    const std::map<char, double> units{{'h', 3600}, {'m', 60}, {'s', 1}};
    const auto unit = units.find(text[end]);
    if (!number || unit == units.end()) return std::nullopt;
    total += *number * unit->second;
    at = end + 1;
  }
  return total > 0 ? std::optional(total) : std::nullopt;
}

std::string kind_of(const Json& value) {
  return value.is_null()      ? "null"
         : value.is_boolean() ? "true or false"
         : value.is_string()  ? "a string"
         : value.is_array()   ? "a list"
         : value.is_object()  ? "an object"
                              : "a number";
}

/// Reads the keys of a file and collects the mistakes.
class ConfigReader {
 public:
  using Path = std::vector<std::string>;

  ConfigReader(const JsonDocument& document, const fs::path& file, SuiteConfig& config)
      : document_(document), file_(file), config_(config) {}

  Status read() {
    const std::vector<std::pair<std::string, std::function<void(const Json&)>>> keys = readers();
    read_object(document_.value, {}, keys);
    if (errors_.empty()) return {};
    constexpr std::size_t kMost = 10;
    std::string message = errors_.front();
    for (std::size_t i = 1; i < std::min(errors_.size(), kMost); ++i) message += "\n" + errors_[i];
    if (errors_.size() > kMost) message += fmt::format("\nand {} more", errors_.size() - kMost);
    return fail(ErrorCode::kInvalidArgument, message,
                "`assay suite --create-config` writes an example; docs/formats.md describes every key");
  }

 private:
  using Keys = std::vector<std::pair<std::string, std::function<void(const Json&)>>>;

  void read_object(const Json& object, const Path& path, const Keys& keys) {
    std::vector<std::string> names;
    for (const auto& key : keys) names.push_back(key.first);
    for (const auto& [name, value] : object.items()) {
      Path here = path;
      here.push_back(name);
      const auto known = std::ranges::find(keys, name, &Keys::value_type::first);
      if (known == keys.end()) {
        refuse_key(here, fmt::format("\"{}\" is not a key{}", name, nearest(name, names)));
        continue;
      }
      if (path.empty()) config_.given.insert(name);
      path_ = here;
      known->second(value);
    }
  }

  static std::string nearest(const std::string& name, const std::vector<std::string>& valid) {
    const std::string near = did_you_mean(name, valid);
    return near.empty() ? "; valid: " + join(valid, ", ") : "; " + near;
  }

  void add(JsonDocument::Place place, const std::string& message) {
    errors_.push_back(fmt::format("{}:{}:{}: {}", document_.name, place.line, place.column, message));
  }
  void refuse_key(const Path& path, const std::string& message) { add(document_.place_of(path), message); }
  void refuse(const std::string& message) {
    add(document_.place_of_value(path_), fmt::format("\"{}\": {}", path_.back(), message));
  }
  // Refuses an element of the list that is read.
  void refuse_item(std::size_t index, const std::string& message) {
    Path path = path_;
    path.push_back(std::to_string(index));
    add(document_.place_of_value(path), fmt::format("\"{}\": {}", path_.back(), message));
  }
  void refuse_type(const Json& value, const std::string& wanted) {
    refuse(fmt::format("{} is {}; {} is valid", json_text(value), kind_of(value), wanted));
  }

  void read_flag(const Json& value, bool& into) {
    if (!value.is_boolean()) return refuse_type(value, "true or false");
    into = value.get<bool>();
  }

  bool is_count(const Json& value, std::int64_t least, std::int64_t most) {
    return value.is_number_integer() && !(value.is_number_unsigned() && value.get<std::uint64_t>() > kMostUnsigned) &&
           value.get<std::int64_t>() >= least && value.get<std::int64_t>() <= most;
  }

  void read_count(const Json& value, std::int64_t least, std::int64_t most, std::int64_t& into) {
    if (!is_count(value, least, most))
      return refuse(fmt::format("{} is not valid; an integer from {} to {} is", json_text(value), least, most));
    into = value.get<std::int64_t>();
  }

  void read_optional_count(const Json& value, std::int64_t least, std::int64_t most,
                           std::optional<std::int64_t>& into) {
    if (value.is_null()) return into.reset();
    if (!is_count(value, least, most))
      return refuse(fmt::format("{} is not valid; an integer from {} to {} is, or null for as many as are necessary",
                                json_text(value), least, most));
    into = value.get<std::int64_t>();
  }

  void read_counts(const Json& value, std::int64_t least, std::int64_t most, const char* example,
                   std::vector<std::int64_t>& into) {
    const std::string wanted = fmt::format("a list of integers from {} to {}, such as {},", least, most, example);
    if (!value.is_array() || value.empty()) return refuse_type(value, wanted);
    std::vector<std::int64_t> list;
    for (std::size_t i = 0; i < value.size(); ++i)
      if (is_count(value[i], least, most))
        list.push_back(value[i].get<std::int64_t>());
      else
        refuse_item(i, fmt::format("{} is not valid; {} is", json_text(value[i]), wanted));
    if (list.size() < value.size()) return;
    std::ranges::sort(list);
    list.erase(std::ranges::unique(list).begin(), list.end());
    into = std::move(list);
  }

  std::optional<double> seconds(const Json& value) {
    if (value.is_number() && value.get<double>() > 0 && value.get<double>() <= kMostSeconds) return value.get<double>();
    refuse(fmt::format("{} is not valid; a number of seconds above 0, up to {}, is", json_text(value), kMostSeconds));
    return std::nullopt;
  }

  void read_budget(const Json& value) {
    const std::optional<double> s =
        value.is_string()
            ? duration_s(value.get<std::string>())
            : (value.is_number() && value.get<double>() > 0 ? std::optional(value.get<double>()) : std::nullopt);
    if (!s || *s > kMostSeconds)
      return refuse(fmt::format("{} is not valid; a time such as \"5m\", \"1h30m\" or 300, up to {} s, is",
                                json_text(value), kMostSeconds));
    config_.settings.budget = nanoseconds(*s);
  }

  void read_word(const Json& value, const std::vector<std::string>& valid, std::string& into) {
    if (!value.is_string()) return refuse_type(value, "one of " + join(valid, ", "));
    const auto word = value.get<std::string>();
    if (std::ranges::find(valid, word) == valid.end())
      return refuse(fmt::format("\"{}\" is not valid{}", word, nearest(word, valid)));
    into = word;
  }

  // `is_valid` refuses an element that it does not take. nullopt: one was refused.
  std::optional<std::vector<std::string>> names(
      const Json& value, const std::string& what,
      const std::function<bool(std::size_t, const std::string&)>& is_valid = [](std::size_t, const std::string&) {
        return true;
      }) {
    const auto filled = [](const Json& each) {
      return each.is_string() && !each.get_ref<const std::string&>().empty() &&
             each.get_ref<const std::string&>().find('\0') == std::string::npos;
    };
    if (!value.is_array() || value.empty()) {
      refuse_type(value, what);
      return std::nullopt;
    }
    std::vector<std::string> list;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const Json& item = value[i];
      if (!filled(item))
        refuse_item(i, fmt::format("{} is {}; {} is valid", json_text(item),
                                   item.is_string() ? "not a name" : kind_of(item), what));
      else if (std::ranges::find(list, item.get_ref<const std::string&>()) != list.end())
        refuse_item(i, json_text(item) + " is there twice; once is valid");
      else if (is_valid(i, item.get_ref<const std::string&>()))
        list.push_back(item.get<std::string>());
    }
    return list.size() == value.size() ? std::optional(std::move(list)) : std::nullopt;
  }

  void read_hardware(const Json& value) {
    std::vector<std::string> valid = hardware_words();
    valid.insert(valid.end(), {"all", "qualcomm"});
    const auto list =
        names(value, "a list of hardware, such as [\"cpu\", \"cuda\"],", [&](std::size_t i, const std::string& word) {
          if (std::ranges::find(valid, lower(word)) != valid.end()) return true;
          const std::string near = did_you_mean_hardware(word);
          refuse_item(i, fmt::format("\"{}\" is not a hardware; {}", word,
                                     near.empty() ? "valid: " + join(valid, ", ") : near));
          return false;
        });
    if (list) config_.targets.hardware = *list;
  }

  void read_families(const Json& value) {
    if (!value.is_object()) return refuse_type(value, "an object of families with lists of models");
    config_.models.clear();
    const Path path = path_;
    Keys keys;
    for (const std::string& family : model_families())
      keys.emplace_back(family, [this, family](const Json& models) { read_models(models, family); });
    read_object(value, path, keys);
    if (config_.models.empty() && errors_.empty()) {
      path_ = path;
      refuse("no family has a model; an object such as {\"vision\": [\"vit\"]} is valid");
    }
  }

  // Names; or objects with "name", and shapes as in a custom models file.
  void read_models(const Json& value, const std::string& family) {
    if (value.is_array() && value.empty()) return;
    Json list = value;
    std::map<std::size_t, GivenShapes> given;
    for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
      if (!value[i].is_object()) continue;
      for (const auto& [key, unused] : value[i].items())
        if (!is_any(key, {"name", "shape", "dim"}))
          refuse_item(i, fmt::format("\"{}\" is not a key of a model{}", key, nearest(key, {"name", "shape", "dim"})));
      Result<GivenShapes> shapes = shapes_in(value[i], "this model");
      if (shapes)
        given[i] = std::move(*shapes);
      else
        refuse_item(i, shapes.error().message);
      list[i] = value[i].contains("name") ? value[i].at("name") : Json("");
    }
    names(list, "a list of names, ids or paths of models", [&](std::size_t i, const std::string& name) {
      if (const auto other = std::ranges::find(config_.models, name, &ModelChoice::name);
          other != config_.models.end()) {
        refuse_item(i, fmt::format("\"{}\" is in the family {}, too; one family is valid", name, other->family));
        return false;
      }
      // The example has no folder, and names only.
      Result<std::string> reference = file_.empty() ? Result<std::string>(name) : model_beside(name, file_);
      if (!reference) {
        refuse_item(i, reference.error().message);
        return false;
      }
      ModelChoice choice;
      choice.name = name;
      choice.reference = std::move(*reference);
      choice.family = family;
      choice.from_set = true;
      choice.given = given[i];
      config_.models.push_back(std::move(choice));
      return true;
    });
  }

  void read_schedule(const Json& value) {
    if (!value.is_object()) return refuse_type(value, "an object with enabled, frequency and time");
    Schedule& schedule = config_.schedule;
    read_object(value, path_,
                {{"enabled", [&](const Json& v) { read_flag(v, schedule.enabled); }},
                 {"frequency", [&](const Json& v) { read_word(v, frequencies(), schedule.frequency); }},
                 {"time", [&](const Json& v) { read_time(v, schedule.time); }}});
  }

  void read_time(const Json& value, std::string& into) {
    constexpr std::size_t kLength = 5, kColon = 2;
    const std::string text = value.is_string() ? value.get<std::string>() : "";
    const auto hour = parse_number<int>(text.substr(0, std::min(kColon, text.size())));
    const auto minute = text.size() == kLength ? parse_number<int>(text.substr(kColon + 1)) : std::optional<int>();
    constexpr int kHours = 24, kMinutes = 60;
    if (text.size() != kLength || text[kColon] != ':' || !hour || !minute || *hour < 0 || *hour >= kHours ||
        *minute < 0 || *minute >= kMinutes)
      return refuse(fmt::format("{} is not valid; a time such as \"02:00\" is", json_text(value)));
    into = text;
  }

  Keys readers() {
    RunSettings& s = config_.settings;
    return {
        {"batch_sizes", [&](const Json& v) { read_counts(v, 1, kMostExtent, "[1, 4, 8]", s.batch_sizes); }},
        {"sequence_lengths", [&](const Json& v) { read_counts(v, 1, kMostExtent, "[32, 128]", s.sequence_lengths); }},
        {"warmup_iterations",
         [&](const Json& v) { read_optional_count(v, 0, kMostRuns, s.measure.warmup_iterations); }},
        {"benchmark_iterations", [&](const Json& v) { read_optional_count(v, 1, kMostRuns, s.measure.iterations); }},
        {"timeout",
         [&](const Json& v) {
           if (const auto time = seconds(v)) s.timeout = nanoseconds(*time);
         }},
        {"model_families", [&](const Json& v) { read_families(v); }},
        {"hardware_types", [&](const Json& v) { read_hardware(v); }},
        {"include_web_platforms", [&](const Json& v) { read_flag(v, config_.targets.include_web); }},
        {"parallel", [&](const Json& v) { read_flag(v, config_.parallel); }},
        {"use_resource_pool", [&](const Json& v) { read_flag(v, s.resource_pool); }},
        {"generate_plots", [&](const Json& v) { read_flag(v, config_.plots); }},
        {"update_compatibility_matrix", [&](const Json& v) { read_flag(v, config_.matrix); }},
        {"schedule", [&](const Json& v) { read_schedule(v); }},
        {"launches", [&](const Json& v) { read_count(v, 1, kMostLaunches, s.launches); }},
        {"max_time",
         [&](const Json& v) {
           if (const auto time = seconds(v)) s.max_time = nanoseconds(*time);
         }},
        {"budget", [&](const Json& v) { read_budget(v); }},
        {"precision",
         [&](const Json& v) {
           read_word(v.is_string() ? Json(canonical_precision(v.get_ref<const std::string&>())) : v,
                     {"float32", "float16", "bfloat16", "runtime", "as_is"}, s.precision);
           s.precision_asked = true;
         }},
        {"output_tokens", [&](const Json& v) { read_counts(v, 0, kMostTokens, "[32]", s.output_tokens); }},
        {"engines",
         [&](const Json& v) {
           if (const auto list = names(v, "a list of names of runtimes")) config_.targets.engines = *list;
         }},
        {"threads", [&](const Json& v) { read_counts(v, 1, kMostExtent, "[1, 2]", s.threads); }},
        {"streams", [&](const Json& v) { read_counts(v, 1, kMostExtent, "[1, 2]", s.streams); }},
        {"size",
         [&](const Json& v) {
           if (!v.is_string()) return refuse_type(v, "the name of a size, such as \"tiny\",");
           s.size = v.get<std::string>();
         }},
        {"seed",
         [&](const Json& v) {
           if (!v.is_number_unsigned()) return refuse_type(v, "an integer from 0");
           s.seed = v.get<std::uint64_t>();
         }},
        {"output_dir",
         [&](const Json& v) {
           const std::string path = v.is_string() ? v.get<std::string>() : "";
           if (path.empty() || path.find('\0') != std::string::npos) return refuse_type(v, "the path of a folder");
           config_.output_dir = v.get<std::string>();
         }},
        {"$schema", [](const Json&) {}},
        {"schema_version",
         [&](const Json& v) {
           if (v != kConfigSchema) refuse_type(v, fmt::format("\"{}\"", kConfigSchema));
         }},
    };
  }

  static constexpr std::uint64_t kMostUnsigned = 1ULL << 62U;

  const JsonDocument& document_;
  const fs::path& file_;
  SuiteConfig& config_;
  Path path_;
  std::vector<std::string> errors_;
};

}  // namespace

Status read_keys(const JsonDocument& document, const fs::path& file, SuiteConfig& config) {
  return ConfigReader(document, file, config).read();
}

}  // namespace assay::suite
