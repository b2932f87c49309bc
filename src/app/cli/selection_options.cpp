// SPDX-License-Identifier: Apache-2.0
#include "app/cli/selection_options.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <utility>

#include "app/cli/failure.hpp"
#include "app/cli/help.hpp"
#include "app/cli/measuring_options.hpp"
#include "core/base/text.hpp"
#include "core/base/unknown_word.hpp"
#include "core/result/precision_words.hpp"
#include "history/store/store.hpp"
#include "models/zoo/zoo.hpp"

namespace assay::cli {
namespace {

constexpr const char* kSelection = "Which results (all, if nothing is named)";

using Days = std::chrono::duration<std::int64_t, std::ratio<86400>>;

std::optional<WallTime> parse_date(const std::string& text) {
  int year = 0, length = 0;
  unsigned month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (std::sscanf(text.c_str(), "%4d-%2u-%2u%n", &year, &month, &day, &length) != 3) return std::nullopt;
  const std::string rest = text.substr(static_cast<std::size_t>(length));
  int used = 0;
  if (!rest.empty() &&
      (std::sscanf(rest.c_str(), "T%2u:%2u:%2u%n", &hour, &minute, &second, &used) != 3 ||
       (rest.substr(static_cast<std::size_t>(used)) != "Z" && static_cast<std::size_t>(used) != rest.size())))
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{month}, std::chrono::day{day}};
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  return WallTime(std::chrono::sys_days(date)) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second);
}

Result<std::optional<WallTime>> time_option(const char* option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  if (const auto time = parse_time(text, wall_now())) return time;
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: '{}' is not a time", option, text),
              "valid: a date (2026-03-02), a time in UTC (2026-03-02T12:00:00Z), 7d (7 days ago), 12h (12 hours ago), "
              "yesterday");
}

// A date without a time is its beginning; as an end it is the whole day.
bool is_day(const std::string& text) { return text.find('T') == std::string::npos && parse_date(text).has_value(); }

// The values of each option that some result has.
using KnownWords = std::map<std::string, std::vector<std::string>>;

Result<KnownWords> known_words(Store& store) {
  ASSAY_TRY(const duckdb::Rows rows, store.ask("selection_words"));
  KnownWords known;
  for (const std::vector<Json>& row : rows.rows) known[row[0].get<std::string>()].push_back(row[1].get<std::string>());
  return known;
}

Status check_words(const KnownWords& known, const std::string& database, const Selection& selection) {
  const std::pair<const char*, const std::vector<std::string>*> lists[] = {
      {"model", &selection.models},         {"family", &selection.families},
      {"category", &selection.categories},  {"architecture", &selection.architectures},
      {"hardware", &selection.hardware},    {"engine", &selection.engines},
      {"precision", &selection.precisions}, {"run", &selection.runs},
      {"machine", &selection.machines}};
  for (const auto& [option, words] : lists) {
    const auto valid = known.find(option);
    for (const std::string& word : *words) {
      const std::vector<std::string> none;
      const std::vector<std::string>& here = valid == known.end() ? none : valid->second;
      if (std::ranges::find(here, word) == here.end())
        return unknown_word(fmt::format("--{}: no result of '{}' has", option, database), word, here);
    }
  }
  return {};
}

// A name of the zoo stands for its checkpoint, whatever the results call it: "bert-base-uncased" also selects those of
// "bert" with the same id.
void add_ids_of_names(const KnownWords& known, Selection& selection) {
  const auto valid = known.find("model");
  if (valid == known.end()) return;
  const auto has = [&](const std::string& word) {
    return std::ranges::find(valid->second, word) != valid->second.end();
  };
  std::vector<std::string> models;
  for (const std::string& word : selection.models) {
    const auto checkpoint = zoo::find_known(word);
    const bool by_id = checkpoint && checkpoint->model_id != word && has(checkpoint->model_id);
    if (!by_id || has(word)) models.push_back(word);
    if (by_id) models.push_back(checkpoint->model_id);
  }
  selection.models = std::move(models);
}

}  // namespace

Error no_results_yet(const std::filesystem::path& database) {
  return Error{ErrorCode::kNotFound,
               fmt::format("'{}' has no results yet", database.string()),
               {},
               fmt::format("`assay run --models-set small{}` measures five models and stores them there",
                           database_option(database))};
}

Status choose_words(std::span<const Record* const> rows, const std::string& source, Selection& chosen) {
  KnownWords known;
  for (const Record* row : rows)
    for (const auto& [option, word] :
         {std::pair("model", &row->model), std::pair("model", &row->model_id), std::pair("family", &row->family),
          std::pair("category", &row->category), std::pair("architecture", &row->architecture),
          std::pair("hardware", &row->hardware), std::pair("engine", &row->engine),
          std::pair("precision", &row->precision), std::pair("run", &row->run_id),
          std::pair("machine", &row->hardware_id)}) {
      std::vector<std::string>& words = known[option];
      if (!word->empty() && std::ranges::find(words, *word) == words.end()) words.push_back(*word);
    }
  add_ids_of_names(known, chosen);
  return check_words(known, source, chosen);
}

Error nothing_has_all(const std::string& source) {
  return Error{ErrorCode::kNotFound,
               fmt::format("no result of '{}' has all that was requested", source),
               {},
               "leave out one of the options that select"};
}

std::optional<WallTime> parse_time(std::string_view text, WallTime now) {
  if (text == "yesterday") return now - Days(1);
  if (text.ends_with(" ago")) text.remove_suffix(std::string_view(" ago").size());
  if (text.size() > 1 && (text.back() == 'd' || text.back() == 'h')) {
    const auto count = parse_number<int>(text.substr(0, text.size() - 1));
    constexpr int kMost = 1'000'000;  // days: further back than there are dates of four digits
    if (!count || *count < 0 || *count > kMost) return std::nullopt;
    return text.back() == 'd' ? now - Days(*count) : now - std::chrono::hours(*count);
  }
  return parse_date(std::string(text));
}

void SelectionOptions::add_to(CLI::App& command) {
  const auto list = [&](const char* names, std::vector<std::string>& values, const char* help) {
    show_as(command.add_option(names, values, help), kSelection, "NAME[,NAME…]")->delimiter(',');
  };
  list("--model,--models,--model-id", words_.models, "Names of models, or their ids");
  list("--family", words_.families, "Families of models");
  list("--category", words_.categories, "Categories of architectures");
  list("--architecture", words_.architectures, "Architectures");
  list("--hardware", words_.hardware, "Hardware");
  list("--engine", words_.engines, "Engines");
  list("--precision", words_.precisions, "Precisions");
  show_as(command.add_option("--batch-size", words_.batch_size, "Batch size"), kSelection, "N");
  show_as(command.add_option("--sequence-length", words_.sequence_length, "Sequence length"), kSelection, "N");
  show_as(command.add_option("--since", since_, "Results since this time: 2026-03-02, 7d (7 days ago), yesterday"),
          kSelection, "TIME");
  show_as(command.add_option("--until", until_, "Results until this time; of a date until its end"), kSelection,
          "TIME");
  list("--run", words_.runs, "Runs, by their ids");
  list("--machine", words_.machines, "Machines, by their hardware_id");
  constexpr std::size_t kMostCells = 10'000'000;
  show_as(command.add_option("--limit", words_.most_cells, "At most so many cells, the newest ones")
              ->check(CLI::Range(std::size_t{1}, kMostCells).description("")),
          kSelection, "N")
      ->default_str(std::to_string(words_.most_cells));
  show_as(command.add_option("--db-path,--db", db_path, "Database of the results"), kStorage, "FILE")
      ->default_str("$ASSAY_DB_PATH or ./benchmark_db.duckdb");
}

bool SelectionOptions::select() const {
  const Selection& w = words_;
  return std::ranges::any_of(std::array{&w.models, &w.families, &w.categories, &w.architectures, &w.hardware,
                                        &w.engines, &w.precisions, &w.runs, &w.machines},
                             [](const auto* list) { return !list->empty(); }) ||
         w.batch_size || w.sequence_length || w.most_cells != Selection().most_cells || !since_.empty() ||
         !until_.empty();
}

Result<Selection> SelectionOptions::selection() const {
  Selection selection = words_;
  ASSAY_TRY(selection.since, time_option("--since", since_));
  ASSAY_TRY(selection.until, time_option("--until", until_));
  if (selection.until && is_day(until_)) *selection.until += Days(1) - WallTime::duration(1);
  std::ranges::replace(selection.hardware, std::string("qualcomm"), std::string("qnn"));
  std::ranges::transform(selection.precisions, selection.precisions.begin(), canonical_precision);
  if (std::ranges::find(selection.hardware, "all") != selection.hardware.end()) selection.hardware.clear();
  return selection;
}

ExitCode answer_none(const Error& none, const Context& context) {
  print_failure(failure_of(none), context.json);
  return ExitCode::kCannotTell;
}

Result<Selected> SelectionOptions::read() const {
  ASSAY_TRY(const Selection chosen, selection());
  return read_selected(database_path(db_path), chosen);
}

Result<Selected> read_selected(const std::filesystem::path& database, Selection chosen) {
  ASSAY_TRY(Store store, Store::open(database, Store::Mode::kRead));
  ASSAY_TRY(const KnownWords known, known_words(store));
  if (known.empty()) {
    Selected none{{}, no_results_yet(database)};
    none.data.source = store.path().string();
    return none;
  }
  add_ids_of_names(known, chosen);
  ASSAY_CHECK_OK(check_words(known, store.path().string(), chosen));
  ASSAY_TRY(Dataset data, read_dataset(store, chosen));
  Selected selected{std::move(data), {}};
  if (selected.data.cells.empty()) selected.none = nothing_has_all(store.path().string());
  return selected;
}

}  // namespace assay::cli
