// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include <assay/result.hpp>

#include "hub/hub.hpp"

namespace assay::hub {

/// How an exchange ended.
struct Answer {
  enum class Kind {
    kDone,         ///< an HTTP status and the complete body were received
    kUnreachable,  ///< no connection: name, refused, time-out, TLS
    kCut,          ///< the connection ended or stalled within the body
    kDisk,         ///< the file could not be written
    kCancelled,
  };
  Kind kind = Kind::kUnreachable;
  long status = 0;      ///< HTTP's; of the last redirect's target
  std::string problem;  ///< in words, for any kind but kDone
};

/// Called as bytes arrive, with the file's size so far. False ends the transfer.
using Arrived = std::function<bool(std::uint64_t bytes)>;

/// GETs, by libcurl, which is loaded with the first one: proxies, TLS and redirects as everywhere on the machine.
/// Thread: any; each call has its own connection.
[[nodiscard]] Result<Answer> get_text(const Settings& settings, const std::string& url, std::string& body,
                                      const Arrived& arrived);
/// Into `path`, whose content so far is kept and not requested again, if the server supports that. A body is only
/// written for a status of success. `most`: more bytes than that end the transfer as kCut.
[[nodiscard]] Result<Answer> get_file(const Settings& settings, const std::string& url,
                                      const std::filesystem::path& path, std::uint64_t most, const Arrived& arrived);

}  // namespace assay::hub
