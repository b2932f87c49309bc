// SPDX-License-Identifier: Apache-2.0
#include "bench/worker/client.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "core/base/text.hpp"

namespace assay {
namespace {
using std::chrono::nanoseconds;
using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr nanoseconds kStartTimeout = 30s;
constexpr auto kTimeToDie = 5s;  ///< time limit for the exit status of a worker after its socket was closed

/// How often this kernel killed a process because of memory.
std::uint64_t oom_kill_count() {
  std::ifstream file("/proc/vmstat");
  std::string name;
  std::uint64_t value = 0;
  while (file >> name >> value) {
    if (name == "oom_kill") return value;
  }
  return 0;
}

/// "SIGSEGV (segmentation fault)"
std::string signal_name(int number) {
  const char* const name = ::sigabbrev_np(number);  // null for real-time signals
  const char* const meaning = ::sigdescr_np(number);
  return name == nullptr ? fmt::format("signal {}", number)
                         : fmt::format("SIG{} ({})", name, meaning == nullptr ? "" : lower(meaning));
}

bool has_bytes(int socket) {
  pollfd readable{socket, POLLIN, 0};
  return ::poll(&readable, 1, 0) > 0 && (readable.revents & POLLIN) != 0;
}

std::string seconds(nanoseconds time) { return fmt::format("{:g} s", std::chrono::duration<double>(time).count()); }

bool mentions_memory(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    const std::string text = lower(line);
    for (const char* phrase : {"bad_alloc", "out of memory", "cannot allocate memory", "failed to allocate"}) {
      if (text.find(phrase) != text.npos) return true;
    }
  }
  return false;
}

}  // namespace

WorkerClient::WorkerClient(ChildProcess process, std::string name, StartOptions options, std::uint64_t oom_kills)
    : process_(std::move(process)), name_(std::move(name)), options_(std::move(options)), oom_kills_(oom_kills) {}

Result<std::unique_ptr<Worker>> Worker::start(const EngineLocation& location, StartOptions options) {
  ASSAY_TRY(std::unique_ptr<Worker> started, WorkerClient::start(location, std::move(options)));
  return started;
}

Result<std::unique_ptr<WorkerClient>> WorkerClient::start(const EngineLocation& location, StartOptions options) {
  const auto executable = options.executable.empty() ? EngineRegistry::default_places().worker : options.executable;
  ChildProcess::Options child{{executable.string(), "--plugin", location.plugin.string()}, {}, options.log};
  if (!location.home.empty()) {
    child.arguments.insert(child.arguments.end(), {"--home", location.home.string()});
    const char* inherited = std::getenv("LD_LIBRARY_PATH");
    const std::string more = inherited == nullptr || *inherited == '\0' ? "" : std::string(":") + inherited;
    child.environment.emplace_back("LD_LIBRARY_PATH", location.home.string() + more);
  }
  if (options.memory_limit_bytes)
    child.arguments.insert(child.arguments.end(), {"--memory-limit", std::to_string(*options.memory_limit_bytes)});
  child.environment.insert(child.environment.end(), options.environment.begin(), options.environment.end());

  const std::uint64_t oom_kills = oom_kill_count();
  ASSAY_TRY(ChildProcess process, ChildProcess::spawn(child));
  std::unique_ptr<WorkerClient> worker(new WorkerClient(
      std::move(process), fmt::format("the {} worker", location.engine), std::move(options), oom_kills));
  ASSAY_TRY(const Json hello, worker->exchange(nullptr, "while starting it", kStartTimeout));
  if (!hello.is_object()) return worker->reject("its first message is not an object", "while starting it");
  const auto version = hello.find("protocol");
  if (version == hello.end() || *version != worker_protocol::kVersion) {
    constexpr std::size_t kShown = 100;
    return fail(ErrorCode::kIncompatiblePlugin,
                fmt::format("'{}' has protocol version {}, this program {}", executable.string(),
                            version == hello.end() ? "unknown" : sanitise(json_text(*version).substr(0, kShown)),
                            worker_protocol::kVersion),
                "both must come from the same build: install or build assay again");
  }
  if (const auto error = hello.find("error"); error != hello.end()) {
    const Result<Error> said = worker_protocol::decode_error(*error);
    if (!said) return worker->reject(said.error().message, "while starting it");
    return tl::unexpected<Error>(*said);
  }
  return worker;
}

Error WorkerClient::obituary(ProcessEnd end) const {
  const auto words = process_.last_words();
  const std::string log = words.empty() ? "" : fmt::format("; its log ends with: {}", join(words, " | "));
  const std::string how =
      end.signal == 0 ? fmt::format("ended with status {}", end.exit_status) : "died of " + signal_name(end.signal);
  const bool by_kernel = end.signal == SIGKILL && oom_kill_count() > oom_kills_;
  if (by_kernel)
    return {ErrorCode::kOutOfMemory,
            fmt::format("the kernel killed {} because memory ran out{}", name_, log),
            {},
            "use a smaller batch or model, or a machine with more memory"};
  if (options_.memory_limit_bytes && mentions_memory(words))
    return {ErrorCode::kOutOfMemory,
            fmt::format("{} {} at its memory limit of {} bytes{}", name_, how, *options_.memory_limit_bytes, log)};
  if (mentions_memory(words)) return {ErrorCode::kOutOfMemory, fmt::format("{} {} without memory{}", name_, how, log)};
  return {ErrorCode::kWorkerDied, fmt::format("{} {}{}", name_, how, log)};
}

Result<Json> WorkerClient::exchange(const Json* request, const std::string& doing, nanoseconds timeout) {
  if (!alive_) return fail(ErrorCode::kWorkerDied, fmt::format("{} has already ended", name_));
  const auto start = steady_clock::now();
  const auto elapsed = [&] { return steady_clock::now() - start; };
  std::optional<steady_clock::time_point> cancelled;
  const auto watch = [&]() -> Status {
    if (elapsed() >= timeout)
      return fail(ErrorCode::kTimeout, fmt::format("{} did not answer within {}", name_, seconds(timeout)));
    if (!cancelled && options_.cancelled && options_.cancelled()) {
      cancelled = steady_clock::now();
      process_.signal(SIGTERM);
    }
    if (cancelled && steady_clock::now() - *cancelled > kTimeToStop) return fail(ErrorCode::kCancelled, "interrupted");
    // What it sent before is read first. Others may have its end of the socket open: then there is no end of file.
    if (process_.ended() && !has_bytes(process_.socket())) return fail(ErrorCode::kWorkerDied, "");
    return {};
  };
  // A short timeout is accurate to a tenth; a long one costs four wake-ups per second.
  const worker_protocol::Patience patience{
      watch, std::clamp(std::chrono::duration_cast<std::chrono::milliseconds>(timeout / 10), 1ms, 250ms)};
  const std::uint32_t most = request == nullptr ? worker_protocol::kMaxHelloBytes : worker_protocol::kMaxMessageBytes;
  const Status sent = request == nullptr ? Status() : worker_protocol::send(process_.socket(), *request, patience);
  if (!sent && sent.error().code == ErrorCode::kInvalidArgument) {  // too long: the worker has not seen it
    Error error = sent.error();
    error.context.push_back(doing);
    return tl::unexpected<Error>(std::move(error));
  }
  Result<Json> reply = sent ? worker_protocol::receive(process_.socket(), patience, most)
                            : Result<Json>(tl::unexpected<Error>(sent.error()));
  if (reply) return reply;  // also after an interruption: the samples until then are a result

  if (!cancelled && reply.error().code == ErrorCode::kInternal) return reject(reply.error().message, doing);
  Error error = cancelled ? Error{ErrorCode::kCancelled, "interrupted"} : std::move(reply).error();
  if (error.code == ErrorCode::kWorkerDied) {
    const auto end = process_.wait(kTimeToDie);
    error = end ? obituary(*end) : Error{ErrorCode::kWorkerDied, fmt::format("{} closed its connection", name_)};
  }
  end();
  error.context.push_back(doing);
  return tl::unexpected<Error>(std::move(error));
}

void WorkerClient::end() {
  alive_ = false;
  process_.kill();
}

tl::unexpected<Error> WorkerClient::reject(const std::string& what, const std::string& doing) {
  end();
  const auto words = process_.last_words();
  return tl::unexpected<Error>(
      Error{ErrorCode::kWorkerDied,
            fmt::format("{} sent an invalid message and was ended: {}{}", name_, what,
                        words.empty() ? "" : fmt::format("; its log ends with: {}", join(words, " | "))),
            {doing},
            fmt::format("a library in it may have written into its descriptor {}", worker_protocol::kSocket)});
}

template <class Reply, class Request>
Result<Reply> WorkerClient::call(const char* op, const std::string& doing, const Request& request,
                                 nanoseconds timeout) {
  const Json message{{"op", op}, {"args", worker_protocol::encode(request)}};
  ASSAY_TRY(const Json reply, exchange(&message, doing, timeout));
  if (!reply.is_object()) return reject("it is not an object", doing);
  if (const auto error = reply.find("error"); error != reply.end()) {
    const Result<Error> said = worker_protocol::decode_error(*error);
    if (!said) return reject(said.error().message, doing);
    return tl::unexpected<Error>(*said);
  }
  const auto ok = reply.find("ok");
  if (ok == reply.end()) return reject("it has neither 'ok' nor 'error'", doing);
  Result<Reply> decoded = worker_protocol::decode<Reply>(*ok);
  const Status valid = decoded ? worker_protocol::check(*decoded) : tl::unexpected<Error>(decoded.error());
  if (!valid) return reject(valid.error().message, doing);
  return decoded;
}

Result<LoadReply> WorkerClient::load(const LoadRequest& request, nanoseconds timeout) {
  return call<LoadReply>("load", fmt::format("while loading '{}'", request.model.string()), request, timeout);
}
Result<BindReply> WorkerClient::bind(const BindRequest& request, nanoseconds timeout) {
  return call<BindReply>("bind", "while binding inputs", request, timeout);
}
Result<InferReply> WorkerClient::infer(const InferRequest& request, nanoseconds timeout) {
  return call<InferReply>("infer", "while running once", request, timeout);
}
Result<MeasureReply> WorkerClient::measure(const MeasureRequest& request, nanoseconds timeout) {
  return call<MeasureReply>("measure", "while measuring", request, timeout);
}
Status WorkerClient::save(const SaveRequest& request, nanoseconds timeout) {
  const auto saved = call<worker_protocol::Nothing>("save", fmt::format("while writing '{}'", request.file.string()),
                                                    request, timeout);
  return saved ? Status() : tl::unexpected<Error>(saved.error());
}
Result<worker_protocol::Description> WorkerClient::describe(nanoseconds timeout) {
  return call<worker_protocol::Description>("describe", "while listing its devices and options",
                                            worker_protocol::Nothing{}, timeout);
}

}  // namespace assay
