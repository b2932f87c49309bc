// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "models/builder/graph_builder.hpp"
#include "models/zoo/catalogue/build_request.hpp"
#include "models/zoo/catalogue/config.hpp"
#include "models/zoo/layers/module.hpp"
#include "models/zoo/layers/states.hpp"

namespace assay::zoo {

/// The inputs that a graph shall have: the request's, else the architecture's usual ones. A skeleton takes those
/// it knows; what it leaves is refused by name, never dropped.
class Inputs {
 public:
  Inputs(GraphBuilder& graph, const BuildRequest& request, const Config& config);

  /// Whether the input is wanted (and not taken yet).
  [[nodiscard]] bool wants(const std::string& name) const { return wanted_.contains(name); }
  /// Tokens of a sequence, its past included, if the request says it; 0: it does not.
  [[nodiscard]] std::int64_t longest() const { return request_->longest; }
  /// The requested shape; nullopt if there is none.
  [[nodiscard]] std::optional<Shape> shape(const std::string& name) const;

  /// Adds the input to the graph, of the first of `dtypes` unless the request has another of them. Errors:
  /// unsupported, if it has a type that is not among them, or for a rank other than that of `extents`;
  /// invalid_argument, if a fixed extent differs from the requested one.
  [[nodiscard]] Result<Value> take(const std::string& name, const std::vector<DType>& dtypes, const Extents& extents);
  /// Passes over an input that is only usual: one that a decode's states replace.
  void leave(const std::string& name);
  /// The values of an integer input that is bound as a constant, of rows of `columns`; nullopt: none is. Errors:
  /// unsupported, for another type or shape.
  [[nodiscard]] Result<std::optional<std::vector<std::int64_t>>> take_integers(const std::string& name,
                                                                               std::int64_t columns);
  /// Errors: unsupported, "unsupported: input NAME", for the first that was not taken.
  [[nodiscard]] Status finish() const;

 private:
  /// One row of a mask or of token types, requested beside several of ids, is used for the batch as forward does.
  [[nodiscard]] bool serves_the_batch(const std::string& name) const;

  GraphBuilder* graph_;
  const BuildRequest* request_;
  std::set<std::string> wanted_;
};

/// The input position_ids [B, S], or [1, S] if one row is requested. Errors: those of Inputs::take.
[[nodiscard]] Result<Value> take_position_ids(Inputs& inputs);

/// What a skeleton gets.
struct BuildContext {
  Module model;  ///< the root
  const Config& config;
  Inputs& inputs;
  States& states;
  bool last_logits_only = false;

  [[nodiscard]] GraphBuilder& graph() const { return model.graph(); }
  /// The extent of logits' token axis, whose symbol is `axis`.
  [[nodiscard]] Extent logit_rows(const std::string& axis) const {
    return last_logits_only ? Extent(std::int64_t{1}) : Extent(axis);
  }
};

/// Where the base model stands: at the root for a class without a head, else below the architecture's "base_prefix".
[[nodiscard]] Module base_module(const BuildContext& context);

}  // namespace assay::zoo
