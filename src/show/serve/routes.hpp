// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "core/base/json.hpp"

/// What `assay serve` answers, without a socket. A path is looked up in a list and never becomes the name of a file.
namespace assay::serve {

struct Request {
  std::string method, target;  ///< "GET", "/api/cell/4?x": as sent
  std::optional<std::string> host, origin, if_none_match;
  bool has_body = false, has_range = false;
};

struct Response {
  int status = 200;
  std::string type = "text/plain; charset=utf-8", body{};
  std::vector<std::pair<std::string, std::string>> headers{};
  bool events = false;  ///< the connection stays open and gets server-sent events instead of a body
};

/// The document of the database at one time.
struct Document {
  std::string bytes;  ///< deflated (zlib's format)
  std::string etag;   ///< changes with the database: "\"4f1c\""
};

/// What there is to answer from.
struct Site {
  int port = 0;
  std::string page;                          ///< HTML
  std::shared_ptr<const Document> document;  ///< null: there is none yet
  std::string missing{};                     ///< why there is no document, and what to do
  std::function<Result<Json>(std::int64_t result_id)> cell{};
  Json version = Json::object();
};

/// The answer.
///
///   GET /             the page                      404  every other path
///   GET /data         the document; 304 if it did   405  every other method; says which are allowed
///                     not change; 503 if there is   421  another host than this machine's loopback, or an Origin
///                     none                               that is not this server
///   GET /api/cell/ID  the launches of one cell      413  a request with a body
///   GET /api/version  tool and schema               414  a target of more than kLongestTarget bytes
///   GET /events       server-sent events            416  a Range: no part of an answer is sent, nor many parts
///
/// HEAD is answered as GET, without the body. Every answer forbids sniffing, framing, referrers and caching.
[[nodiscard]] Response answer(const Request& request, const Site& site);

inline constexpr std::size_t kLongestTarget = 2048;

/// "data: …" lines of a server-sent event.
[[nodiscard]] std::string event_text(std::string_view name, std::string_view data);

}  // namespace assay::serve
