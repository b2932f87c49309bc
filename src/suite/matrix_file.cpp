// SPDX-License-Identifier: Apache-2.0
#include "suite/matrix_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "analyse/analyse.hpp"
#include "base/files.hpp"
#include "base/json_object.hpp"
#include "base/text.hpp"
#include "report/report.hpp"

namespace assay::suite {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFamilies = "model_families";
constexpr const char* kEarlier = "earlier";

// A model on a hardware of a family.
using Place = std::tuple<std::string, std::string, std::string>;

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Those that assay tried: what was skipped, and what another program measured, replaces nothing.
std::set<Place> tried_in(std::span<const Record> rows) {
  std::set<Place> places;
  for (const Record& row : rows) {
    const bool tried = row.status != CellStatus::kSkipped && row.status != CellStatus::kUnavailable;
    if (tried && !exchange::is_foreign(row)) places.emplace(row.family, matrix_word(target_key(row)), row.model);
  }
  return places;
}

bool was_tried(const Json& result) {
  const Json& shapes = result.at("shapes");
  return std::ranges::any_of(shapes, [](const Json& each) {
    const std::optional<CellStatus> status = cell_status_from(each.get_ref<const std::string&>());
    return status != CellStatus::kSkipped && status != CellStatus::kUnavailable;
  });
}

// Whether all that the matrix says is of this machine and was tried anew. The guide's scripts write no schema_version.
bool is_replaced(const Json& matrix, const Json& made, const std::set<Place>& tried) {
  if (!matrix.contains("schema_version") || text_at(matrix, "host") != text_at(made, "host")) return false;
  for (const auto& [family, content] : matrix.at(kFamilies).items())
    for (const auto& [hardware, entry] : content.at("hardware_compatibility").items())
      for (const Json& result : entry.at("benchmark_results")) {
        const Place place{family, hardware, result.at("model_name").get<std::string>()};
        if (was_tried(result) && !tried.contains(place)) return false;
      }
  return true;
}

// The matrix, and those that it kept, oldest first.
Json with_those_it_kept(Json matrix) {
  Json all = matrix.value(kEarlier, Json::array());
  if (!all.is_array()) return Json::array({std::move(matrix)});
  matrix.erase(kEarlier);
  all.push_back(std::move(matrix));
  return all;
}

Json not_replaced(Json earlier, const Json& made, const std::set<Place>& tried) {
  Json kept = Json::array();
  for (Json& matrix : with_those_it_kept(std::move(earlier))) {
    bool replaced = false;
    try {
      replaced = is_replaced(matrix, made, tried);
    } catch (const Json::exception&) {
      replaced = false;  // not as assay writes it
    }
    if (!replaced && std::ranges::find(kept, matrix) == kept.end()) kept.push_back(std::move(matrix));
  }
  return kept;
}

// internal and not invalid_argument: after a measurement it is not the command line that was wrong.
tl::unexpected<Error> damaged(const fs::path& file, const std::string& why) {
  return fail(ErrorCode::kInternal, fmt::format("{}; {} stays as it is", why, shown_path(file)),
              "repair the file; or remove it, and it is written from the history alone");
}

Result<Json> read_matrix(const fs::path& file) {
  ASSAY_TRY(std::string text, read_file(file));
  Result<JsonDocument> document = JsonDocument::parse(std::move(text), file.string());
  if (!document) return damaged(file, document.error().message);
  const auto families = document->value.find(kFamilies);
  if (families != document->value.end() && families->is_object()) return std::move(document->value);
  return damaged(file, fmt::format("{}:{}: not a compatibility matrix: \"{}\" must be an object of families",
                                   document->name, document->place_of_value({kFamilies}).line, kFamilies));
}

}  // namespace

Result<std::string> write_matrix_file(const fs::path& file, Json made, std::span<const Record> rows) {
  std::string note;
  std::error_code absent;
  if (fs::exists(file, absent)) {
    ASSAY_TRY(Json earlier, read_matrix(file));
    Json kept = not_replaced(std::move(earlier), made, tried_in(rows));
    if (!kept.empty()) {
      note = fmt::format("{} keeps {} under \"{}\": this history lacks results of {}", shown_path(file),
                         kept.size() == 1 ? "an earlier matrix" : fmt::format("{} earlier matrices", kept.size()),
                         kEarlier, kept.size() == 1 ? "it" : "them");
      made[kEarlier] = std::move(kept);
    }
  }
  ASSAY_CHECK_OK(write_file_atomically(file, json_text(made, 2) + "\n"));
  return note;
}

}  // namespace assay::suite
