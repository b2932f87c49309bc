// SPDX-License-Identifier: Apache-2.0
#include "worker/protocol.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cmath>
#include <limits>

#include "worker/process.hpp"

namespace assay::worker_protocol {
namespace {
using ::testing::HasSubstr;

struct Ends {
  Ends() {
    int fds[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    ours = Descriptor(fds[0]);
    theirs = Descriptor(fds[1]);
  }
  Descriptor ours, theirs;
};

TEST(Protocol, SendsMessagesOfEverySize) {
  const Ends ends;
  for (const std::size_t size : {0, 1, 255, 256, 70'000}) {
    const Json message{{"text", std::string(size, 'x')}};
    ASSERT_TRUE(send(ends.ours.get(), message));
    EXPECT_EQ(receive(ends.theirs.get()).value(), message);
  }
}

TEST(Protocol, ReportsThatTheOtherSideWasClosed) {
  Ends ends;
  ends.theirs = Descriptor();
  EXPECT_EQ(receive(ends.ours.get()).error().code, ErrorCode::kWorkerDied);
  EXPECT_EQ(send(ends.ours.get(), Json()).error().code, ErrorCode::kWorkerDied);
}

TEST(Protocol, RefusesInvalidMessages) {
  const Ends ends;
  ASSERT_EQ(::send(ends.ours.get(), "\xff\xff\xff\xff", 4, 0), 4);
  EXPECT_THAT(receive(ends.theirs.get()).error().message, HasSubstr("4294967295 bytes"));
  ASSERT_EQ(::send(ends.ours.get(), "\x02\0\0\0{]", 6, 0), 6);
  EXPECT_EQ(receive(ends.theirs.get()).error().code, ErrorCode::kInternal);
}

TEST(Protocol, CallsWaitWhileNothingArrives) {
  const Ends ends;
  int asked = 0;
  const auto waiter = [&]() -> Status { return ++asked < 3 ? Status() : fail(ErrorCode::kTimeout, "enough"); };
  EXPECT_EQ(receive(ends.ours.get(), waiter, std::chrono::milliseconds(1)).error().message, "enough");
  EXPECT_EQ(asked, 3);
}

TEST(Protocol, KeepsEveryFieldOfARequest) {
  MeasureRequest request;
  request.plan.iterations = 50;
  request.plan.streams = 3;
  request.plan.relative_precision = 0.25;
  request.samples = "/tmp/s.bin";
  const auto back = decode<MeasureRequest>(encode(request)).value();
  EXPECT_EQ(back.plan.warmup_iterations, std::nullopt);
  EXPECT_EQ(back.plan.iterations, 50);
  EXPECT_EQ(back.plan.streams, 3);
  EXPECT_EQ(back.plan.relative_precision, 0.25);
  EXPECT_EQ(back.samples, "/tmp/s.bin");

  const BindRequest bind{{{"ids", DType::kInt64, {2, 3}, Fill::kInteger, 1, 9, {}}}, ~std::uint64_t{0}, 4, 2};
  const auto bound = decode<BindRequest>(encode(bind)).value();
  EXPECT_EQ(bound.seed, ~std::uint64_t{0});
  ASSERT_EQ(bound.inputs.size(), 1u);
  EXPECT_EQ(bound.inputs[0].name, "ids");
  EXPECT_EQ(bound.inputs[0].fill, Fill::kInteger);
  EXPECT_EQ(bound.inputs[0].shape, (Shape{2, 3}));
}

TEST(Protocol, KeepsFailuresAndNumbersThatJsonLacks) {
  MeasureReply reply;
  reply.measurement.failure = Error{ErrorCode::kDeviceLost, "gone", {"while measuring"}, "reboot"};
  reply.measurement.stop_reason = StopReason::kFailure;
  reply.environment["governor"] = "performance";
  const auto back = decode<MeasureReply>(encode(reply)).value();
  ASSERT_TRUE(back.measurement.failure);
  EXPECT_EQ(to_string(*back.measurement.failure), to_string(*reply.measurement.failure));
  EXPECT_EQ(back.measurement.stop_reason, StopReason::kFailure);
  EXPECT_EQ(back.environment, reply.environment);

  EXPECT_EQ(decode<InferReply>(encode(InferReply{std::numeric_limits<double>::infinity()}))->run_ms,
            std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(decode<InferReply>(encode(InferReply{std::nan("")}))->run_ms));
}

TEST(Protocol, NamesTheInvalidFieldOfAMessage) {
  EXPECT_THAT(decode<InferRequest>(Json{{"set", 1}}).error().message, HasSubstr("outputs"));
  EXPECT_EQ(decode<InferRequest>(Json{{"set", "one"}, {"outputs", "x"}}).error().code, ErrorCode::kInternal);
}

}  // namespace
}  // namespace assay::worker_protocol
