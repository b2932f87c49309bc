// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "bench/engine/registry.hpp"
#include "bench/worker/probe.hpp"
#include "core/base/files.hpp"
#include "core/tensor/safetensors.hpp"
#include "support/null_worker.hpp"

namespace assay::test {
namespace {
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

#define ASSERT_OK(expression)                                     \
  do {                                                            \
    const auto& assay_result = (expression);                      \
    ASSERT_TRUE(assay_result) << to_string(assay_result.error()); \
  } while (false)

std::vector<float> floats(const std::filesystem::path& file) {
  const auto tensors = SafetensorsFile::open(file).value();
  const TensorView view = tensors.tensor("output").value();
  std::vector<float> values(view.bytes.size() / sizeof(float));
  std::memcpy(values.data(), view.bytes.data(), view.bytes.size());
  return values;
}

bool process_runs(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return file >> number >> name >> state && state != "Z";
}

TEST(WorkerFaults, ACrashIsAnErrorWithTheSignalAndTheLastOutput) {
  NullWorker worker;
  worker.prepare({{"crash_at_run", "1"}, {"chatter", "loading weights of layer 7"}});
  const auto crashed = worker.infer();
  ASSERT_FALSE(crashed);
  EXPECT_EQ(crashed.error().code, ErrorCode::kWorkerDied);
  EXPECT_THAT(crashed.error().message, AllOf(HasSubstr("the null worker died of SIGSEGV (segmentation fault)"),
                                             HasSubstr("loading weights of layer 7")));
  EXPECT_THAT(crashed.error().context, ElementsAre("while running once"));
  EXPECT_FALSE(worker->alive());
  EXPECT_FALSE(process_runs(worker->pid()));
  EXPECT_EQ(worker.infer().error().code, ErrorCode::kWorkerDied) << "and it stays dead";
}

TEST(WorkerFaults, AbortAndExitHaveDifferentMessages) {
  NullWorker aborting, exiting;
  aborting.prepare({{"abort_at_run", "1"}});
  exiting.prepare({{"exit_at_run", "1"}});
  EXPECT_THAT(aborting.infer().error().message, HasSubstr("died of SIGABRT"));
  EXPECT_THAT(exiting.infer().error().message, HasSubstr("ended with status 3"));
}

TEST(WorkerFaults, AHangEndsAtItsTimeoutAndEndsTheProcess) {
  NullWorker worker;
  worker.prepare({{"hang_at_run", "1"}});
  const auto hung = worker.infer("out", 300ms);
  EXPECT_EQ(hung.error().code, ErrorCode::kTimeout);
  EXPECT_THAT(hung.error().message, HasSubstr("did not answer within 0.3 s"));
  EXPECT_FALSE(worker->alive());
  EXPECT_FALSE(process_runs(worker->pid()));
}

TEST(WorkerFaults, MemoryBeyondTheLimitIsAnErrorAndNotACrash) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitiser's own memory is beyond any limit";
#endif
  Worker::StartOptions options;
  options.memory_limit_bytes = 512u << 20;
  NullWorker worker(std::move(options));
  worker.prepare({{"oom_at_run", "1"}});
  EXPECT_EQ(worker.infer().error().code, ErrorCode::kOutOfMemory);
  EXPECT_TRUE(worker->alive());
  ASSERT_OK(worker.load({{"growing_memory", "40"}, {"cost_ns", "10000000"}}));
  ASSERT_OK(worker.bind());
  const auto measured = worker.measure(NullWorker::plan(1000));
  ASSERT_OK(measured);
  ASSERT_TRUE(measured->measurement.failure);
  EXPECT_EQ(measured->measurement.failure->code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(measured->measurement.stop_reason, StopReason::kFailure);
  EXPECT_GE(worker.samples_in_file(), 5u) << "samples from before are kept";
  EXPECT_GT(measured->peak_rss_bytes, 200u << 20);
}

TEST(WorkerFaults, ARuntimeThatAbortsBecauseOfMemoryIsOutOfMemoryToo) {
  NullWorker worker;
  worker.prepare(
      {{"chatter", "terminate called after throwing an instance of 'std::bad_alloc'"}, {"abort_at_run", "1"}});
  EXPECT_EQ(worker.infer().error().code, ErrorCode::kOutOfMemory);
}

TEST(WorkerFaults, ALimitOfFileSizesIsAFailedWriteAndNotACrash) {
  NullWorker worker;
  worker.prepare();
  const rlimit none{0, 0};
  ASSERT_EQ(::prlimit(worker->pid(), RLIMIT_FSIZE, &none, nullptr), 0);
  const auto refused = worker.infer();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("out.safetensors"));
  EXPECT_TRUE(worker->alive());
}

TEST(WorkerFaults, AWorkerThatIsKilledWhileItWaitsIsNotAlive) {
  NullWorker worker;
  worker.prepare();
  EXPECT_TRUE(worker->alive());
  ::kill(worker->pid(), SIGKILL);
  for (int i = 0; i < 6000 && worker->alive(); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_FALSE(worker->alive());
  EXPECT_EQ(worker.infer().error().code, ErrorCode::kWorkerDied);
}

TEST(WorkerFaults, WrongNumbersAndNansArriveUnchanged) {
  NullWorker right, wrong, nan;
  right.prepare();
  wrong.prepare({{"wrong", "0.5"}});
  nan.prepare({{"nan", "true"}});
  for (NullWorker* worker : {&right, &wrong, &nan}) ASSERT_OK(worker->infer());
  const auto expected = floats(right.path("out.safetensors"));
  const auto off = floats(wrong.path("out.safetensors"));
  ASSERT_EQ(off.size(), expected.size());
  for (std::size_t i = 0; i < off.size(); ++i) EXPECT_NEAR(off[i] - expected[i], 0.5, 1e-5);
  EXPECT_TRUE(std::isnan(floats(nan.path("out.safetensors"))[0]));
  EXPECT_THAT(expected, Each(Not(::testing::IsNan())));
}

TEST(WorkerFaults, AnUnsupportedOperatorLeavesTheWorkerUsable) {
  NullWorker worker;
  const auto refused = worker.load({{"unsupported", "com.example.Foo"}});
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("no kernel for operator 'com.example.Foo'"));
  EXPECT_EQ(worker.bind().error().code, ErrorCode::kInvalidArgument) << "nothing is loaded";
  worker.prepare();
  EXPECT_TRUE(worker.infer());
}

TEST(WorkerFaults, AMissingPluginIsNamed) {
  Worker::StartOptions options;
  options.executable = ASSAY_BINARY_DIR "/bin/assay-worker";
  const auto missing = Worker::start({"null", "/nowhere/assay_engine_null.so", ""}, options);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("/nowhere/assay_engine_null.so"));
}

TEST(WorkerFaults, AMissingRuntimeLibraryIsNotFound) {
  if (!std::filesystem::exists(plugin("onnxruntime"))) GTEST_SKIP() << "the plug-in of onnxruntime was not built";
  const auto empty = TemporaryDirectory::create().value();
  Worker::StartOptions options;
  options.executable = ASSAY_BINARY_DIR "/bin/assay-worker";
  const auto worker = Worker::start({"onnxruntime", plugin("onnxruntime"), empty.path()}, options).value();
  const auto loaded = worker->load({}, kPatience);
  EXPECT_EQ(loaded.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(loaded.error().message, HasSubstr("libonnxruntime.so"));
}

TEST(WorkerFaults, APluginOfAnotherAbiIsRefusedWithBothVersions) {
  Worker::StartOptions options;
  options.executable = ASSAY_BINARY_DIR "/bin/assay-worker";
  const auto refused = Worker::start({"other", ASSAY_OTHER_ABI, ""}, options);
  EXPECT_EQ(refused.error().code, ErrorCode::kIncompatiblePlugin);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr(ASSAY_OTHER_ABI), HasSubstr("ABI 2.4"), HasSubstr("this assay has 1.0")));
  EXPECT_THAT(refused.error().hint, HasSubstr("include/"));
}

TEST(WorkerFaults, AMissingOrForeignWorkerProgramIsAnError) {
  Worker::StartOptions options;
  options.executable = "/nowhere/assay-worker";
  EXPECT_THAT(Worker::start({"null", plugin("null"), ""}, options).error().message, HasSubstr("/nowhere/assay-worker"));
  options.executable = "/bin/true";
  const auto silent = Worker::start({"null", plugin("null"), ""}, options);
  EXPECT_EQ(silent.error().code, ErrorCode::kWorkerDied);
  EXPECT_THAT(silent.error().message, HasSubstr("ended with status 0"));
}

TEST(WorkerFaults, SamplesTakenBeforeAKillAreInTheFile) {
  // The callback for cancellation reads the file while the worker measures.
  NullWorker* seen = nullptr;
  Worker::StartOptions options;
  options.cancelled = [&seen] {
    if (seen != nullptr && seen->samples_in_file() > 0) ::kill((*seen)->pid(), SIGKILL);
    return false;
  };
  NullWorker worker(std::move(options));
  worker.prepare({{"cost_ns", "1000000"}});
  seen = &worker;
  const auto killed = worker.measure(NullWorker::plan(60'000));
  EXPECT_EQ(killed.error().code, ErrorCode::kWorkerDied);
  EXPECT_THAT(killed.error().message, HasSubstr("SIGKILL"));
  EXPECT_GT(worker.samples_in_file(), 0u);
}

TEST(WorkerFaults, AnEngineThatFailsWhileSamplingIsAResultOfTheMeasurement) {
  NullWorker worker;
  worker.prepare({{"fail_at_run", "40"}});
  const auto measured = worker.measure(NullWorker::plan(100));
  ASSERT_OK(measured);
  ASSERT_TRUE(measured->measurement.failure);
  EXPECT_EQ(measured->measurement.failure->code, ErrorCode::kDeviceLost);
  EXPECT_EQ(worker.samples_in_file(), 39u);
}

TEST(WorkerFaults, AnEngineThatFailsInTheWarmUpIsAResultToo) {
  NullWorker worker;
  worker.prepare({{"fail_at_run", "3"}});
  MeasurePlan plan = NullWorker::plan(100);
  plan.warmup_iterations = 10;
  const auto measured = worker.measure(plan);
  ASSERT_OK(measured);
  ASSERT_TRUE(measured->measurement.failure);
  EXPECT_EQ(measured->measurement.failure->code, ErrorCode::kDeviceLost);
  EXPECT_EQ(worker.samples_in_file(), 0u);
}

TEST(WorkerFaults, InterruptingKeepsTheSamples) {
  NullWorker* seen = nullptr;
  Worker::StartOptions options;
  options.cancelled = [&seen] { return seen != nullptr && seen->samples_in_file() > 0; };
  NullWorker worker(std::move(options));
  worker.prepare({{"cost_ns", "1000000"}});
  seen = &worker;
  const auto stopped = worker.measure(NullWorker::plan(60'000));
  ASSERT_OK(stopped);
  EXPECT_EQ(stopped->measurement.stop_reason, StopReason::kInterrupted);
  const auto file = read_samples(worker.path("samples")).value();
  EXPECT_GT(file.samples.size(), 0u);
  EXPECT_FALSE(file.truncated) << "it has time to complete the file";
}

TEST(WorkerFaults, ATerminatedMeasurementReturnsItsSamples) {
  // Once, and after it began: at any other time SIGTERM ends the worker.
  NullWorker* seen = nullptr;
  Worker::StartOptions options;
  options.cancelled = [&seen] {
    if (seen != nullptr && seen->samples_in_file() > 0) ::kill((*std::exchange(seen, nullptr))->pid(), SIGTERM);
    return false;
  };
  NullWorker worker(std::move(options));
  worker.prepare({{"cost_ns", "1000000"}});
  seen = &worker;
  const auto measured = worker.measure(NullWorker::plan(60'000));
  ASSERT_OK(measured);
  EXPECT_EQ(measured->measurement.stop_reason, StopReason::kInterrupted);
  EXPECT_TRUE(measured->environment.at("noise").at("reasons").is_array());
  EXPECT_GT(worker.samples_in_file(), 0u);
  EXPECT_TRUE(worker.infer()) << "the worker still works";
}

TEST(WorkerFaults, CancellingWhileTheRuntimeIsBusyEndsTheWorker) {
  bool now = false;
  Worker::StartOptions options;
  options.cancelled = [&now] { return now; };
  NullWorker worker(std::move(options));
  now = true;
  EXPECT_EQ(worker.load({{"load_ms", "60000"}}).error().code, ErrorCode::kCancelled);
  EXPECT_FALSE(process_runs(worker->pid()));
}

TEST(WorkerFaults, WhatARuntimePrintsGoesToTheLogAndNotIntoTheProtocol) {
  NullWorker worker;
  worker.prepare({{"chatter", "{\"ok\": {}}"}});
  ASSERT_OK(worker.infer());
  EXPECT_THAT(read_file(worker.path("log")).value(), HasSubstr("{\"ok\": {}}"));
}

TEST(WorkerFaults, AWorkerEndsWithItsControllerEvenIfItHangs) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t controller = ::fork();
  if (controller == 0) {
    NullWorker worker;
    worker.prepare({{"hang_at_run", "1"}});
    const int pid = worker->pid();
    if (::write(ends[1], &pid, sizeof pid) != sizeof pid) ::_exit(1);
    (void)worker.infer("out", 600s);
    ::_exit(1);
  }
  int worker = 0;
  ASSERT_EQ(::read(ends[0], &worker, sizeof worker), static_cast<ssize_t>(sizeof worker));
  EXPECT_TRUE(process_runs(worker));
  ::kill(controller, SIGKILL);
  ::waitpid(controller, nullptr, 0);
  for (int i = 0; i < 6000 && process_runs(worker); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_FALSE(process_runs(worker));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(WorkerFaults, AWarmWorkerBindsTheNextShapeOfItsModel) {
  NullWorker worker;
  worker.prepare({}, 1);
  ASSERT_OK(worker.infer("one"));
  ASSERT_OK(worker.bind(8));
  ASSERT_OK(worker.infer("eight"));
  EXPECT_EQ(floats(worker.path("one")).size(), 16u);
  EXPECT_EQ(floats(worker.path("eight")).size(), 128u);
  EXPECT_FALSE(worker.bind(-1));
  EXPECT_EQ(worker.infer().error().code, ErrorCode::kInvalidArgument) << "a failed bind leaves nothing bound";
}

TEST(WorkerFaults, ProbingListsDevicesOrTheReasonWhyThereAreNone) {
  EngineRegistry::Places places;
  places.plugins = plugin("null").parent_path();
  places.worker = ASSAY_BINARY_DIR "/bin/assay-worker";
  const EngineRegistry registry(places);
  const FoundEngine null = probe_engine(registry, "null");
  EXPECT_TRUE(null.available) << null.why_not;
  ASSERT_EQ(null.devices.size(), 1u);
  EXPECT_EQ(null.devices[0].hardware, "cpu");
  EXPECT_GT(null.options.size(), 10u);
  EXPECT_EQ(null.version, "1.0");
  const FoundEngine missing = probe_engine(registry, "openvino");
  EXPECT_FALSE(missing.available);
  EXPECT_EQ(missing.entry.name, "openvino");
  EXPECT_THAT(missing.why_not, HasSubstr("openvino"));
  EXPECT_THAT(probe_engine(registry, "nonsense").why_not, HasSubstr("there is no engine 'nonsense'"));
}

}  // namespace
}  // namespace assay::test
