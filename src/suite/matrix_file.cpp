// SPDX-License-Identifier: Apache-2.0
#include "suite/matrix_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "analyse/analyse.hpp"
#include "base/files.hpp"
#include "base/json_object.hpp"
#include "base/text.hpp"
#include "report/report.hpp"

namespace assay::suite {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFamilies = "model_families";
constexpr const char* kHardware = "hardware_compatibility";
constexpr const char* kResults = "benchmark_results";

// A model on a hardware of a family.
using Place = std::tuple<std::string, std::string, std::string>;

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void copy_absent_keys(Json& into, const Json& from) {
  for (const auto& [key, value] : from.items())
    if (!into.contains(key)) into[key] = value;
}

/// Adds to a new matrix what an earlier one has beyond it.
class Merger {
 public:
  Merger(const Json& earlier, Json& made, std::span<const Record> rows) : earlier_(earlier), made_(made) {
    for (const Record& row : rows) ours_.emplace(row.model, row.family, matrix_word(target_key(row)));
  }

  void merge() {
    Json& families = made_[kFamilies];
    for (const auto& [family, content] : earlier_[kFamilies].items()) {
      Json merged = families.contains(family) ? families[family] : Json{{kHardware, Json::object()}};
      Json& hardware = merged[kHardware];
      const Json entries = content.value(kHardware, Json::object());
      for (const auto& [name, entry] : entries.items()) {
        Json both = merged_entry(entry, hardware.contains(name) ? hardware[name] : Json(), family, name);
        if (!both.is_null()) hardware[name] = std::move(both);
      }
      copy_absent_keys(merged, content);
      if (!hardware.empty() || !content.contains(kHardware)) families[family] = std::move(merged);
    }
    Json& words = made_["hardware_types"];
    for (const Json& word : earlier_.value("hardware_types", Json::array()))
      if (std::ranges::find(words, word) == words.end()) words.push_back(word);
    copy_absent_keys(made_, earlier_);
  }

  [[nodiscard]] std::string note() const {
    std::vector<std::string> kept;
    if (others_ > 0) kept.push_back(fmt::format("{} of other histories of assay", others_));
    if (foreign_ > 0) kept.push_back(fmt::format("{} of other programs, which assay did not measure", foreign_));
    return kept.empty() ? std::string() : "keeps results that are not in this history: " + join(kept, ", ");
  }

 private:
  // What was this history's is another one's now: else it would be in the new matrix. Files of assay before there was a
  // source have `mark`.
  static std::string source_of(const Json& entry, const char* mark) {
    const std::string said = text_at(entry, "source");
    if (said == kOtherProgram) return said;
    return !said.empty() || entry.contains(mark) ? kOtherHistory : kOtherProgram;
  }

  static bool has_equal(const Json& results, const Json& result) {
    constexpr std::array kGuideKeys{"timestamp", "model_name", "mean_latency", "mean_throughput"};
    return std::ranges::any_of(results, [&](const Json& each) {
      return std::ranges::all_of(kGuideKeys,
                                 [&](const char* key) { return each.value(key, Json()) == result.value(key, Json()); });
    });
  }

  // The results of an earlier entry that the new one lacks.
  Json kept_results(const Json& earlier, const Json& made, const std::string& family, const std::string& hardware) {
    Json kept = Json::array();
    const std::string host = text_at(earlier_, "host");
    for (Json result : earlier.value(kResults, Json::array())) {
      const std::string source = source_of(result, "shapes");
      const bool foreign = source == kOtherProgram;
      if (!foreign && ours_.contains({text_at(result, "model_name"), family, hardware})) continue;
      if (foreign && made.is_object() && has_equal(made[kResults], result)) continue;
      if (!foreign && !result.contains("host") && host != text_at(made_, "host")) result["host"] = host;
      result["source"] = source;
      ++(foreign ? foreign_ : others_);
      kept.push_back(std::move(result));
    }
    return kept;
  }

  // null: the new matrix leaves out on purpose what assay wrote there, such as results of files that a model does not
  // have any more.
  Json merged_entry(const Json& earlier, Json made, const std::string& family, const std::string& hardware) {
    const std::string source = source_of(earlier, "performance_rating_words");
    Json kept = kept_results(earlier, made, family, hardware);
    if (made.is_null()) {
      if (kept.empty() && source == kOtherHistory) return {};
      made = earlier;
      if (earlier.contains(kResults)) made[kResults] = std::move(kept);
      made["source"] = source;
      return made;
    }
    for (Json& result : kept) made[kResults].push_back(std::move(result));
    if (source == kOtherProgram && text_at(made, "source") != kOtherProgram) {
      Json claims = earlier;
      claims.erase(kResults);
      claims.erase("source");
      made[kOtherProgram] = std::move(claims);
    } else {
      copy_absent_keys(made, earlier);
    }
    return made;
  }

  const Json& earlier_;
  Json& made_;
  std::set<Place> ours_;
  std::size_t others_ = 0, foreign_ = 0;
};

// internal and not invalid_argument: after a measurement it is not the command line that was wrong.
tl::unexpected<Error> damaged(const fs::path& file, const std::string& why) {
  return fail(ErrorCode::kInternal, fmt::format("{}; {} stays as it is", why, shown_path(file)),
              "repair the file; or remove it, and it is written from the history alone");
}

Status check_matrix(const JsonDocument& document, const fs::path& file) {
  using Path = std::vector<std::string>;
  const auto refuse = [&](const Path& path, const char* expected) -> Status {
    const JsonDocument::Place at = document.place_of_value(path);
    return damaged(file, fmt::format("{}:{}:{}: the compatibility matrix is damaged: \"{}\" is not {}", document.name,
                                     at.line, at.column, path.back(), expected));
  };
  if (!document.value.contains(kFamilies))
    return damaged(
        file, fmt::format("{}:1:1: not a compatibility matrix: the key \"{}\" is missing", document.name, kFamilies));
  if (!document.value[kFamilies].is_object()) return refuse({kFamilies}, "an object of families");
  if (!document.value.value("hardware_types", Json::array()).is_array())
    return refuse({"hardware_types"}, "a list of words");
  for (const auto& [family, content] : document.value[kFamilies].items()) {
    if (!content.is_object()) return refuse({kFamilies, family}, "an object");
    if (!content.contains(kHardware)) continue;
    if (!content[kHardware].is_object()) return refuse({kFamilies, family, kHardware}, "an object of hardware");
    for (const auto& [hardware, entry] : content[kHardware].items()) {
      if (!entry.is_object()) return refuse({kFamilies, family, kHardware, hardware}, "an object");
      const Json results = entry.value(kResults, Json::array());
      if (!results.is_array() || !std::ranges::all_of(results, [](const Json& each) { return each.is_object(); }))
        return refuse({kFamilies, family, kHardware, hardware, kResults}, "a list of objects");
    }
  }
  return {};
}

}  // namespace

Result<std::string> write_matrix_file(const fs::path& file, Json made, std::span<const Record> rows) {
  std::string note;
  std::error_code absent;
  if (fs::exists(file, absent)) {
    ASSAY_TRY(std::string text, read_file(file));
    const Result<JsonDocument> earlier = JsonDocument::parse(std::move(text), file.string());
    if (!earlier) return damaged(file, earlier.error().message);
    ASSAY_CHECK_OK(check_matrix(*earlier, file));
    Merger merger(earlier->value, made, rows);
    merger.merge();
    note = merger.note();
    if (!note.empty()) note = fmt::format("{} {}", shown_path(file), note);
  }
  ASSAY_CHECK_OK(write_file_atomically(file, json_text(made, 2) + "\n"));
  return note;
}

}  // namespace assay::suite
