// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct ModelInfo;

/// Stands for a word that is not known.
inline constexpr std::string_view kUnknownClass = "unknown";

/// The closed lists of words, without "unknown".
[[nodiscard]] const std::vector<std::string>& model_families();    ///< embedding, text_generation, …
[[nodiscard]] const std::vector<std::string>& model_categories();  ///< the hardware guide's ten
[[nodiscard]] const std::vector<std::string>& model_tasks();  ///< Hugging Face's pipelines and a few tasks beyond them

/// What a model is for.
struct Classification {
  std::string family{kUnknownClass}, category{kUnknownClass}, task{kUnknownClass};
  std::string basis = "graph";  ///< source of the decision: "configuration", "graph"
};

/// By the words of a configuration if the zoo wrote them into the file's metadata, else by the graph.
[[nodiscard]] Classification classify(const ModelInfo& model);

/// By the graph alone: the names, types and ranks of inputs and outputs, and the operators. Evidence that fits several
/// words decides nothing: a graph from token ids to scores of a vocabulary may fill masks or continue texts.
[[nodiscard]] Classification classify_graph(const ModelInfo& model);

}  // namespace assay
