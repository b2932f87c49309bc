// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

#include "base/text.hpp"
#include "cli/failure.hpp"
#include "cli/help.hpp"
#include "cli/measuring_options.hpp"
#include "store/store.hpp"
#include "store/unsaved.hpp"

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

}  // namespace

void register_db(CLI::App& app, Commands& commands) {
  CLI::App* db =
      app.add_subcommand("db", "Create, fill, check and rebuild the database of results")->group(kResultCommands);
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
  add("info", "Print the numbers of runs, results, samples and bundles", info);
  db->footer("`assay db COMMAND --help` describes a command and its options.");
}

}  // namespace assay::cli
