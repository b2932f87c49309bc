// SPDX-License-Identifier: Apache-2.0
#include "app/cli/measuring_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "app/cli/help.hpp"
#include "app/cli/known_engines.hpp"
#include "core/base/files.hpp"
#include "core/base/log.hpp"
#include "core/base/shell.hpp"
#include "core/base/text.hpp"
#include "core/result/hardware_words.hpp"
#include "core/result/record.hpp"
#include "history/store/bundle.hpp"

namespace assay::cli {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

template <class T, class Member>
void MeasuringOptions::declare(CLI::App& command, const std::string& names, const char* group, Reader<T> reader,
                               const char* help, Member member) {
  using Words = typename Reader<T>::Words;
  Declared& declared = declared_.emplace_back(Declared{names.substr(0, names.find(','))});
  CLI::Option* option = nullptr;
  if (reader.words == Words::kNone) {
    option = command.add_flag_function(
        names, [&declared](std::int64_t count) { declared.words = {count > 0 ? "true" : "false"}; }, help);
  } else {
    option = command.add_option(names, declared.words, help);
    if (reader.words == Words::kOne)
      option->expected(1);
    else if (reader.words == Words::kEach)
      option->allow_extra_args(false);
    else if (reader.commas)
      option->delimiter(',');
  }
  show_as(option, group, reader.value)->default_str(reader.show(member(defaults_.settings)));
  declared.read = [reader = std::move(reader), member](const Declared& given, RunSettings& settings) -> Status {
    return reader.read(given.typed.empty() ? given.name : given.typed, given.words, member(settings));
  };
}

void MeasuringOptions::add_to(CLI::App& command) {
  show_as(command.add_option(
              "--hardware,--device", hardware,
              "Hardware to measure on: all, " + join(hardware_words(), ", ") + "; qualcomm is another name of qnn"),
          kMatrix, "WORD[,WORD…]")
      ->delimiter(',')
      ->default_str(defaults_.hardware);
  show_as(command.add_option("--engines,--engine", engines,
                             "Inference runtimes: " + join(engine_registry().built_names(), ", ")),
          kMatrix, "NAME[,NAME…]")
      ->delimiter(',')
      ->default_str("the default engine of each hardware");
  show_as(command.add_option("--device-id", device, "Device by its id, such as GPU.0; `assay engines` lists them"),
          kMatrix, "ID")
      ->default_str("the device that the engine prefers for the hardware");
#define VALUE(type, member, initial, identity)
#define FLAG(type, member, initial, identity, option, group, reader, help) OPTION(member, option, group, reader, help)
#define OPTION(member, option, group, reader, help) \
  declare(command, option, group, reader, help, [](auto& settings) -> auto& { return settings.member; });
#include "bench/settings/settings.def"
  show_as(command.add_flag("--plan", plan,
                           "Print the cells, the time that they probably take and what does not run; measure nothing"),
          kMeasuring);
  show_as(command.add_flag("--wait", wait,
                           "Wait until no other measurement runs on this machine; without it, a note says which one "
                           "runs"),
          kMeasuring);
  add_output_format(command, output_format);
  show_as(command.add_flag("--quiet", quiet, "Do not print progress, only results, warnings and errors"), kOutput);
  show_as(command.add_flag("--verbose", verbose, "Print each step and its duration"), kOutput);
  show_as(command.add_flag("--debug", debug, "Like --verbose; also print processes, files and cache hits"), kOutput);
  add_storage_options(command, db_path, spool);
  show_as(command.add_flag("--resume", resume,
                           "Continue the last interrupted run in the output folder: measure only what is missing"),
          kStorage);
}

const MeasuringOptions::Declared& MeasuringOptions::declared(std::string_view option) const {
  const auto found = std::ranges::find(declared_, option, &Declared::name);
  ASSAY_CHECK(found != declared_.end(), "the option is in bench/settings/settings.def");
  return *found;
}

bool MeasuringOptions::given(std::string_view option) const { return !declared(option).words.empty(); }

std::vector<std::string> MeasuringOptions::given() const {
  std::vector<std::string> names;
  for (const Declared& each : declared_)
    if (!each.words.empty()) names.push_back(each.name);
  return names;
}

void MeasuringOptions::set(std::string_view option, const std::string& word, std::string typed) {
  const auto each = std::ranges::find(declared_, option, &Declared::name);
  if (each == declared_.end()) return;
  each->words = {word};
  each->typed = std::move(typed);
}

Status check_named(const std::string& model) {
  if (!model.empty()) return {};
  return fail(ErrorCode::kInvalidArgument, "the name of a model is empty",
              "give a file, a folder, or a name such as bert-base-uncased");
}

Result<RunSettings> MeasuringOptions::settings() const {
  RunSettings out = defaults_.settings;
  for (const Declared& option : declared_)
    if (!option.words.empty()) ASSAY_CHECK_OK(option.read(option, out));
  if (out.static_shapes && out.dynamic_shapes)
    return fail(ErrorCode::kInvalidArgument, "--static-shapes and --dynamic-shapes contradict each other",
                "give one of them, or neither for the default of each engine");
  if (given("--iterations") && !given("--max-time")) out.max_time.reset();
  out.default_batches = !given("--batch-sizes");
  out.default_lengths = !given("--sequence-lengths");
  out.default_kv_cache = !given("--kv-cache");
  out.precision_asked = given("--precision");
  if (!given("--output-tokens")) return out;
  if (out.output_tokens.size() > 1 && out.output_tokens.front() == 0)
    return fail(ErrorCode::kInvalidArgument,
                "--output-tokens: '0' measures a forward pass instead of a generation; it cannot be combined with "
                "other values");
  if (out.output_tokens.front() > 0 && !out.data.empty())
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("--output-tokens {} and --data cannot be combined: with --data, a forward pass is measured, not "
                    "a generation",
                    out.output_tokens.front()),
        "give only one of the two options");
  return out;
}

void MeasuringOptions::apply() const {
  set_log_level(debug ? LogLevel::kDebug : verbose ? LogLevel::kVerbose : quiet ? LogLevel::kWarning : LogLevel::kInfo);
}

void StepOptions::add_to(CLI::App& command) {
  show_as(command.add_flag("--verify-only", verify_only,
                           "Only verify that the models load, run and compute the right numbers; do not measure"),
          kMeasuring);
  show_as(command.add_flag("--benchmark-only", benchmark_only,
                           "Only measure; verdicts come from earlier results in the database"),
          kMeasuring);
}

Status StepOptions::apply_to(RunSettings& settings) const {
  if (verify_only && benchmark_only)
    return fail(ErrorCode::kInvalidArgument, "--verify-only and --benchmark-only cannot be combined",
                "without either, cells are verified and measured");
  settings.verify = !benchmark_only;
  settings.benchmark = !verify_only;
  return {};
}

void add_storage_options(CLI::App& command, std::string& database, std::string& spool) {
  show_as(command.add_option("--db-path,--db", database, "Database of the results"), kStorage, "FILE")
      ->default_str("$ASSAY_DB_PATH or ./benchmark_db.duckdb");
  show_as(command.add_option("--spool", spool,
                             "Folder of the bundles, which contain the results and all samples of each attempt"),
          kStorage, "FOLDER")
      ->default_str("<database>.spool");
}

std::filesystem::path database_path(const std::string& given) {
  const std::string named = given.empty() ? environment("ASSAY_DB_PATH") : given;
  return without_links(named.empty() ? "benchmark_db.duckdb" : named);
}

std::string database_option(const std::filesystem::path& database) {
  return database == database_path({}) ? "" : " --db-path " + shell_quoted(database.string());
}

std::filesystem::path spool_path(const std::string& given, const std::filesystem::path& database) {
  return given.empty() ? default_spool(database) : std::filesystem::path(given);
}

}  // namespace assay::cli
