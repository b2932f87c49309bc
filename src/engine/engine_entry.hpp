// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "engine/engine_types.hpp"

namespace assay {

/// What assay knows of an engine before it loads anything: the content of its engine.json (docs/engines.md has the
/// keys). No code outside of engines/ asks for an engine's name; it asks for these traits.
struct EngineEntry {
  std::string name;                      ///< "libtorch": also the name of its folder and of its plug-in
  std::string framework_title;           ///< as its makers write it: "PyTorch"; the name where nothing else is said
  std::string framework;                 ///< the same in small letters, as rows and --framework have it
  std::int64_t preference = 500;         ///< lower comes first among the engines that serve the same hardware
  std::vector<std::string> hardware;     ///< words of hardware_words() that it serves
  std::vector<std::string> default_for;  ///< of these, the ones where it comes before every preference
  std::vector<std::string> formats;      ///< extensions of the model files that it reads: "onnx", "xml"
  bool built = true;                     ///< there is a plug-in; a planned engine answers not_built
  bool needs_model = true;               ///< false: it computes no model, its options say what it imitates
  bool static_shapes = false;            ///< it takes only models whose extents are all fixed
  std::string cpu_device = "cpu";        ///< the device that computes on the processor

  /// Forms of a generation's cache in the zoo's graphs that it runs: "growing", "static".
  std::vector<std::string> kv_cache{"growing", "static"};
  /// How a model is made whose cache is the runtime's own, where it has such a form.
  struct RuntimeCache {
    std::string graph;      ///< "group_query_attention": the zoo writes the graph with this operator
    std::string converter;  ///< or: a program that makes it from the growing graph (docs/engines.md)
    std::string format;     ///< of what the converter writes
  };
  std::optional<RuntimeCache> runtime_cache;

  /// Its runs as the reference of other engines: with fewest rewrites of the graph.
  struct Reference {
    std::string name;  ///< added to the engine's in rows: "noopt"
    EngineOptions options;
  };
  Reference reference;

  /// Its runtime; `library` is empty where it needs none.
  std::string library;               ///< "libonnxruntime.so", to which versions are appended
  std::string package;               ///< its folder in site-packages, and what pip installs
  std::vector<std::string> folders;  ///< where the library lies in `package`, in a home or in a distribution
  std::string how_to_get;            ///< what installs it; empty: nothing does
  std::filesystem::path folder{};    ///< of its engine.json and its plug-in; empty for assay's own engines

  /// "ASSAY_LIBTORCH_HOME"
  [[nodiscard]] std::string home_variable() const;
  [[nodiscard]] bool serves(std::string_view hardware_word) const;
  [[nodiscard]] bool reads(std::string_view format) const;
  /// "onnxruntime-noopt", as rows name their reference.
  [[nodiscard]] std::string reference_name() const;
};

/// Reads an engine.json; `file` stands in messages.
/// Errors: invalid_argument, with the line: no JSON, an unknown key (and the nearest one), a wrong type, an unknown
/// word, a key that is missing, keys that contradict each other.
[[nodiscard]] Result<EngineEntry> parse_engine(std::string text, const std::string& file);

/// Sorts by preference, then name.
void sort_engines(std::span<EngineEntry> engines);

/// The names of those that serve a hardware word, its default first: those with the word in `default_for`, then in the
/// order of `engines`. Empty for a word that none serves.
[[nodiscard]] std::vector<std::string> engines_for(std::string_view hardware_word,
                                                   const std::vector<EngineEntry>& engines);

/// The engines in assay's own tree (engines/*/engine.json, compiled in), built or planned, in order of preference.
[[nodiscard]] const std::vector<EngineEntry>& own_engines();
/// One of them, or nullptr.
[[nodiscard]] const EngineEntry* own_engine(std::string_view name);

/// The guide's key of a target: the hardware for its default engine, "cpu@libtorch" for another. Defaults are always
/// assay's own engines, so that a stored row has the same key on every machine.
[[nodiscard]] std::string target_key(std::string_view hardware, std::string_view engine);

/// The engine whose results others are compared with, run with the options of its `reference`.
inline constexpr const char* kReferenceEngine = "onnxruntime";

}  // namespace assay
