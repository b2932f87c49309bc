// SPDX-License-Identifier: Apache-2.0
#include "history/store/read_ahead.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>

namespace assay {
namespace {

TEST(ReadAhead, GivesAllItemsInOrderWhateverThreadIsSlow) {
  for (const std::size_t threads : {1, 3}) {
    ReadAhead<std::unique_ptr<std::size_t>> ahead(200, threads, 4, [](std::size_t i) {
      if (i % 7 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
      return std::make_unique<std::size_t>(i);
    });
    for (std::size_t i = 0; i < 200; ++i) EXPECT_EQ(*ahead.next(), i);
  }
}

TEST(ReadAhead, MakesNoMoreThanWait) {
  std::atomic<std::size_t> made = 0;
  {
    ReadAhead<int> ahead(1000, 2, 5, [&](std::size_t) { return static_cast<int>(++made); });
    for (int i = 0; i < 10; ++i) ahead.next();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_LE(made, 15U);
  }
  EXPECT_LE(made, 15U) << "destroyed early";
}

TEST(ReadAhead, OfNothingEndsAtOnce) {
  const ReadAhead<int> ahead(0, 2, 5, [](std::size_t) { return 0; });
}

}  // namespace
}  // namespace assay
