// SPDX-License-Identifier: Apache-2.0
#include "bench/run/timed_ids.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/verify/tokens.hpp"
#include "core/base/text.hpp"
#include "core/tensor/safetensors.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

std::string of_set(std::size_t set, const std::string& message) {
  return fmt::format("timed generation of input set {}: {}", set, message);
}

void set_unverified(Record& row, const std::string& why) {
  row.verification = Verification::kUnverified;
  row.message = row.message.empty() ? why : why + "; " + row.message;
}

}  // namespace

Result<TimedIdsCheck> TimedIdsCheck::compare(const fs::path& tokens, const std::vector<fs::path>& largest,
                                             double margin) {
  TimedIdsCheck made;
  made.margin_ = margin;
  ASSAY_TRY(const SafetensorsFile file, SafetensorsFile::open(tokens));
  for (const std::string& name : file.names()) {  // SET/STREAM/N
    const auto set = parse_number<std::size_t>(name.substr(0, name.find('/')));
    if (!set || *set >= largest.size() || largest[*set].empty()) continue;
    ASSAY_TRY(const TensorView ids, file.tensor(name));
    ASSAY_TRY(const TokenCheck check, check_tokens(largest[*set], ids, margin));
    made.tokens_ += check.tokens;
    made.compared_ += check.compared;
    if (!check.message.empty() && made.message_.empty()) made.message_ = of_set(*set, check.message);
    if (check.compared == check.tokens) continue;
    ASSAY_TRY(Tensor copy, Tensor::copy_of(ids));
    made.left_.push_back({*set, std::move(copy)});
    made.left_compared_.push_back(check.compared);
  }
  return made;
}

Status TimedIdsCheck::force(const ForceIds& force) {
  ASSAY_TRY(const std::vector<fs::path> files, force(left_));
  ASSAY_CHECK(files.size() == left_.size(), "there is a file for each generation");
  for (std::size_t i = 0; i < left_.size(); ++i) {
    ASSAY_TRY(const TokenCheck check, check_forced_tokens(files[i], left_[i].ids.view(), margin_));
    compared_ += check.compared - left_compared_[i];
    ++forced_;
    if (check.message.empty()) continue;
    message_ = of_set(left_[i].set, check.message);
    break;
  }
  left_.clear();
  left_compared_.clear();
  return {};
}

std::string TimedIdsCheck::text() const {
  std::string text = fmt::format("{} of {} token ids", compared_, tokens_);
  if (forced_ > 0) text += fmt::format(" ({} forced through the reference)", counted(forced_, "generation"));
  return text;
}

void set_ids(const TimedIdsCheck& ids, bool limit_decides, std::int64_t generations, Record& row) {
  if (!ids.message().empty() && limit_decides) {
    row.verification = Verification::kWrong;
    row.message = ids.message();
    return;
  }
  row.checked += fmt::format("; {} of {} generations", ids.text(), generations);
  if (!ids.message().empty()) set_unverified(row, ids.message() + ", and the error of honest arithmetic is not known");
}

Status force_ids(TimedIdsCheck& ids, const ForceIds& force, Record& row) {
  Status done = ids.force(force);
  if (done || done.error().code == ErrorCode::kCancelled) return done;
  set_unverified(row, "not all token ids were compared: " + done.error().message);
  return {};
}

}  // namespace assay
