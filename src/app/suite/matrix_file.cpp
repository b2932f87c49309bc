// SPDX-License-Identifier: Apache-2.0
#include "app/suite/matrix_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/files.hpp"
#include "core/base/json_object.hpp"
#include "core/base/text.hpp"
#include "core/traits/cell.hpp"
#include "show/report/report.hpp"

namespace assay::suite {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFamilies = "model_families";
constexpr const char* kEarlier = "earlier";

// A shape of a model on a hardware of a family.
using Place = std::tuple<std::string, std::string, std::string, std::string>;

// In place of a shape: that of a cell which ended before its shape was known, and any.
constexpr const char* kNoShape = "model";

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// What was tried, by assay and by other programs: what was skipped replaces nothing.
struct Tried {
  std::set<Place> by_assay, by_others;

  explicit Tried(std::span<const Record> rows) {
    for (const Record& row : rows) {
      if (row.status == CellStatus::kSkipped || row.status == CellStatus::kUnavailable) continue;
      std::set<Place>& places = is_foreign(row) ? by_others : by_assay;
      for (const std::string& shape : {row.batch_size ? shape_key(row) : kNoShape, std::string(kNoShape)})
        places.emplace(row.family, matrix_word(target_key(row)), row.model, shape);
    }
  }
};

bool was_tried(const std::string& status_word) {
  const std::optional<CellStatus> status = from_word<CellStatus>(status_word);
  return status != CellStatus::kSkipped && status != CellStatus::kUnavailable;
}

// Whether all that the matrix has was tried anew.
bool is_all_tried(const Json& matrix, const Tried& tried) {
  for (const auto& [family, content] : matrix.at(kFamilies).items())
    for (const auto& [hardware, entry] : content.at("hardware_compatibility").items())
      for (const Json& result : entry.at("benchmark_results"))
        for (const auto& [shape, status] : result.at("shapes").items()) {
          const Place place{family, hardware, result.at("model_name").get<std::string>(), shape};
          const bool of_others = result.value("of_another_program", false) && tried.by_others.contains(place);
          if (was_tried(status.get_ref<const std::string&>()) && !of_others && !tried.by_assay.contains(place))
            return false;
        }
  return true;
}

// The name of a host is not enough: each container has another one.
bool is_of_another_machine(const Json& matrix, const Json& made) {
  const bool both_have = !text_at(matrix, "hardware_id").empty() && !text_at(made, "hardware_id").empty();
  const char* key = both_have ? "hardware_id" : "host";
  return text_at(matrix, key) != text_at(made, key);
}

// Why the matrix is kept; "" if the new one replaces it.
std::string why_kept(const Json& matrix, const Json& made, const Tried& tried) {
  constexpr const char* kOfOthers = "of another program";
  // The guide's scripts write none.
  if (!matrix.contains("schema_version")) return kOfOthers;
  if (is_of_another_machine(matrix, made)) return "of another machine";
  try {
    return is_all_tried(matrix, tried) ? "" : "with results that this history lacks";
  } catch (const Json::exception&) {
    return kOfOthers;  // not as assay writes it
  }
}

// The matrix, and those that it kept, oldest first.
Json with_those_it_kept(Json matrix) {
  Json all = matrix.value(kEarlier, Json::array());
  if (!all.is_array()) return Json::array({std::move(matrix)});
  matrix.erase(kEarlier);
  all.push_back(std::move(matrix));
  return all;
}

struct Kept {
  Json matrices = Json::array();
  std::map<std::string, int> reasons{};
};

Kept not_replaced(Json earlier, const Json& made, const Tried& tried) {
  Kept kept;
  for (Json& matrix : with_those_it_kept(std::move(earlier))) {
    const std::string why = why_kept(matrix, made, tried);
    if (why.empty() || std::ranges::find(kept.matrices, matrix) != kept.matrices.end()) continue;
    ++kept.reasons[why];
    kept.matrices.push_back(std::move(matrix));
  }
  return kept;
}

std::string note_of(const fs::path& file, const Kept& kept) {
  if (kept.matrices.size() == 1)
    return fmt::format("{} keeps an earlier matrix {} in its list \"{}\"", shown_path(file),
                       kept.reasons.begin()->first, kEarlier);
  std::vector<std::string> counted;
  for (const auto& [why, n] : kept.reasons) counted.push_back(fmt::format("{} {}", n, why));
  return fmt::format("{} keeps {} earlier matrices in its list \"{}\": {}", shown_path(file), kept.matrices.size(),
                     kEarlier, join(counted, ", "));
}

tl::unexpected<Error> damaged(const fs::path& file, const std::string& why) {
  return fail(ErrorCode::kMismatch, fmt::format("{}; {} stays as it is", why, shown_path(file)),
              "repair the file; or remove it, and it is written from the history alone");
}

Result<Json> read_matrix(const fs::path& file) {
  ASSAY_TRY(std::string text, read_file(file));
  Result<JsonDocument> document = JsonDocument::parse(std::move(text), file.string());
  if (!document) return damaged(file, document.error().message);
  const auto families = document->value.find(kFamilies);
  if (families != document->value.end() && families->is_object()) return std::move(document->value);
  const std::string key = families == document->value.end() ? "" : kFamilies;
  const JsonDocument::Place at = document->place_of_value(key.empty() ? std::vector<std::string>() : std::vector{key});
  return damaged(file, fmt::format("{}:{}:{}: not a compatibility matrix: \"{}\" must be an object of families",
                                   document->name, at.line, at.column, kFamilies));
}

}  // namespace

Result<std::string> write_matrix_file(const fs::path& file, Json made, std::span<const Record> rows) {
  std::string note;
  std::error_code absent;
  if (fs::exists(file, absent)) {
    ASSAY_TRY(Json earlier, read_matrix(file));
    Kept kept = not_replaced(std::move(earlier), made, Tried(rows));
    if (!kept.matrices.empty()) {
      note = note_of(file, kept);
      made[kEarlier] = std::move(kept.matrices);
    }
  }
  ASSAY_CHECK_OK(write_file_atomically(file, json_text(made, 2) + "\n"));
  return note;
}

}  // namespace assay::suite
