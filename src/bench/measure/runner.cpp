// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "bench/measure/stop_rule.hpp"
#include "core/stats/stats.hpp"

namespace assay {
namespace {

constexpr double kWarmupBurstNs = 10e6;
constexpr double kBurstNs = 50e6;
constexpr std::size_t kBurstGrowth = 8;
constexpr std::int64_t kFlushNs = 1'000'000'000;
constexpr std::int64_t kBetweenBurstsNs = 50'000'000;
constexpr std::size_t kMostReserved = 4'000'000;  // samples

enum class Phase { kWarmup, kSampling, kDone };

struct Stream {
  Stream(BurstSource& burst_source, std::uint32_t number)
      : source(burst_source),
        index(number),
        kind(kBurstCapacity),
        start_ns(kBurstCapacity),
        duration_ns(kBurstCapacity) {
    scratch.reserve(kBurstCapacity);
  }
  BurstSource& source;
  std::uint32_t index;
  std::vector<std::uint8_t> kind;
  std::vector<std::int64_t> start_ns, duration_ns;
  std::vector<std::int64_t> scratch;
  std::size_t runs = 0;  ///< ordered until now: the rotation of sets continues from here
  std::int64_t warmup_runs = 0;
  std::size_t last_n = 0;
  double ns_per_run = 0;
};

/// The shared state of the streams and the deciding thread. Streams alternate next(), their burst, accept(); the thread
/// of measure() calls control(). With one stream all three are the same thread.
class Session {
 public:
  Session(std::span<BurstSource* const> sources, const Clock& clock, const MeasurePlan& plan, const MeasureHooks& hooks)
      : clock_(clock), plan_(plan), hooks_(hooks), stop_rule_(plan), warmup_rule_(plan, sources.size()) {
    streams_.reserve(sources.size());
    for (BurstSource* source : sources) {
      const auto index = static_cast<std::uint32_t>(streams_.size());
      streams_.emplace_back(*source, index).runs = index;
    }
    budget_ = plan.iterations.value_or(plan.max_samples);
    reserve_samples();
    began_ns_ = clock.now_ns();
  }

  Measurement run() {
    control();
    if (streams_.size() == 1) {
      while (burst(streams_.front())) control();
    } else {
      run_threads();
    }
    finish();
    return std::move(result_);
  }

 private:
  struct Order {
    Phase phase = Phase::kDone;
    std::size_t n = 0;
  };

  Order next(Stream& stream) {
    const std::lock_guard lock(mutex_);
    if (phase_ == Phase::kDone) return {};
    const double target = phase_ == Phase::kWarmup ? kWarmupBurstNs : kBurstNs;
    std::size_t n = 1;
    if (stream.last_n > 0) {
      const double fitting = target / std::max(stream.ns_per_run, 1.0);
      const std::size_t room = kBurstCapacity / stream.source.samples_per_run();
      n = std::clamp<std::size_t>(static_cast<std::size_t>(fitting), 1, std::min(room, kBurstGrowth * stream.last_n));
    }
    if (phase_ == Phase::kWarmup) {
      const std::int64_t left = plan_.warmup_iterations.value_or(0) - stream.warmup_runs;
      if (left > 0) n = std::min(n, static_cast<std::size_t>(left));
    } else {
      // Several streams get smaller and smaller shares near the end, so that none runs alone for long.
      const auto sharers = streams_.size() == 1 ? 1 : 2 * static_cast<std::int64_t>(streams_.size());
      const std::int64_t share = (budget_ + sharers - 1) / sharers;
      n = std::min(n, static_cast<std::size_t>(share));
      budget_ -= static_cast<std::int64_t>(n);
    }
    return {phase_, n};
  }

  /// One burst; false if there is nothing left to do.
  bool burst(Stream& stream) {
    const Order order = next(stream);
    if (order.n == 0) return false;
    SampleColumns columns{kBurstCapacity, 0, stream.kind.data(), stream.start_ns.data(), stream.duration_ns.data()};
    const std::int64_t begin = clock_.now_ns();
    Status status = stream.source.run_timed(order.n, stream.runs, columns);
    const std::int64_t end = clock_.now_ns();
    stream.runs += order.n;
    accept(stream, order, columns, begin, end, std::move(status));
    return true;
  }

  void accept(Stream& stream, Order order, SampleColumns& columns, std::int64_t begin, std::int64_t end,
              Status status) {
    std::size_t runs = 0;
    if (columns.count > columns.capacity) {
      status = fail(ErrorCode::kInternal, fmt::format("the engine reported {} samples, there is space for {}",
                                                      columns.count, columns.capacity));
      columns.count = 0;
    }
    stream.scratch.clear();
    for (std::size_t i = 0; i < columns.count; ++i) {
      if (columns.duration_ns[i] < 0) {
        status =
            fail(ErrorCode::kInternal, fmt::format("the engine reported a duration of {} ns", columns.duration_ns[i]));
        columns.count = i;
        break;
      }
      if (columns.kind[i] != static_cast<std::uint8_t>(SampleKind::kRun)) continue;
      stream.scratch.push_back(columns.duration_ns[i]);
      ++runs;
    }
    if (status && runs != order.n)
      status = fail(ErrorCode::kInternal, fmt::format("{} runs were requested, the engine reported {}", order.n, runs));
    stream.last_n = order.n;
    stream.ns_per_run = static_cast<double>(end - begin) / static_cast<double>(order.n);

    const std::lock_guard lock(mutex_);
    if (order.phase == Phase::kWarmup) {
      stream.warmup_runs += static_cast<std::int64_t>(runs);
      if (!stream.scratch.empty()) {
        const auto middle = stream.scratch.begin() + static_cast<std::ptrdiff_t>((stream.scratch.size() - 1) / 2);
        std::nth_element(stream.scratch.begin(), middle, stream.scratch.end());
        warmup_rule_.add(static_cast<double>(*middle));
      }
    } else {
      store(stream, columns, end - begin);
      last_end_ns_ = std::max(last_end_ns_, end);
    }
    if (!status && !failure_) failure_ = status.error();
    news_ = true;
    wake_.notify_one();
  }

  /// Called with the lock held.
  void store(const Stream& stream, const SampleColumns& columns, std::int64_t burst_ns) {
    const bool late = phase_ == Phase::kDone && streams_.size() > 1 && !plan_.iterations;
    const std::size_t before = pending_.size();
    bool kept_run = true;  // tokens are kept with their run, which is before them
    for (std::size_t i = 0; i < columns.count; ++i) {
      const std::int64_t start = columns.start_ns[i];
      if (columns.kind[i] == static_cast<std::uint8_t>(SampleKind::kRun)) kept_run = !late || start <= stopped_ns_;
      if (!kept_run) continue;
      pending_.kind.push_back(columns.kind[i]);
      pending_.stream.push_back(stream.index);
      pending_.start_ns.push_back(start == kUnknownStart ? start : start - window_ns_);
      pending_.duration_ns.push_back(columns.duration_ns[i]);
    }
    const std::size_t kept = pending_.size() - before;
    if (kept == columns.count) {
      result_.loop_ns += burst_ns;
    } else {
      result_.loop_ns += burst_ns / static_cast<std::int64_t>(columns.count) * static_cast<std::int64_t>(kept);
    }
  }

  /// Moves the samples that streams stored since the last call. Called with the lock held.
  void drain() {
    Samples& all = result_.samples;
    all.kind.insert(all.kind.end(), pending_.kind.begin(), pending_.kind.end());
    all.stream.insert(all.stream.end(), pending_.stream.begin(), pending_.stream.end());
    all.start_ns.insert(all.start_ns.end(), pending_.start_ns.begin(), pending_.start_ns.end());
    all.duration_ns.insert(all.duration_ns.end(), pending_.duration_ns.begin(), pending_.duration_ns.end());
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      if (pending_.kind[i] == static_cast<std::uint8_t>(SampleKind::kRun))
        runs_.push_back(static_cast<double>(pending_.duration_ns[i]));
    }
    pending_.kind.clear();
    pending_.stream.clear();
    pending_.start_ns.clear();
    pending_.duration_ns.clear();
  }

  bool interrupted() const { return hooks_.interrupted != nullptr && hooks_.interrupted->load(); }

  /// Goes from warm-up to sampling to the end, flushes and samples memory. Streams do not wait for it.
  void control() {
    Phase phase{};
    bool warm = false;
    {
      const std::lock_guard lock(mutex_);
      news_ = false;
      drain();
      if (phase_ == Phase::kDone) return;
      if (failure_) return stop(StopReason::kFailure);
      if (interrupted()) return stop(StopReason::kInterrupted);
      phase = phase_;
      if (phase == Phase::kWarmup) warm = warmed_up();
    }
    if (phase == Phase::kSampling) {
      const std::int64_t now = clock_.now_ns();
      const bool statistics = hooks_.statistics && stop_rule_.due(runs_.size());
      if (statistics) hooks_.statistics(true);
      const auto reason = stop_rule_.decide(runs_, now - window_ns_);
      if (statistics) hooks_.statistics(false);
      if (reason) {
        const std::lock_guard lock(mutex_);
        return stop(*reason);
      }
      if (hooks_.between_bursts && now - last_hook_ns_ >= kBetweenBurstsNs) {
        last_hook_ns_ = now;
        hooks_.between_bursts();
      }
      if (now - last_flush_ns_ >= kFlushNs) flush(now);
    } else if (warm) {
      if (hooks_.window_begins) hooks_.window_begins();
      const std::lock_guard lock(mutex_);
      window_ns_ = last_end_ns_ = last_flush_ns_ = last_hook_ns_ = clock_.now_ns();
      result_.warmup_ns = window_ns_ - began_ns_;
      phase_ = Phase::kSampling;
    }
  }

  bool warmed_up() const {
    if (plan_.warmup_iterations) {
      const bool late = plan_.time_limits_iterations && clock_.now_ns() - began_ns_ >= plan_.max_warmup_ns;
      if (late) return std::ranges::all_of(streams_, [](const Stream& s) { return s.warmup_runs > 0; });
      return std::ranges::all_of(streams_, [&](const Stream& s) { return s.warmup_runs >= *plan_.warmup_iterations; });
    }
    return std::ranges::all_of(streams_, [](const Stream& s) { return s.warmup_runs > 0; }) &&
           warmup_rule_.done(clock_.now_ns() - began_ns_);
  }

  void stop(StopReason reason) {
    stopped_ns_ = clock_.now_ns();
    if (phase_ == Phase::kWarmup) result_.warmup_ns = stopped_ns_ - began_ns_;
    phase_ = Phase::kDone;
    result_.stop_reason = reason;
  }

  void flush(std::int64_t now) {
    last_flush_ns_ = now;
    if (!hooks_.flush || flush_failed_ || flushed_ == result_.samples.size()) return;
    Status status = hooks_.flush(result_.samples, flushed_);
    flushed_ = result_.samples.size();
    if (status) return;
    flush_failed_ = true;
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = status.error();
    if (phase_ != Phase::kDone) stop(StopReason::kFailure);
  }

  void run_threads() {
    std::vector<std::thread> threads;
    threads.reserve(streams_.size());
    try {
      for (Stream& stream : streams_)
        threads.emplace_back([this, &stream] {
          while (burst(stream)) {
          }
        });
    } catch (const std::system_error& error) {
      const std::lock_guard lock(mutex_);
      failure_ = Error{ErrorCode::kInternal, fmt::format("cannot start thread {} of {}: {}", threads.size() + 1,
                                                         streams_.size(), error.what())};
    }
    while (true) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait_for(lock, std::chrono::milliseconds(50), [this] { return news_; });
      }
      control();
      const std::lock_guard lock(mutex_);
      if (phase_ == Phase::kDone) break;
    }
    for (std::thread& thread : threads) thread.join();
  }

  /// Room for all samples, so that growing does not leave copies in the process's memory. Pages that no sample reaches
  /// are not resident.
  void reserve_samples() {
    const auto runs = static_cast<std::size_t>(std::clamp<std::int64_t>(budget_, 0, std::int64_t{kMostReserved}));
    const std::size_t samples = std::min(runs * streams_.front().source.samples_per_run(), kMostReserved);
    runs_.reserve(runs);
    result_.samples.kind.reserve(samples);
    result_.samples.stream.reserve(samples);
    result_.samples.start_ns.reserve(samples);
    result_.samples.duration_ns.reserve(samples);
  }

  [[nodiscard]] std::size_t samples_bytes() const {
    constexpr std::size_t kSample = sizeof(std::uint8_t) + sizeof(std::uint32_t) + 2 * sizeof(std::int64_t);
    return result_.samples.size() * kSample + runs_.size() * sizeof(double);
  }

  void finish() {
    drain();
    if (hooks_.window_ends) hooks_.window_ends(samples_bytes());
    for (const Stream& stream : streams_) result_.warmup_iterations += stream.warmup_runs;
    if (result_.samples.size() > 0) result_.window_ns = last_end_ns_ - window_ns_;
    flush(last_flush_ns_);
    if (failure_) {
      result_.failure = failure_;
      result_.stop_reason = StopReason::kFailure;
    }
    if (runs_.empty()) return;
    const stats::SteadyState steady = stats::detect_steady_state(runs_);
    result_.steady_class = steady.kind;
    // After a request for N samples all N count, whatever the series looks like.
    const std::size_t first = plan_.iterations ? 0 : steady.steady_from;
    result_.steady_from = index_of_run(first);
    result_.relative_half_width = median_half_width(std::span(runs_).subspan(first));
  }

  std::size_t index_of_run(std::size_t run) const {
    const auto& kinds = result_.samples.kind;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      if (kinds[i] == static_cast<std::uint8_t>(SampleKind::kRun) && run-- == 0) return i;
    }
    return kinds.size();
  }

  const Clock& clock_;
  const MeasurePlan& plan_;
  const MeasureHooks& hooks_;
  std::vector<Stream> streams_;
  StopRule stop_rule_;
  std::int64_t began_ns_ = 0;
  std::int64_t last_flush_ns_ = 0;
  std::int64_t last_hook_ns_ = 0;
  std::size_t flushed_ = 0;
  bool flush_failed_ = false;
  std::vector<double> runs_;  ///< durations of the window's runs
  Measurement result_;

  std::mutex mutex_;  ///< guards the following members, the streams' warm-up counts and result_.loop_ns
  std::condition_variable wake_;
  bool news_ = false;
  Phase phase_ = Phase::kWarmup;
  WarmupRule warmup_rule_;
  std::int64_t budget_ = 0;  ///< runs of the window not yet ordered
  std::int64_t window_ns_ = 0;
  std::int64_t last_end_ns_ = 0;
  std::int64_t stopped_ns_ = 0;
  Samples pending_;
  std::optional<Error> failure_;
};

Status check_plan(const MeasurePlan& plan) {
  const auto refuse = [](std::string_view what, auto value) -> Status {
    return fail(ErrorCode::kInvalidArgument, fmt::format("invalid measurement plan: {} = {}", what, value),
                "counts and times are 0 or more, iterations and samples 1 or more");
  };
  if (plan.warmup_iterations.value_or(0) < 0) return refuse("warmup_iterations", *plan.warmup_iterations);
  if (plan.iterations.value_or(1) < 1) return refuse("iterations", *plan.iterations);
  if (plan.min_samples < 1) return refuse("min_samples", plan.min_samples);
  if (plan.max_samples < 1) return refuse("max_samples", plan.max_samples);
  if (!(plan.relative_precision >= 0)) return refuse("relative_precision", plan.relative_precision);
  if (plan.max_time_ns < 0) return refuse("max_time_ns", plan.max_time_ns);
  if (plan.max_warmup_ns < 0) return refuse("max_warmup_ns", plan.max_warmup_ns);
  return {};
}

}  // namespace

Result<Measurement> measure(std::span<BurstSource* const> streams, const Clock& clock, const MeasurePlan& plan,
                            const MeasureHooks& hooks) {
  if (streams.empty()) return fail(ErrorCode::kInvalidArgument, "a measurement needs at least one stream");
  for (const BurstSource* stream : streams) {
    if (stream->samples_per_run() > kBurstCapacity)
      return fail(ErrorCode::kInvalidArgument, fmt::format("a run has {} samples, there is space for {}",
                                                           stream->samples_per_run(), kBurstCapacity));
  }
  ASSAY_CHECK_OK(check_plan(plan));
  return Session(streams, clock, plan, hooks).run();
}

}  // namespace assay
