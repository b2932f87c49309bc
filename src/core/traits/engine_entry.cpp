// SPDX-License-Identifier: Apache-2.0
#include "core/traits/engine_entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "core/base/json_object.hpp"
#include "core/base/text.hpp"
#include "core/result/family_words.hpp"
#include "core/result/hardware_words.hpp"
#include "core/traits/own_engine_files.hpp"

namespace assay {
namespace {

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

bool is_name(std::string_view text) {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == text.npos &&
         std::isdigit(static_cast<unsigned char>(text.front())) == 0;
}

Status read_runtime_cache(ObjectReader& reader, EngineEntry& entry) {
  auto object = reader.object("runtime_cache");
  if (!object) return {};
  EngineEntry::RuntimeCache cache;
  object->read_word("graph", cache.graph, {"group_query_attention"});
  object->read("converter", cache.converter);
  object->read("format", cache.format);
  if (cache.graph.empty() == cache.converter.empty())
    object->refuse("", "\"runtime_cache\" needs either \"graph\" or \"converter\"");
  if (cache.converter.empty() != cache.format.empty())
    object->refuse("",
                   "\"converter\" needs \"format\", the extension of its output, and \"format\" needs \"converter\"");
  entry.runtime_cache = std::move(cache);
  return object->finish();
}

Status read_spin(ObjectReader& reader, EngineEntry& entry) {
  auto object = reader.object("spin");
  if (!object) return {};
  object->require("on");
  object->require("off");
  object->read("on", entry.spin_on);
  object->read("off", entry.spin_off);
  return object->finish();
}

Status read_reference(ObjectReader& reader, EngineEntry& entry) {
  auto object = reader.object("reference");
  if (!object) return {};
  object->require("name");
  object->read("name", entry.reference.name);
  object->read("options", entry.reference.options);
  return object->finish();
}

Status read_runtime(ObjectReader& reader, EngineEntry& entry) {
  auto object = reader.object("runtime");
  if (!object) return {};
  object->require("library");
  object->read("library", entry.library);
  object->read("package", entry.package);
  object->read("folders", entry.folders);
  object->read("how_to_get", entry.how_to_get);
  return object->finish();
}

constexpr const char* kDefaultShapes = "default_shapes";
constexpr const char* kExported = "exported";

// One word for all models, or one for each family.
Status read_default_shapes(ObjectReader& reader, EngineEntry& entry) {
  const std::vector<std::string> valid{kExported, "static"};
  const Json* given = reader.value(kDefaultShapes);
  if (given == nullptr) return {};
  if (!given->is_object()) {
    std::string word;
    reader.read_word(kDefaultShapes, word, valid);
    entry.default_shapes = {{std::string(kOtherFamilies), word}};
    return {};
  }
  auto object = reader.object(kDefaultShapes);
  if (!object) return {};
  std::vector<std::string> families = family_words();
  families.emplace_back(kOtherFamilies);
  for (const std::string& family : families) {
    std::string word;
    object->read_word(family, word, valid);
    if (!word.empty()) entry.default_shapes.emplace_back(family, std::move(word));
  }
  return object->finish();
}

constexpr std::string_view kLoweredFormat = "onnx";

// Checks that involve more than one key.
void check_together(ObjectReader& reader, const EngineEntry& entry) {
  if (!entry.name.empty() && !is_name(entry.name))
    reader.refuse(
        "name",
        fmt::format("the name \"{}\" may contain only lower-case letters, digits and _, and must begin with a letter",
                    entry.name));
  if (entry.hardware.empty()) reader.refuse("hardware", "\"hardware\" is empty: an engine supports at least one");
  for (const std::string& word : entry.default_for)
    if (!entry.serves(word))
      reader.refuse("default_for", fmt::format("\"default_for\" has \"{}\", which \"hardware\" does not have", word));
  for (const std::string& format : entry.formats)
    if (!is_name(format))
      reader.refuse(
          "formats",
          fmt::format("\"{}\" is not an extension such as \"onnx\": use lower-case letters and digits", format));
  if (!entry.lowered_to.empty() && entry.reads(kLoweredFormat))
    reader.refuse("lowered_to", "\"formats\" has \"onnx\": \"lowered_to\" is for engines that do not read it");
  for (const std::string& format : entry.saves)
    if (entry.lowered_to.empty() || !entry.reads(format))
      reader.refuse("saves",
                    fmt::format("\"saves\" has \"{}\": it is for formats of an engine with \"lowered_to\"", format));
  if (entry.static_shapes && !entry.default_shapes.empty())
    reader.refuse(kDefaultShapes,
                  "\"default_shapes\" is for engines that accept open extents, and \"shapes\" is \"static\"");
  for (const auto& [format, companion] : entry.companions) {
    if (!entry.reads(format))
      reader.refuse("companions", fmt::format("\"companions\" has \"{}\", which \"formats\" does not have", format));
    if (!is_name(companion) || companion == format)
      reader.refuse("companions", fmt::format("the companion \"{}\" of \"{}\" is not an extension such as \"bin\"",
                                              companion, format));
  }
}

}  // namespace

std::string EngineEntry::home_variable() const {
  std::string upper = name;
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return "ASSAY_" + upper + "_HOME";
}

bool EngineEntry::serves(std::string_view hardware_word) const { return contains(hardware, hardware_word); }

bool EngineEntry::reads(std::string_view format) const { return contains(formats, format); }

bool EngineEntry::takes(std::string_view format) const {
  return reads(format) || (format == kLoweredFormat && !lowered_to.empty());
}

bool EngineEntry::fixes_shapes_of(std::string_view format) const {
  return static_shapes || (takes(format) && !reads(format));
}

bool EngineEntry::gets_exported_shapes(std::string_view family) const {
  for (const std::string_view key : {family, kOtherFamilies})
    for (const auto& [of_family, form] : default_shapes)
      if (of_family == key) return form == kExported;
  return false;
}

std::string EngineEntry::reference_name() const { return reference.name.empty() ? name : name + "-" + reference.name; }

Result<EngineEntry> parse_engine(std::string text, const std::string& file) {
  ASSAY_TRY(const JsonDocument document, JsonDocument::parse(std::move(text), file));
  ObjectReader reader(document);
  EngineEntry entry;
  for (const char* key : {"name", "hardware", "formats"}) reader.require(key);
  reader.read("name", entry.name);
  entry.framework_title = entry.name;
  reader.read("framework", entry.framework_title);
  entry.framework = lower(entry.framework_title);
  reader.read("preference", entry.preference);
  reader.read_words("hardware", entry.hardware, hardware_words());
  reader.read_words("default_for", entry.default_for, hardware_words());
  reader.read("formats", entry.formats);
  reader.read_word("lowered_to", entry.lowered_to, {"torchscript", "stablehlo"});
  reader.read("saves", entry.saves);
  reader.read("companions", entry.companions);
  bool planned = false;
  reader.read("planned", planned);
  entry.built = !planned;
  reader.read("needs_model", entry.needs_model);
  reader.read("exact", entry.exact);
  std::string shapes = "dynamic";
  reader.read_word("shapes", shapes, {"dynamic", "static"});
  entry.static_shapes = shapes == "static";
  ASSAY_CHECK_OK(read_default_shapes(reader, entry));
  reader.read("fixed_extents", entry.fixed_extents);
  reader.read("open_extents", entry.open_extents);
  reader.read("cpu_device", entry.cpu_device);
  reader.read_words("kv_cache", entry.kv_cache, {"growing", "static"});
  ASSAY_CHECK_OK(read_spin(reader, entry));
  reader.read("kernels", entry.kernels);
  ASSAY_CHECK_OK(read_runtime_cache(reader, entry));
  ASSAY_CHECK_OK(read_reference(reader, entry));
  ASSAY_CHECK_OK(read_runtime(reader, entry));
  ASSAY_CHECK_OK(reader.finish());
  check_together(reader, entry);
  ASSAY_CHECK_OK(reader.finish());
  return entry;
}

void sort_engines(std::span<EngineEntry> engines) {
  std::ranges::sort(engines, [](const EngineEntry& a, const EngineEntry& b) {
    return std::pair(a.preference, a.name) < std::pair(b.preference, b.name);
  });
}

std::vector<std::string> engines_for(std::string_view hardware_word, const std::vector<EngineEntry>& engines) {
  std::vector<std::string> names;
  for (const bool first : {true, false})
    for (const EngineEntry& engine : engines)
      if (engine.serves(hardware_word) && contains(engine.default_for, hardware_word) == first)
        names.push_back(engine.name);
  return names;
}

std::optional<std::filesystem::path> companion_of(const std::filesystem::path& model,
                                                  const std::vector<EngineEntry>& engines) {
  const std::string extension = lower(model.extension().string());
  for (const EngineEntry& engine : engines)
    for (const auto& [format, companion] : engine.companions) {
      if (extension != "." + format) continue;
      std::error_code error;
      std::filesystem::path file = std::filesystem::path(model).replace_extension(companion);
      if (std::filesystem::is_regular_file(file, error)) return file;
    }
  return std::nullopt;
}

const std::vector<EngineEntry>& own_engines() {
  static const std::vector<EngineEntry> engines = [] {
    std::vector<EngineEntry> list;
    for (const auto& [file, text] : own_engine_files()) {
      Result<EngineEntry> entry = parse_engine(std::string(text), std::string(file));
      ASSAY_CHECK(entry, entry.error().message.c_str());
      list.push_back(std::move(*entry));
    }
    sort_engines(list);
    return list;
  }();
  return engines;
}

const EngineEntry* own_engine(std::string_view name) {
  const auto found = std::ranges::find(own_engines(), name, &EngineEntry::name);
  return found == own_engines().end() ? nullptr : &*found;
}

std::string target_key(std::string_view hardware, std::string_view engine) {
  const std::vector<std::string> engines = engines_for(hardware, own_engines());
  const bool is_default = engine.empty() || (!engines.empty() && engines.front() == engine);
  return is_default ? std::string(hardware) : std::string(hardware) + "@" + std::string(engine);
}

}  // namespace assay
