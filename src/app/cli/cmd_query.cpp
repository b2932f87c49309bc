// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/resource.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/context.hpp"
#include "app/cli/help.hpp"
#include "app/cli/measuring_options.hpp"
#include "app/cli/option_reader.hpp"
#include "app/cli/report_question.hpp"
#include "bench/measure/environment.hpp"
#include "core/base/text.hpp"
#include "history/store/store.hpp"

namespace assay::cli {
namespace {

constexpr std::size_t kMostRows = 100'000;
constexpr const char* kMemoryLimit = "--memory-limit";
constexpr std::uint64_t kLeastMemory = 256'000'000;  // by default: also a full machine answers small questions

struct QueryOptions {
  std::string report, sql;
  std::vector<std::string> memory_limit;
  bool architectures = false, optimal = false;
  ReportQuestion question;
};

const Reader<std::optional<std::uint64_t>>& memory_reader() {
  static const auto reader = megabytes("half of the free memory");
  return reader;
}

// The limit of the statement. That of the process is for what DuckDB does not count, such as one text of gigabytes: the
// other half of the memory stays for the machine. Sanitisers reserve terabytes, and have no limit.
Result<std::uint64_t> limit_memory(const QueryOptions& options) {
  std::optional<std::uint64_t> limit;
  if (!options.memory_limit.empty()) ASSAY_CHECK_OK(memory_reader().read(kMemoryLimit, options.memory_limit, limit));
  if (!limit) limit = std::max(free_memory() / 2, kLeastMemory);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const std::uint64_t all = 2 * *limit + kLeastMemory;
  const rlimit of_process{all, all};
  ::setrlimit(RLIMIT_DATA, &of_process);
#endif
  return *limit;
}

Result<ExitCode> run_sql(const QueryOptions& options) {
  const NothingToKeep nothing_to_keep;
  ASSAY_TRY([[maybe_unused]] const std::string format, options.question.output.chosen_format());
  if (options.question.selection.select() || options.question.goal != ReportQuestion().goal)
    return fail(ErrorCode::kInvalidArgument, "--sql does not use --goal, nor options that select results",
                "select in the SQL, as WHERE model = 'bert'");
  // A writer is often done in a moment; its snapshot has no samples.
  constexpr std::chrono::seconds kPatience(2);
  ASSAY_TRY(Store store, Store::open(database_path(options.question.selection.db_path), Store::Mode::kRead, kPatience));
  ASSAY_TRY(const std::uint64_t memory, limit_memory(options));
  ASSAY_TRY(duckdb::Rows rows,
            store.ask_sql(options.sql, {.most_rows = kMostRows + 1, .memory_bytes = memory}, interrupted));
  if (rows.rows.size() > kMostRows) {
    std::fprintf(stderr, "note: only the first %zu rows; a LIMIT in the query chooses\n", kMostRows);
    rows.rows.resize(kMostRows);
  }
  if (rows.rows.empty()) std::fprintf(stderr, "note: the result of the query has no rows\n");
  ASSAY_CHECK_OK(options.question.output.write(rows, options.sql));
  return ExitCode::kSuccess;
}

// The one question that was asked; an error if there is none, or several.
Result<std::string> chosen_report(const QueryOptions& options) {
  std::vector<std::string> asked;
  if (!options.report.empty()) asked.push_back(options.report);
  if (options.architectures) asked.emplace_back("architecture-performance-comparison");
  if (options.optimal) asked.emplace_back("optimal-hardware");
  if (!options.sql.empty()) asked.emplace_back();
  if (asked.size() == 1) return asked.front();
  return fail(
      ErrorCode::kInvalidArgument,
      asked.empty() ? "no question was given"
                    : fmt::format("{} questions are asked; one at a time is answered", asked.size()),
      "use one of --report NAME, --architecture-performance-comparison, --optimal-hardware-analysis and --sql TEXT");
}

Result<ExitCode> query(const QueryOptions& options, const Context& context) {
  ASSAY_TRY(const std::string name, chosen_report(options));
  if (name.empty()) return run_sql(options);
  if (!options.memory_limit.empty())
    return fail(ErrorCode::kInvalidArgument, "--memory-limit is an option of --sql, and there is no --sql");
  return options.question.answer(name, context);
}

}  // namespace

void register_query(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<QueryOptions>();
  CLI::App* command = app.add_subcommand("query", "Ask the database: a report, or SQL");
  command->group(kResultCommands);
  const std::vector<std::string> names = report_words();
  only_words(
      show_as(command->add_option("--report", options->report, "A report: " + join(names, ", ")), kSelected, "NAME"),
      names);
  show_as(command->add_flag("--architecture-performance-comparison", options->architectures,
                            "How the architectures compare on each hardware"),
          kSelected);
  show_as(command->add_flag("--optimal-hardware-analysis", options->optimal,
                            "The best hardware for each architecture, with the runner-up and how sure that is"),
          kSelected);
  show_as(command->add_option("--sql", options->sql,
                              "One statement of SQL that only reads; the tables are those of docs/formats.md"),
          kSelected, "TEXT");
  show_as(command
              ->add_option(kMemoryLimit, options->memory_limit,
                           "Memory limit of --sql; a query that needs more fails, and nothing is put on the disk")
              ->expected(1),
          kSelected, "MB")
      ->default_str(memory_reader().show({}));
  options->question.add_to(*command);
  command->footer(
      "Examples:\n"
      "  assay query --optimal-hardware-analysis --output optimal_hardware.md\n"
      "  assay query --report comprehensive-benchmarks --format html --output report.html\n"
      "  assay query --sql \"SELECT model, hardware, latency_p50_ms FROM benchmark_results ORDER BY timestamp DESC "
      "LIMIT 10\"");
  commands.add(command, [options](Context& context) { return query(*options, context); });
}

}  // namespace assay::cli
