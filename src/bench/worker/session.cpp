// SPDX-License-Identifier: Apache-2.0
#include "bench/worker/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>
#include <span>
#include <string>

#include "bench/measure/environment.hpp"
#include "bench/measure/memory.hpp"
#include "bench/measure/runner.hpp"
#include "bench/worker/context_source.hpp"
#include "bench/worker/forced_at_once.hpp"
#include "core/base/clock.hpp"
#include "core/base/log.hpp"
#include "core/samples/samples_file.hpp"
#include "core/tensor/safetensors.hpp"

namespace assay {
namespace {

double milliseconds_since(std::int64_t start_ns) {
  return static_cast<double>(SteadyClock().now_ns() - start_ns) / 1e6;
}

/// The recipe for each input of the program, in its order; nullptr for those that the worker creates for a generation.
Result<std::vector<const InputRecipe*>> match(const std::vector<ValueSignature>& inputs,
                                              const std::vector<InputRecipe>& recipes,
                                              const std::optional<Generation>& generation) {
  std::vector<const InputRecipe*> matched;
  for (const ValueSignature& input : inputs) {
    if (generation && generation->makes(input.name)) {
      matched.push_back(nullptr);
      continue;
    }
    const auto found = std::ranges::find(recipes, input.name, &InputRecipe::name);
    if (found == recipes.end())
      return fail(ErrorCode::kMismatch, fmt::format("there are no values for the program's input '{}'", input.name));
    const auto text = [](DType dtype, const Shape& shape) {
      return fmt::format("{} {}", to_string(dtype), to_string(shape));
    };
    bool fits = found->dtype == input.dtype && (!input.has_rank || found->shape.size() == input.shape.size());
    for (std::size_t d = 0; fits && input.has_rank && d < input.shape.size(); ++d)
      fits = input.shape[d] < 0 || input.shape[d] == found->shape[d];
    if (!fits)
      return fail(ErrorCode::kMismatch, fmt::format("input '{}' is {}, the given values are {}", input.name,
                                                    text(input.dtype, input.shape), text(found->dtype, found->shape)));
    matched.push_back(&*found);
  }
  for (const InputRecipe& recipe : recipes) {
    if (std::ranges::find(inputs, recipe.name, &ValueSignature::name) == inputs.end())
      return fail(ErrorCode::kMismatch,
                  fmt::format("there are values for '{}', but the program has no such input", recipe.name));
  }
  return matched;
}

template <class T>
Json reply(const Result<T>& result) {
  if (!result) return {{"error", worker_protocol::encode_error(result.error())}};
  return {{"ok", worker_protocol::encode(*result)}};
}

}  // namespace

Json WorkerSession::handle(const Json& request) try {
  const std::string op = request.value("op", "");
  const Json args = request.value("args", Json::object());
  const auto perform = [&]<class Request, class Reply>(Result<Reply> (WorkerSession::*act)(const Request&)) {
    return reply(worker_protocol::decode<Request>(args).and_then([&](const Request& r) { return (this->*act)(r); }));
  };
  if (op == "describe") return reply(describe());
  if (op == "load") return perform(&WorkerSession::load);
  if (op == "bind") return perform(&WorkerSession::bind);
  if (op == "infer") return perform(&WorkerSession::infer);
  if (op == "measure") return perform(&WorkerSession::measure);
  if (op == "save") return perform(&WorkerSession::save);
  return reply<worker_protocol::Nothing>(
      fail(ErrorCode::kInternal, fmt::format("the worker has no operation '{}'", op)));
} catch (const std::bad_alloc&) {
  unbind();
  measuring = false;
  return reply<worker_protocol::Nothing>(fail(ErrorCode::kOutOfMemory, "the worker has no host memory left"));
} catch (const std::exception& problem) {
  unbind();
  measuring = false;
  return reply<worker_protocol::Nothing>(
      fail(ErrorCode::kInternal, fmt::format("the worker failed: {}", problem.what())));
}

Status WorkerSession::open_runtime() {
  if (engine_) return {};
  const std::int64_t start = SteadyClock().now_ns();
  ASSAY_TRY(engine_, LoadedEngine::create(plugin_, home_));
  runtime_load_ms_ = milliseconds_since(start);
  return {};
}

void WorkerSession::unbind() {
  contexts_.clear();
  generators_.clear();
  sets_.clear();
}

Result<worker_protocol::Description> WorkerSession::describe() {
  ASSAY_CHECK_OK(open_runtime());
  ASSAY_TRY(auto devices, engine_->devices());
  ASSAY_TRY(auto options, engine_->options());
  auto notes = engine_->notes();  // an engine works without them
  if (!notes) log_warning("the notes of the engine are left out: {}", to_string(notes.error()));
  return worker_protocol::Description{engine_->version(), std::move(devices), std::move(options),
                                      std::move(notes).value_or(EngineOptions())};
}

Result<LoadReply> WorkerSession::load(const LoadRequest& request) {
  unbind();
  program_.reset();
  step_program_.reset();
  ASSAY_CHECK_OK(open_runtime());
  ASSAY_TRY(const ResidentMemory before, resident_memory());
  // If the kernel refuses, the peak counts from the start of the process, which is the same for a fresh worker.
  (void)reset_peak_memory();
  const std::int64_t start = SteadyClock().now_ns();
  LoadProgramArgs args{request.model,   request.device_id, request.precision,
                       request.threads, request.streams,   request.options};
  args.options.insert(args.options.end(), request.shape_options.begin(), request.shape_options.end());
  ASSAY_TRY(program_, engine_->load(args));
  if (!request.step_model.empty()) {
    args.model = request.step_model;
    if (!request.step_options.empty()) args.options = request.step_options;
    ASSAY_TRY(step_program_, with_context(engine_->load(args), "while loading the graph of the further tokens"));
  }
  LoadReply loaded;
  loaded.model_load_s = milliseconds_since(start) / 1e3;
  ASSAY_TRY(const ResidentMemory after, resident_memory());
  loaded.runtime_load_ms = runtime_load_ms_;
  loaded.engine_version = engine_->version();
  loaded.inputs = program_->inputs();
  loaded.outputs = program_->outputs();
  ASSAY_TRY(loaded.effective, program_->effective());
  loaded.rss_before_model_bytes = before.now;
  loaded.rss_after_load_bytes = after.now;
  loaded.peak_load_bytes = after.peak;
  return loaded;
}

Result<worker_protocol::Nothing> WorkerSession::save(const SaveRequest& request) {
  if (!program_) return fail(ErrorCode::kInvalidArgument, "no model is loaded");
  ASSAY_CHECK_OK(program_->save(request.file));
  return worker_protocol::Nothing{};
}

Result<BindReply> WorkerSession::bind(const BindRequest& request) {
  unbind();
  if (!program_) return fail(ErrorCode::kInvalidArgument, "no model is loaded");
  if (request.sets == 0 || request.streams < 1)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("cannot bind {} input sets for {} streams: at least one of each is needed", request.sets,
                            request.streams));
  if (request.streams > 1 && !plugin_.concurrent_contexts())
    return fail(ErrorCode::kUnsupported, fmt::format("{} runs one request at a time, {} streams were requested",
                                                     plugin_.name(), request.streams));
  ASSAY_TRY(const auto recipes, match(program_->inputs(), request.inputs, request.generation));
  // A context counts its sets from 0 and times the first of them.
  set_of_ = timed_sets(request.inputs, request.sets);
  timed_ = set_of_.size();
  for (std::size_t set = 0; set < request.sets; ++set)
    if (std::ranges::find(set_of_, set) == set_of_.end()) set_of_.push_back(set);
  std::vector<std::vector<Tensor>> sets(request.sets);
  for (std::size_t slot = 0; slot < request.sets; ++slot) {
    for (const InputRecipe* recipe : recipes) {
      if (recipe == nullptr) {
        sets[slot].emplace_back();
        continue;
      }
      ASSAY_TRY(Tensor tensor, with_context(make_input(*recipe, request.seed, set_of_[slot]),
                                            fmt::format("while creating input '{}'", recipe->name)));
      sets[slot].push_back(std::move(tensor));
    }
  }
  sets_ = std::move(sets);
  seed_ = request.seed;
  BindReply bound;
  Status done = request.generation ? bind_generators(request, bound) : bind_streams(request, bound);
  if (!done) {
    unbind();
    return tl::unexpected<Error>(std::move(done).error());
  }
  ASSAY_TRY(bound.effective, program_->effective());
  return bound;
}

Status WorkerSession::bind_streams(const BindRequest& request, BindReply& bound) {
  std::vector<TensorView> views;
  for (const Tensor& tensor : sets_.front()) views.push_back(tensor.view());
  for (int stream = 0; stream < request.streams; ++stream) {
    ASSAY_CHECK_OK(program_->prepare_context(views));
    const std::int64_t start = SteadyClock().now_ns();
    ASSAY_TRY(LoadedContext context, program_->create_context(views));
    if (stream == 0 && plugin_.compiles_shapes()) bound.compilation_ms = milliseconds_since(start);
    for (std::size_t set = 0; set < sets_.size(); ++set) {
      for (std::size_t i = 0; i < sets_[set].size(); ++i)
        ASSAY_CHECK_OK(context.set_input(set, i, sets_[set][i].view()));
    }
    contexts_.push_back(std::move(context));
  }
  return {};
}

Status WorkerSession::bind_generators(const BindRequest& request, BindReply& bound) {
  if (request.generation->output_tokens < 1)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("cannot generate {} tokens", request.generation->output_tokens));
  for (int stream = 0; stream < request.streams; ++stream) {
    ASSAY_TRY(Generator generator, Generator::create(*program_, step_program(), *request.generation, sets_));
    if (stream == 0 && plugin_.compiles_shapes())
      bound.compilation_ms = static_cast<double>(generator.compilation_ns()) / 1e6;
    generator.limit_timed_sets(timed_);
    if (std::getenv(kForcedAtOnce) != nullptr) generator.run_forced_at_once();
    generators_.push_back(std::move(generator));
  }
  return {};
}

Result<std::size_t> WorkerSession::slot_of(std::size_t set) const {
  const auto slot = std::ranges::find(set_of_, set);
  if (set >= sets_.size() || slot == set_of_.end())
    return fail(ErrorCode::kInvalidArgument, fmt::format("there is no input set {}: {} are bound", set, sets_.size()));
  return static_cast<std::size_t>(slot - set_of_.begin());
}

// The token ids of every stream's timed generations.
Status WorkerSession::write_tokens(const std::filesystem::path& file) const {
  std::vector<NamedView> kept;
  for (std::size_t stream = 0; stream < generators_.size(); ++stream) {
    const TimedTokens& tokens = generators_[stream].timed_tokens();
    for (std::size_t slot = 0; slot < timed_; ++slot) {
      for (std::size_t i = 0; i < tokens.of(slot).size(); ++i) {
        const std::vector<std::int64_t>& ids = tokens.of(slot)[i];
        const auto length = generators_[stream].output_tokens();
        kept.push_back({fmt::format("{}/{}/{}", set_of_[slot], stream, i),
                        {DType::kInt64, {std::ssize(ids) / length, length}, std::as_bytes(std::span(ids))}});
      }
    }
  }
  return write_safetensors(file, kept, {}, Persistence::kScratch);
}

Status WorkerSession::force(std::size_t stream, std::size_t slot, const InferRequest& request) {
  ASSAY_TRY(const SafetensorsFile file, SafetensorsFile::open(request.forced));
  ASSAY_TRY(const TensorView ids, file.tensor("ids"));
  ASSAY_TRY(const Generator::Largest found, generators_[stream].run_forced(slot, ids));
  const std::array<NamedView, 3> largest{
      {{"ids", found.ids.view()}, {"logits", found.logits.view()}, {"forced", found.forced.view()}}};
  return write_safetensors(request.largest, largest, {}, Persistence::kScratch);
}

Result<InferReply> WorkerSession::infer(const InferRequest& request) {
  if (contexts_.empty() && generators_.empty()) return fail(ErrorCode::kInvalidArgument, "no inputs are bound");
  ASSAY_TRY(const std::size_t slot, slot_of(request.set));
  const auto stream = static_cast<std::size_t>(request.stream);
  if (request.stream < 0 || stream >= contexts_.size() + generators_.size())
    return fail(ErrorCode::kInvalidArgument, fmt::format("there is no stream {}", request.stream));
  if (!generators_.empty()) {
    InferReply reply;
    if (!request.forced.empty()) {
      ASSAY_CHECK_OK(force(stream, slot, request));
      return reply;
    }
    ASSAY_TRY(const Tensor logits, generators_[stream].run_teacher_forced(slot, seed_, reply.run_ms));
    const NamedView named{"logits", logits.view()};
    ASSAY_CHECK_OK(write_safetensors(request.outputs, std::span(&named, 1), {}, Persistence::kScratch));
    if (request.largest.empty()) return reply;
    ASSAY_TRY(const Generator::Largest greedy, generators_[stream].run_greedy(slot));
    const std::array<NamedView, 2> largest{{{"ids", greedy.ids.view()}, {"logits", greedy.logits.view()}}};
    ASSAY_CHECK_OK(write_safetensors(request.largest, largest, {}, Persistence::kScratch));
    return reply;
  }
  LoadedContext& context = contexts_[stream];
  const std::int64_t start = SteadyClock().now_ns();
  ASSAY_CHECK_OK(context.run(slot));
  const double run_ms = milliseconds_since(start);
  std::vector<NamedView> outputs;
  for (std::size_t i = 0; i < program_->outputs().size(); ++i) {
    ASSAY_TRY(TensorView view, context.output(i));
    outputs.push_back({program_->outputs()[i].name, std::move(view)});
  }
  ASSAY_CHECK_OK(write_safetensors(request.outputs, outputs, {}, Persistence::kScratch));
  return InferReply{run_ms};
}

Result<MeasureReply> WorkerSession::measure(const MeasureRequest& request) {
  std::vector<ContextSource> sources;
  sources.reserve(contexts_.size());
  for (LoadedContext& context : contexts_) sources.emplace_back(context, timed_);
  std::vector<BurstSource*> streams;
  streams.reserve(contexts_.size() + generators_.size());
  for (ContextSource& source : sources) streams.push_back(&source);
  for (Generator& generator : generators_) streams.push_back(&generator);
  if (streams.empty()) return fail(ErrorCode::kInvalidArgument, "no inputs are bound");
  if (static_cast<std::size_t>(request.plan.streams) != streams.size())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} streams were requested, {} are bound", request.plan.streams, streams.size()));
  ASSAY_TRY(SamplesWriter writer, SamplesWriter::create(request.samples));

  MeanMemory mean;
  PeakMemory peak;
  MeasureReply reply;
  Json before;
  MeasureHooks hooks;
  hooks.interrupted = &interrupted;
  hooks.window_begins = [&] {
    before = capture_environment();
    peak.begin();
    mean.sample();
  };
  hooks.statistics = [&](bool begins) { begins ? peak.pause() : peak.resume(); };
  hooks.window_ends = [&](std::size_t samples_bytes) { reply.peak_rss_bytes = peak.end(samples_bytes); };
  hooks.between_bursts = [&] { mean.sample(); };
  hooks.flush = [&](const Samples& samples, std::size_t first) { return writer.append(samples, first); };
  interrupted = false;
  measuring = true;
  auto measured = assay::measure(streams, SteadyClock(), request.plan, hooks);
  measuring = false;
  ASSAY_CHECK_OK(writer.close());
  if (!measured) return tl::unexpected<Error>(std::move(measured).error());

  for (const Generator& generator : generators_) reply.generations += generator.timed_tokens().generations();
  if (!request.tokens.empty() && !generators_.empty()) ASSAY_CHECK_OK(write_tokens(request.tokens));
  reply.mean_rss_bytes = mean.mean_bytes();
  const Json after = capture_environment();
  reply.environment = {{"before", before}, {"after", after}, {"noise", noise(before, after, measured->window_ns)}};
  reply.measurement = std::move(*measured);
  reply.measurement.samples = {};
  return reply;
}

}  // namespace assay
