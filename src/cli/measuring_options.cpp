// SPDX-License-Identifier: Apache-2.0
#include "cli/measuring_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "base/log.hpp"
#include "base/text.hpp"
#include "engine/engine_entry.hpp"
#include "result/hardware_words.hpp"
#include "store/bundle.hpp"
#include "zoo/zoo.hpp"

namespace assay::cli {
namespace {

constexpr std::int64_t kMaxExtent = 1 << 24;
constexpr std::int64_t kMaxOutputTokens = 8192;  ///< of which every one is a sample, and a burst has room for one run's
constexpr std::int64_t kMaxRuns = 10'000'000;    ///< of which every sample is kept: 170 MB, times the tokens of each

// An option's integers, sorted, each once. Checked here and not by the parser, which would clamp what is too large.
Result<std::vector<std::int64_t>> integers(const char* option, const std::vector<std::string>& texts,
                                           std::int64_t least, std::int64_t most = kMaxExtent) {
  std::vector<std::int64_t> values;
  for (const std::string& text : texts) {
    const auto value = parse_number<std::int64_t>(text);
    if (!value || *value < least || *value > most)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: '{}' is not valid; give integers from {} to {}, as 1 4 8 or 1,4,8", option, text,
                              least, most));
    values.push_back(*value);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::set<std::string> published_sizes() {
  std::set<std::string> sizes;
  for (const zoo::Architecture& architecture : zoo::architectures())
    for (const zoo::KnownModel& known : zoo::published(architecture.name)) sizes.insert(known.size);
  return sizes;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::vector<std::string> built_engines() {
  std::vector<std::string> names;
  for (const EngineEntry& engine : own_engines())
    if (engine.built) names.push_back(engine.name);
  return names;
}

}  // namespace

void MeasuringOptions::add_to(CLI::App& command) {
  command
      .add_option("--hardware,--device", hardware,
                  "all " + join(hardware_words(), " ") + " (qualcomm: qnn); default: all that is available")
      ->delimiter(',');
  command
      .add_option("--engines,--engine", engines,
                  "Inference runtimes: " + join(built_engines(), " ") + "; default: the hardware's own")
      ->delimiter(',');
  command.add_option("--device-id", device, "An engine's device id, e.g. GPU.0; default: its best");
  command.add_option("--batch-sizes,--batch-size", batch_sizes, "Batch sizes, e.g. 1 4 8 or 1,4,8")->delimiter(',');
  command.add_option("--sequence-lengths", sequence_lengths, "Sequence lengths in tokens; default: 128")
      ->delimiter(',');
  command
      .add_option("--output-tokens", output_tokens,
                  "Tokens that generative models give; default: 32. 0: one forward pass instead")
      ->delimiter(',');
  command.add_option(
      "--kv-cache", kv_cache,
      "KV cache of generative models: growing (default), static (fixed length), runtime (the runtime's own)");
  command.add_option("--form", form)->group("");
  command.add_option("--precision", precision,
                     "float32 (default, strictly), float16, bfloat16, runtime (its own choice), as_is");
  command.add_option("--streams", streams, "Requests in flight at once, for throughput; default: 1")->delimiter(',');
  command.add_option("--threads", threads, "Threads of one inference; default: all that this process may use")
      ->delimiter(',');
  command.add_option("--seed", seed_text, "Seed of inputs and seeded weights");
  command.add_option("--data", data, "Folder or file with real inputs (.npy .npz .pb .safetensors, by input name)");
  command.add_option("--size", size,
                     "Published size of the zoo's models: tiny, small, reference, 1.2b, …; default: the one named");
  command.add_option("--scale", scale, "Share of the layers that the zoo builds, e.g. 0.25; default: all");
  command.add_option("--engine-option", engine_options, "key=value for the engine; `assay engines` lists them");
  command.add_option("--warmup", warmup, "Warm-up iterations; default: until steady");
  command.add_option("--iterations", iterations, "Timed iterations; default: until the median is known to 0.5 %");
  command.add_option("--timeout", timeout, "Seconds for one cell, its reference included")->capture_default_str();
  command.add_option("--memory-limit", memory_limit_mb,
                     "Memory of one worker in MB; default: nine tenths of what is free");
  command.add_option("--db-path,--db", db_path, "Database; default: $ASSAY_DB_PATH or ./benchmark_db.duckdb");
  command.add_option("--spool", spool, "Folder of the bundles; default: <db>.spool");
  command.add_flag("--resume", resume, "Continue the last interrupted run of this output directory");
  command.add_flag("--no-resource-pool", no_resource_pool, "A fresh worker process for every cell");
  command.add_flag("--use-resource-pool", use_resource_pool, "Keep workers and their loaded models warm");
  command.add_flag("--debug", debug, "Print what happens inside");
  command.add_flag("--quiet", quiet, "No progress, no notes");
  command.add_option("--output-format", output_format, "text, or json: one document on stdout")
      ->check(CLI::IsMember({"text", "json"}));
}

Result<std::int64_t> integer_option(const char* option, const std::string& text, std::int64_t least,
                                    std::int64_t most) {
  const auto value = parse_number<std::int64_t>(text);
  if (value && *value >= least && *value <= most) return *value;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: '{}' is not valid; give an integer from {} to {}", option, text, least, most));
}

Status check_named(const std::string& model) {
  if (!model.empty()) return {};
  return fail(ErrorCode::kInvalidArgument, "a model is asked for by an empty name",
              "give a file, a folder, or a name such as bert-base-uncased");
}

Result<RunSettings> MeasuringOptions::settings() const {
  RunSettings out;
  ASSAY_TRY(const auto batches, integers("--batch-sizes", batch_sizes, 1));
  ASSAY_TRY(const auto lengths, integers("--sequence-lengths", sequence_lengths, 1));
  ASSAY_TRY(const auto outputs, integers("--output-tokens", output_tokens, 0, kMaxOutputTokens));
  if (outputs.size() > 1 && outputs.front() == 0)
    return fail(ErrorCode::kInvalidArgument,
                "--output-tokens: '0' stands for a forward pass instead of generating and cannot be given with others");
  if (!outputs.empty() && outputs.front() > 0 && !data.empty())
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("--output-tokens {}: with --data a forward pass is measured, not a generation", outputs.front()),
        "leave one of them out");
  if (form) {
    const std::string_view renamed = kv_cache_of_form(*form);
    return fail(ErrorCode::kInvalidArgument, "--form is now called --kv-cache",
                zoo::find_kv_cache(renamed) ? fmt::format("use --kv-cache {}", renamed)
                                            : "use --kv-cache growing, --kv-cache static or --kv-cache runtime");
  }
  if (!kv_cache.empty()) {
    const std::optional<zoo::KvCache> known = zoo::find_kv_cache(kv_cache);
    if (!known)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("--kv-cache: '{}' is not valid; valid: growing, static, runtime", kv_cache));
    out.kv_cache = *known;
  }
  ASSAY_TRY(const auto in_flight, integers("--streams", streams, 1));
  ASSAY_TRY(const auto of_inference, integers("--threads", threads, 1));
  if (warmup) {
    ASSAY_TRY(out.measure.warmup_iterations, integer_option("--warmup", *warmup, 0, kMaxRuns));
  }
  if (iterations) {
    ASSAY_TRY(out.measure.iterations, integer_option("--iterations", *iterations, 1, kMaxRuns));
  }
  if (!(timeout > 0) || timeout > 1e6)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--timeout: {} is not valid; give seconds, more than 0 and at most 1000000", timeout));
  const std::vector<std::string> precisions{"float32", "float16", "bfloat16", "runtime", "as_is"};
  if (!precision.empty() && std::find(precisions.begin(), precisions.end(), precision) == precisions.end())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--precision: '{}' is not valid; valid: {}", precision, join(precisions, ", ")));
  std::error_code error;
  const std::filesystem::file_status given = std::filesystem::status(data, error);
  if (!data.empty() && !std::filesystem::exists(given))
    return fail(ErrorCode::kInvalidArgument, fmt::format("--data: there is no '{}'", data));
  if (!data.empty() && !std::filesystem::is_regular_file(given) && !std::filesystem::is_directory(given))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--data: '{}' is neither a file nor a folder, but a device, pipe or socket", data));
  if (!size.empty()) {  // the zoo's files are read for nothing else here
    const std::set<std::string> sizes = published_sizes();
    if (!sizes.contains(size))
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("--size: '{}' is not valid; valid, where an architecture has it: {}", size,
                              fmt::join(sizes, ", ")));
  }
  for (const std::string& option : engine_options) {
    const std::size_t equals = option.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(ErrorCode::kInvalidArgument, fmt::format("--engine-option: '{}' is not key=value", option));
    out.engine_options.emplace_back(option.substr(0, equals), option.substr(equals + 1));
  }
  if (!batches.empty()) {
    out.batch_sizes = batches;
    out.default_batches = false;
  }
  if (!lengths.empty()) {
    out.sequence_lengths = lengths;
    out.default_lengths = false;
  }
  if (!outputs.empty()) out.output_tokens = outputs;
  if (!in_flight.empty()) out.streams = in_flight;
  if (!of_inference.empty()) out.threads = of_inference;
  if (!precision.empty()) {
    out.precision = precision;
    out.precision_asked = true;
  }
  if (seed_text) {
    ASSAY_TRY(const std::int64_t seed, integer_option("--seed", *seed_text, 0, INT64_MAX));
    out.seed = static_cast<std::uint64_t>(seed);
  }
  out.size = size;
  if (!(scale > 0) || scale > 1)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--scale: {} is not valid; give a share of the layers, more than 0 and at most 1", scale));
  out.scale = scale;
  if (memory_limit_mb) {
    if (!(*memory_limit_mb >= 1) || *memory_limit_mb > 1e9)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("--memory-limit: {} is not valid; give MB, from 1 to 1000000000", *memory_limit_mb));
    out.memory_limit_bytes = static_cast<std::uint64_t>(*memory_limit_mb * 1e6);
  }
  out.data = data;
  out.resource_pool = !no_resource_pool;
  out.timeout = std::chrono::nanoseconds(static_cast<std::int64_t>(std::llround(timeout * 1e9)));
  return out;
}

TargetRequest MeasuringOptions::target_request() const { return {hardware, engines, device, false}; }

void MeasuringOptions::apply() const {
  set_log_level(debug ? LogLevel::kDebug : quiet ? LogLevel::kWarning : LogLevel::kInfo);
}

std::filesystem::path database_path(const std::string& given) {
  if (!given.empty()) return given;
  const std::string from_environment = environment("ASSAY_DB_PATH");
  return from_environment.empty() ? std::filesystem::path("benchmark_db.duckdb")
                                  : std::filesystem::path(from_environment);
}

std::filesystem::path spool_path(const std::string& given, const std::filesystem::path& database) {
  return given.empty() ? default_spool(database) : std::filesystem::path(given);
}

}  // namespace assay::cli
