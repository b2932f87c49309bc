// SPDX-License-Identifier: Apache-2.0
#include "app/suite/folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/files.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"

namespace assay::suite {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kStampLength = 15, kDateLength = 8;

// "20250302_123456" of "2025-03-02T12:34:56.789Z".
std::string stamp_of(const std::string& time) {
  std::string digits;
  for (const char c : time)
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) digits += c;
  return digits.substr(0, kDateLength) + "_" + digits.substr(kDateLength, kStampLength - kDateLength - 1);
}

// "20250302_123456" and "20250302_123456_2": the stamp and the number.
std::optional<std::pair<std::string, int>> suite_name(const std::string& name) {
  if (name.size() < kStampLength || name[kDateLength] != '_') return std::nullopt;
  for (std::size_t i = 0; i < kStampLength; ++i)
    if (i != kDateLength && std::isdigit(static_cast<unsigned char>(name[i])) == 0) return std::nullopt;
  if (name.size() == kStampLength) return std::pair(name, 1);
  if (name[kStampLength] != '_') return std::nullopt;
  const auto number = parse_number<int>(name.substr(kStampLength + 1));
  return number ? std::optional(std::pair(name.substr(0, kStampLength), *number)) : std::nullopt;
}

}  // namespace

Result<fs::path> make_folder(const fs::path& output_dir, const std::string& prefix) {
  ASSAY_CHECK_OK(make_directories(output_dir));
  const std::string stamp = prefix + stamp_of(iso8601(wall_now()));
  for (int i = 1;; ++i) {
    fs::path folder = output_dir / (i == 1 ? stamp : fmt::format("{}_{}", stamp, i));
    std::error_code error;
    if (fs::create_directory(folder, error)) return folder;
    if (error)
      return fail(ErrorCode::kInternal,
                  fmt::format("cannot make the folder '{}': {}", folder.string(), error.message()));
  }
}

std::vector<fs::path> suite_folders(const fs::path& output_dir) {
  std::vector<std::pair<std::pair<std::string, int>, fs::path>> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(output_dir, error))
    if (const auto name = suite_name(entry.path().filename().string()); name && entry.is_directory(error))
      found.emplace_back(*name, entry.path());
  std::ranges::sort(found, std::greater<>());
  std::vector<fs::path> folders;
  folders.reserve(found.size());
  for (auto& [name, path] : found) folders.push_back(std::move(path));
  return folders;
}

Status write_results(const fs::path& folder, const ReportInput& input) {
  ASSAY_CHECK_OK(write_file_atomically(folder / kResultsFile, json_text(guide_json(input), 2) + "\n"));
  ASSAY_CHECK_OK(write_file_atomically(folder / kCsvFile, csv_table(input.rows)));
  return write_file_atomically(folder / kReportFile, markdown_report(input));
}

}  // namespace assay::suite
