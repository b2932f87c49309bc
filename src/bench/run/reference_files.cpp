// SPDX-License-Identifier: Apache-2.0
#include "bench/run/reference_files.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "core/base/files.hpp"
#include "core/base/hash.hpp"
#include "core/base/json.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr const char* kDone = "DONE";  ///< the checksum of each file of a reference

// The checksums of a reference's files, as DONE has them.
Result<Json> checksums(const fs::path& folder, std::size_t sets) {
  Json sums = Json::object();
  for (std::size_t set = 0; set < sets; ++set) {
    const std::string name = outputs_file(set);
    ASSAY_TRY(sums[name], sha256_file(folder / name));
    const std::string largest = largest_file(set);
    if (!fs::exists(folder / largest)) continue;
    ASSAY_TRY(sums[largest], sha256_file(folder / largest));
  }
  return sums;
}

// Whether the outputs that were kept are those that were written.
bool is_whole(const fs::path& folder, std::size_t sets) {
  const Result<Json> kept = read_json(folder / kDone);
  const Result<Json> now = checksums(folder, sets);
  return kept && now && *kept == *now;
}

}  // namespace

std::string outputs_file(std::size_t set) { return fmt::format("set{}.safetensors", set); }
std::string largest_file(std::size_t set) { return fmt::format("largest{}.safetensors", set); }

bool is_complete_reference(const fs::path& folder) { return fs::exists(folder / kDone); }

bool keep_only_whole_reference(const fs::path& folder, std::size_t sets) {
  if (!is_complete_reference(folder)) return false;
  if (is_whole(folder, sets)) return true;
  std::error_code ignored;
  fs::remove_all(folder, ignored);       // incomplete or changed: made again
  return is_complete_reference(folder);  // it could not be removed
}

Status complete_reference(const fs::path& folder, std::size_t sets) {
  // A worker does not sync its outputs. What is kept for later runs must be on the disk before DONE is.
  std::error_code ignored;
  for (fs::directory_iterator it(folder, ignored), end; !ignored && it != end; it.increment(ignored))
    ASSAY_CHECK_OK(sync_file(it->path()));
  ASSAY_TRY(const Json sums, checksums(folder, sets));
  return write_file_atomically(folder / kDone, json_text(sums));
}

std::optional<HonestErrors> kept_honest(const fs::path& file) {
  const Result<Json> json = read_json(file);
  if (!json || !json->is_object() || !json->contains("honest") || !json->contains("sha256")) return std::nullopt;
  if (json->at("sha256") != sha256_hex(json_text(json->at("honest")))) return std::nullopt;
  Result<HonestErrors> errors = honest_from_json(json->at("honest"));
  return errors ? std::optional(std::move(*errors)) : std::nullopt;
}

Status keep_honest(const fs::path& file, const HonestErrors& errors) {
  const Json json = to_json(errors);
  return write_file_atomically(file, json_text({{"sha256", sha256_hex(json_text(json))}, {"honest", json}}));
}

}  // namespace assay
