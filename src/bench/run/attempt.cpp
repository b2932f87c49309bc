// SPDX-License-Identifier: Apache-2.0
#include "bench/run/attempt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "bench/measure/environment.hpp"
#include "bench/plan/row.hpp"
#include "core/base/text.hpp"
#include "core/base/timed_step.hpp"
#include "core/samples/launches.hpp"
#include "core/samples/samples_file.hpp"
#include "core/samples/summary.hpp"
#include "core/traits/cell.hpp"

namespace assay {
namespace {

// A runtime that computes in fewer bits although float32 was requested is refused, not judged with a higher limit.
Status strict(const Record& row) {
  const auto effective = dtype_from(row.effective_precision);
  if (row.precision != "float32" || !effective || bit_width(*effective) >= 32) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("{} computes in {} although float32 was requested", row.engine, row.effective_precision),
              "--precision runtime leaves the choice to the runtime");
}

// Prompt tokens per second, of a model that reads tokens (and not sounds).
void set_prompt_rate(Record& row, const Task& task) {
  const bool of_tokens =
      std::ranges::any_of(task.inputs, [](const InputRecipe& recipe) { return recipe.name == "input_ids"; });
  if (!task.generation || !of_tokens || row.ttft_ms.value_or(0) <= 0 || !row.sequence_length) return;
  const std::int64_t prompt =
      std::max(task.generation->prompt_tokens, *row.sequence_length);  // an encoder's, an image's
  row.prompt_tokens_per_second = static_cast<double>(prompt * task.shape.batch) * 1e3 / *row.ttft_ms;
}

// A model file may accept fewer ids than assay draws, and most do not say how many.
Error with_drawn_values(Error error, const std::vector<InputRecipe>& inputs) {
  if (error.code != ErrorCode::kInvalidArgument) return error;
  std::vector<std::string> drawn;
  for (const InputRecipe& input : inputs)
    if (input.fill == Fill::kInteger)
      drawn.push_back(fmt::format("{} from {:.0f} to {:.0f}", shown(input.name), input.low, input.high));
  if (drawn.empty()) return error;
  if (!error.hint.empty()) error.hint += "; ";
  error.hint += fmt::format("assay drew the values of {}; --data gives others", join(drawn, ", of "));
  return error;
}

}  // namespace

Attempt::Attempt(const LocalTask& local, Record& row, Services services)
    : local_(local),
      task_(local.task),
      row_(row),
      services_(std::move(services)),
      checks_(local, row, services_.reference, services_.scratch),
      deadline_(local.task.timeout),
      name_(fmt::format("{} on {}, {}", row.model, target_key(row), shape_key(row))) {}

Status Attempt::run() {
  // The time to make a reference counts for the first cell that needs it.
  const auto spent = std::exchange(services_.reference.spent, {});
  const std::string& why = services_.reference.why_none;
  if (spent >= task_.timeout)
    return fail(ErrorCode::kTimeout,
                fmt::format("the reference took {:.0f} s, which is the cell's whole --timeout{}{}",
                            std::chrono::duration<double>(spent).count(), why.empty() ? "" : ": ", why),
                "use a longer --timeout, or measure without a reference: --benchmark-only");
  deadline_ = Deadline(task_.timeout - spent);
  const TimedStep step(name_ + ": loaded, verified, measured");
  services_.doing(name_ + ": loading");
  log_ = services_.workers.next_log();
  const WorkTimer::Scope work(services_.timer, Work::kLoading);
  ASSAY_TRY(WorkerPool::Lease leased, services_.workers.acquire(local_, row_.precision, deadline_.left()));
  log_ = services_.workers.log_of(leased.worker());
  row_.process = leased.warm() ? Process::kWarm : Process::kFresh;
  set_load(row_, leased.loaded());
  Status done = use(leased, deadline_);
  // After an error the state of the runtime is unknown.
  if (done) return done;
  leased.discard();
  return tl::unexpected<Error>(with_drawn_values(done.error(), task_.inputs));
}

Status Attempt::use(WorkerPool::Lease& leased, const Deadline& deadline) {
  Worker& worker = leased.worker();
  const auto timed = [&](const char* what, const auto& step) {
    const TimedStep timer(fmt::format("worker {}: {}", worker.pid(), what), LogLevel::kDebug);
    return step();
  };
  ASSAY_CHECK_OK(strict(row_));
  ASSAY_CHECK_OK(timed("prepared the shape", [&] { return bind(worker, deadline); }));
  if (leased.reload_ms()) row_.compilation_time_ms = row_.compilation_time_ms.value_or(0) + *leased.reload_ms();
  ASSAY_CHECK_OK(strict(row_));
  if (task_.verify) services_.doing(name_ + ": verifying");
  ASSAY_CHECK_OK(timed("ran once and compared", [&] {
    const WorkTimer::Scope work(services_.timer, task_.verify ? Work::kVerification : Work::kSampling);
    return checks_.before(worker, deadline);
  }));
  set_whole_load();
  if (!task_.benchmark) return {};
  services_.doing(name_ + ": measuring");
  const WorkTimer::Scope work(services_.timer, Work::kOther);  // what is neither sampling nor verification
  return timed("measured", [&] { return measure(leased, deadline); });
}

// What engines are compared by: some optimise when they open a model, others when they compile a shape or run it first.
void Attempt::set_whole_load() {
  if (row_.process != Process::kFresh || !row_.model_load_time || !row_.first_inference_ms || !services_.cold) return;
  (*services_.cold ? row_.load_cold_ms : row_.load_warm_ms) =
      *row_.model_load_time * 1e3 + row_.compilation_time_ms.value_or(0) + *row_.first_inference_ms;
}

Status Attempt::bind(Worker& worker, const Deadline& deadline) {
  BindRequest request{task_.inputs, task_.seed, set_count(task_.inputs, task_.input_sets),
                      static_cast<int>(task_.shape.streams), task_.generation};
  if (task_.variant) {
    request.inputs = task_.variant->inputs;
    request.generation = task_.variant->generation;
  }
  ASSAY_TRY(const BindReply bound, worker.bind(request, deadline.left()));
  row_.compilation_time_ms = bound.compilation_ms;
  set_effective(row_, bound.effective);
  return {};
}

Status Attempt::measure(WorkerPool::Lease& leased, const Deadline& deadline) {
  MeasureRequest request{task_.measure, services_.samples, checks_.tokens_file()};
  request.plan.streams = static_cast<int>(task_.shape.streams);
  const double run_ms = row_.first_inference_ms.value_or(0);
  services_.limits.apply_to(request.plan, std::chrono::nanoseconds(std::llround(run_ms * 1e6)));
  // Leaves time to warm up and to answer: what is measured by then is a result.
  const std::int64_t budget = deadline.left().count() / 10 * 9;
  request.plan.max_warmup_ns = std::min(request.plan.max_warmup_ns, budget / 4);
  request.plan.max_time_ns = std::min(request.plan.max_time_ns, budget - request.plan.max_warmup_ns);
  const Result<MeasureReply> reply = [&] {
    const WorkTimer::Scope work(services_.timer, Work::kSampling);
    return leased.worker().measure(request, deadline.left());
  }();
  // A worker that died while it measured leaves the blocks that it wrote: they are results, and the row says how it
  // ended.
  Result<SamplesFile> samples = read_samples(services_.samples);
  if (!reply) {
    if (samples && samples->samples.size() > 0) {
      summarise(Measurement{}, samples->samples, task_.shape.batch, row_);
      row_.flags.add(Flag::kPartial);
      samples_ = std::move(samples->samples);
    }
    return tl::unexpected<Error>(reply.error());
  }
  environment_ = reply->environment;
  if (!samples) return tl::unexpected<Error>(samples.error());
  if (reply->measurement.steady_from > samples->samples.size() && !reply->measurement.failure)
    return fail(ErrorCode::kInternal,
                fmt::format("the worker reports {} samples before the steady ones, its file '{}' has {} samples",
                            reply->measurement.steady_from, services_.samples.string(), samples->samples.size()));
  summarise(reply->measurement, samples->samples, task_.shape.batch, row_);
  samples_ = steady_part(std::move(samples->samples), reply->measurement.steady_from);
  set_prompt_rate(row_, task_);
  set_memory(row_, *reply, leased.loaded(), leased.warm());
  flag_noise(environment_, row_);
  if (reply->measurement.stop_reason == StopReason::kInterrupted) row_.flags.add(Flag::kPartial);
  if (reply->measurement.failure) {
    row_.flags.add(Flag::kPartial);
    return tl::unexpected<Error>(*reply->measurement.failure);
  }
  if (reply->measurement.stop_reason == StopReason::kInterrupted) return {};
  services_.doing(name_ + ": verifying again");
  const WorkTimer::Scope work(services_.timer, task_.verify ? Work::kVerification : Work::kOther);
  return checks_.after(leased.worker(), *reply, deadline);
}

}  // namespace assay
