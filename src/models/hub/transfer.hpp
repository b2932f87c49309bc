// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include <assay/result.hpp>

#include "models/hub/hub.hpp"

namespace assay::hub {

/// The result of one HTTP GET.
struct Answer {
  enum class Kind {
    kDone,         ///< an HTTP status and the complete body were received
    kUnreachable,  ///< no connection: name, refused, time-out, TLS
    kCut,          ///< the connection ended or stalled within the body, or the body is too long
    kDisk,         ///< the file could not be written
    kCancelled,
  };
  Kind kind = Kind::kUnreachable;
  long status = 0;      ///< HTTP's; of the last redirect's target
  std::string problem;  ///< description of the problem, for any kind but kDone
};

/// Called as bytes arrive, with the file's size so far. False ends the transfer.
using Arrived = std::function<bool(std::uint64_t bytes)>;

/// HTTP GET with libcurl, which is loaded on first use. Proxies and certificates are those of the machine; redirects
/// are followed. A body of more than 64 MiB ends as kCut. Thread: any; each call has its own connection.
[[nodiscard]] Result<Answer> get_text(const Settings& settings, const std::string& url, std::string& body,
                                      const Arrived& arrived);
/// HTTP GET into a file. Resumes a partial file at `path` if the server supports ranges. The body is only written for a
/// status of success. More than `most` bytes end the transfer as kCut.
[[nodiscard]] Result<Answer> get_file(const Settings& settings, const std::string& url,
                                      const std::filesystem::path& path, std::uint64_t most, const Arrived& arrived);

}  // namespace assay::hub
