// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/status.hpp"

namespace assay {

/// Why a cell does not run: the status and reason of its row.
struct Refusal {
  CellStatus status = CellStatus::kUnavailable;
  std::string reason_code, message, hint;
};

}  // namespace assay
