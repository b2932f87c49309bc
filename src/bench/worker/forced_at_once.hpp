// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace assay {

/// If this environment variable is set, a worker runs forced tokens at once where it can
/// (Generator::run_forced_at_once): for references, which need the numbers and not the steps.
inline constexpr const char* kForcedAtOnce = "ASSAY_WORKER_FORCED_AT_ONCE";

}  // namespace assay
