// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay {

/// The token ids of the timed generations of one stream. Generations of one input set should all be the same; the
/// different ones are kept, the first kMostDifferent of each set. Nothing is allocated while a generation runs.
class TimedTokens {
 public:
  static constexpr std::size_t kMostDifferent = 4;

  TimedTokens() = default;
  /// `batch` sequences of `tokens` ids.
  TimedTokens(std::size_t sets, std::size_t batch, std::size_t tokens)
      : tokens_(tokens), current_(batch * tokens), kept_(sets) {}

  void put(std::size_t row, std::size_t place, std::int64_t id) { current_[row * tokens_ + place] = id; }
  /// Ends a generation of this set, outside of its time.
  void finish(std::size_t set) {
    ++generations_;
    auto& kept = kept_[set];
    if (kept.size() < kMostDifferent && std::ranges::find(kept, current_) == kept.end()) kept.push_back(current_);
  }

  /// [batch, tokens] each.
  [[nodiscard]] const std::vector<std::vector<std::int64_t>>& of(std::size_t set) const { return kept_[set]; }
  [[nodiscard]] std::int64_t generations() const { return generations_; }

 private:
  std::size_t tokens_ = 0;
  std::vector<std::int64_t> current_;
  std::vector<std::vector<std::vector<std::int64_t>>> kept_;
  std::int64_t generations_ = 0;
};

}  // namespace assay
