// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "models/builder/graph_builder.hpp"
#include "models/zoo/catalogue/build_request.hpp"

namespace assay::zoo {

/// The states of a generative graph: inputs of decode, outputs of prefill and decode, named as the field names them.
///
/// A skeleton that has states takes all of them, whatever the part; this class decides which become inputs and which
/// outputs. Outputs come after the graph's others.
class States {
 public:
  States(GraphBuilder& graph, Part part, KvCache kv_cache = KvCache::kGrowing)
      : graph_(&graph), part_(part), kv_cache_(kv_cache) {}

  /// The symbol of the axis that makes "past" grow, if it is not "sequence".
  void tokens_along(std::string symbol) { tokens_ = std::move(symbol); }

  [[nodiscard]] Part part() const { return part_; }
  [[nodiscard]] bool decodes() const { return part_ == Part::kDecode; }
  [[nodiscard]] bool gives() const { return part_ != Part::kWhole; }
  [[nodiscard]] KvCache kv_cache() const { return kv_cache_; }
  /// For a skeleton that builds every kind of KV cache or refuses it: finish() refuses what was not taken.
  KvCache take_kv_cache() {
    kv_cache_taken_ = true;
    return kv_cache_;
  }

  /// Adds a state; in decode its value before the run, else nullopt. Extents: those of the input, with the symbol
  /// "past" if it grows.
  std::optional<Value> take(const StateTensor& state);
  /// The state after the run, for the output of that name. Whole graphs drop it.
  void give(const std::string& output, const Value& value);

  [[nodiscard]] const std::vector<StateTensor>& tensors() const { return tensors_; }
  /// Adds the outputs. Errors: not_found when the skeleton has no states, unsupported ("kv_cache = …") when it
  /// supports a growing cache only.
  [[nodiscard]] Status finish();

 private:
  struct Given {
    std::string output;
    Value value;
  };
  GraphBuilder* graph_;
  Part part_;
  KvCache kv_cache_;
  bool kv_cache_taken_ = false;
  std::string tokens_ = "sequence";
  std::vector<StateTensor> tensors_;
  std::vector<Given> given_;
};

/// The cache of one self-attention: "past_key_values.LAYER.key" → "present.LAYER.key" and the same for the value,
/// each [B, heads, past, width].
struct AttentionCache {
  std::optional<Value> key, value;  ///< the cache before the run; only in a decode
  std::string key_output, value_output;
};
/// `middle`: "" or ".decoder", ".encoder" of encoder-decoders. `tokens`: the symbol or extent of the axis of tokens.
AttentionCache take_attention_cache(States& states, std::int64_t layer, std::int64_t heads, std::int64_t key_width,
                                    std::int64_t value_width, const std::string& middle = {},
                                    const Extent& tokens = "past");

}  // namespace assay::zoo
