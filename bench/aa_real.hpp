// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cell.hpp"

namespace assay::bench {

/// Measures `settings.pairs` pairs of equal cells on this machine and prints a row for each. The two cells of a pair
/// have the same engine, model file, inputs and settings. Each round starts a fresh worker for each in random order,
/// one after the other: it loads, warms up and runs `settings.seconds`; three rounds, then further ones, at most ten,
/// as long as the pair is undecided. The pairs take turns with the engines and models. Beside it stands what the
/// intervals of the first process of each say, the verdict that was replaced. The result is the number of pairs that
/// are called different.
[[nodiscard]] Result<int> judge_equal_pairs(const Settings& settings, const std::vector<std::string>& models);

}  // namespace assay::bench
