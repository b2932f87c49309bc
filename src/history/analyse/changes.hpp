// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "history/analyse/analysis.hpp"
#include "history/store/dataset.hpp"

/// What changes_of() is made of. Used within this module only.
namespace assay {

/// The date of a time in seconds since 1970: "2026-03-02".
[[nodiscard]] std::string date_of(double seconds);

/// "bert on cpu, batch 1, on laboratory". `machines`: machine_names().
[[nodiscard]] std::string place_of(const Record& row, const std::map<std::string, std::string>& machines);

/// Whether the result is one: it ran, or failed. What was not available or skipped, or only verified again without a
/// verdict, is not a result.
[[nodiscard]] bool says_something(const HistoryPoint& point);
[[nodiscard]] bool works(const HistoryPoint& point);

[[nodiscard]] bool is_imported(const HistoryPoint& point);

/// The results of a cell that say something, the oldest first; without the imported ones if there are others.
struct SeriesHistory {
  const Record* row = nullptr;
  std::vector<HistoryPoint> points;  ///< never empty
};
[[nodiscard]] std::vector<SeriesHistory> series_histories(const Dataset& data);

/// When targets could not be tried. Lifetime: points into the dataset. Cost: of a question, a few binary searches.
class Refusals {
 public:
  explicit Refusals(const Dataset& data);
  /// The first time after `after` and until `until` that the row's cell could not be tried: its series says so, a row
  /// of its model on its target without a shape, or the lack of its hardware. null: there is none. What was skipped
  /// because it is too large or not built counts; what was skipped to save time or because of an interruption does
  /// not.
  [[nodiscard]] const HistoryPoint* first(const Record& row, double after, double until) const;

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string>;
  static std::vector<Key> keys_of(const Record& row);
  std::map<Key, std::vector<const HistoryPoint*>> by_key_;  // by time
};

/// Cells that are new, gone, or there again; those of one target, reason and date are one change.
class PresenceChanges {
 public:
  explicit PresenceChanges(const Dataset& data, const std::map<std::string, std::string>& machines)
      : data_(data), machines_(machines) {}
  /// `refused`: when the target was first refused; null for kNew. `before`: the result before, null for kNew.
  void add(Change::What what, const Record& row, const HistoryPoint* before, const HistoryPoint* refused);
  [[nodiscard]] std::vector<Change> take() const;

 private:
  struct Cells {
    std::vector<const Record*> rows;
    double first_s = 0, last_s = 0;  // times of the results before
  };
  using Key = std::tuple<Change::What, std::string, std::string, std::int32_t, std::string>;
  [[nodiscard]] std::string words_of(const Key& key, const Cells& cells) const;

  const Dataset& data_;
  const std::map<std::string, std::string>& machines_;
  std::map<Key, Cells> changes_;
};

}  // namespace assay
