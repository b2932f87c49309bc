// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/context.hpp"
#include "app/cli/engine_operators.hpp"
#include "app/cli/failure.hpp"
#include "app/cli/help.hpp"
#include "app/cli/known_engines.hpp"
#include "app/cli/measure_command.hpp"
#include "bench/worker/probe.hpp"
#include "core/base/json.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/base/unknown_word.hpp"
#include "show/report/terminal.hpp"

namespace assay::cli {
namespace {

constexpr const char* kEngine = "Engine";

struct EnginesOptions {
  std::string name;
  bool check = false, operators = false;
  std::string output_format = "text";
};

// The kinds of KV cache that the engine runs.
std::vector<std::string> kv_caches(const EngineEntry& engine) {
  std::vector<std::string> kinds = engine.kv_cache;
  if (engine.runtime_cache) kinds.emplace_back("runtime");
  return kinds;
}

// By family of models; {"other": "static"} for an engine whose description does not say it.
Json default_shapes(const EngineEntry& engine) {
  Json forms = Json::object();
  for (const auto& [family, form] : engine.default_shapes) forms[family] = form;
  if (!forms.contains(kOtherFamilies)) forms[std::string(kOtherFamilies)] = "static";
  return forms;
}

Json engine_json(const FoundEngine& found, const std::vector<std::filesystem::path>& searched) {
  Json folders = Json::array();
  for (const std::filesystem::path& folder : searched) folders.push_back(folder.string());
  Json devices = Json::array();
  for (const EngineDevice& device : found.devices)
    devices.push_back({{"id", device.id},
                       {"hardware", device.hardware},
                       {"name", device.name},
                       {"memory_bytes", device.memory_bytes == 0 ? Json(nullptr) : Json(device.memory_bytes)},
                       {"simulated", device.simulated},
                       {"software", device.software}});
  Json notes = Json::object();
  for (const auto& [hardware, note] : found.notes) notes[hardware] = note;
  Json options = Json::array();
  for (const EngineOptionInfo& option : found.options)
    options.push_back(
        {{"name", option.name}, {"type", option.type}, {"default", option.default_value}, {"help", option.help}});
  return {
      {"name", found.entry.name},
      {"built", found.entry.built},
      {"available", found.available},
      {"why_not", found.available ? Json(nullptr) : Json(found.why_not)},
      {"how_to_get", found.available || found.entry.how_to_get.empty() ? Json(nullptr) : Json(found.entry.how_to_get)},
      {"version", found.available ? Json(found.version) : Json(nullptr)},
      {"found_by", found.found_by.empty() ? Json(nullptr) : Json(found.found_by)},
      {"home", found.location.home.string()},
      {"searched", std::move(folders)},
      {"hardware", found.entry.hardware},
      {"framework", found.entry.framework},
      {"formats", found.entry.formats},
      {"lowered_to", found.entry.lowered_to.empty() ? Json(nullptr) : Json(found.entry.lowered_to)},
      {"shapes", found.entry.static_shapes ? "static" : "dynamic"},
      {"default_shapes", default_shapes(found.entry)},
      {"kv_cache", kv_caches(found.entry)},
      {"needs_model", found.entry.needs_model},
      {"devices", std::move(devices)},
      {"notes", std::move(notes)},
      {"options", std::move(options)}};
}

// Prints lines for one engine: its name in the first column, and behind it each line folded at the terminal's width.
void print(const FoundEngine& found, const std::vector<std::filesystem::path>& searched, bool options) {
  constexpr std::size_t kNameWidth = 13;
  const auto width = static_cast<std::size_t>(output_width());
  std::string first = padded(found.entry.name + " ", kNameWidth);
  const auto line = [&](const std::string& text) {
    std::fputs(folded(std::exchange(first, std::string(kNameWidth, ' ')), text, kNameWidth + 2, width).c_str(), stdout);
  };
  if (!found.available) {
    line("not available: " + one_line(found.why_not));
    // A runtime that is missing is named with its command already.
    const bool in_reason = found.why_not.find(found.entry.how_to_get) != std::string::npos;
    if (!found.location.plugin.empty() && !in_reason) line("to install it: " + found.entry.how_to_get);
    if (options && found.entry.built && found.location.plugin.empty())
      for (const std::filesystem::path& folder : searched)
        line("its runtime is searched in " + escape_bytes(folder.string()));
    return;
  }
  line(found.location.home.empty() ? found.version
                                   : fmt::format("{} in {} (from {})", found.version,
                                                 escape_bytes(found.location.home.string()), found.found_by));
  line("supports the hardware " + join(found.entry.hardware, ", "));
  line("reads the formats " + join(found.entry.formats, ", "));
  if (!found.entry.lowered_to.empty()) line("gets ONNX models lowered to " + found.entry.lowered_to);
  for (const EngineDevice& device : found.devices)
    line(fmt::format("device {} for {}: {}{}{}", device.id, device.hardware, one_line(device.name),
                     device.simulated ? ", simulated" : "", device.software ? ", emulated in software" : ""));
  if (options)
    for (const auto& [hardware, note] : found.notes)
      line(fmt::format("no device for {}: {}", hardware, one_line(note)));
  if (options)
    for (const EngineOptionInfo& option : found.options)
      line(fmt::format("option {} ({}{}): {}", option.name, option.type,
                       option.default_value.empty() ? "" : ", default " + option.default_value, option.help));
}

// Replaces this process by the conformance tests of one engine.
Result<ExitCode> check_engine(const EngineRegistry& registry, const std::string& name) {
  const FoundEngine found = probe_engine(registry, name);
  if (!found.available) return fail(ErrorCode::kNotFound, fmt::format("{} cannot be checked: {}", name, found.why_not));
  const std::filesystem::path program = registry.places().worker.parent_path() / "assay-conformance";
  const std::string filter = fmt::format("--gtest_filter=*/{}", found.entry.name);
  std::fflush(nullptr);
  execl(program.c_str(), program.c_str(), filter.c_str(), static_cast<const char*>(nullptr));
  return fail(ErrorCode::kNotFound,
              fmt::format("the conformance tests are not installed: there is no '{}'", program.string()),
              "install GoogleTest and build assay again (docs/engines.md)");
}

Result<ExitCode> print_operators(const EngineRegistry& registry, const EnginesOptions& options) {
  ASSAY_TRY(const std::vector<const EngineEntry*> engines, engines_with_operators(registry, options.name));
  if (options.output_format == "json")
    print_document(operators_json(engines));
  else
    std::fputs((options.output_format == "md" ? operators_markdown(engines) : operators_text(engines)).c_str(), stdout);
  return ExitCode::kSuccess;
}

Result<ExitCode> engines(const EnginesOptions& options) {
  const EngineRegistry& registry = engine_registry();
  std::vector<std::string> names = registry.names();
  if (!options.name.empty()) {
    if (registry.entry(options.name) == nullptr) {
      for (const Error& problem : registry.problems()) log_warning("an engine is left out: {}", problem.message);
      return registry.unknown_name(options.name);
    }
    names = {options.name};
  }
  if (options.check) {
    if (options.name.empty()) return fail(ErrorCode::kInvalidArgument, "--check requires the NAME of one engine");
    return check_engine(registry, options.name);
  }
  if (options.operators) return print_operators(registry, options);
  if (options.output_format == "md")
    return fail(ErrorCode::kInvalidArgument, "--output-format md is the table of --ops only", "use text or json");
  Json list = Json::array(), problems = Json::array();
  for (const std::string& name : names) {
    const FoundEngine found = probe_engine(registry, name);
    if (options.output_format == "json")
      list.push_back(engine_json(found, registry.searched_folders(found.entry)));
    else
      print(found, registry.searched_folders(found.entry), !options.name.empty());
  }
  for (const Error& problem : registry.problems()) {
    problems.push_back({{"message", problem.message}, {"hint", problem.hint}});
    if (options.output_format != "json")
      std::fputs(folded("",
                        "left out: " + one_line(problem.message) +
                            (problem.hint.empty() ? "" : " (" + one_line(problem.hint) + ")"),
                        2, static_cast<std::size_t>(output_width()))
                     .c_str(),
                 stdout);
  }
  if (options.output_format == "json")
    print_document({{"engines", std::move(list)}, {"problems", std::move(problems)}});
  else if (options.name.empty())
    std::printf("\n`assay engines NAME` lists the options of an engine.\n");
  return ExitCode::kSuccess;
}

}  // namespace

void register_engines(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<EnginesOptions>();
  CLI::App* command =
      app.add_subcommand("engines", "List the inference runtimes, their devices and options")->group(kMachineCommands);
  show_as(command->add_option("NAME", options->name,
                              "Only this engine, with its options, or the folders that were searched for it"),
          kEngine, "NAME");
  show_as(command->add_flag("--check", options->check,
                            "Run the conformance tests, which every engine must pass, on this engine"),
          kEngine);
  show_as(command->add_flag("--ops", options->operators,
                            "List the ONNX operators that assay lowers for engines that do not read ONNX"),
          kEngine);
  add_output_format(*command, options->output_format, {"text", "json", "md"});
  command->footer("Examples:\n  assay engines\n  assay engines NAME --check\n  assay engines --ops");
  commands.add(command, [options](Context&) { return engines(*options); });
}

}  // namespace assay::cli
