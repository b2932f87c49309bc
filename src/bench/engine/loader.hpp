// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <assay/engine_abi.h>
#include <assay/result.hpp>

#include "core/tensor/tensor.hpp"
#include "core/traits/engine_types.hpp"

namespace assay {

/// The host's services for plug-ins: the steady clock, and a log on stderr.
[[nodiscard]] const assay_host_api& host_api();

/// A plug-in's table, checked: same ABI major, all required slots set, NULL in every slot that it does not know.
/// Lifetime: the library is never unloaded (threads and thread-local destructors of runtimes still need it).
/// Thread: const, any.
class EnginePlugin {
 public:
  /// Opens a plug-in's library. Errors: not_found (no such file); incompatible_plugin (built for another ABI: names the
  /// file, both versions and the fix; not a plug-in; a required library is missing).
  [[nodiscard]] static Result<EnginePlugin> open(const std::filesystem::path& file);
  /// Uses a plug-in that is linked into this program. `file` is its name in messages.
  [[nodiscard]] static Result<EnginePlugin> from_entry(assay_engine_get_fn entry, const std::filesystem::path& file);

  [[nodiscard]] std::string name() const;
  [[nodiscard]] bool compiles_shapes() const { return table_->compiles_shapes != 0; }
  [[nodiscard]] bool concurrent_contexts() const { return table_->concurrent_contexts != 0; }
  [[nodiscard]] bool shares_memory() const { return table_->share_output_with_input != nullptr; }
  [[nodiscard]] const assay_engine_table& table() const { return *table_; }

 private:
  explicit EnginePlugin(const assay_engine_table& table) : table_(std::make_shared<const assay_engine_table>(table)) {}
  std::shared_ptr<const assay_engine_table> table_;
};

/// Owners of the C objects: errors of a plug-in become a Result, its strings are converted to valid UTF-8, its results
/// are checked. One thread at a time per object; each keeps its parent object alive.
class LoadedContext {
 public:
  /// Errors: those of the engine. `view`'s bytes must stay valid at their address until this object is destroyed or
  /// another buffer replaces them.
  [[nodiscard]] Status set_input(std::size_t set, std::size_t index, const TensorView& view);
  [[nodiscard]] Status run(std::size_t set);
  /// Whether run_timed() may be called: the engine times itself. Otherwise time run(), which allocates nothing.
  [[nodiscard]] bool times_itself() const { return table().run_timed != nullptr; }
  /// n runs in the rotation set = (first_set + i) % sets, into the columns of `samples` (engine_abi.h). On error the
  /// samples completed before it are in `samples`.
  [[nodiscard]] Status run_timed(std::size_t n, std::size_t first_set, std::size_t sets, assay_samples& samples);
  /// Valid until the next run. Errors: those of the engine; internal if its result is invalid.
  [[nodiscard]] Result<TensorView> output(std::size_t index) const;
  /// The same, in the memory of `view`: it allocates nothing if that had an output of this rank before.
  [[nodiscard]] Status output(std::size_t index, TensorView& view) const;
  /// Uses an output of each run as an input of the next one, without a copy; reset_state() starts with the bound input.
  [[nodiscard]] Status alias_output_to_input(std::size_t output, std::size_t input);
  [[nodiscard]] Status reset_state();
  /// Puts both in the same memory of the engine, zeros at first and after reset_state(). Errors: unsupported, if the
  /// engine cannot; the caller then uses an alias.
  [[nodiscard]] Status share_output_with_input(std::size_t output, std::size_t input);

 private:
  friend class LoadedProgram;
  struct Free {
    EnginePlugin plugin;
    std::shared_ptr<assay_program> program;
    void operator()(assay_context* c) const { plugin.table().context_free(c); }
  };
  explicit LoadedContext(std::unique_ptr<assay_context, Free> object) : object_(std::move(object)) {}
  [[nodiscard]] const assay_engine_table& table() const { return object_.get_deleter().plugin.table(); }
  std::unique_ptr<assay_context, Free> object_;
};

class LoadedProgram {
 public:
  [[nodiscard]] const std::vector<ValueSignature>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<ValueSignature>& outputs() const { return outputs_; }
  [[nodiscard]] Result<EngineOptions> effective() const;
  /// Does the work for create_context with these shapes that is not compilation; call it before you time that.
  [[nodiscard]] Status prepare_context(std::span<const TensorView> inputs) const;
  /// `inputs` in the order of inputs(); their bytes are not read. An extent of -1 stays open: each set_input
  /// defines it for its set.
  [[nodiscard]] Result<LoadedContext> create_context(std::span<const TensorView> inputs) const;
  /// Writes it in the runtime's own format (the extension "save"). Errors: those of the engine; unsupported, if it
  /// cannot.
  [[nodiscard]] Status save(const std::filesystem::path& file) const;
  /// Whether its contexts implement share_output_with_input().
  [[nodiscard]] bool shares_memory() const { return plugin_.shares_memory(); }

 private:
  friend class LoadedEngine;
  LoadedProgram(EnginePlugin plugin, std::shared_ptr<assay_program> object)
      : plugin_(std::move(plugin)), object_(std::move(object)) {}
  EnginePlugin plugin_;
  std::shared_ptr<assay_program> object_;
  std::vector<ValueSignature> inputs_, outputs_;
};

struct LoadProgramArgs {
  std::filesystem::path model{};
  std::string device_id{};
  std::string precision = "as_is";
  int threads = 0;
  int streams = 1;
  EngineOptions options{};
};

class LoadedEngine {
 public:
  /// Opens the runtime's libraries, found in `home` (empty: the system's loader searches for them).
  [[nodiscard]] static Result<LoadedEngine> create(const EnginePlugin& plugin, const std::filesystem::path& home);

  [[nodiscard]] const EnginePlugin& plugin() const { return plugin_; }
  [[nodiscard]] std::string version() const;
  [[nodiscard]] Result<std::vector<EngineDevice>> devices() const;
  [[nodiscard]] Result<std::vector<EngineOptionInfo>> options() const;
  /// What it found for hardware of which it has no device, by hardware (the extension "notes").
  [[nodiscard]] Result<EngineOptions> notes() const;
  [[nodiscard]] Result<LoadedProgram> load(const LoadProgramArgs& args) const;

 private:
  LoadedEngine(EnginePlugin plugin, std::shared_ptr<assay_engine> object)
      : plugin_(std::move(plugin)), object_(std::move(object)) {}
  EnginePlugin plugin_;
  std::shared_ptr<assay_engine> object_;
};

}  // namespace assay
