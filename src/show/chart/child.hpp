// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include <assay/result.hpp>

#include "core/base/cancel.hpp"

/// Inside the module: work that cannot be stopped otherwise.
namespace assay::chart {

/// The result of `work`, which runs in a copy of this process (fork) and is killed when its time is over. Debian's
/// Duktape has no hook for a script that never ends (DUK_USE_EXEC_TIMEOUT_CHECK).
///
/// `work` must not use another thread, nor locks that another thread of this process may have; it may allocate memory.
/// What it changes is lost, but for its result.
/// Cost:   some milliseconds, for the pages that the copy changes.
/// Errors: those of `work`; timeout, cancelled; internal (the copy ended by itself, or could not be started).
[[nodiscard]] Result<std::string> run_in_child(const std::function<Result<std::string>()>& work,
                                               std::chrono::milliseconds deadline, const Cancelled& cancelled);

}  // namespace assay::chart
