// SPDX-License-Identifier: Apache-2.0
#include "bench/worker/protocol.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <limits>
#include <string>
#include <thread>

#include "bench/worker/process.hpp"

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

const Patience kNoLimit{};

// What the other side sends raw, with a length before it.
std::string framed(const std::string& body) {
  const auto size = static_cast<std::uint32_t>(body.size());
  std::string frame{static_cast<char>(size), static_cast<char>(size >> 8), static_cast<char>(size >> 16),
                    static_cast<char>(size >> 24)};
  return frame + body;
}
Error error_of(const std::string& bytes, std::uint32_t most = kMaxMessageBytes) {
  Ends ends;
  std::thread writer([&] {  // more than the socket's buffer
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t sent = ::send(ends.ours.get(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
      if (sent <= 0) break;
      done += static_cast<std::size_t>(sent);
    }
    ::shutdown(ends.ours.get(), SHUT_WR);
  });
  const Result<Json> received = receive(ends.theirs.get(), kNoLimit, most);
  ends.theirs = Descriptor();
  writer.join();
  return received ? Error{ErrorCode::kInternal, "a valid message: " + json_text(*received)} : received.error();
}

TEST(Protocol, SendsMessagesOfEverySize) {
  const Ends ends;
  for (const std::size_t size : {0, 1, 255, 256, 70'000}) {
    const Json message{{"text", std::string(size, 'x')}};
    ASSERT_TRUE(send(ends.ours.get(), message, kNoLimit));
    EXPECT_EQ(receive(ends.theirs.get(), kNoLimit).value(), message);
  }
}

TEST(Protocol, SendsMessagesBeyondTheSocketsBuffer) {
  const Ends ends;
  const Json message{{"text", std::string(3'000'000, 'x')}};
  std::thread reader([&] { EXPECT_EQ(receive(ends.theirs.get(), kNoLimit).value(), message); });
  EXPECT_TRUE(send(ends.ours.get(), message, kNoLimit));
  reader.join();
}

TEST(Protocol, ReportsThatTheOtherSideWasClosed) {
  Ends ends;
  ends.theirs = Descriptor();
  EXPECT_EQ(receive(ends.ours.get(), kNoLimit).error().code, ErrorCode::kWorkerDied);
  EXPECT_EQ(send(ends.ours.get(), Json(), kNoLimit).error().code, ErrorCode::kWorkerDied);
  EXPECT_EQ(error_of("").code, ErrorCode::kWorkerDied);
  EXPECT_EQ(error_of(framed("{}").substr(0, 3)).code, ErrorCode::kWorkerDied) << "in the middle of a length";
  EXPECT_EQ(error_of(framed("{\"ok\": 1}").substr(0, 9)).code, ErrorCode::kWorkerDied) << "in the middle of a message";
}

TEST(Protocol, AClosedDescriptorEndsAWait) {
  const int closed = Ends().ours.get();
  EXPECT_EQ(await_message(closed).error().code, ErrorCode::kWorkerDied);
  EXPECT_EQ(receive(closed, kNoLimit).error().code, ErrorCode::kWorkerDied);
  EXPECT_EQ(send(closed, Json(), kNoLimit).error().code, ErrorCode::kWorkerDied);
}

std::atomic<int> signals_seen = 0;

TEST(Protocol, ASignalDoesNotEndAWaitWithoutALimit) {
  constexpr int kSignals = 100;
  struct sigaction counted {
  }, before{};
  counted.sa_handler = [](int) { ++signals_seen; };
  ASSERT_EQ(::sigaction(SIGUSR1, &counted, &before), 0);
  const Ends ends;
  std::atomic<bool> ended = false;
  std::thread waiting([&] {
    EXPECT_TRUE(await_message(ends.theirs.get()));
    ended = true;
  });
  for (int sent = 1; sent <= kSignals; ++sent) {
    ::pthread_kill(waiting.native_handle(), SIGUSR1);
    while (signals_seen < sent && !ended) std::this_thread::yield();
  }
  EXPECT_FALSE(ended);
  EXPECT_TRUE(send(ends.ours.get(), Json(), kNoLimit));
  waiting.join();
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST(Protocol, RefusesInvalidMessages) {
  EXPECT_THAT(error_of("\xff\xff\xff\xff").message, HasSubstr("4294967295 bytes"));
  EXPECT_THAT(error_of(framed(std::string(101, ' ')), 100).message, HasSubstr("101 bytes; at most 100"));
  for (const std::string& body :
       {std::string("{]"), std::string(), std::string("GET / HTTP/1.0\r\n"), std::string("{\"a\": 1}\0", 9),
        std::string("{\"a\": \"\0\"}", 10), std::string("{\"a\": \"\xff\xfe\"}"), std::string("{\"a\": 1e999}"),
        std::string("{\"a\": 1, \"a\": 2}"), std::string("{\"a\": NaN}")}) {
    const Error error = error_of(framed(body));
    EXPECT_EQ(error.code, ErrorCode::kInternal) << body;
    EXPECT_THAT(error.message, HasSubstr("a message: ")) << body;
  }
}

TEST(Protocol, DeepNestingIsRefusedBeforeItIsParsed) {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_THAT(error_of(framed(nested(300'000))).message, HasSubstr("nesting deeper than 200"));
  EXPECT_THAT(error_of(framed(std::string(4'000'000, '['))).message, HasSubstr("nesting deeper than 200"));
  EXPECT_THAT(error_of(framed(std::string(20'000'000, '['))).message, HasSubstr("20000000 bytes; at most"));
  EXPECT_THAT(error_of(framed(nested(200))).message, HasSubstr("a valid message"));
}

TEST(Protocol, AMessageThatIsOneLongTokenIsNotQuotedAsAWhole) {
  EXPECT_LT(error_of(framed("\"" + std::string(3'000'000, 'x'))).message.size(), 400u);
}

TEST(Protocol, AsksWhileNothingArrives) {
  const Ends ends;
  int asked = 0;
  const auto ask = [&]() -> Status { return ++asked < 3 ? Status() : fail(ErrorCode::kTimeout, "enough"); };
  EXPECT_EQ(receive(ends.ours.get(), {ask, std::chrono::milliseconds(1)}).error().message, "enough");
  EXPECT_EQ(asked, 3);
}

TEST(Protocol, AsksAlsoWhileBytesArriveOneByOne) {
  const Ends ends;
  const std::string slow = framed(std::string(10'000, ' '));
  int asked = 0;  // each time, one byte more is there: the receiver never has to wait
  const auto ask = [&]() -> Status {
    if (asked == 100) return fail(ErrorCode::kTimeout, "enough");
    EXPECT_EQ(::send(ends.ours.get(), slow.data() + asked++, 1, 0), 1);
    return {};
  };
  EXPECT_EQ(receive(ends.theirs.get(), {ask, std::chrono::milliseconds(0)}).error().message, "enough");
}

TEST(Protocol, AsksWhileTheOtherSideDoesNotRead) {
  const Ends ends;
  int asked = 0;
  const auto ask = [&]() -> Status { return ++asked < 3 ? Status() : fail(ErrorCode::kTimeout, "enough"); };
  const Json large{{"text", std::string(3'000'000, 'x')}};
  EXPECT_EQ(send(ends.ours.get(), large, {ask, std::chrono::milliseconds(1)}).error().message, "enough");
}

TEST(Protocol, AMessageHasItsTimeFromTheFirstByteToTheLast) {
  const Ends ends;
  ASSERT_EQ(::send(ends.ours.get(), framed("{}").data(), 5, 0), 5);
  const auto late = receive(ends.theirs.get(), within(std::chrono::nanoseconds(1)));
  EXPECT_EQ(late.error().code, ErrorCode::kTimeout);
  EXPECT_THAT(late.error().message, HasSubstr("a message took more than"));
}

TEST(Protocol, DoesNotSendWhatTheOtherSideWouldRefuse) {
  const Ends ends;
  const Json large{{"text", std::string(kMaxMessageBytes, 'x')}};
  EXPECT_EQ(send(ends.ours.get(), large, kNoLimit).error().code, ErrorCode::kInvalidArgument);
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
