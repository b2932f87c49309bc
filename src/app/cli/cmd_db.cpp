// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "app/cli/context.hpp"
#include "app/cli/failure.hpp"
#include "app/cli/help.hpp"
#include "app/cli/measuring_options.hpp"
#include "core/base/text.hpp"
#include "history/exchange/import_results.hpp"
#include "history/store/store.hpp"
#include "history/store/unsaved.hpp"

namespace assay::cli {
namespace {

struct DbOptions {
  std::string db_path, spool, output_format = "text";
  bool overwrite = false;
  [[nodiscard]] std::filesystem::path database() const { return database_path(db_path); }
  [[nodiscard]] std::filesystem::path bundles() const { return spool_path(spool, database()); }
};

void print_refused(const IngestReport& report) {
  for (const Error& error : report.refused) std::fprintf(stderr, "%s\n", sanitise(to_string(error)).c_str());
}

Json names(const std::vector<std::filesystem::path>& paths) {
  Json list = Json::array();
  for (const std::filesystem::path& path : paths) list.push_back(path.string());
  return list;
}

Result<ExitCode> init(const DbOptions& options, const Context& context) {
  ASSAY_TRY(const auto moved, Store::init(options.database(), options.bundles(), options.overwrite));
  if (context.json) {
    print_document({{"database", options.database().string()},
                    {"spool", options.bundles().string()},
                    {"moved_aside", names(moved)}});
    return ExitCode::kSuccess;
  }
  for (const std::filesystem::path& path : moved) std::printf("renamed: the previous one is now %s\n", path.c_str());
  std::printf("database: %s\nbundles:  %s\n", options.database().c_str(), options.bundles().c_str());
  return ExitCode::kSuccess;
}

Result<ExitCode> rebuild(const DbOptions& options, const Context& context) {
  ASSAY_TRY(const Store::Rebuilt rebuilt, Store::rebuild(options.database(), options.bundles()));
  const IngestReport& report = rebuilt.ingested;
  const ExitCode code = report.refused.empty() ? ExitCode::kSuccess : ExitCode::kFailure;
  if (context.json) {
    print_document({{"database", options.database().string()},
                    {"bundles", report.bundles},
                    {"samples", report.samples},
                    {"kept", rebuilt.kept ? Json(rebuilt.kept->string()) : Json(nullptr)},
                    {"refused", to_json(report.refused)}});
    return code;
  }
  std::printf("%s: rebuilt; bundles: %zu, samples: %llu\n", options.database().c_str(), report.bundles,
              static_cast<unsigned long long>(report.samples));
  if (rebuilt.kept)
    std::printf(
        "the old database is kept as %s: it has results, tables or views that the new one lacks, or could not be "
        "read\n",
        rebuilt.kept->c_str());
  print_refused(report);
  return code;
}

Result<ExitCode> ingest(const DbOptions& options, const Context& context) {
  // The default spool of a database without results does not exist yet; a given one must exist.
  if (std::error_code ignored;
      !options.spool.empty() && !std::filesystem::is_directory(spool_of(options.spool), ignored))
    return fail(ErrorCode::kNotFound, fmt::format("there is no spool '{}'", options.spool),
                "check the path of --spool; without it, bundles are read from '<database>.spool'");
  ASSAY_TRY(Store store, Store::open(options.database(), Store::Mode::kWrite));
  ASSAY_TRY(const IngestReport report, store.ingest(options.bundles()));
  ASSAY_CHECK_OK(store.publish_snapshot());
  const ExitCode code = report.refused.empty() ? ExitCode::kSuccess : ExitCode::kFailure;
  if (context.json) {
    print_document({{"database", options.database().string()},
                    {"bundles", report.bundles},
                    {"samples", report.samples},
                    {"known", report.known},
                    {"refused", to_json(report.refused)}});
    return code;
  }
  if (report.moved > 0) std::printf("unsaved bundles moved into the spool: %zu\n", report.moved);
  std::printf("bundles added: %zu; in the database already: %zu\n", report.bundles, report.known);
  print_refused(report);
  return code;
}

Result<ExitCode> compact(const DbOptions& options, const Context& context) {
  ASSAY_TRY(const Store::Compacted sizes, Store::compact(options.database()));
  if (context.json) {
    print_document(
        {{"database", options.database().string()}, {"bytes_before", sizes.before}, {"bytes_after", sizes.after}});
    return ExitCode::kSuccess;
  }
  std::printf("%s: %.1f MB, and %.1f MB now\n", options.database().c_str(), static_cast<double>(sizes.before) / 1e6,
              static_cast<double>(sizes.after) / 1e6);
  return ExitCode::kSuccess;
}

Result<ExitCode> verify(const DbOptions& options, const Context& context) {
  ASSAY_TRY(Store store, Store::open(options.database(), Store::Mode::kRead));
  ASSAY_TRY(const std::vector<Error> findings, store.verify(options.bundles()));
  const ExitCode code = findings.empty() ? ExitCode::kSuccess : ExitCode::kFinding;
  if (context.json) {
    print_document({{"database", options.database().string()}, {"findings", to_json(findings)}});
    return code;
  }
  for (const Error& finding : findings) std::printf("%s\n", sanitise(to_string(finding)).c_str());
  if (findings.empty()) std::printf("the database and the bundles agree\n");
  return code;
}

Result<ExitCode> info(const DbOptions& options, const Context& context) {
  ASSAY_TRY(Store store, Store::open(options.database(), Store::Mode::kRead));
  ASSAY_TRY(const StoreSummary summary, store.summary());
  if (context.json) {
    print_document({{"database", store.path().string()},
                    {"database_bytes", summary.database_bytes},
                    {"runs", summary.runs},
                    {"results", summary.results},
                    {"samples", summary.samples},
                    {"bundles", summary.bundles}});
    return ExitCode::kSuccess;
  }
  std::printf("database: %s (%.1f MB)\nruns: %llu, results: %llu, samples: %llu, bundles: %llu\n", store.path().c_str(),
              static_cast<double>(summary.database_bytes) / 1e6, static_cast<unsigned long long>(summary.runs),
              static_cast<unsigned long long>(summary.results), static_cast<unsigned long long>(summary.samples),
              static_cast<unsigned long long>(summary.bundles));
  return ExitCode::kSuccess;
}

struct ImportOptions {
  DbOptions db;
  std::vector<std::string> files;
  std::string format;
  bool plan = false;
};

using KnownCells = std::set<std::tuple<std::string, std::string, std::string>>;

// The cells of a run that the history has.
Result<KnownCells> known_cells(Store& store, const std::string& run_id) {
  ResultFilter filter;
  filter.run_id = run_id;
  ASSAY_TRY(const std::vector<Record> rows, store.results(filter));
  KnownCells known;
  for (const Record& row : rows) known.emplace(row.task_key, row.model, row.model_id);
  return known;
}

// Rows of one file may be of several runs.
Result<std::map<std::string, KnownCells>> known_runs(Store* store, const exchange::ResultsFile& file) {
  std::map<std::string, KnownCells> known;
  if (store == nullptr) return known;
  for (const exchange::ReadRow& row : file.rows)
    if (const auto [found, fresh] = known.try_emplace(row.record.run_id); fresh) {
      ASSAY_TRY(found->second, known_cells(*store, row.record.run_id));
    }
  return known;
}

Json import_entry(const exchange::ResultsFile& file, const exchange::Imported& imported) {
  return {{"file", file.path.string()},
          {"format", std::string(exchange::name_of(file.format))},
          {"run_id", file.run.run_id},
          {"results", file.rows.size()},
          {"added", imported.added},
          {"known", imported.known},
          {"ranked", std::ranges::count_if(file.rows, [](const auto& row) { return row.record.ranked(); })},
          {"notes", file.notes}};
}

void print_import(const exchange::ResultsFile& file, const exchange::Imported& imported, bool plan) {
  std::printf("%s: %s, results: %zu, %s: %zu, in the database already: %zu\n", file.path.c_str(),
              std::string(exchange::name_of(file.format)).c_str(), file.rows.size(), plan ? "to be added" : "added",
              imported.added, imported.known);
  for (const std::string& note : file.notes) std::printf("  note: %s\n", note.c_str());
}

Result<ExitCode> import_files(const ImportOptions& options, const Context& context) {
  std::optional<exchange::Format> format;
  if (!options.format.empty()) format = exchange::find_format(options.format);
  // All files are read before anything is written.
  std::vector<exchange::ResultsFile> files;
  ASSAY_CHECK_OK([&]() -> Status {
    const NothingToKeep nothing_to_keep;
    for (const std::string& path : options.files) {
      ASSAY_TRY(exchange::ResultsFile file, exchange::read_results(path, format, interrupted));
      files.push_back(std::move(file));
    }
    return check_cancelled(interrupted);
  }());
  const std::filesystem::path database = options.db.database();
  std::error_code ignored;
  const bool exists = std::filesystem::exists(database, ignored);
  std::optional<Store> store;
  if (exists || !options.plan) {
    ASSAY_TRY(store, Store::open(database, options.plan ? Store::Mode::kRead : Store::Mode::kWrite));
  }
  Json entries = Json::array();
  for (const exchange::ResultsFile& file : files) {
    ASSAY_TRY(const auto known, known_runs(store ? &*store : nullptr, file));
    const exchange::KnownRow is_known = [&](const Record& row) {
      const auto run = known.find(row.run_id);
      return run != known.end() && run->second.contains({row.task_key, row.model, row.model_id});
    };
    exchange::Imported imported = exchange::plan_import(file, is_known);
    if (!options.plan) {
      ASSAY_TRY(imported, exchange::write_bundles(file, options.db.bundles(), is_known));
      ASSAY_CHECK_OK(store->ingest(options.db.bundles()).map([](const IngestReport&) {}));
    }
    entries.push_back(import_entry(file, imported));
    if (!context.json) print_import(file, imported, options.plan);
  }
  if (!options.plan) ASSAY_CHECK_OK(store->publish_snapshot().map([](const std::filesystem::path&) {}));
  if (context.json)
    print_document({{"database", database.string()}, {"plan", options.plan}, {"files", std::move(entries)}});
  else if (options.plan)
    std::printf("nothing was written\n");
  return ExitCode::kSuccess;
}

struct ExportOptions {
  DbOptions db;
  std::string parquet, csv;
  bool samples = false;
};

Result<ExitCode> export_database(const ExportOptions& options, const Context& context) {
  if (options.parquet.empty() == options.csv.empty())
    return fail(ErrorCode::kInvalidArgument, "give one of --parquet DIR and --csv DIR");
  const bool parquet = !options.parquet.empty();
  const std::string folder = parquet ? options.parquet : options.csv;
  ASSAY_TRY(Store store, Store::open(options.db.database(), Store::Mode::kRead));
  ASSAY_TRY(const std::vector<ExportedTable> tables,
            store.export_tables(folder, parquet ? ExportFormat::kParquet : ExportFormat::kCsv, options.samples));
  std::uint64_t left_out = 0;
  Json entries = Json::array();
  for (const ExportedTable& table : tables) {
    if (!table.file) left_out += table.rows;
    entries.push_back({{"name", table.name},
                       {"rows", table.rows},
                       {"file", table.file ? Json(table.file->string()) : Json(nullptr)}});
    if (!context.json && table.file)
      std::printf("%s: %llu rows\n", table.file->c_str(), static_cast<unsigned long long>(table.rows));
  }
  if (context.json) {
    print_document({{"database", store.path().string()}, {"folder", folder}, {"tables", std::move(entries)}});
  } else if (!options.samples && left_out > 0) {
    std::printf("left out: %llu samples (the table raw_benchmark_data); --samples exports them\n",
                static_cast<unsigned long long>(left_out));
  }
  return ExitCode::kSuccess;
}

void register_import(CLI::App& db, Commands& commands) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* command = db.add_subcommand("import", "Add results from files: assay's own, and those of other tools");
  show_as(command->add_option("files", options->files, "JSON or CSV files"), "Files", "FILE…")->required();
  std::vector<std::string> formats;
  for (const exchange::Format format : exchange::all_formats()) formats.emplace_back(exchange::name_of(format));
  only_words(
      show_as(command->add_option("--as", options->format,
                                  "Format of the files: " + join(formats, ", ") + ". Default: what their content says"),
              "Files", "FORMAT"),
      formats);
  show_as(command->add_flag("--plan", options->plan, "Print what would be added; write nothing"), kOutput);
  add_storage_options(*command, options->db.db_path, options->db.spool);
  add_output_format(*command, options->db.output_format);
  command->footer(
      "The results become bundles in the spool, so `assay db rebuild` keeps them. They\n"
      "have the flag `imported`. Results of other tools are `unverified` and never\n"
      "ranked. A result that the database has already is not added again.");
  commands.add(command, [options](Context& context) { return import_files(*options, context); });
}

void register_export(CLI::App& db, Commands& commands) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command = db.add_subcommand("export", "Write every table as a Parquet or CSV file");
  show_as(command->add_option("--parquet", options->parquet, "New folder for Parquet files"), kOutput, "DIR");
  show_as(command->add_option("--csv", options->csv, "New folder for CSV files"), kOutput, "DIR");
  show_as(command->add_flag("--samples", options->samples, "Export the samples, too; they are most of the database"),
          kOutput);
  add_storage_options(*command, options->db.db_path, options->db.spool);
  add_output_format(*command, options->db.output_format);
  commands.add(command, [options](Context& context) { return export_database(*options, context); });
}

}  // namespace

void register_db(CLI::App& app, Commands& commands) {
  CLI::App* db =
      app.add_subcommand("db", "Create, fill, check, rebuild, import and export the database")->group(kResultCommands);
  db->require_subcommand(1);
  const auto add = [&](const char* name, const char* what,
                       Result<ExitCode> (*action)(const DbOptions&, const Context&)) {
    auto options = std::make_shared<DbOptions>();
    CLI::App* command = db->add_subcommand(name, what);
    add_storage_options(*command, options->db_path, options->spool);
    if (std::string_view(name) == "init")
      show_as(command->add_flag("--overwrite", options->overwrite,
                                "Rename an existing database and its spool (nothing is deleted), then create an empty "
                                "database"),
              kStorage);
    add_output_format(*command, options->output_format);
    commands.add(command, [options, action](Context& context) { return action(*options, context); });
  };
  add("init", "Create an empty database and its spool", init);
  add("rebuild", "Rebuild the database from the bundles", rebuild);
  add("ingest", "Add the bundles that are not in the database yet", ingest);
  add("verify", "Compare the database with the bundles", verify);
  add("compact", "Write the database again without unused space", compact);
  add("info", "Print the numbers of runs, results, samples and bundles", info);
  register_import(*db, commands);
  register_export(*db, commands);
  db->footer("`assay db COMMAND --help` describes a command and its options.");
}

}  // namespace assay::cli
