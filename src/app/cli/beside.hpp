// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <assay/result.hpp>

#include "bench/measure/machine_mark.hpp"

namespace assay::cli {

/// Marks that this command measures, for other processes on this machine, and says on stderr which ones measure now:
/// that is not an error. `database`: where results are saved; "": they are not. `wait`: of --wait, with which the
/// command waits until it is its turn; nullopt: the command has no such option. Errors: cancelled, while it waits.
[[nodiscard]] Result<MachineMark> begin_beside_others(const std::string& command, const std::filesystem::path& database,
                                                      std::optional<bool> wait = {});

}  // namespace assay::cli
