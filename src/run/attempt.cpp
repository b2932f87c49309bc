// SPDX-License-Identifier: Apache-2.0
#include "run/attempt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analyse/analyse.hpp"
#include "base/hash.hpp"
#include "base/timed_step.hpp"
#include "measure/environment.hpp"
#include "measure/samples_file.hpp"
#include "measure/summary.hpp"
#include "plan/row.hpp"
#include "verify/verify.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

/// Inputs of all rotating sets together stay below this.
constexpr std::uint64_t kMaxInputBytes = 256ULL << 20;

std::size_t rotating_sets(const std::vector<InputRecipe>& recipes, std::size_t wanted) {
  std::uint64_t bytes = 1;
  if (recipes.empty()) return 1;
  for (const InputRecipe& recipe : recipes) bytes += byte_size(recipe.dtype, recipe.shape).value_or(0);
  return std::clamp<std::size_t>(kMaxInputBytes / bytes, 2, std::max<std::size_t>(2, wanted));
}

// Identifies the outputs, for the bundle: later one can see whether two attempts have the same outputs.
Json fingerprint(const fs::path& outputs) {
  const Result<std::string> hash = sha256_file(outputs);
  return hash ? Json{{"set0_sha256", *hash}} : Json(nullptr);
}

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

}  // namespace

Attempt::Attempt(const LocalTask& local, Record& row, Services services)
    : local_(local),
      task_(local.task),
      row_(row),
      services_(std::move(services)),
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
  const Deadline deadline(task_.timeout - spent);
  const TimedStep step(name_ + ": loaded, verified, measured");
  services_.doing(name_ + ": loading");
  log_ = services_.workers.next_log();
  ASSAY_TRY(WorkerPool::Lease leased, services_.workers.acquire(local_, row_.precision, deadline.left()));
  log_ = services_.workers.log_of(leased.worker());
  row_.process = leased.warm() ? "warm" : "fresh";
  set_load(row_, leased.loaded());
  Status done = use(leased, deadline);
  // After an error the state of the runtime is unknown.
  if (!done) leased.discard();
  return done;
}

Status Attempt::use(WorkerPool::Lease& leased, const Deadline& deadline) {
  Worker& worker = leased.worker();
  const auto timed = [&](const char* what, const auto& step) {
    const TimedStep timer(fmt::format("worker {}: {}", worker.pid(), what), LogLevel::kDebug);
    return step();
  };
  ASSAY_CHECK_OK(strict(row_));
  ASSAY_CHECK_OK(timed("prepared the shape", [&] { return bind(worker, deadline); }));
  ASSAY_CHECK_OK(strict(row_));
  if (task_.verify) services_.doing(name_ + ": verifying");
  ASSAY_CHECK_OK(timed("ran once and compared", [&] { return verify(worker, deadline); }));
  if (!task_.benchmark) return {};
  services_.doing(name_ + ": measuring");
  return timed("measured", [&] { return measure(leased, deadline); });
}

Status Attempt::bind(Worker& worker, const Deadline& deadline) {
  BindRequest request{task_.inputs, task_.seed, rotating_sets(task_.inputs, task_.input_sets),
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

Status Attempt::judge_outputs(const std::vector<fs::path>& computed) {
  const Reference& reference = services_.reference;
  OutputFiles files;
  files.reference = reference.outputs;
  files.candidate = computed;
  files.perturbed = reference.perturbed;
  VerifyOptions options;
  options.reference = reference.name;
  // A graph of 16 bits is rounded between its operators even if the runtime computes each in float32.
  const DType effective = dtype_from(row_.effective_precision).value_or(DType::kFloat32);
  options.precision = bit_width(effective) < bit_width(task_.arithmetic) ? effective : task_.arithmetic;
  // Positions that a mask leaves out do not count. A prompt has no padding, and its logits are not its positions.
  const std::vector<InputRecipe> masks = task_.generation ? std::vector<InputRecipe>() : task_.inputs;
  std::vector<NamedTensor> kept;
  kept.reserve(computed.size() * masks.size());
  for (std::size_t set = 0; set < computed.size(); ++set) {
    options.inputs.emplace_back();
    for (const InputRecipe& recipe : masks) {
      if (!matters_to_masks(recipe.name)) continue;
      ASSAY_TRY(Tensor tensor, make_input(recipe, task_.seed, set));
      kept.push_back({recipe.name, std::move(tensor)});
      options.inputs.back().push_back({recipe.name, kept.back().tensor.view()});
    }
  }
  ASSAY_TRY(const Verdict verdict, judge(files, options));
  row_.verification = verdict.verification;
  row_.max_abs_error = verdict.max_abs_error;
  row_.max_rel_error = verdict.max_rel_error;
  row_.cosine_similarity = verdict.cosine;
  row_.error_limit = verdict.error_limit;
  row_.worst_output = verdict.worst_output;
  row_.message = verdict.message;
  return {};
}

Status Attempt::verify(Worker& worker, const Deadline& deadline) {
  std::vector<fs::path> computed{services_.scratch / "candidate0.safetensors"};
  ASSAY_TRY(const InferReply first, worker.infer({0, computed[0]}, deadline.left()));
  row_.first_inference_ms = first.run_ms;
  outputs_ = fingerprint(computed[0]);
  if (!task_.verify) return {};
  const Reference& reference = services_.reference;
  row_.reference = reference.name;
  if (task_.inputs.empty()) {
    row_.verification = Verification::kDegenerate;
    row_.message = "the model has no inputs: its output proves nothing";
    return {};
  }
  if (reference.name == "none") {
    row_.verification = Verification::kUnverified;
    row_.message = reference.why_none;
    return {};
  }
  if (reference.outputs.size() > 1) {
    computed.push_back(services_.scratch / "candidate1.safetensors");
    ASSAY_TRY([[maybe_unused]] const InferReply second, worker.infer({1, computed[1]}, deadline.left()));
  }
  ASSAY_CHECK_OK(judge_outputs(computed));
  if (task_.generation && row_.message.empty())
    row_.message = fmt::format("logits compared after the prompt and after {} further tokens",
                               teacher_forced_tokens(task_.generation->output_tokens));
  if (const std::string& note = task_.reference.given_note; !note.empty())
    row_.message =
        fmt::format("{}{}{}; compared with {}", row_.message, row_.message.empty() ? "" : "; ", note, reference.name);
  return {};
}

Status Attempt::measure(WorkerPool::Lease& leased, const Deadline& deadline) {
  MeasureRequest request{task_.measure, services_.samples};
  request.plan.streams = static_cast<int>(task_.shape.streams);
  // Leaves time to warm up and to answer: what is measured by then is a result.
  const std::int64_t budget = deadline.left().count() / 10 * 9;
  request.plan.max_warmup_ns = std::min(request.plan.max_warmup_ns, budget / 4);
  request.plan.max_time_ns = std::min(request.plan.max_time_ns, budget - request.plan.max_warmup_ns);
  const Result<MeasureReply> reply = leased.worker().measure(request, deadline.left());
  // A worker that died while it measured leaves the blocks that it wrote: they are results, and the row says how it
  // ended.
  const Result<SamplesFile> samples = read_samples(services_.samples);
  if (!reply) {
    if (samples && samples->samples.size() > 0) {
      summarise(Measurement{}, samples->samples, task_.shape.batch, row_);
      row_.add_flag(flag::kPartial);
    }
    return tl::unexpected<Error>(reply.error());
  }
  environment_ = reply->environment;
  if (!samples) return tl::unexpected<Error>(samples.error());
  summarise(reply->measurement, samples->samples, task_.shape.batch, row_);
  set_prompt_rate(row_, task_);
  set_memory(row_, *reply, leased.loaded(), leased.warm());
  flag_noise(environment_, row_);
  if (reply->measurement.stop_reason == StopReason::kInterrupted) row_.add_flag(flag::kPartial);
  if (reply->measurement.failure) {
    row_.add_flag(flag::kPartial);
    return tl::unexpected<Error>(*reply->measurement.failure);
  }
  return {};
}

}  // namespace assay
