// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/settings/settings.hpp"
#include "core/result/record.hpp"

namespace assay {
class Store;
}

/// Which models and cells `assay coverage` measures.
namespace assay::suite {

/// A hundred years: the most that --older-than takes.
inline constexpr double kMostDays = 36'500;

/// The architectures that the zoo builds, in its order. `size`: of --size; with "tiny" nothing is looked up elsewhere
/// and the weights are random; else the published checkpoint, where there is one. Empty lists do not select. Errors:
/// invalid_argument for an unknown category or model, with the nearest.
[[nodiscard]] Result<std::vector<ModelChoice>> coverage_models(const std::vector<std::string>& categories,
                                                               const std::vector<std::string>& models,
                                                               const std::string& size);

/// Whether the zoo builds an architecture of this name.
[[nodiscard]] bool is_architecture(const std::string& name);

/// The number of architectures that the catalogue names, of which this version builds no graph.
[[nodiscard]] std::size_t architectures_not_built();

/// What the history of a machine says about its cells.
class Covered {
 public:
  /// Nothing is known.
  Covered() = default;
  /// Cells that are settled with a version of their engine; those that are unsupported or failed only for the version
  /// of assay that says so. A database that does not exist has none. Errors: those of Store::open and Store::ask.
  [[nodiscard]] static Result<Covered> read(const std::filesystem::path& database, const std::string& machine);
  /// Cells whose newest settled result is older than so many days (0 to kMostDays). Errors: as above.
  [[nodiscard]] static Result<Covered> older_than(const std::filesystem::path& database, const std::string& machine,
                                                  double days);

  /// Whether the planned row, with its keys, is one of them.
  [[nodiscard]] bool has(const Record& row) const;
  /// Whether all that is known of the row's cell, with these versions of its engine and of assay, is that it failed.
  [[nodiscard]] bool has_failed(const Record& row) const;
  /// Whether there is a settled result of the row's series, of whatever age and version.
  [[nodiscard]] bool has_any(const Record& row) const { return series_.contains(row.series_key); }

 private:
  /// What coverage_done has of `machine`.
  Status read_series(Store& store, const std::string& machine);
  /// Whether it is settled, and did not fail.
  [[nodiscard]] bool has_result(const Record& row) const;

  std::set<std::string> series_;            ///< keys of those with a settled result
  std::set<std::string> results_, failed_;  ///< series keys with their versions
  std::set<std::string> old_;               ///< series keys, if those decide
  bool by_version_ = true;
};

}  // namespace assay::suite
