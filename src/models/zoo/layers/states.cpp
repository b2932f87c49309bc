// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/layers/states.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/zoo/catalogue/config.hpp"

namespace assay::zoo {

std::optional<Value> States::take(const StateTensor& state) {
  if (part_ == Part::kWhole) return std::nullopt;
  tensors_.push_back(state);
  if (part_ != Part::kDecode) return std::nullopt;
  return graph_->input(state.input, state.dtype, state.extents);
}

void States::give(const std::string& output, const Value& value) {
  if (part_ != Part::kWhole) given_.push_back({output, value});
}

Status States::finish() {
  if (part_ == Part::kWhole) return {};
  if (tensors_.empty()) {
    return no_part(part_, "this architecture keeps nothing from one run to the next");
  }
  if (kv_cache_ != KvCache::kGrowing && !kv_cache_taken_) {
    return unsupported("kv_cache", std::string(to_string(kv_cache_)), "this architecture has a growing KV cache only");
  }
  for (StateTensor& state : tensors_) {
    if (part_ == Part::kDecode) graph_->move_input_last(state.input);
    const auto given =
        std::find_if(given_.begin(), given_.end(), [&](const Given& item) { return item.output == state.output; });
    if (given == given_.end()) {
      ASSAY_CHECK(part_ == Part::kDecode, "a prefill gives every state that it requested");
      state.output.clear();
      continue;
    }
    Extents extents = state.extents;
    for (Extent& extent : extents) {
      if (extent == Extent("past")) extent = Extent(part_ == Part::kDecode ? "past + " + tokens_ : tokens_);
    }
    graph_->output(state.output, given->value, extents);
  }
  return {};
}

AttentionCache take_attention_cache(States& states, std::int64_t layer, std::int64_t heads, std::int64_t key_width,
                                    std::int64_t value_width, const std::string& middle, const Extent& tokens) {
  AttentionCache cache;
  const auto take = [&](const char* what, std::int64_t width, std::string& output) {
    output = fmt::format("present.{}{}.{}", layer, middle, what);
    return states.take({fmt::format("past_key_values.{}{}.{}", layer, middle, what),
                        output,
                        DType::kFloat32,
                        {"batch", heads, tokens, width}});
  };
  cache.key = take("key", key_width, cache.key_output);
  cache.value = take("value", value_width, cache.value_output);
  return cache;
}

}  // namespace assay::zoo
