// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "core/result/record.hpp"
#include "core/tensor/tensor.hpp"

namespace assay {

/// Token ids of one timed generation, int64 [batch, tokens].
struct TimedIds {
  std::size_t set = 0;
  Tensor ids;
};

/// Runs the reference on these tokens instead of its own, and returns a file for each: `largest` of
/// InferRequest::forced.
using ForceIds = std::function<Result<std::vector<std::filesystem::path>>(std::span<const TimedIds> ids)>;

/// Compares the token ids of timed generations with the reference: each must be within `margin` of the best logit.
/// Thread: one at a time.
class TimedIdsCheck {
 public:
  /// Compares ids with the reference's own greedy generation. Where an id is another one within the margin, all later
  /// ones follow from another text: these ids are kept for force().
  ///
  /// `tokens`: as MeasureRequest::tokens. `largest`: of the reference, by set, empty for sets without (as
  /// Reference::largest). Errors: those of SafetensorsFile::open and check_tokens().
  [[nodiscard]] static Result<TimedIdsCheck> compare(const std::filesystem::path& tokens,
                                                     const std::vector<std::filesystem::path>& largest, double margin);

  /// Generations that left the reference's own: each needs one run of the reference.
  [[nodiscard]] bool expects_force() const { return !left_.empty() && message_.empty(); }
  /// Compares them, forced through the reference. Errors: those of `force` and check_forced_tokens(); the ids until
  /// they left have been compared.
  [[nodiscard]] Status force(const ForceIds& force);

  /// Why an id is wrong, with its set; "": none is.
  [[nodiscard]] const std::string& message() const { return message_; }
  /// "24 of 24 token ids", and how many generations were forced.
  [[nodiscard]] std::string text() const;

 private:
  double margin_ = 0;
  std::int64_t tokens_ = 0, compared_ = 0;
  std::vector<TimedIds> left_;
  std::vector<std::int64_t> left_compared_;  ///< number of ids that count in compared_, for each of left_
  std::size_t forced_ = 0;
  std::string message_;
};

/// Writes into the row how many ids of `generations` were compared. If one is beyond the margin, the row is wrong;
/// unverified if `limit_decides` is false: that of Verdict, whose limit gave the margin.
void set_ids(const TimedIdsCheck& ids, bool limit_decides, std::int64_t generations, Record& row);

/// TimedIdsCheck::force() for a row. If the ids cannot be forced, the row is unverified and says why. Errors:
/// cancelled, because the comparison was not made.
[[nodiscard]] Status force_ids(TimedIdsCheck& ids, const ForceIds& force, Record& row);

}  // namespace assay
