// SPDX-License-Identifier: Apache-2.0
#include "history/store/match_bundles.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/base/files.hpp"
#include "core/base/hash.hpp"
#include "history/store/bundle.hpp"

namespace assay::duckdb {
namespace fs = std::filesystem;
namespace {

struct StoredBundle {
  std::optional<std::int64_t> launch_id;
  std::string ingested_at;
};

/// What the tables say of bundles.
struct StoredRows {
  std::multimap<std::string, StoredBundle> by_hash, by_attempt;
  std::map<std::string, std::int64_t> launches;  ///< launch ids; the key is the attempt
  std::set<std::int64_t> with_content;           ///< launches that have samples or shapes
};

std::optional<std::int64_t> id_of(const Json& cell) {
  // The range of the column `launch_id` of samples.
  if (!cell.is_number_integer() || cell.get<std::int64_t>() < 1 ||
      cell.get<std::int64_t>() > std::numeric_limits<std::int32_t>::max())
    return std::nullopt;
  return cell.get<std::int64_t>();
}

std::string text_of(const Json& cell) { return cell.is_string() ? cell.get<std::string>() : std::string(); }

Result<StoredRows> read_rows(Database& database) {
  StoredRows stored;
  ASSAY_TRY(const Rows bundles,
            database.query("SELECT sha256, attempt_id, launch_id, ingested_at::VARCHAR FROM main.bundles"));
  for (const auto& row : bundles.rows) {
    const StoredBundle bundle{id_of(row.at(2)), text_of(row.at(3))};
    stored.by_hash.emplace(text_of(row.at(0)), bundle);
    stored.by_attempt.emplace(text_of(row.at(1)), bundle);
  }
  ASSAY_TRY(const Rows launches,
            database.query("SELECT attempt_id, launch_id FROM main.launches ORDER BY launch_id DESC"));
  for (const auto& row : launches.rows)
    if (const auto id = id_of(row.at(1))) stored.launches[text_of(row.at(0))] = *id;
  ASSAY_TRY(const Rows content,
            database.query("SELECT DISTINCT launch_id FROM main.samples UNION SELECT launch_id FROM "
                           "main.sample_distributions"));
  for (const auto& row : content.rows)
    if (const auto id = id_of(row.at(0))) stored.with_content.insert(*id);
  return stored;
}

std::optional<StoredChoice> choice_for(const FreshBundle& bundle, const std::string& sha256, const StoredRows& stored) {
  std::optional<StoredBundle> row;
  const auto take = [&](const auto& rows, const std::string& key) {
    if (const auto found = rows.find(key); !row && found != rows.end()) row = found->second;
  };
  take(stored.by_hash, sha256);
  take(stored.by_attempt, bundle.attempt);
  std::optional<std::int64_t> id = row ? row->launch_id : std::nullopt;
  if (const auto launch = stored.launches.find(bundle.attempt); launch != stored.launches.end())
    if (!id || !stored.with_content.contains(*id)) id = launch->second;
  if (!id) return std::nullopt;
  return StoredChoice{*id, row ? row->ingested_at : ""};
}

}  // namespace

Result<MatchedBundles> match_bundles(Database& database, const std::vector<fs::path>& folders) {
  ASSAY_TRY(const StoredRows stored, read_rows(database));
  MatchedBundles matched;
  std::set<std::string> hashes;
  std::set<std::int64_t> taken;
  std::vector<std::pair<FreshBundle, std::string>> unmatched;  // with their hashes
  std::vector<FreshBundle> bundles = in_order_of_time(folders);
  // A copy under another name must not take the row of the one that was ingested.
  std::ranges::stable_partition(bundles,
                                [&](const FreshBundle& bundle) { return stored.by_attempt.contains(bundle.attempt); });
  for (FreshBundle& bundle : bundles) {
    const std::string done = read_file(bundle.folder / bundle_file::kDone).value_or("");
    const std::string sha256 = sha256_hex(done);
    bundle.stored = choice_for(bundle, sha256, stored);
    // Ingesting leaves a copy out, also if a row has its attempt. Files that are damaged are no copies of each other.
    const bool is_copy = !done.empty() && hashes.contains(sha256);
    if (bundle.stored && !is_copy && taken.insert(bundle.stored->launch_id).second) {
      hashes.insert(sha256);
      matched.stored.push_back(std::move(bundle));
    } else {
      unmatched.emplace_back(std::move(bundle), sha256);
    }
  }
  std::ranges::sort(matched.stored, {}, [](const FreshBundle& bundle) { return bundle.stored->launch_id; });
  for (auto& [bundle, sha256] : unmatched)
    if (!hashes.contains(sha256)) matched.unknown.push_back(std::move(bundle.folder));
  return matched;
}

}  // namespace assay::duckdb
