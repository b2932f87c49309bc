// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/result/record.hpp"

/// Used within this module, and by tables and the document of the dashboard.
namespace assay {

/// Copies of some rows, with names that stand for one model each.
struct RowGroup {
  std::string machine;      ///< the machine's name in answers; "" if there is only one
  std::string hardware_id;  ///< id of the machine
  std::string name;         ///< name of the model, architecture or category that the rows belong to
  std::vector<Record> rows;
  std::vector<const Record*> from;  ///< the original of each

  /// The original of a row of `rows`; null for null.
  [[nodiscard]] const Record* original(const Record* row) const;
};

/// Which targets compute wrong numbers for a model, at whatever shape: nobody should be sent to them.
class WrongTargets {
 public:
  explicit WrongTargets(std::span<const Record> rows);
  /// Whether the row's target does, on the row's machine.
  [[nodiscard]] bool has_target_of(const Record& row) const;

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  static Key key_of(const Record& row);
  std::set<Key> wrong_;
};

/// How answers name each machine, by its id: by host; by host and id if two have one name; "" if there is one machine.
[[nodiscard]] std::map<std::string, std::string> machine_names(std::span<const Record> rows);

/// The rows of each machine. A name stands for the same model on all of them.
[[nodiscard]] std::vector<RowGroup> groups_by_machine(std::span<const Record> rows);

/// A group in parts, in order of first appearance; rows for which `name` gives "" are left out.
[[nodiscard]] std::vector<RowGroup> parts_of(const RowGroup& group,
                                             const std::function<std::string(const Record&)>& name);

/// The group without the targets that compute wrong numbers for a model, at whatever shape.
[[nodiscard]] RowGroup without_wrong_targets(const RowGroup& group);

/// Cells that several targets have.
struct CommonCells {
  std::vector<std::string> targets;               ///< the compared targets: those that share cells, most cells first
  std::vector<std::vector<const Record*>> cells;  ///< each cell has the row of each target, in the order of `targets`
  std::vector<std::string> left_out;              ///< targets without a common cell
};
/// The cells that all of the targets have, of the rows that `usable` accepts. A target that has no cell in common with
/// those before it is left out.
[[nodiscard]] CommonCells common_cells(std::span<const Record> rows, const std::function<bool(const Record&)>& usable);

/// exp(mean of the logarithms); the values are positive, at least one.
[[nodiscard]] double geometric_mean(std::span<const double> values);

}  // namespace assay
