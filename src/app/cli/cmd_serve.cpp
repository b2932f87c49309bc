// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "app/cli/failure.hpp"
#include "app/cli/help.hpp"
#include "app/cli/measuring_options.hpp"
#include "app/cli/selection_options.hpp"
#include "core/base/files.hpp"
#include "core/base/shell.hpp"
#include "core/base/text.hpp"
#include "history/analyse/analysis.hpp"
#include "history/store/dataset.hpp"
#include "history/store/snapshot.hpp"
#include "history/store/store.hpp"
#include "show/dashboard/page.hpp"
#include "show/serve/server.hpp"

namespace assay::cli {
namespace {

struct ServeCommand {
  std::string db_path, spool, output_format = "text";
  int port = 0;
  int idle_timeout = 0;
  bool once = false;
};

// The whole history, as it was published last.
Result<std::string> document_of(const std::filesystem::path& database) {
  ASSAY_TRY(Store store, Store::open_snapshot(database));
  ASSAY_TRY(const Dataset data, read_dataset(store));
  const Analysis analysis = analyse(data);
  dashboard::PackOptions options;
  options.most_bytes = 0;
  return dashboard::pack(data, analysis, dashboard::page_charts(data, analysis), options).bytes;
}

// What the page shows at the end: it may have been opened before there were results.
bool has_results(const std::filesystem::path& database) {
  Result<Store> store = Store::open_snapshot(database);
  if (!store) return false;
  const auto words = store->ask("selection_words");
  return words && !words->rows.empty();
}

// The launches of a cell, with every field.
Result<Json> cell_of(const std::filesystem::path& database, std::int64_t result_id) {
  ASSAY_TRY(Store store, Store::open_snapshot(database));
  ASSAY_TRY(const duckdb::Rows rows, store.ask("launches_of", {{"result_id", result_id}}));
  if (rows.rows.empty()) return fail(ErrorCode::kNotFound, fmt::format("there is no cell with the id {}", result_id));
  Json launches = Json::array();
  for (const auto& row : rows.rows) {
    Json launch = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) launch[rows.columns.at(i)] = row[i];
    launches.push_back(std::move(launch));
  }
  return Json{{"result_id", result_id}, {"launches", std::move(launches)}};
}

// Added to the line that says what is shown.
std::string why_empty(const std::filesystem::path& database) {
  if (!is_empty_or_absent(snapshot_path(database))) return "";
  if (is_empty_or_absent(database)) return ", which does not exist yet: the page is empty until a run saves results";
  return fmt::format(
      ", which another process uses, and which has no snapshot: the page is empty until "
      "`assay db ingest --db-path {}`, or a run, publishes one",
      shell_quoted(database.string()));
}

Result<ExitCode> serve_database(const ServeCommand& command, const Context& context) {
  interrupts_end_server();
  serve::ServeOptions options;
  options.database = database_path(command.db_path);
  options.port = command.port;
  options.once = command.once;
  if (command.idle_timeout > 0) options.idle_timeout = std::chrono::seconds(command.idle_timeout);
  options.cancelled = interrupted;
  // A reader may have the database open, or a run that ends.
  constexpr std::chrono::seconds kPatience{5};
  if (Status published = Store::publish_missing_snapshot(options.database, kPatience);
      !published && published.error().code != ErrorCode::kStoreBusy)
    return tl::unexpected<Error>(with_context(std::move(published), "while making the missing snapshot").error());
  serve::Content content;
  content.page = dashboard::live_page();
  content.document = [&] { return document_of(options.database); };
  content.cell = [&](std::int64_t result_id) { return cell_of(options.database, result_id); };
  content.version = {{"tool", ASSAY_VERSION}, {"database", options.database.filename().string()}};
  ASSAY_CHECK_OK(serve::serve(options, content, [&](const std::string& url) {
    if (context.json)
      print_document({{"url", url}, {"database", options.database.string()}});
    else
      std::printf("%s shows %s%s; Ctrl-C ends it\n", url.c_str(), options.database.c_str(),
                  sanitise(why_empty(options.database)).c_str());
    static_cast<void>(std::fflush(stdout));
  }));
  if (has_results(options.database)) return ExitCode::kSuccess;
  const Error none = no_results_yet(options.database);
  std::fprintf(stderr, "note: %s: %s\n", sanitise(none.message).c_str(), sanitise(none.hint).c_str());
  return ExitCode::kCannotTell;
}

}  // namespace

void register_serve(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<ServeCommand>();
  CLI::App* command = app.add_subcommand("serve", "Show the results in a web page, also while they are measured");
  command->group(kResultCommands);
  show_as(command->add_option("--port", options->port, "Port on 127.0.0.1. Default: a free one, which is printed")
              ->check(CLI::Range(0, 65535).description("")),
          kOutput, "N");
  show_as(command->add_flag("--once", options->once, "End after the first time that the results were fetched"),
          kOutput);
  show_as(command
              ->add_option("--idle-timeout", options->idle_timeout,
                           "End after so long without a request and without an open page. Default: never")
              ->check(CLI::Range(1, 1'000'000).description("")),
          kOutput, "SECONDS");
  add_storage_options(*command, options->db_path, options->spool);
  add_output_format(*command, options->output_format);
  command->footer(
      "Only this machine gets answers, and nothing can be changed. The page follows a\n"
      "run: it shows results as soon as they are in the database.");
  commands.add(command, [options](Context& context) { return serve_database(*options, context); });
}

}  // namespace assay::cli
