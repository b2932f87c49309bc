// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/result/status.hpp"

namespace assay {

/// Why a cell does not run: the status and reason of its row.
struct Refusal {
  CellStatus status = CellStatus::kUnavailable;
  std::optional<Reason> reason_code;  ///< absent: none is stored
  std::string message, hint;
};

}  // namespace assay
