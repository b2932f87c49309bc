// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

#include <assay/result.hpp>

#include "bench/plan/task.hpp"
#include "bench/prepare/cost.hpp"
#include "bench/prepare/prepare.hpp"

namespace assay {

/// How many input sets a task has, of `wanted`: two if a run has more than 30 GFLOP (some 0.3 s on two cores). Its
/// window has few runs, and each set costs a run of the reference and of every candidate. `flops`: of a run; nullopt:
/// unknown. set_count() may add one with padding.
[[nodiscard]] std::size_t input_sets_of(std::size_t wanted, std::optional<double> flops);

/// Adds to the planned tasks of one model what comes from files: inputs, their hash, and the cost of a run. After that
/// a task does not need the PreparedModel.
class TaskCompleter {
 public:
  /// `axes`: the data and the shape that the user gave, and a folder for converted input files; batch and sequence are
  /// those of the tasks. Lifetime: `model` outlives the object.
  TaskCompleter(const PreparedModel& model, InputAxes axes) : model_(model), axes_(std::move(axes)) {}

  /// A task whose inputs cannot be made becomes one that does not run.
  void complete(Task& task);
  /// How many images the tasks until now use, and where; "" if the inputs are not images.
  [[nodiscard]] std::string images_note() const;

 private:
  [[nodiscard]] InputAxes axes_of(const CellShape& shape) const {
    InputAxes axes = axes_;
    axes.batch = shape.batch;
    axes.sequence = shape.sequence;
    return axes;
  }
  [[nodiscard]] Status add_inputs(Task& task);
  [[nodiscard]] const CacheVariant& variant_of(const Task& task) const;
  [[nodiscard]] Status fix_shapes(Task& task, const ModelInfo& info) const;
  [[nodiscard]] Status check_lowered(const Task& task);
  void use_given(Task& task) const;
  /// Gives the engine's option the extents of the inputs, by name.
  static void fix_extents(Task& task, const ModelInfo& info);
  void set_shape_hint(Task& task, const ModelInfo& info) const;
  /// Returns what memory the run needs, if the graph says it.
  [[nodiscard]] std::optional<std::uint64_t> set_cost(Task& task);
  void refuse_too_large(Task& task, std::uint64_t activation_bytes) const;

  const PreparedModel& model_;
  InputAxes axes_;
  std::int64_t images_ = 0, images_found_ = 0;
  std::filesystem::path images_as_;
  GraphCosts costs_;
};

}  // namespace assay
