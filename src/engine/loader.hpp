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

#include "engine/engine_types.hpp"
#include "tensor/tensor.hpp"

namespace assay {

/// The host's services given to plug-ins: the steady clock, and a log on stderr.
[[nodiscard]] const assay_host_api& host_api();

/// A plug-in's table, checked: same ABI major, all required slots there, NULL in every slot it does not know.
/// Lifetime: the library is never unloaded (runtimes leave threads and thread-local destructors behind).
/// Thread: const, any.
class EnginePlugin {
 public:
  /// Opens a plug-in's library. Errors: not_found (no such file); incompatible_plugin (built for another ABI: names the
  /// file, both versions and the fix; not a plug-in; a library it needs is missing).
  [[nodiscard]] static Result<EnginePlugin> open(const std::filesystem::path& file);
  /// Takes a plug-in that is linked into this program. `file` stands in messages.
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

/// The C objects with their owners: what a plug-in reports becomes a Result, its strings are made valid UTF-8, its
/// answers are checked before they are believed. One thread at a time per object; each keeps what it came from alive.
class LoadedContext {
 public:
  /// Errors: what the engine says. `view`'s bytes must stay where they are until this object is gone or others are
  /// bound in their place.
  [[nodiscard]] Status set_input(std::size_t set, std::size_t index, const TensorView& view);
  [[nodiscard]] Status run(std::size_t set);
  /// Whether run_timed() may be called: the engine times itself. Else time around run(), which allocates nothing.
  [[nodiscard]] bool times_itself() const { return table().run_timed != nullptr; }
  /// n runs in the rotation set = (first_set + i) % sets, into the columns of `samples` (engine_abi.h). On error the
  /// samples completed before it are in `samples`.
  [[nodiscard]] Status run_timed(std::size_t n, std::size_t first_set, std::size_t sets, assay_samples& samples);
  /// Valid until the next run. Errors: the engine's; internal when its answer makes no sense.
  [[nodiscard]] Result<TensorView> output(std::size_t index) const;
  /// Makes an output of each run the next run's input, without a copy; reset_state() begins anew with what is bound.
  [[nodiscard]] Status alias_output_to_input(std::size_t output, std::size_t input);
  [[nodiscard]] Status reset_state();
  /// Makes the two one memory of the engine's, zeros at first and after reset_state(). Errors: unsupported, where the
  /// engine cannot; the caller then makes an alias.
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
  /// What create_context needs for these shapes and what is no compilation: to be called before its time is taken.
  [[nodiscard]] Status prepare_context(std::span<const TensorView> inputs) const;
  /// `inputs` in the order of inputs(); their bytes are not looked at. An extent of -1 stays open: each set_input
  /// settles it for its set.
  [[nodiscard]] Result<LoadedContext> create_context(std::span<const TensorView> inputs) const;
  /// Whether its contexts know share_output_with_input().
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
  /// Opens the runtime's libraries, found in `home` (empty: wherever the system's loader finds them).
  [[nodiscard]] static Result<LoadedEngine> create(const EnginePlugin& plugin, const std::filesystem::path& home);

  [[nodiscard]] const EnginePlugin& plugin() const { return plugin_; }
  [[nodiscard]] std::string version() const;
  [[nodiscard]] Result<std::vector<EngineDevice>> devices() const;
  [[nodiscard]] Result<std::vector<EngineOptionInfo>> options() const;
  [[nodiscard]] Result<LoadedProgram> load(const LoadProgramArgs& args) const;

 private:
  LoadedEngine(EnginePlugin plugin, std::shared_ptr<assay_engine> object)
      : plugin_(std::move(plugin)), object_(std::move(object)) {}
  EnginePlugin plugin_;
  std::shared_ptr<assay_engine> object_;
};

}  // namespace assay
