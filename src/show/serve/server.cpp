// SPDX-License-Identifier: Apache-2.0
#include "show/serve/server.hpp"

#include <fmt/format.h>
#include <httplib.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "core/base/guard.hpp"
#include "show/serve/routes.hpp"
#include "show/serve/watch.hpp"

namespace assay::serve {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr const char* kAddress = "127.0.0.1";
constexpr int kThreads = kMostReaders + 4;  // a reader keeps one; the others answer
constexpr std::chrono::seconds kPatience{10};
constexpr std::chrono::milliseconds kBetweenLooks{1000}, kBetweenChecks{50};
constexpr int kBeatsBetweenComments = 15;

/// Facts of the requests, for the end of the server.
struct Activity {
  std::atomic<int> readers = 0;
  std::atomic<bool> document_sent = false;
  std::atomic<SteadyTime::rep> last_request = std::chrono::steady_clock::now().time_since_epoch().count();
};

std::optional<std::string> header(const httplib::Request& request, const char* name) {
  return request.has_header(name) ? std::optional(request.get_header_value(name)) : std::nullopt;
}

Request request_of(const httplib::Request& from) {
  Request request;
  request.method = from.method;
  request.target = from.target;
  request.host = header(from, "Host");
  request.origin = header(from, "Origin");
  request.if_none_match = header(from, "If-None-Match");
  request.has_body = from.has_header("Transfer-Encoding") ||
                     (from.has_header("Content-Length") && from.get_header_value("Content-Length") != "0");
  request.has_range = from.has_header("Range");
  return request;
}

// As a provider of known length, which the library does not compress: between processes of one machine that only takes
// time, a second for the page.
void send(std::string body, const std::string& type, httplib::Response& to) {
  const auto size = body.size();
  to.set_content_provider(size, type,
                          [body = std::move(body)](std::size_t at, std::size_t count, httplib::DataSink& sink) {
                            return sink.write(body.data() + at, count);
                          });
}

/// Sends events until the reader goes away or the server ends.
void send_events(const std::shared_ptr<Watch>& watch, const std::shared_ptr<Activity>& activity,
                 httplib::Response& response) {
  struct Reader {
    std::uint64_t generation = 0;
    std::string etag, missing, progress;
    int beats = 0;
    bool begun = false;
  };
  auto reader = std::make_shared<Reader>();
  response.set_chunked_content_provider(
      "text/event-stream",
      [watch, reader](std::size_t, httplib::DataSink& sink) {
        const Watch::Seen seen = reader->begun ? watch->wait(reader->generation) : watch->seen();
        reader->begun = true;
        reader->generation = seen.generation;
        std::string text;
        const std::string etag = seen.document == nullptr ? "" : seen.document->etag;
        if (std::exchange(reader->etag, etag) != etag) text += event_text("snapshot", etag);
        if (std::exchange(reader->missing, seen.missing) != seen.missing)
          text += event_text("missing", seen.missing.empty() ? "null" : json_text(Json(seen.missing)));
        if (std::exchange(reader->progress, seen.progress) != seen.progress)
          text += event_text("progress", seen.progress.empty() ? "null" : seen.progress);
        if (text.empty() && ++reader->beats % kBeatsBetweenComments == 0) text = ": still here\n\n";
        if (!text.empty() && !sink.write(text.data(), text.size())) return false;
        if (seen.ended) sink.done();
        return sink.is_writable();
      },
      [activity](bool) {
        --activity->readers;
        activity->last_request = std::chrono::steady_clock::now().time_since_epoch().count();
      });
}

bool is_idle(const ServeOptions& options, const Activity& activity) {
  if (!options.idle_timeout || activity.readers > 0) return false;
  const SteadyTime last{SteadyTime::duration(activity.last_request.load())};
  return std::chrono::steady_clock::now() - last > *options.idle_timeout;
}

}  // namespace

Status serve(const ServeOptions& options, const Content& content,
             const std::function<void(const std::string& url)>& listening) {
  constexpr int kHighestPort = 65535;
  if (options.port < 0 || options.port > kHighestPort)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("port {} is invalid; use 0 to {}", options.port, kHighestPort));
  const auto watch = std::make_shared<Watch>(options, content);
  const auto activity = std::make_shared<Activity>();
  Site site{.port = 0, .page = content.page, .document = nullptr, .version = content.version};
  std::mutex one_cell;
  if (content.cell)
    site.cell = [&](std::int64_t id) {
      const std::scoped_lock lock(one_cell);
      return guarded("while reading a cell", [&] { return content.cell(id); });
    };

  httplib::Server server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server.set_read_timeout(kPatience);
  server.set_write_timeout(kPatience);
  // Not the library's SO_REUSEPORT, which lets two servers share a port.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    static_cast<void>(::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes));
  });
  server.set_keep_alive_max_count(1);
  server.set_payload_max_length(0);
  // Before the library reads a body or looks at its own routes.
  server.set_pre_routing_handler([&](const httplib::Request& from, httplib::Response& to) {
    activity->last_request = std::chrono::steady_clock::now().time_since_epoch().count();
    Site now = site;
    const Watch::Seen seen = watch->seen();
    now.document = seen.document;
    now.missing = seen.missing;
    Response response = answer(request_of(from), now);
    if (response.events && ++activity->readers > kMostReaders) {
      --activity->readers;
      response.events = false;
      response.status = 503;
      response.type = "text/plain; charset=utf-8";
      response.body = "there are too many readers\n";
    }
    to.status = response.status;
    for (const auto& [name, value] : response.headers) to.set_header(name.c_str(), value);
    if (response.events) {
      send_events(watch, activity, to);
    } else {
      if (response.status != 304) send(std::move(response.body), response.type, to);
      const bool is_document = from.method == "GET" && (from.target == "/data" || from.target.starts_with("/data?"));
      if (is_document && response.status == 200) activity->document_sent = true;
    }
    return httplib::Server::HandlerResponse::Handled;
  });
  site.port = options.port == 0                             ? server.bind_to_any_port(kAddress)
              : server.bind_to_port(kAddress, options.port) ? options.port
                                                            : -1;
  if (site.port < 0)
    return fail(ErrorCode::kInvalidArgument, fmt::format("port {} of {} cannot be used", options.port, kAddress),
                "another program may use it; without --port a free one is chosen");
  watch->look();
  listening(fmt::format("http://{}:{}/", kAddress, site.port));
  std::jthread keeper([&](const std::stop_token& stop) {
    // Before it runs, stop() has no effect.
    while (!server.is_running() && !stop.stop_requested()) std::this_thread::sleep_for(kBetweenChecks);
    auto next_look = std::chrono::steady_clock::now() + kBetweenLooks;
    while (!stop.stop_requested() && !(options.cancelled && options.cancelled()) && !is_idle(options, *activity) &&
           !(options.once && activity->document_sent)) {
      std::this_thread::sleep_for(kBetweenChecks);
      if (std::chrono::steady_clock::now() < next_look) continue;
      watch->look();
      next_look = std::chrono::steady_clock::now() + kBetweenLooks;
    }
    watch->end();
    server.stop();
  });
  // Returns when the keeper stops it, and all answers are sent.
  return guarded("while answering", [&]() -> Status {
    server.listen_after_bind();
    return {};
  });
}

}  // namespace assay::serve
