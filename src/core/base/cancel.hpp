// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <assay/result.hpp>

namespace assay {

/// Whether the user cancelled the work (Ctrl-C). Long work calls it a few times a second; empty: it never ends
/// early.
using Cancelled = std::function<bool()>;

/// Errors: cancelled.
[[nodiscard]] inline Status check_cancelled(const Cancelled& cancelled) {
  if (cancelled && cancelled()) return fail(ErrorCode::kCancelled, "interrupted");
  return {};
}

}  // namespace assay
