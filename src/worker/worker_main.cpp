// SPDX-License-Identifier: Apache-2.0

// assay-worker: one inference runtime in one process, controlled over a socket (worker/protocol.hpp). Users do not
// start it.

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

#include "base/text.hpp"
#include "worker/protocol.hpp"
#include "worker/session.hpp"

namespace assay {
namespace {

WorkerSession* g_session = nullptr;

/// SIGTERM ends a measurement early, with its samples; at any other time it ends the process.
void on_terminate(int) {
  if (g_session == nullptr || !g_session->measuring) ::_exit(128 + SIGTERM);
  g_session->interrupted = true;
}

/// Ends this process when its controller has ended, whatever the runtime is doing. (PR_SET_PDEATHSIG would already act
/// when the controller's *thread* that started it ends.)
void follow_controller_into_death() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([] {
    pollfd socket{worker_protocol::kSocket, 0, 0};  // a hang-up is always reported
    while (::poll(&socket, 1, -1) < 0 || (socket.revents & (POLLHUP | POLLERR)) == 0) {
    }
    ::_exit(1);
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
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

int serve(const std::string& plugin_file, const std::string& home) {
  Json hello{{"protocol", worker_protocol::kVersion}};
  auto plugin = EnginePlugin::open(plugin_file);
  if (!plugin) hello["error"] = worker_protocol::encode_error(plugin.error());
  if (!worker_protocol::send(worker_protocol::kSocket, hello) || !plugin) return 1;
  WorkerSession session(std::move(*plugin), home);
  g_session = &session;
  while (true) {
    const auto request = worker_protocol::receive(worker_protocol::kSocket);
    if (!request || !worker_protocol::send(worker_protocol::kSocket, session.handle(*request))) break;
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
  assay::follow_controller_into_death();
  return assay::serve(plugin, home);
}
