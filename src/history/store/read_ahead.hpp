// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace assay {

/// Makes the items 0 to `count` - 1 in threads of its own, a few ahead of who takes them, and gives them out in order.
/// `make` is called with each index once, from several threads, and must not throw. Destroyed early, it makes no more.
/// Thread: next() from one.
template <class Item>
class ReadAhead {
 public:
  ReadAhead(std::size_t count, std::size_t threads, std::size_t most_waiting, std::function<Item(std::size_t)> make)
      : count_(count), most_waiting_(most_waiting), make_(std::move(make)) {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;
  ~ReadAhead() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  /// The next item; there must be one.
  Item next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.contains(taken_); });
    auto node = waiting_.extract(taken_++);
    lock.unlock();
    changed_.notify_all();
    return std::move(node.mapped());
  }

 private:
  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopped_ || begun_ >= count_ || begun_ < taken_ + most_waiting_; });
      if (stopped_ || begun_ >= count_) return;
      const std::size_t index = begun_++;
      lock.unlock();
      Item item = make_(index);
      lock.lock();
      waiting_.emplace(index, std::move(item));
      lock.unlock();
      changed_.notify_all();
    }
  }

  const std::size_t count_, most_waiting_;
  const std::function<Item(std::size_t)> make_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::size_t, Item> waiting_;
  std::size_t begun_ = 0, taken_ = 0;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace assay
