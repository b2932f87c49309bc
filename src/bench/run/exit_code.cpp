// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "bench/run/session.hpp"

namespace assay {

ExitCode exit_code_of(const SessionResult& session, const std::vector<ModelChoice>& models, bool verify_command) {
  const auto from_set = [&](const Record& row) {
    const auto it =
        std::find_if(models.begin(), models.end(), [&](const ModelChoice& m) { return m.name == row.model; });
    return it != models.end() && it->from_set;
  };
  const auto ran = [](const Record& row) {
    return row.status == CellStatus::kCompleted || row.status == CellStatus::kWrong;
  };
  const bool any_completed = std::any_of(session.rows.begin(), session.rows.end(),
                                         [](const Record& row) { return row.status == CellStatus::kCompleted; });
  const bool any_ran = std::any_of(session.rows.begin(), session.rows.end(), ran);
  const bool any_verified = std::any_of(session.rows.begin(), session.rows.end(), [](const Record& row) {
    return row.status == CellStatus::kCompleted && row.verification == Verification::kVerified;
  });

  const bool nothing_built =
      !session.rows.empty() && std::all_of(session.rows.begin(), session.rows.end(),
                                           [](const Record& row) { return row.reason_code == Reason::kNotBuilt; });

  ExitCode code = nothing_built ? ExitCode::kUsage : ExitCode::kSuccess;
  if (session.interrupted) code = worse(code, ExitCode::kInterrupted);
  if (session.rows.empty() && !session.interrupted) code = worse(code, ExitCode::kCannotTell);
  if (session.usage_error) code = worse(code, ExitCode::kUsage);
  if (session.store_failed || !session.unsaved.empty()) code = worse(code, ExitCode::kFailure);
  for (const Record& row : session.rows) {
    switch (row.status) {
      case CellStatus::kCompleted:
        break;
      case CellStatus::kWrong:
        code = worse(code, ExitCode::kFinding);
        break;
      case CellStatus::kFailed: {
        // The user named this model, and its file is wrong.
        const bool wrong_file = row.reason_code == Reason::kInvalidArgument && !from_set(row);
        code = worse(code, wrong_file ? ExitCode::kUsage : ExitCode::kFailure);
        break;
      }
      case CellStatus::kUnavailable:
        // Not a failure if something ran.
        if (!any_ran) code = worse(code, ExitCode::kCannotTell);
        break;
      case CellStatus::kUnsupported:
      case CellStatus::kSkipped:
        // Part of a set, a slow default batch, an engine of a later version: the row says so, it is not a failure of
        // the request.
        if (from_set(row) || row.reason_code == Reason::kNoTime || row.reason_code == Reason::kNotBuilt) {
          if (!any_completed) code = worse(code, ExitCode::kCannotTell);
        } else {
          // Requested by name and refused; a batch that the file does not have is such a case.
          code = worse(code, ExitCode::kFailure);
        }
        break;
    }
  }
  if (verify_command && any_completed && !any_verified) code = worse(code, ExitCode::kCannotTell);
  return code;
}

}  // namespace assay
