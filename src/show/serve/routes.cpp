// SPDX-License-Identifier: Apache-2.0
#include "show/serve/routes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/text.hpp"

namespace assay::serve {
namespace {

constexpr const char* kJsonType = "application/json; charset=utf-8";

// The page's own policy is in the page. Two policies hold together: this one forbids what a page cannot forbid itself.
constexpr std::array<std::pair<const char*, const char*>, 6> kHeaders{{
    {"Content-Security-Policy", "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
}};

bool is_loopback(std::string_view host, int port) {
  const std::string number = std::to_string(port);
  return std::ranges::any_of(std::array{"127.0.0.1", "localhost", "[::1]"},
                             [&](const char* name) { return lower(host) == std::string(name) + ":" + number; });
}

Response refusal(int status, std::string text) {
  Response response;
  response.status = status;
  response.body = std::move(text) + "\n";
  return response;
}

Response json_answer(const Json& json) {
  Response response;
  response.type = kJsonType;
  response.body = json_text(json) + "\n";
  return response;
}

Response document_answer(const Request& request, const Site& site) {
  if (site.document == nullptr) return refusal(503, site.missing);
  Response response;
  response.headers.emplace_back("ETag", site.document->etag);
  if (request.if_none_match == site.document->etag) {
    response.status = 304;
    return response;
  }
  response.type = "application/octet-stream";
  response.body = site.document->bytes;
  return response;
}

Response cell_answer(std::string_view id, const Site& site) {
  const auto number = parse_number<std::int64_t>(id);
  if (!number || *number < 1 || !site.cell) return refusal(404, "there is no such cell");
  const Result<Json> cell = site.cell(*number);
  if (!cell) return refusal(cell.error().code == ErrorCode::kNotFound ? 404 : 503, cell.error().message);
  return json_answer(*cell);
}

Response page_answer(const Site& site) {
  Response response;
  response.type = "text/html; charset=utf-8";
  response.body = site.page;
  return response;
}

Response route(const Request& request, const Site& site) {
  if (request.method != "GET" && request.method != "HEAD") {
    Response response = refusal(405, "this server only answers GET and HEAD");
    response.headers.emplace_back("Allow", "GET, HEAD");
    return response;
  }
  if (request.has_body) return refusal(413, "a request must not have a body");
  if (request.has_range) return refusal(416, "only whole answers are sent");
  if (request.target.size() > kLongestTarget) return refusal(414, "the address is too long");
  // Another name that leads here is a page of somebody else's that has been pointed at this machine (DNS rebinding).
  if (!request.host || !is_loopback(*request.host, site.port))
    return refusal(421, fmt::format("this server is http://127.0.0.1:{}/", site.port));
  if (request.origin && !(request.origin->starts_with("http://") && is_loopback(request.origin->substr(7), site.port)))
    return refusal(421, "requests of other sites are not answered");
  const std::string_view path = std::string_view(request.target).substr(0, request.target.find('?'));
  constexpr std::string_view kCell = "/api/cell/";
  if (path == "/") return page_answer(site);
  if (path == "/data") return document_answer(request, site);
  if (path == "/api/version") return json_answer(site.version);
  if (path.starts_with(kCell)) return cell_answer(path.substr(kCell.size()), site);
  if (path == "/events" && request.method == "GET") {
    Response response;
    response.type = "text/event-stream";
    response.events = true;
    return response;
  }
  return refusal(404, "there is nothing here; the page is at /");
}

}  // namespace

Response answer(const Request& request, const Site& site) {
  Response response = route(request, site);
  for (const auto& [name, value] : kHeaders) response.headers.emplace_back(name, value);
  if (request.method == "HEAD") response.body.clear();
  return response;
}

std::string event_text(std::string_view name, std::string_view data) {
  std::string text = fmt::format("event: {}\n", name);
  for (const std::string& line : split(data, '\n')) text += "data: " + line + "\n";
  return text + "\n";
}

}  // namespace assay::serve
