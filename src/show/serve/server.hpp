// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <assay/result.hpp>

#include "core/base/cancel.hpp"
#include "core/base/json.hpp"

namespace assay::serve {

/// Where the answers come from. The functions are called from threads of the server, one at a time each.
struct Content {
  std::string page;                                            ///< HTML that fetches /data
  std::function<Result<std::string>()> document;               ///< packed and deflated, from the database as it is now
  std::function<Result<Json>(std::int64_t result_id)> cell{};  ///< all that is known of one cell
  Json version = Json::object();
};

struct ServeOptions {
  std::filesystem::path database;
  int port = 0;                                        ///< 0: a free one
  bool once = false;                                   ///< ends after the first document that was fetched
  std::optional<std::chrono::seconds> idle_timeout{};  ///< ends after so long without a request and without a reader
  Cancelled cancelled{};
};

/// Answers on 127.0.0.1 until it is cancelled, or as `options` say. `listening` gets the address. Only GET and HEAD
/// (routes.hpp); at most kMostReaders connections with events at a time.
///
/// Once a second it looks at the database's snapshot and at `<name>.progress.json` beside it. When the snapshot
/// changed, the document is made again and readers get the event `snapshot` with its tag; the events `progress` have
/// the content of the other file while the process that it names runs. A snapshot that cannot be read does not take
/// away the document before: readers get the event `missing` with the reason, and it is tried again every ten seconds.
/// No file stays open in between.
///
/// Errors: invalid_argument (the port is in use, or out of range).
[[nodiscard]] Status serve(const ServeOptions& options, const Content& content,
                           const std::function<void(const std::string& url)>& listening);

inline constexpr int kMostReaders = 8;

/// `<name>.progress.json`, beside the database.
[[nodiscard]] std::filesystem::path progress_path(const std::filesystem::path& database);

}  // namespace assay::serve
