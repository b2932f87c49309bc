// SPDX-License-Identifier: Apache-2.0
#include "api/program.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include <fmt/format.h>

#include "base/descriptor.hpp"
#include "base/text.hpp"

namespace assay::api {
namespace fs = std::filesystem;
namespace {

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
    if (shows && ::write(STDERR_FILENO, part.data(), static_cast<std::size_t>(size)) < 0) shows = false;
  }
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Result<fs::path> find_program() {
  const char* const named = std::getenv("ASSAY_PROGRAM");
  const fs::path program =
      named != nullptr && *named != '\0' ? fs::path(named) : own_folder().parent_path() / "bin/assay";
  if (::access(program.c_str(), X_OK) == 0) return program;
  return fail(ErrorCode::kNotFound, fmt::format("there is no program '{}'", program.string()),
              "set ASSAY_PROGRAM to the path of assay");
}

Result<ProgramEnd> run_program(const fs::path& program, const std::vector<std::string>& arguments,
                               const fs::path& output, bool shows) {
  const Descriptor written(::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  int ends[2];
  if (written.get() < 0 || ::pipe2(ends, O_CLOEXEC) != 0)
    return fail(ErrorCode::kInternal,
                fmt::format("cannot open a file for the output of '{}': {}", program.string(), std::strerror(errno)));
  const Descriptor from(ends[0]);
  Descriptor to(ends[1]);
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
  const int failed = ::posix_spawn(&child, program.c_str(), &actions, nullptr, list.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    return fail(ErrorCode::kInternal, fmt::format("cannot start '{}': {}", program.string(), std::strerror(failed)));
  to = Descriptor();
  ProgramEnd end;
  end.messages = read_messages(from.get(), shows);
  end.exit_status = wait_for(child);
  return end;
}

Error error_of(const ProgramEnd& end) {
  constexpr std::string_view kBegin = "error[", kHint = "  hint: ";
  Error error{ErrorCode::kInternal, fmt::format("assay ended with status {}", end.exit_status), {}, {}};
  for (const std::string& line : split(end.messages, '\n')) {
    const std::size_t close = line.find("]: ");
    const auto code = line.starts_with(kBegin) && close != line.npos
                          ? error_code_from(std::string_view(line).substr(kBegin.size(), close - kBegin.size()))
                          : std::nullopt;
    if (code)
      error = {*code, line.substr(close + 3), {}, {}};
    else if (line.starts_with(kHint))
      error.hint = line.substr(kHint.size());
  }
  return error;
}

}  // namespace assay::api
