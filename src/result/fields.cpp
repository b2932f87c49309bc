// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "result/record.hpp"

namespace assay {
namespace {

enum class Key { kNone, kTask, kSeries };  // the series key's fields are in the task key too

constexpr std::string_view sql_type(Count Record::*) { return "BIGINT"; }
constexpr std::string_view sql_type(Number Record::*) { return "DOUBLE"; }
template <class Word>
constexpr std::string_view sql_type(Word Record::*) {
  return "VARCHAR";
}

template <class Member>
constexpr Field field(std::string_view name, Member Record::*member, std::string_view unit, std::string_view meaning,
                      Key key = Key::kNone) {
  return {name, sql_type(member), unit, meaning, member, key != Key::kNone, key == Key::kSeries};
}

constexpr std::array kFields{
    // the bench-runner guide's columns, in its order
    field("latency_p50_ms", &Record::latency_p50_ms, "ms", "median latency of the steady samples"),
    field("latency_p95_ms", &Record::latency_p95_ms, "ms", "95th percentile, nearest rank"),
    field("latency_p99_ms", &Record::latency_p99_ms, "ms", "99th percentile, nearest rank"),
    field("latency_mean_ms", &Record::latency_mean_ms, "ms", "mean latency of the steady samples"),
    field("latency_std_ms", &Record::latency_std_ms, "ms", "standard deviation, n - 1"),
    field("latency_min_ms", &Record::latency_min_ms, "ms", "shortest steady sample"),
    field("latency_max_ms", &Record::latency_max_ms, "ms", "longest steady sample"),
    field("throughput_ips", &Record::throughput_ips, "items/s", "items completed in a second"),
    field("memory_mb", &Record::memory_mb, "MB", "peak memory in the steady phase; memory_source says whose"),
    field("compilation_time_ms", &Record::compilation_time_ms, "ms", "what a new shape costs before it can run"),
    field("framework", &Record::framework, "", "pytorch, jax, or the engine's name"),
    field("model", &Record::model, "", "as the user or the set names it"),
    field("device", &Record::device, "", "as the engine names it, and as load() was asked for it", Key::kSeries),
    field("device_type", &Record::device_type, "", "cpu, cuda, mps, tpu, …"),
    field("batch_size", &Record::batch_size, "", "items in one inference", Key::kSeries),
    field("input_shape", &Record::input_shape, "", "(1, 3, 224, 224); several inputs by name", Key::kSeries),
    field("dtype", &Record::dtype, "", "the precision that was asked for, under the guide's name"),
    field("timestamp", &Record::timestamp, "", "UTC, ISO 8601, end of the attempt"),
    field("git_commit", &Record::git_commit, "", "of the checkout assay was built from"),

    // who and when
    field("run_id", &Record::run_id, "", "one invocation of assay"),
    field("attempt_id", &Record::attempt_id, "", "one execution of the cell in a worker"),
    field("task_key", &Record::task_key, "", "hash of everything that may change a number"),
    field("series_key", &Record::series_key, "", "the same without versions and graph hash: one history"),
    field("process", &Record::process, "", "fresh, or warm: the worker had run another shape before"),
    field("attempt_number", &Record::attempt_number, "", "of this cell in this run, from 1"),
    field("launch_number", &Record::launch_number, "", "of the repeated launches of one cell, from 1"),
    field("host", &Record::host, "", "name of the machine"),
    field("hardware_id", &Record::hardware_id, "", "hash of what is slow to change in the machine", Key::kSeries),
    field("tool_version", &Record::tool_version, "", "of assay", Key::kTask),

    // the model
    field("model_id", &Record::model_id, "", "what the name was resolved to: a Hugging Face id, a path"),
    field("family", &Record::family, "", "embedding, text_generation, vision, audio, multimodal"),
    field("category", &Record::category, "", "one of the hardware guide's ten"),
    field("architecture", &Record::architecture, "", "bert, vit, …"),
    field("model_class", &Record::model_class, "", "BertModel, …", Key::kSeries),
    field("form", &Record::form, "", "of the graph: portable, fixed, native", Key::kSeries),
    field("weights", &Record::weights, "", "checkpoint, seeded, or given (a model file's own)"),
    field("weights_hash", &Record::weights_hash, "", "of the weights or the model file, or seeded:SCHEME:SEED",
          Key::kSeries),
    field("config_hash", &Record::config_hash, "", "of the configuration that the graph was built from", Key::kSeries),
    field("graph_hash", &Record::graph_hash, "", "of the graph as the runtime gets it", Key::kTask),
    field("builder_version", &Record::builder_version, "", "of the zoo's builder", Key::kTask),
    field("seed_scheme", &Record::seed_scheme, "", "of seeded weights and inputs", Key::kSeries),
    field("size", &Record::size, "", "tiny, small, reference, or as_is: the file's own"),
    field("modality", &Record::modality, "", "of custom models"),
    field("parameter_count", &Record::parameter_count, "",
          "of the model as Hugging Face counts them; of a model file, elements of its weights"),
    field("model_size_mb", &Record::model_size_mb, "MB", "of the model's files"),

    // where and how
    field("engine", &Record::engine, "", "the inference runtime", Key::kSeries),
    field("engine_version", &Record::engine_version, "", "of the runtime", Key::kTask),
    field("engine_options", &Record::engine_options, "", "as asked, sorted", Key::kSeries),
    field("effective_options", &Record::effective_options, "", "read back from the runtime"),
    field("hardware", &Record::hardware, "", "cpu, cuda, rocm, mps, openvino, qnn, webgpu, webnn, wasm, tpu",
          Key::kSeries),
    field("device_name", &Record::device_name, "", "as the vendor calls it", Key::kSeries),
    field("precision", &Record::precision, "", "as asked: float32, float16, bfloat16, as_is, runtime", Key::kSeries),
    field("effective_precision", &Record::effective_precision, "", "what the arithmetic really was, read back"),
    field("sequence_length", &Record::sequence_length, "", "tokens; absent for models without a sequence axis",
          Key::kSeries),
    field("output_tokens", &Record::output_tokens, "", "generated tokens", Key::kSeries),
    field("streams", &Record::streams, "", "requests in flight", Key::kSeries),
    field("threads", &Record::threads, "", "asked of the runtime", Key::kSeries),
    field("contract", &Record::contract, "", "what is inside the timed interval: e2e_host, device_resident",
          Key::kSeries),
    field("input_hash", &Record::input_hash, "", "of the inputs", Key::kSeries),
    field("data_source", &Record::data_source, "", "synthetic, or the path of real data"),
    field("seed", &Record::seed, "", "of the inputs", Key::kSeries),

    // how it ended
    field("status", &Record::status, "", "completed, wrong, unsupported, failed, unavailable, skipped"),
    field("reason_code", &Record::reason_code, "", "from the closed list of docs/errors.md"),
    field("message", &Record::message, "", "what happened, with the values involved"),
    field("hint", &Record::hint, "", "what to do"),
    field("flags", &Record::flags, "", "sorted, by commas: few_samples, noisy, partial, scaled, seeded, simulated, …"),
    field("verification", &Record::verification, "", "verified, wrong, unverified, degenerate, ill_conditioned"),
    field("reference", &Record::reference, "", "golden, given, onnxruntime-noopt, none"),
    field("max_abs_error", &Record::max_abs_error, "", "largest absolute difference from the reference"),
    field("max_rel_error", &Record::max_rel_error, "", "largest relative difference from the reference"),
    field("cosine_similarity", &Record::cosine_similarity, "", "of the worst output with the reference's"),
    field("error_limit", &Record::error_limit, "", "what the error was judged by"),
    field("worst_output", &Record::worst_output, "", "name of the output with the largest error over its limit"),

    // phases
    field("runtime_load_ms", &Record::runtime_load_ms, "ms", "opening the runtime's libraries"),
    field("model_load_time", &Record::model_load_time, "s", "from opening the model to a program that can be bound"),
    field("first_inference_ms", &Record::first_inference_ms, "ms", "the first run after load and compilation"),
    field("warmup_iterations", &Record::warmup_iterations, "", "runs before the window"),
    field("warmup_time_ms", &Record::warmup_time_ms, "ms", "wall time of the warm-up"),

    // latency
    field("iterations", &Record::iterations, "", "steady samples"),
    field("latency_p90_ms", &Record::latency_p90_ms, "ms", "90th percentile, nearest rank"),
    field("latency_p50_ns", &Record::latency_p50_ns, "ns", "the median as it was measured"),
    field("latency_p50_low_ms", &Record::latency_p50_low_ms, "ms", "95 % interval of the median, lower end"),
    field("latency_p50_high_ms", &Record::latency_p50_high_ms, "ms", "upper end"),
    field("latency_p90_low_ms", &Record::latency_p90_low_ms, "ms", "95 % interval of p90, lower end"),
    field("latency_p90_high_ms", &Record::latency_p90_high_ms, "ms", "upper end"),
    field("latency_p95_low_ms", &Record::latency_p95_low_ms, "ms", "95 % interval of p95, lower end"),
    field("latency_p95_high_ms", &Record::latency_p95_high_ms, "ms", "upper end"),
    field("latency_p99_low_ms", &Record::latency_p99_low_ms, "ms", "95 % interval of p99, lower end"),
    field("latency_p99_high_ms", &Record::latency_p99_high_ms, "ms", "upper end"),
    field("latency_p50_quality", &Record::latency_p50_quality, "", "ok, or few_samples(n=50<368)"),
    field("latency_p90_quality", &Record::latency_p90_quality, "", "ok, or few_samples(n=50<368)"),
    field("latency_p95_quality", &Record::latency_p95_quality, "", "ok, or few_samples(n=50<368)"),
    field("latency_p99_quality", &Record::latency_p99_quality, "", "ok, or few_samples(n=50<368)"),
    field("autocorrelation_time", &Record::autocorrelation_time, "samples", "of the median's indicator, at least 1"),
    field("outliers", &Record::outliers, "", "samples far from the median: counted, never removed"),
    field("measure_plan", &Record::measure_plan, "", "as asked: adaptive, or warmup=10 iterations=50"),
    field("steady_from", &Record::steady_from, "", "index of the first steady sample in the samples' file"),
    field("steady_class", &Record::steady_class, "", "flat, warmup, slowdown, unsteady"),
    field("stop_reason", &Record::stop_reason, "", "why sampling stopped"),
    field("relative_half_width", &Record::relative_half_width, "", "of the median's interval when sampling stopped"),
    field("window_ns", &Record::window_ns, "ns", "wall time of the steady window"),
    field("wall_time_per_iteration_ns", &Record::wall_time_per_iteration_ns, "ns",
          "of the timed loop, its own cost included"),

    // memory
    field("memory_avg_mb", &Record::memory_avg_mb, "MB", "mean in the steady phase"),
    field("memory_model_mb", &Record::memory_model_mb, "MB", "peak minus what the worker had before the model"),
    field("memory_load_mb", &Record::memory_load_mb, "MB", "peak while the model was loaded"),
    field("memory_source", &Record::memory_source, "", "process, process_warm (an upper bound), device"),

    // generative models
    field("ttft_ms", &Record::ttft_ms, "ms", "start of the prompt's run to the first token id on the host"),
    field("tpot_ms", &Record::tpot_ms, "ms", "mean time of each further token"),
    field("tpot_p50_ms", &Record::tpot_p50_ms, "ms", "median time of each further token"),
    field("tpot_p90_ms", &Record::tpot_p90_ms, "ms", "90th percentile, nearest rank"),
    field("tpot_p95_ms", &Record::tpot_p95_ms, "ms", "95th percentile, nearest rank"),
    field("tpot_p99_ms", &Record::tpot_p99_ms, "ms", "99th percentile, nearest rank"),
    field("tokens_per_second", &Record::tokens_per_second, "tokens/s", "1000 / tpot_ms"),
    field("prompt_tokens_per_second", &Record::prompt_tokens_per_second, "tokens/s",
          "prompt tokens x batch / time to the first token"),

    // cost
    field("energy_j", &Record::energy_j, "J", "per inference, idle subtracted"),
    field("energy_scope", &Record::energy_scope, "", "which counter: package, device, board"),
    field("energy_quality", &Record::energy_quality, "", "how far to trust it"),
    field("flops", &Record::flops, "", "per inference, 2 x multiply-adds, from the static graph"),
    field("bytes", &Record::bytes, "", "moved per inference, from the static graph"),
    field("flops_counted", &Record::flops_counted, "", "share of the operators that were counted, 1.0 is all"),
};

}  // namespace

std::span<const Field> result_fields() { return kFields; }

}  // namespace assay
