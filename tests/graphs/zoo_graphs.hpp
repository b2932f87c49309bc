// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "canonical_graph.hpp"
#include "models/zoo/zoo.hpp"

namespace assay::testing {

/// One graph that the zoo can build.
struct ZooGraph {
  std::string model;    ///< a golden's folder ("bert"), or a published checkpoint ("prajjwal1/bert-tiny")
  std::string variant;  ///< "golden", "BertForMaskedLM", "decode-native-float16"
  zoo::BuildRequest request;

  ZooGraph(std::string its_model, std::string its_variant, zoo::BuildRequest its_request)
      : model(std::move(its_model)), variant(std::move(its_variant)), request(std::move(its_request)) {}
};

/// The graphs of a golden:
/// - "golden", "golden-prefill", "golden-decode": as `zoo check` builds them, with the golden's weights and inputs;
/// - the name of each class of the architecture: with random weights and the usual inputs;
/// - for the golden's class, in each precision ("-float16", "-bfloat16"): "whole" and, if it generates, "prefill",
///   "decode", "decode-fixed" and "decode-native" with the logits of the last position.
/// Errors: those of reading the folder.
[[nodiscard]] Result<std::vector<ZooGraph>> golden_graphs(const std::filesystem::path& folder);

/// The graphs of every published checkpoint of the catalogue: "whole" and, if it generates, the parts, in float32.
[[nodiscard]] std::vector<ZooGraph> published_graphs();

/// Builds the graph without its weights, in `folder`. Errors: those of zoo::build() and canonical_graph().
[[nodiscard]] Result<CanonicalGraph> build_canonical(ZooGraph& graph, const std::filesystem::path& folder);

}  // namespace assay::testing
