// SPDX-License-Identifier: Apache-2.0
// What a worker starts ends with it, and with assay, however these end.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <thread>

#include "bench/measure/memory.hpp"
#include "core/base/files.hpp"
#include "core/base/hash.hpp"
#include "support/null_worker.hpp"

namespace assay::test {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::string content(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The living processes that have a variable with this value, without this process.
std::set<int> marked(const std::string& mark) {
  std::set<int> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const int pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0 || pid == ::getpid()) continue;
    const std::string state = content(entry.path() / "stat");
    const auto name_end = state.rfind(')');
    if (name_end == state.npos || state.substr(name_end, 4).find('Z') != state.npos) continue;
    if (content(entry.path() / "environ").find(mark) != std::string::npos) found.insert(pid);
  }
  return found;
}

std::set<int> marked_until_none(const std::string& mark) {
  std::set<int> left = marked(mark);
  for (int i = 0; i < 6000 && !left.empty(); ++i) {
    std::this_thread::sleep_for(10ms);
    left = marked(mark);
  }
  return left;
}

/// A worker whose processes are known by a mark in their environment.
struct Marked {
  std::string mark = "ASSAY_TEST_MARK=" + make_uuid();
  Worker::StartOptions options() const {
    Worker::StartOptions options;
    options.environment = {{"ASSAY_TEST_MARK", mark.substr(mark.find('=') + 1)}};
    return options;
  }
};

constexpr std::size_t kFamily = 4;  // the supervisor, the worker and two daemons

TEST(Families, ACrashEndsWhatTheWorkerStarted) {
  const Marked family;
  NullWorker worker(family.options());
  worker.prepare({{"daemons", "2"}, {"crash_at_run", "1"}});
  EXPECT_THAT(marked(family.mark), SizeIs(kFamily));
  EXPECT_THAT(worker.infer().error().message, HasSubstr("SIGSEGV"));
  EXPECT_THAT(marked(family.mark), IsEmpty());
}

TEST(Families, ATimeoutEndsThemToo) {
  const Marked family;
  NullWorker worker(family.options());
  worker.prepare({{"daemons", "2"}, {"hang_at_run", "1"}});
  EXPECT_EQ(worker.infer("out", 300ms).error().code, ErrorCode::kTimeout);
  EXPECT_THAT(marked(family.mark), IsEmpty());
}

TEST(Families, TheEndOfAWarmWorkerEndsThemToo) {
  const Marked family;
  {
    NullWorker worker(family.options());
    worker.prepare({{"daemons", "2"}});
    EXPECT_THAT(marked(family.mark), SizeIs(kFamily));
  }
  EXPECT_THAT(marked(family.mark), IsEmpty());
}

TEST(Families, AKilledWorkerEndsThemToo) {
  const Marked family;
  NullWorker worker(family.options());
  worker.prepare({{"daemons", "2"}});
  ::kill(worker->pid(), SIGKILL);
  EXPECT_THAT(marked_until_none(family.mark), IsEmpty()) << "without a further call";
  EXPECT_FALSE(worker->alive());
}

// Then the supervisor finds them below itself, in /proc.
TEST(Families, TheyEndWithoutTheRightToCreateACgroupToo) {
  constexpr uid_t kNobody = 65534;
  constexpr int kCannotBe = 77;
  const Marked family;
  const pid_t nobody = ::fork();
  if (nobody == 0) {
    if (::geteuid() == 0 &&
        (::setresgid(kNobody, kNobody, kNobody) != 0 || ::setresuid(kNobody, kNobody, kNobody) != 0))
      ::_exit(kCannotBe);
    if (::access(ASSAY_BINARY_DIR "/bin/assay-worker", X_OK) != 0 ||
        ::access(fs::temp_directory_path().c_str(), W_OK) != 0)
      ::_exit(kCannotBe);
    NullWorker worker(family.options());
    worker.prepare({{"daemons", "2"}, {"crash_at_run", "1"}});
    const bool four = marked(family.mark).size() == kFamily;
    const bool crashed = worker.infer().error().code == ErrorCode::kWorkerDied;
    ::_exit(four && crashed && marked(family.mark).empty() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(nobody, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kCannotBe) GTEST_SKIP() << "no other user can run the worker";
  EXPECT_EQ(status, 0);
  EXPECT_THAT(marked(family.mark), IsEmpty());
}

/// A process that starts a worker with daemons and then calls `then`.
struct Controller {
  pid_t pid = -1;
  int worker = -1;
};
Controller controller_with(const Marked& family, const EngineOptions& options,
                           const std::function<void(NullWorker&)>& then) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Controller controller{::fork()};
  if (controller.pid == 0) {
    NullWorker worker(family.options());
    worker.prepare(options);
    const int pid = worker->pid();
    if (::write(ends[1], &pid, sizeof pid) != sizeof pid) ::_exit(1);
    then(worker);
    while (true) ::pause();
  }
  ::close(ends[1]);
  EXPECT_EQ(::read(ends[0], &controller.worker, sizeof controller.worker), static_cast<ssize_t>(sizeof(int)));
  ::close(ends[0]);
  return controller;
}

void kill_and_reap(const Controller& controller) {
  ::kill(controller.pid, SIGKILL);
  ::waitpid(controller.pid, nullptr, 0);
}

void await(const std::function<bool()>& condition) {
  for (int i = 0; i < 6000 && !condition(); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(condition());
}

TEST(Families, AKilledControllerEndsThemToo) {
  const Marked family;
  const Controller controller = controller_with(family, {{"daemons", "2"}, {"hang_at_run", "1"}},
                                                [](NullWorker& worker) { (void)worker.infer("out", 600s); });
  EXPECT_THAT(marked(family.mark), SizeIs(kFamily));
  kill_and_reap(controller);
  EXPECT_THAT(marked_until_none(family.mark), IsEmpty());
}

// It cannot see by itself that its controller has ended.
TEST(Families, AStoppedWorkerEndsWithItsController) {
  const Marked family;
  const Controller controller = controller_with(family, {{"daemons", "1"}}, [](NullWorker&) {});
  ::kill(controller.worker, SIGSTOP);
  await([&] { return content(fmt::format("/proc/{}/stat", controller.worker)).find(") T ") != std::string::npos; });
  kill_and_reap(controller);
  EXPECT_THAT(marked_until_none(family.mark), IsEmpty());
}

TEST(Families, ARuntimeThatClosesItsSocketAndHangsEndsWithItsController) {
  const Marked family;
  const Controller controller = controller_with(family, {{"close_at_run", "1"}, {"hang_at_run", "1"}},
                                                [](NullWorker& worker) { (void)worker.infer("out", 600s); });
  await([&] { return !fs::exists(fs::symlink_status(fmt::format("/proc/{}/fd/3", controller.worker))); });
  kill_and_reap(controller);
  EXPECT_THAT(marked_until_none(family.mark), IsEmpty());
}

TEST(Families, ARuntimeThatClosesItsSocketIsAnError) {
  const Marked family;
  NullWorker worker(family.options());
  worker.prepare({{"close_at_run", "1"}, {"hang_at_run", "1"}});
  const auto closed = worker.infer();
  EXPECT_EQ(closed.error().code, ErrorCode::kWorkerDied);
  EXPECT_THAT(closed.error().message, HasSubstr("closed its connection"));
  EXPECT_THAT(marked(family.mark), IsEmpty());
}

TEST(Families, ASupervisorThatIsKilledTakesTheWorkerWithIt) {
  const Marked family;
  NullWorker worker(family.options());
  worker.prepare();
  std::string stat = content(fmt::format("/proc/{}/stat", worker->pid()));
  const int supervisor = std::atoi(stat.c_str() + stat.rfind(')') + 4);
  ::kill(supervisor, SIGKILL);
  EXPECT_THAT(marked_until_none(family.mark), IsEmpty());
  EXPECT_FALSE(worker->alive());
  EXPECT_EQ(worker.infer().error().code, ErrorCode::kWorkerDied);
}

TEST(Families, AWorkerHasItsFourDescriptorsAndNoOther) {
  const int leaked = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC, as a careless library opens it
  const NullWorker worker;
  std::set<std::string> numbers;
  for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/fd", worker->pid())))
    numbers.insert(entry.path().filename());
  EXPECT_EQ(numbers, (std::set<std::string>{"0", "1", "2", "3"}));
  ::close(leaked);
}

TEST(Families, AWorkerDoesNotGetSecrets) {
  ::setenv("HF_TOKEN", "hf_secret", 1);
  ::setenv("ASSAY_TEST_PLAIN", "plain", 1);
  const NullWorker worker;
  const std::string environment = content(fmt::format("/proc/{}/environ", worker->pid()));
  EXPECT_THAT(environment, Not(HasSubstr("hf_secret")));
  EXPECT_THAT(environment, HasSubstr("ASSAY_TEST_PLAIN=plain"));
  ::unsetenv("HF_TOKEN");
  ::unsetenv("ASSAY_TEST_PLAIN");
}

// The pool of warm workers adds up this memory.
TEST(Families, TheProcessIdIsThatOfTheWorkerAndNotOfItsSupervisor) {
  NullWorker worker;
  worker.prepare({{"model_memory", "100"}});
  EXPECT_EQ(content(fmt::format("/proc/{}/comm", worker->pid())), "assay-worker\n");
  EXPECT_GT(resident_memory(fmt::format("/proc/{}", worker->pid())).value().now, 100'000'000u);
}

TEST(Families, AWorkerIsInASessionOfItsOwn) {
  const NullWorker worker;
  EXPECT_NE(::getsid(worker->pid()), ::getsid(0));
  EXPECT_EQ(::getpgid(worker->pid()), worker->pid());
}

// Those of this process: others may run workers meanwhile.
TEST(Families, TheCgroupOfAWorkerIsRemoved) {
  std::string folder;
  {
    const NullWorker worker;
    const std::string text = content(fmt::format("/proc/{}/cgroup", worker->pid()));
    const auto line = text.find("0::");
    if (line == text.npos || text.find("assay-worker-", line) == text.npos)
      GTEST_SKIP() << "this system does not allow a cgroup";
    folder = text.substr(line + 3, text.find('\n', line) - line - 3);
  }
  for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) EXPECT_FALSE(fs::exists(mount + folder));
}

}  // namespace
}  // namespace assay::test
