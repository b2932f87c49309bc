// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "analyse/analyse.hpp"
#include "base/hash.hpp"
#include "base/timed_step.hpp"
#include "measure/environment.hpp"
#include "measure/samples_file.hpp"
#include "measure/summary.hpp"
#include "plan/row.hpp"
#include "run/local_state.hpp"
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

Status judge_row(Record& row, const Reference& reference, const std::vector<fs::path>& outputs,
                 const std::vector<InputRecipe>& recipes, std::uint64_t seed, DType arithmetic) {
  OutputFiles files;
  files.reference = reference.outputs;
  files.candidate = outputs;
  files.perturbed = reference.perturbed;
  VerifyOptions options;
  options.reference = reference.name;
  // A graph of 16 bits is rounded between its operators even if the runtime computes each in float32.
  const DType effective = dtype_from(row.effective_precision).value_or(DType::kFloat32);
  options.precision = bit_width(effective) < bit_width(arithmetic) ? effective : arithmetic;
  // Positions that a mask leaves out do not count.
  std::vector<NamedTensor> kept;
  kept.reserve(outputs.size() * recipes.size());
  for (std::size_t set = 0; set < outputs.size(); ++set) {
    options.inputs.emplace_back();
    for (const InputRecipe& recipe : recipes) {
      if (!matters_to_masks(recipe.name)) continue;
      ASSAY_TRY(Tensor tensor, make_input(recipe, seed, set));
      kept.push_back({recipe.name, std::move(tensor)});
      options.inputs.back().push_back({recipe.name, kept.back().tensor.view()});
    }
  }
  ASSAY_TRY(const Verdict verdict, judge(files, options));
  row.verification = verdict.verification;
  row.max_abs_error = verdict.max_abs_error;
  row.max_rel_error = verdict.max_rel_error;
  row.cosine_similarity = verdict.cosine;
  row.error_limit = verdict.error_limit;
  row.worst_output = verdict.worst_output;
  row.message = verdict.message;
  return {};
}

}  // namespace

Status LocalExecutor::State::check(Record& row, Worker& worker, const LocalTask& local, const Deadline& deadline,
                                   Json& outputs) {
  const Task& task = local.task;
  std::vector<fs::path> computed{scratch.path() / "candidate0.safetensors"};
  ASSAY_TRY(const InferReply first, worker.infer({0, computed[0]}, deadline.left()));
  row.first_inference_ms = first.run_ms;
  outputs = fingerprint(computed[0]);
  if (!task.verify) return {};
  const Reference& reference = reference_of(local);
  row.reference = reference.name;
  if (task.inputs.empty()) {
    row.verification = Verification::kDegenerate;
    row.message = "the model has no inputs: its output proves nothing";
    return {};
  }
  if (reference.name == "none") {
    row.verification = Verification::kUnverified;
    row.message = reference.why_none;
    return {};
  }
  if (reference.outputs.size() > 1) {
    computed.push_back(scratch.path() / "candidate1.safetensors");
    ASSAY_TRY([[maybe_unused]] const InferReply second, worker.infer({1, computed[1]}, deadline.left()));
  }
  // A prompt has no padding, and its logits are not its positions.
  ASSAY_CHECK_OK(judge_row(row, reference, computed, task.generation ? std::vector<InputRecipe>() : task.inputs,
                           task.seed, task.arithmetic));
  if (task.generation && row.message.empty())
    row.message = fmt::format("logits compared after the prompt and after {} further tokens",
                              teacher_forced_tokens(task.generation->output_tokens));
  if (const std::string& note = task.reference.given_note; !note.empty())
    row.message =
        fmt::format("{}{}{}; compared with {}", row.message, row.message.empty() ? "" : "; ", note, reference.name);
  return {};
}

// One execution: load, bind, verify, measure. After an error the fields that are already set stay.
Status LocalExecutor::State::attempt(Record& row, const LocalTask& local, const fs::path& samples_path,
                                     Json& environment, Json& outputs, fs::path& log) {
  const std::chrono::nanoseconds timeout = local.task.timeout;
  // The time to make a reference counts for the first cell that needs it.
  const auto spent = std::exchange(reference_of(local).spent, {});
  const std::string& why = reference_of(local).why_none;
  if (spent >= timeout)
    return fail(ErrorCode::kTimeout,
                fmt::format("the reference took {:.0f} s, which is the cell's whole --timeout{}{}",
                            std::chrono::duration<double>(spent).count(), why.empty() ? "" : ": ", why),
                "use a longer --timeout, or measure without a reference: --benchmark-only");
  const Deadline deadline(timeout - spent);
  const std::string name = fmt::format("{} on {}, {}", row.model, target_key(row), shape_key(row));
  const TimedStep step(name + ": loaded, verified, measured");
  services.doing(name + ": loading");
  log = scratch.path() / fmt::format("worker-{}.log", workers + 1);  // where a worker that dies at once wrote
  ASSAY_TRY(WorkerPool::Lease leased, acquire(local, row.precision, deadline.left()));
  log = logs[leased.worker().pid()];
  row.process = leased.warm() ? "warm" : "fresh";
  set_load(row, leased.loaded());
  Status done = strict(row);
  if (done) done = work(row, leased, local, samples_path, deadline, environment, outputs);
  // After an error the state of the runtime is unknown.
  if (!done) leased.discard();
  return done;
}

// What an attempt does with a loaded model: bind, verify, measure.
Status LocalExecutor::State::work(Record& row, WorkerPool::Lease& leased, const LocalTask& local,
                                  const fs::path& samples_path, const Deadline& deadline, Json& environment,
                                  Json& outputs) {
  const Task& task = local.task;
  const std::string name = fmt::format("{} on {}, {}", row.model, target_key(row), shape_key(row));
  Worker& worker = leased.worker();
  BindRequest bind{task.inputs, task.seed, rotating_sets(task.inputs, task.input_sets),
                   static_cast<int>(task.shape.streams), task.generation};
  if (task.variant) {
    bind.inputs = task.variant->inputs;
    bind.generation = task.variant->generation;
  }
  const auto step = [&](const char* what) {
    return TimedStep(fmt::format("worker {}: {}", worker.pid(), what), LogLevel::kDebug);
  };
  const auto bind_shape = [&] {
    const TimedStep binding = step("prepared the shape");
    return worker.bind(bind, deadline.left());
  };
  ASSAY_TRY(const BindReply bound, bind_shape());
  row.compilation_time_ms = bound.compilation_ms;
  set_effective(row, bound.effective);
  ASSAY_CHECK_OK(strict(row));
  if (task.verify) services.doing(name + ": verifying");
  const auto verify = [&] {
    const TimedStep verifying = step("ran once and compared");
    return check(row, worker, local, deadline, outputs);
  };
  ASSAY_CHECK_OK(verify());
  if (!task.benchmark) return {};

  const TimedStep measuring = step("measured");
  services.doing(name + ": measuring");
  MeasureRequest measure{task.measure, samples_path};
  measure.plan.streams = static_cast<int>(task.shape.streams);
  // Leaves time to warm up and to answer: what is measured by then is a result.
  const std::int64_t budget = deadline.left().count() / 10 * 9;
  measure.plan.max_warmup_ns = std::min(measure.plan.max_warmup_ns, budget / 4);
  measure.plan.max_time_ns = std::min(measure.plan.max_time_ns, budget - measure.plan.max_warmup_ns);
  const Result<MeasureReply> reply = worker.measure(measure, deadline.left());
  // A worker that died while it measured leaves the blocks that it wrote: they are results, and the row says how it
  // ended.
  const Result<SamplesFile> samples = read_samples(samples_path);
  if (!reply) {
    if (samples && samples->samples.size() > 0) {
      summarise(Measurement{}, samples->samples, task.shape.batch, row);
      row.add_flag(flag::kPartial);
    }
    return tl::unexpected<Error>(reply.error());
  }
  environment = reply->environment;
  if (!samples) return tl::unexpected<Error>(samples.error());
  summarise(reply->measurement, samples->samples, task.shape.batch, row);
  const bool of_tokens = std::ranges::any_of(task.inputs, [](const InputRecipe& recipe) {
    return recipe.name == "input_ids";  // and not of sounds
  });
  if (task.generation && of_tokens && row.ttft_ms.value_or(0) > 0 && row.sequence_length) {
    const std::int64_t prompt =
        std::max(task.generation->prompt_tokens, *row.sequence_length);  // an encoder's, an image's
    row.prompt_tokens_per_second = static_cast<double>(prompt * task.shape.batch) * 1e3 / *row.ttft_ms;
  }
  set_memory(row, *reply, leased.loaded(), leased.warm());
  flag_noise(environment, row);
  if (reply->measurement.stop_reason == StopReason::kInterrupted) row.add_flag(flag::kPartial);
  if (reply->measurement.failure) {
    row.add_flag(flag::kPartial);
    return tl::unexpected<Error>(*reply->measurement.failure);
  }
  return {};
}

}  // namespace assay
