// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/json.hpp"

namespace assay {

/// Facts about an invocation, for the record.
struct RunInfo {
  std::string run_id;
  std::string command;
  std::string started;  ///< UTC, ISO 8601
  std::string host, tool_version, git_commit;
  Json system = Json::object();    ///< the guide's system_info
  Json hardware = Json::object();  ///< all hardware: available, or why not
  Json doctor;                     ///< what `assay doctor` says of the machine before the run; null: nobody asked
  std::string hardware_fingerprint;
};

}  // namespace assay
