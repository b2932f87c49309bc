// SPDX-License-Identifier: Apache-2.0
// A synthetic history, and how fast the database is with it (docs/performance.md, "The database at scale").
//
//   history make --out SPOOL [--results 1000] [--samples 10000] [--series 1000] [--launches 1] [--seed 1] [--from 0]
//                [--until 1000]
//   history run --spool SPOOL --database FILE [--page FOLDER]
//   history save --spool SPOOL --database FILE --from 10000 --until 10009 [those of make]
//
// `make` writes bundles, those from --from to --until if only a part is made: result i is series i % S in run i / S, a
// cell of a model, a device and a batch size. Each series has a level of its own; runs differ by 1 %, launches by 0.5
// %, samples follow an AR(1) process of correlation 0.5 with 1 % of outliers; the level of a tenth of the series moves
// by 5 % in the middle of the history. Of 100 cells three fail, one is wrong and two are unsupported. The numbers come
// from integers without libm, the same on every machine, but for statistics of rows. `run` ingests the bundles into a
// new database and prints a table, with the most memory that the process had in each line. `save` makes more bundles
// and times what a suite does between two models: it opens the database, ingests them and publishes the snapshot.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/text.hpp"
#include "core/result/keys.hpp"
#include "core/samples/samples_file.hpp"
#include "core/samples/summary.hpp"
#include "core/tensor/random.hpp"
#include "history/analyse/analysis.hpp"
#include "history/store/bundle.hpp"
#include "history/store/dataset.hpp"
#include "history/store/queries.hpp"
#include "history/store/store.hpp"
#include "show/dashboard/page.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;

struct Options {
  fs::path out, spool, database, page;
  std::int64_t results = 1000, from = 0, samples = 10'000, series = 1000, launches = 1;
  std::uint64_t seed = 1;
  std::int64_t until_result = 0;
  [[nodiscard]] std::int64_t until() const { return until_result > 0 ? until_result : results; }
};

[[noreturn]] void stop(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(1);
}
template <class T>
T need(Result<T> result) {
  if (!result) stop(to_string(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

constexpr std::array<std::string_view, 10> kArchitectures{"bert", "gpt2",    "vit",    "t5",  "llama",
                                                          "clip", "whisper", "resnet", "opt", "swin"};
constexpr std::array<std::string_view, 3> kHardware{"cpu", "cuda", "rocm"};
constexpr std::array<std::int64_t, 3> kBatches{1, 4, 8};

/// What a result is: everything but its numbers.
Record cell_of(const Options& options, std::int64_t result) {
  const std::int64_t series = result % options.series, run = result / options.series, model = series / 9;
  Record record;
  record.run_id = fmt::format("run-{:04}", run);
  record.architecture = kArchitectures[static_cast<std::size_t>(model) % kArchitectures.size()];
  record.model = fmt::format("{}-{}", record.architecture, model);
  record.model_class = record.model;
  record.family = model % 2 == 0 ? "embedding" : "vision";
  record.hardware = kHardware[static_cast<std::size_t>(series % 3)];
  record.device = record.hardware;
  record.batch_size = kBatches[static_cast<std::size_t>(series / 3 % 3)];
  record.engine = "null";
  record.engine_version = run * 10 < options.results / options.series * 6 ? "1.0" : "1.1";
  record.precision = "float32";
  record.host = "host";
  record.hardware_id = "synthetic";
  record.tool_version = "0.1.0";
  record.streams = 1;
  record.task_key = task_key(record);
  record.series_key = series_key(record);
  const auto time = WallTime(std::chrono::sys_days(std::chrono::year{2026} / 1 / 1) + std::chrono::hours(24 * run) +
                             std::chrono::seconds(series));
  record.timestamp = iso8601(time);
  return record;
}

Samples samples_of(const Options& options, std::int64_t result, std::int64_t launch) {
  const std::int64_t series = result % options.series, run = result / options.series;
  const CounterRandom of_series(options.seed, "series"), of_run(options.seed, fmt::format("run {}", series)),
      of_launch(options.seed, fmt::format("launch {}", result)),
      noise(options.seed, fmt::format("samples {} {}", result, launch));
  const bool moved = series % 10 == 0 && 2 * run >= options.results / options.series;
  const double level = (0.5e6 + 20e6 * of_series.uniform(static_cast<std::uint64_t>(series))) *
                       (1 + 0.01 * of_run.normal(static_cast<std::uint64_t>(run))) *
                       (1 + 0.005 * of_launch.normal(static_cast<std::uint64_t>(launch))) * (moved ? 1.05 : 1.0);
  const std::int64_t count = options.samples / options.launches;
  Samples samples;
  samples.kind.assign(static_cast<std::size_t>(count), 0);
  samples.stream.assign(static_cast<std::size_t>(count), 0);
  double x = 0;
  std::int64_t start = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    x = 0.5 * x + 0.866 * noise.normal(2 * index);
    const double outlier = noise.uniform(2 * index + 1) < 0.01F ? 1.5 : 1.0;
    const auto duration = static_cast<std::int64_t>(level * (1 + 0.01 * x) * outlier);
    samples.start_ns.push_back(start);
    samples.duration_ns.push_back(duration);
    start += duration + 200;
  }
  return samples;
}

void set_state(std::int64_t result, Record& record) {
  const std::int64_t lot = (result * 37 + result / 100) % 100;
  record.status = CellStatus::kCompleted;
  record.verification = Verification::kVerified;
  if (lot < 3) {
    record.status = CellStatus::kFailed;
    record.reason_code = "worker_died";
    record.message = "the worker ended with SIGSEGV";
  } else if (lot < 5) {
    record.status = CellStatus::kUnsupported;
    record.reason_code = "unsupported";
    record.message = "no kernel for an operator";
  } else if (lot < 6) {
    record.status = CellStatus::kWrong;
    record.verification = Verification::kWrong;
  }
  if (lot < 5) record.verification = Verification::kUnverified;
}

void make(const Options& options) {
  const RunContext context{"2026-01-01T00:00:00.000000Z", "history make", Json{{"governor", "performance"}},
                           Json{{"processor", "synthetic"}, {"cpu_threads", 2}}};
  for (std::int64_t result = options.from; result < options.until(); ++result) {
    for (std::int64_t launch = 1; launch <= options.launches; ++launch) {
      Record record = cell_of(options, result);
      record.attempt_id = fmt::format("{:08}-{}", result, launch);
      record.launch_number = launch;
      record.attempt_number = 1;
      set_state(result, record);
      auto writer = need(BundleWriter::begin(options.out, record, context));
      auto file = need(SamplesWriter::create(writer.samples_path()));
      if (record.status == CellStatus::kCompleted || record.status == CellStatus::kWrong) {
        const Samples samples = samples_of(options, result, launch);
        Measurement measurement;
        measurement.window_ns = samples.start_ns.back() + samples.duration_ns.back();
        summarise(measurement, samples, *record.batch_size, record);
        need(file.append(samples));
      }
      need(file.close());
      need(writer.finish(record, Json::object(), Json()));
    }
  }
}

/// From here on, most_memory_mb() counts anew (proc(5), clear_refs).
void forget_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
/// The median of several times.
double typical_seconds(int times, const auto& work) {
  std::vector<double> seconds;
  for (int i = 0; i < times; ++i) seconds.push_back(seconds_of([&] { work(i); }));
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

double most_memory_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  return 0;
}

void row(const std::string& what, double seconds, const std::string& note = {}) {
  std::printf("| %s | %.4f | %.0f | %s |\n", what.c_str(), seconds, most_memory_mb(), note.c_str());
  std::fflush(stdout);
  forget_memory();
}

/// With the most work of any caller.
Json parameters_for(std::string_view query) {
  if (query == "launches_of") return {{"result_id", 1}};
  if (query == "coverage_stale") return {{"before", "2100"}};
  if (query == "cells_latest") return {{"most", 2000}};
  return Json::object();
}

void print_heading() { std::printf("| what | seconds | memory MB | |\n| --- | --- | --- | --- |\n"); }

/// Ingests what is new in the spool.
void time_ingest(const Options& options) {
  std::optional<Store> store;
  row("open", seconds_of([&] { store = need(Store::open(options.database, Store::Mode::kWrite)); }));
  IngestReport report;
  const double seconds = seconds_of([&] { report = need(store->ingest(options.spool)); });
  row("ingest", seconds,
      fmt::format("{} bundles, {} samples: {:.2f} million samples/s; {} refused", report.bundles, report.samples,
                  static_cast<double>(report.samples) / seconds / 1e6, report.refused.size()));
  row("publish_snapshot", seconds_of([&] { need(store->publish_snapshot()); }));
  row("close", seconds_of([&] { store.reset(); }));
}

void save(const Options& options) {
  Options more = options;
  more.out = options.spool;
  make(more);
  print_heading();
  time_ingest(options);
}

void run(const Options& options) {
  need(Store::init(options.database, options.spool, false));
  print_heading();
  time_ingest(options);
  Store store = need(Store::open(options.database, Store::Mode::kRead));
  for (const duckdb::QueryFile& file : duckdb::query_files()) {
    std::size_t rows = 0;
    const Json parameters = parameters_for(file.name);
    const double seconds = typical_seconds(3, [&](int) { rows = need(store.ask(file.name, parameters)).rows.size(); });
    row(std::string(file.name), seconds, fmt::format("{} rows", rows));
  }
  std::vector<std::int64_t> ids;
  const auto statistics = [&](int i) {
    const auto n = static_cast<std::size_t>(i) * 97 % ids.size();
    need(store.ask_sql(
        fmt::format("SELECT quantile_disc(duration_ns, [0.5, 0.9, 0.95, 0.99]) AS q, avg(duration_ns) AS m "
                    "FROM raw_benchmark_data WHERE result_id = {} AND kind = 'run'",
                    ids[n]),
        {.most_rows = 10}));
  };
  Dataset data;
  const double reading = seconds_of([&] { data = need(read_dataset(store)); });
  row("read_dataset", reading,
      fmt::format("{} cells, {} points, {} shapes", data.cells.size(), data.history.size(), data.shapes.size()));
  ids = data.ids;
  row("statistics of one result by SQL from its samples", typical_seconds(21, statistics));
  Analysis analysis;
  row("analyse", seconds_of([&] { analysis = analyse(data); }));
  if (options.page.empty()) return;
  fs::path page;
  fs::create_directories(options.page);
  const double writing = seconds_of([&] { page = need(dashboard::write_dashboard(data, analysis, options.page)); });
  row("write_dashboard", writing, fmt::format("{:.2f} MB", static_cast<double>(fs::file_size(page)) / 1e6));
}

Options read_options(int count, char** arguments) {
  Options options;
  for (int i = 2; i + 1 < count; i += 2) {
    const std::string_view name = arguments[i], value = arguments[i + 1];
    const auto number = [&] { return parse_number<std::int64_t>(value).value_or(0); };
    if (name == "--out")
      options.out = value;
    else if (name == "--spool")
      options.spool = value;
    else if (name == "--database")
      options.database = value;
    else if (name == "--page")
      options.page = value;
    else if (name == "--results")
      options.results = number();
    else if (name == "--from")
      options.from = number();
    else if (name == "--until")
      options.until_result = number();
    else if (name == "--samples")
      options.samples = number();
    else if (name == "--series")
      options.series = number();
    else if (name == "--launches")
      options.launches = number();
    else if (name == "--seed")
      options.seed = static_cast<std::uint64_t>(number());
    else
      stop(fmt::format("unknown option {}", name));
  }
  if (options.results < 1 || options.samples < options.launches || options.series < 1 || options.launches < 1)
    stop("results, series and launches are at least 1, and there is a sample for each launch");
  return options;
}

}  // namespace
}  // namespace assay

int main(int count, char** arguments) {
  const std::string_view command = count > 1 ? arguments[1] : "";
  const assay::Options options = assay::read_options(count, arguments);
  if (command == "make" && !options.out.empty())
    assay::make(options);
  else if (command == "run" && !options.spool.empty() && !options.database.empty())
    assay::run(options);
  else if (command == "save" && !options.spool.empty() && !options.database.empty())
    assay::save(options);
  else
    assay::stop("history make --out SPOOL | run --spool SPOOL --database FILE | save (as run, --from N --until N)");
}
