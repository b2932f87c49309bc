// SPDX-License-Identifier: Apache-2.0
// Workers that break the protocol: each is an error of the call, and the worker is ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "support/null_worker.hpp"

namespace assay::test {
namespace {
using ::testing::HasSubstr;

Result<std::unique_ptr<Worker>> start_fake(const std::string& fault) {
  Worker::StartOptions options;
  options.executable = ASSAY_FAKE_WORKER;
  options.environment = {{"ASSAY_FAKE", fault}};
  return Worker::start({"fake", "/nowhere", ""}, std::move(options));
}

// The error of a request to a worker that answers it wrongly.
Error reply_error(const std::string& fault, std::chrono::nanoseconds timeout = kPatience) {
  auto worker = start_fake("reply " + fault);
  if (!worker) return worker.error();
  auto loaded = (*worker)->load({}, timeout);
  EXPECT_FALSE((*worker)->alive()) << fault;
  EXPECT_NE(::kill((*worker)->pid(), 0), 0) << fault << ": the process is still there";
  return loaded ? Error{ErrorCode::kInternal, "no error"} : loaded.error();
}

TEST(ProtocolFaults, AWrongFirstMessageEndsTheWorker) {
  for (const char* fault : {"nested", "long", "brackets", "garbage", "not_json", "empty", "nul", "utf8", "number",
                            "list", "text", "flood", "error_text"}) {
    const auto worker = start_fake(fault);
    ASSERT_FALSE(worker) << fault;
    EXPECT_EQ(worker.error().code, ErrorCode::kWorkerDied) << fault;
    EXPECT_THAT(worker.error().message, HasSubstr("the fake worker sent an invalid message and was ended: ")) << fault;
    EXPECT_THAT(worker.error().context, ::testing::Contains("while starting it")) << fault;
  }
  EXPECT_TRUE(start_fake("neither")) << "more fields are not an error";
}

TEST(ProtocolFaults, AFirstMessageThatIsCutOffIsADeath) {
  for (const char* fault : {"half_exit", "close"})
    EXPECT_EQ(start_fake(fault).error().code, ErrorCode::kWorkerDied) << fault;
}

TEST(ProtocolFaults, AWrongReplyEndsTheWorker) {
  for (const char* fault : {"nested", "long", "brackets", "brackets_that_fit", "garbage", "not_json", "empty", "nul",
                            "utf8", "number", "list", "text", "neither", "ok_list", "error_text"}) {
    const Error error = reply_error(fault);
    EXPECT_EQ(error.code, ErrorCode::kWorkerDied) << fault << ": " << to_string(error);
    EXPECT_THAT(error.message, HasSubstr("sent an invalid message and was ended")) << fault;
    EXPECT_LT(error.message.size(), 600u) << fault;
  }
}

TEST(ProtocolFaults, ACutOffReplyIsADeath) {
  EXPECT_THAT(reply_error("half_exit").message, HasSubstr("ended with status 0"));
  EXPECT_EQ(reply_error("close").code, ErrorCode::kWorkerDied);
}

TEST(ProtocolFaults, SilenceAndOneByteAtATimeEndWithTheTimeout) {
  for (const char* fault : {"half", "drip", "silence"}) {
    const Error error = reply_error(fault, 300ms);
    EXPECT_EQ(error.code, ErrorCode::kTimeout) << fault << ": " << to_string(error);
    EXPECT_THAT(error.message, HasSubstr("did not answer within 0.3 s")) << fault;
  }
}

TEST(ProtocolFaults, AWorkerThatDoesNotReadEndsWithTheTimeout) {
  const auto worker = start_fake("reply deaf").value();
  LoadRequest request;
  request.options = {{"text", std::string(3'000'000, 'x')}};
  EXPECT_EQ(worker->load(request, 300ms).error().code, ErrorCode::kTimeout);
  EXPECT_FALSE(worker->alive());
}

TEST(ProtocolFaults, ARequestThatIsTooLongLeavesTheWorkerUsable) {
  NullWorker worker;
  LoadRequest request;
  request.options = {{"text", std::string(5'000'000, 'x')}};
  const auto refused = worker->load(request, kPatience);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  worker.prepare();
  EXPECT_TRUE(worker.infer());
}

TEST(ProtocolFaults, CancellingDoesNotWaitForAWorkerThatDoesNotRead) {
  bool now = false;
  Worker::StartOptions options;
  options.executable = ASSAY_FAKE_WORKER;
  options.environment = {{"ASSAY_FAKE", "reply deaf"}};
  options.cancelled = [&now] { return now; };
  const auto worker = Worker::start({"fake", "/nowhere", ""}, options).value();
  now = true;
  LoadRequest request;
  request.options = {{"text", std::string(3'000'000, 'x')}};
  EXPECT_EQ(worker->load(request, kPatience).error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace assay::test
