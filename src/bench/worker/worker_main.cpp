// SPDX-License-Identifier: Apache-2.0

// assay-worker: one inference runtime in one process, controlled over a socket (bench/worker/protocol.hpp). Users do
// not start it. Its supervisor (bench/worker/supervision.hpp) ends it with its controller, whatever the runtime is
// doing.

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include "bench/worker/protocol.hpp"
#include "bench/worker/session.hpp"
#include "core/base/text.hpp"

namespace assay {
namespace {

WorkerSession* g_session = nullptr;

/// SIGTERM ends a measurement early, with its samples; at any other time it ends the process.
void on_terminate(int) {
  if (g_session == nullptr || !g_session->measuring) ::_exit(128 + SIGTERM);
  g_session->interrupted = true;
}

void prepare_process(std::optional<std::uint64_t> memory_limit_bytes) {
  ::fcntl(worker_protocol::kSocket, F_SETFD, FD_CLOEXEC);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // otherwise a crash would lose the buffered lines of the log
  std::signal(SIGTERM, on_terminate);
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes is a failed write, like a full disk
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  // If the machine's memory runs out, the kernel should kill this process, not the controller. Raising needs no rights.
  if (std::FILE* file = std::fopen("/proc/self/oom_score_adj", "w")) {
    std::fputs("1000", file);
    std::fclose(file);
  }
  // RLIMIT_DATA counts private writable memory. RLIMIT_AS would count address space too, which runtimes reserve in
  // hundreds of gigabytes and never use. The shadow memory of a sanitiser is private, writable and has terabytes: then
  // there is no limit.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  if (memory_limit_bytes) {
    const rlimit limit{*memory_limit_bytes, *memory_limit_bytes};
    ::setrlimit(RLIMIT_DATA, &limit);
  }
#else
  static_cast<void>(memory_limit_bytes);
#endif
}

/// For one message. A controller that was stopped (Ctrl-Z) in the middle of one gets this time.
constexpr std::chrono::minutes kMessageLimit{10};

Status answer(const Json& reply) {
  using namespace worker_protocol;
  Status sent = send(kSocket, reply, within(kMessageLimit));
  if (sent || sent.error().code != ErrorCode::kInvalidArgument) return sent;
  return send(kSocket, Json{{"error", encode_error(sent.error())}}, within(kMessageLimit));
}

int serve(const std::string& plugin_file, const std::string& home) {
  Json hello{{"protocol", worker_protocol::kVersion}};
  auto plugin = EnginePlugin::open(plugin_file);
  if (!plugin) hello["error"] = worker_protocol::encode_error(plugin.error());
  using namespace worker_protocol;
  if (!send(kSocket, hello, within(kMessageLimit)) || !plugin) return 1;
  WorkerSession session(std::move(*plugin), home);
  g_session = &session;
  while (await_message(kSocket)) {
    const auto request = receive(kSocket, within(kMessageLimit));
    if (!request || !answer(session.handle(*request))) break;
  }
  g_session = nullptr;
  return 0;
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  std::string plugin, home;
  std::optional<std::uint64_t> memory_limit;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--plugin") plugin = argv[i + 1];
    if (name == "--home") home = argv[i + 1];
    if (name == "--memory-limit") memory_limit = assay::parse_number<std::uint64_t>(argv[i + 1]);
  }
  if (plugin.empty() || ::fcntl(assay::worker_protocol::kSocket, F_GETFD) < 0) {
    std::fputs("assay starts assay-worker; do not start it directly\n", stderr);
    return 2;
  }
  assay::prepare_process(memory_limit);
  return assay::serve(plugin, home);
}
