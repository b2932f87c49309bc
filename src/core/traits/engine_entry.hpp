// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "core/traits/engine_types.hpp"

namespace assay {

/// The key of EngineEntry::default_shapes for families that it does not name.
inline constexpr std::string_view kOtherFamilies = "other";

/// The description of an engine before it is loaded: the content of its engine.json (docs/engines.md has the keys).
/// Code outside of engines/ never compares names of engines; it uses these traits.
struct EngineEntry {
  std::string name;                      ///< "libtorch": also the name of its folder and of its plug-in
  std::string framework_title;           ///< its developers' spelling: "PyTorch"; by default `name`
  std::string framework;                 ///< the same in lower case, as in rows and --framework
  std::int64_t preference = 500;         ///< the lowest is first among engines that support the same hardware
  std::vector<std::string> hardware;     ///< names of hardware_words() that it supports
  std::vector<std::string> default_for;  ///< those of them for which it is first whatever the preference
  std::vector<std::string> formats;      ///< extensions of the model files that it reads: "onnx", "xml"
  /// The dialect of models/lower/program.hpp in which it gets ONNX models, of one set of shapes each: "torchscript",
  /// "stablehlo". Empty: it reads ONNX files itself, or runs no ONNX model.
  std::string lowered_to{};
  std::vector<std::string> saves{};  ///< extensions of the files that it writes from a lowered model: "pt"
  /// The extension of the file with the weights, by format: {"xml", "bin"} means that NAME.bin belongs to NAME.xml.
  std::vector<std::pair<std::string, std::string>> companions;
  bool built = true;           ///< there is a plug-in; rows of a planned engine are not_built
  bool needs_model = true;     ///< false: it does not compute models; options define its signature
  bool exact = false;          ///< it computes in float64 whatever the types: to decide what is right, not to be fast
  bool static_shapes = false;  ///< it accepts only models whose extents are all fixed
  /// By family of models (family_words()), `kOtherFamilies` for the rest: "exported", it gets the extents that a model
  /// leaves open as they are; "static", fixed for each shape. What is absent is "static".
  EngineOptions default_shapes{};
  std::string cpu_device = "cpu";  ///< the device that computes on the processor
  /// The option that fixes open extents when a model is loaded: "batch=1;sequence=128". Empty: there is none.
  std::string fixed_extents;
  EngineOptions open_extents;       ///< options with which it leaves extents open when it compiles a shape
  EngineOptions spin_on, spin_off;  ///< options with which idle threads wait actively, or sleep; empty: it has none

  std::vector<std::string> kernels;  ///< libraries that its runtime computes with, as far as known: "oneDNN"

  /// The kinds of KV cache that it runs in the zoo's graphs: "growing", "static".
  std::vector<std::string> kv_cache{"growing", "static"};
  /// How a model with the runtime's own KV cache is created, if the engine supports it.
  struct RuntimeCache {
    std::string graph;  ///< "group_query_attention": the zoo builds the graph with this operator
    /// Alternative to `graph`: a program that converts the graph with a growing cache (docs/engines.md).
    std::string converter;
    std::string format;  ///< the extension of its output
  };
  std::optional<RuntimeCache> runtime_cache;

  /// Its options as the reference of other engines: with the fewest changes of the graph.
  struct Reference {
    std::string name;  ///< follows the name of the engine in rows: "noopt"
    EngineOptions options;
  };
  Reference reference;

  /// Its runtime; `library` is empty if it needs none.
  std::string library;               ///< "libonnxruntime.so", without version
  std::string package;               ///< its folder in site-packages, and what pip installs
  std::vector<std::string> folders;  ///< folders of the library in `package`, in a home or in a distribution
  std::string how_to_get;            ///< the command or instruction that installs it; may be empty
  std::filesystem::path folder{};    ///< the folder of its engine.json and plug-in; empty for assay's own engines

  /// "ASSAY_LIBTORCH_HOME"
  [[nodiscard]] std::string home_variable() const;
  [[nodiscard]] bool serves(std::string_view hardware_word) const;
  /// Whether it opens such a file itself.
  [[nodiscard]] bool reads(std::string_view format) const;
  /// Whether a model in such a file runs on it: as the file is, or lowered.
  [[nodiscard]] bool takes(std::string_view format) const;
  /// Whether it gets a model of this format for one set of shapes only.
  [[nodiscard]] bool fixes_shapes_of(std::string_view format) const;
  /// Whether models of the family keep their open extents unless others are requested.
  [[nodiscard]] bool gets_exported_shapes(std::string_view family) const;
  /// "onnxruntime-noopt", as in rows.
  [[nodiscard]] std::string reference_name() const;
};

/// Reads an engine.json; `file` is its name in messages. Errors: invalid_argument, with the line: not JSON, an unknown
/// key (and the nearest one), a wrong type, an unknown value, a missing key, keys that contradict each other.
[[nodiscard]] Result<EngineEntry> parse_engine(std::string text, const std::string& file);

/// Sorts by preference, then name.
void sort_engines(std::span<EngineEntry> engines);

/// The names of engines that support a hardware, its default first: those with it in `default_for`, then in the order
/// of `engines`. Empty if no engine supports it.
[[nodiscard]] std::vector<std::string> engines_for(std::string_view hardware_word,
                                                   const std::vector<EngineEntry>& engines);

/// The file with the weights that belongs to a model file, as `companions` of the engines that read its format say.
/// nullopt: its format has none, or the file is not there.
[[nodiscard]] std::optional<std::filesystem::path> companion_of(const std::filesystem::path& model,
                                                                const std::vector<EngineEntry>& engines);

/// The engines in assay's own tree (engines/*/engine.json, compiled in), built or planned, in order of preference.
[[nodiscard]] const std::vector<EngineEntry>& own_engines();
/// One of them, or nullptr.
[[nodiscard]] const EngineEntry* own_engine(std::string_view name);

/// The guide's key of a target: the hardware for its default engine, "cpu@libtorch" for another. Defaults are always
/// assay's own engines, so that a stored row has the same key on every machine.
[[nodiscard]] std::string target_key(std::string_view hardware, std::string_view engine);

/// The engine that computes references, with the options of its `reference`.
inline constexpr const char* kReferenceEngine = "onnxruntime";

}  // namespace assay
