// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "core/base/json.hpp"
#include "core/result/record.hpp"
#include "core/traits/cell.hpp"
#include "show/dashboard/columns.hpp"

namespace assay {

struct Dataset;

/// Used within this module.
namespace dashboard {

/// Numbers that are equal where the keys are.
class Numbers {
 public:
  std::int64_t of(const std::string& key) {
    return numbers_.try_emplace(key, static_cast<std::int64_t>(numbers_.size())).first->second;
  }

 private:
  std::map<std::string, std::int64_t> numbers_;
};

/// The table of earlier and newest results: of each series the newest `most`. With what the page needs to compare an
/// earlier result with another one as C++ would: `comparable` (numbers of `comparable`, as those of the cells), and
/// `usable`: it is ranked, and its target computes wrong numbers for the model at no shape with those versions.
/// `cells`: those of the dataset, with the names of the analysis.
[[nodiscard]] Json history_json(Columns& columns, const Dataset& data, std::span<const Record> cells,
                                Numbers& comparable, std::size_t most);

}  // namespace dashboard
}  // namespace assay
