// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/prepare/generation.hpp"
#include "core/tensor/recipe.hpp"
#include "models/graph/static_graph.hpp"

namespace assay {

/// What one run computes and moves: an inference, or a generation from its prompt to the last token.
struct RunCost {
  StaticCost first;         ///< the inference, or the prompt's
  StaticCost step{};        ///< cost of one further token, at the mean length of the past
  std::int64_t steps = 0;   ///< further tokens
  bool steps_known = true;  ///< false: their shapes depend on the prompt's run, and `step` is empty

  [[nodiscard]] double flops() const { return first.flops + step.flops * static_cast<double>(steps); }
  [[nodiscard]] double bytes() const { return first.bytes + step.bytes * static_cast<double>(steps); }
  /// Share of the nodes with known FLOPs.
  [[nodiscard]] double counted() const;
  /// Largest memory that is in use at once beside the weights.
  [[nodiscard]] std::uint64_t activation_bytes() const;
};

/// The graphs of one model, each read once, and what they cost at shapes asked before.
class GraphCosts {
 public:
  /// Errors: those of StaticModel; invalid_argument: the file contradicts itself at these shapes.
  [[nodiscard]] const Result<StaticCost>& at(const std::filesystem::path& file, const std::vector<InputRecipe>& inputs);
  /// The cost of a run on `inputs` with the extents of `axes`; `graphs` and `output_tokens` are set for a generative
  /// model. Errors: as above.
  [[nodiscard]] Result<RunCost> run(const std::filesystem::path& file, const std::vector<InputRecipe>& inputs,
                                    const InputAxes& axes, const GenerationGraphs* graphs, std::int64_t prompt_tokens,
                                    std::int64_t output_tokens);
  /// Errors: those of StaticModel::open.
  [[nodiscard]] const Result<StaticModel>& graph(const std::filesystem::path& file);
  /// The graph of `file` at these shapes, valid until the next call. Errors: those of StaticModel.
  [[nodiscard]] const Result<StaticGraph>& inferred(const std::filesystem::path& file,
                                                    const std::map<std::string, Shape>& shapes);
  /// Frees the graphs and keeps the costs that are known.
  void close() {
    graphs_.clear();
    latest_.reset();
  }

 private:
  struct Inferred {
    std::filesystem::path file;
    std::map<std::string, Shape> shapes;
    Result<StaticGraph> graph;
  };
  std::map<std::string, Result<StaticCost>> costs_;
  std::map<std::filesystem::path, Result<StaticModel>> graphs_;
  std::optional<Inferred> latest_;
};

}  // namespace assay
