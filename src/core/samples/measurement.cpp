// SPDX-License-Identifier: Apache-2.0
#include "core/samples/measurement.hpp"

namespace assay {

std::string_view to_string(StopReason reason) {
  switch (reason) {
    case StopReason::kIterations:
      return "iterations";
    case StopReason::kPrecisionReached:
      return "precision_reached";
    case StopReason::kMaxSamples:
      return "max_samples";
    case StopReason::kMaxTime:
      return "max_time";
    case StopReason::kInterrupted:
      return "interrupted";
    case StopReason::kFailure:
      return "failure";
  }
  return "failure";
}

}  // namespace assay
