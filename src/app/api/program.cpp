// SPDX-License-Identifier: Apache-2.0
#include "app/api/program.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include <fmt/format.h>

#include "core/base/descriptor.hpp"
#include "core/base/text.hpp"

namespace assay::api {
namespace fs = std::filesystem;
namespace {

constexpr int kSignalled = 128;

// The folder of the library that contains this function.
fs::path own_folder() {
  Dl_info found{};
  if (dladdr(reinterpret_cast<const void*>(&find_program), &found) == 0 || found.dli_fname == nullptr) return {};
  std::error_code ignored;
  return fs::canonical(found.dli_fname, ignored).parent_path();
}

// Standard error until all of its writers have closed it.
std::string read_messages(int from, bool shows) {
  std::string messages;
  std::array<char, 4096> part{};
  while (true) {
    const ssize_t size = ::read(from, part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return messages;
    messages.append(part.data(), static_cast<std::size_t>(size));
    if (shows) std::fwrite(part.data(), 1, static_cast<std::size_t>(size), stderr);
  }
}

Result<int> wait_for(pid_t child) {
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(child, &status, 0)) < 0 && errno == EINTR) {
  }
  if (ended < 0)  // this program ignores SIGCHLD
    return fail(ErrorCode::kInternal, fmt::format("how assay ended is not known: {}", std::strerror(errno)));
  return WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
}

// A descriptor that none of the standard ones is, even if this program has closed those.
Descriptor above_standard(int fd) {
  if (fd < 0) return Descriptor();  // errno stays
  const Descriptor given(fd);
  return Descriptor(::fcntl(given.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

// No blocked signals, and none ignored that ends the program, so that it can be interrupted.
void set_signals(posix_spawnattr_t& attributes) {
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

}  // namespace

Result<fs::path> find_program() {
  const char* const named = std::getenv("ASSAY_PROGRAM");
  fs::path program = named != nullptr ? named : "";
  if (const fs::path own = own_folder(); program.empty() && !own.empty()) program = own.parent_path() / "bin/assay";
  std::error_code ignored;
  if (fs::is_regular_file(program, ignored) && ::access(program.c_str(), X_OK) == 0) return program;
  return fail(ErrorCode::kNotFound, fmt::format("there is no program '{}'", program.string()),
              "set ASSAY_PROGRAM to the path of assay");
}

Result<ProgramEnd> run_program(const fs::path& program, const std::vector<std::string>& arguments,
                               const fs::path& output, bool shows) {
  const Descriptor written = above_standard(::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  int ends[2];
  if (written.get() < 0 || ::pipe2(ends, O_CLOEXEC) != 0)
    return fail(ErrorCode::kInternal,
                fmt::format("cannot open a file for the output of '{}': {}", program.string(), std::strerror(errno)));
  const Descriptor from = above_standard(ends[0]);
  Descriptor to = above_standard(ends[1]);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  set_signals(attributes);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, written.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, to.get(), STDERR_FILENO);
  std::vector<std::string> words{program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, program.c_str(), &actions, &attributes, list.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0)
    return fail(ErrorCode::kInternal, fmt::format("cannot start '{}': {}", program.string(), std::strerror(failed)));
  to = Descriptor();
  ProgramEnd end;
  end.messages = read_messages(from.get(), shows);
  ASSAY_TRY(end.exit_status, wait_for(child));
  return end;
}

Error error_of(const ProgramEnd& end, const Json& printed) {
  const auto text = [](const Json& object, const char* key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (const auto found = printed.is_object() ? printed.find("error") : printed.end(); found != printed.end()) {
    Error error{error_code_from(text(*found, "code")).value_or(ErrorCode::kInternal),
                text(*found, "message"),
                {},
                text(*found, "hint")};
    if (const auto context = found->find("context"); context != found->end() && context->is_array())
      for (const Json& line : *context) error.context.push_back(line.is_string() ? line.get<std::string>() : "");
    return error;
  }
  std::string last;
  for (const std::string& line : split(end.messages, '\n'))
    if (!trim(line).empty()) last = line;
  const bool interrupted = end.exit_status > kSignalled;
  return {interrupted ? ErrorCode::kCancelled : ErrorCode::kInternal,
          last.empty() ? fmt::format("assay ended with status {}", end.exit_status) : last,
          {},
          {}};
}

}  // namespace assay::api
