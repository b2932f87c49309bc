// SPDX-License-Identifier: Apache-2.0
#include "bench/run/output_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "bench/hardware/hardware.hpp"
#include "core/base/hash.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/tensor/recipe.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

/// If a run takes longer than this, checks that were made once are not made again with every set.
constexpr double kSlowRunMs = 100;
/// Outputs whose error is at most this many times its limit may be right: then the reference errs.
constexpr double kMayBeDisputed = 100;

// The sets that are compared: all, but a runtime's own cache that takes no padding is not given any.
std::vector<std::size_t> sets_to_compare(const Task& task, std::size_t count) {
  const bool pads = !task.variant || task.variant->generation.takes_padding();
  std::vector<std::size_t> sets;
  for (std::size_t set = 0; set < count; ++set)
    if (pads || set != kPaddedSet || !has_padding(task.inputs)) sets.push_back(set);
  return sets;
}

std::string with_note(const std::string& message, const std::string& note) {
  return message.empty() ? note : message + "; " + note;
}

}  // namespace

Result<Verdict> judge_sets(const Task& task, const Record& row, const Reference& reference,
                           const std::vector<fs::path>& expected, const OutputsOfSets& computed,
                           const OutputsOfSets& others) {
  const OutputFiles files{.reference = expected, .candidate = computed.files, .others = others.files};
  VerifyOptions options;
  options.reference = reference.name;
  options.honest = reference.honest;
  options.quantised = task.reference.quantised;
  options.given = !expected.empty() && expected.front() == task.reference.given_outputs;
  // A graph of 16 bits is rounded between its operators even if the runtime computes each in float32.
  const DType effective = dtype_from(row.effective_precision).value_or(DType::kFloat32);
  options.precision = bit_width(effective) < bit_width(task.arithmetic) ? effective : task.arithmetic;
  options.sets = computed.sets;
  options.sets.insert(options.sets.end(), others.sets.begin(), others.sets.end());
  ASSAY_TRY(const MaskInputs masks, MaskInputs::make(task, task.inputs, options.sets));
  options.inputs = masks.views;
  return judge(files, options);
}

Result<OutputsOfSets> OutputChecks::compute(Worker& worker, const std::vector<std::size_t>& sets, int stream,
                                            const std::string& name, const Deadline& deadline) {
  OutputsOfSets computed;
  for (const std::size_t set : sets) {
    InferRequest request{set, scratch_ / fmt::format("{}{}.safetensors", name, set)};
    request.stream = stream;
    ASSAY_TRY(const InferReply ran, worker.infer(request, deadline.left()));
    if (!row_.first_inference_ms) row_.first_inference_ms = ran.run_ms;
    computed.sets.push_back(set);
    computed.files.push_back(request.outputs);
  }
  return computed;
}

// An error is judged by the root mean square of the output over all sets, as the honest error was: of an output with
// few elements, such as one number for an item, that of one set alone may be near 0.
Result<Verdict> OutputChecks::judge_with(const Reference& reference, const OutputsOfSets& computed) const {
  std::vector<fs::path> expected;
  expected.reserve(computed.sets.size());
  for (const std::size_t set : computed.sets) expected.push_back(reference.outputs[set]);
  OutputsOfSets others;
  for (const std::size_t set : sets_to_compare(task_, reference.outputs.size())) {
    if (std::ranges::find(computed.sets, set) != computed.sets.end()) continue;
    others.sets.push_back(set);
    others.files.push_back(reference.outputs[set]);
  }
  return judge_sets(task_, row_, reference, expected, computed, others);
}

bool OutputChecks::may_dispute(const Verdict& verdict) const {
  return verdict.verification == Verification::kWrong && verdict.ratio && *verdict.ratio <= kMayBeDisputed &&
         std::ranges::none_of(verdict.outputs, &OutputVerdict::uncorrelated) && !task_.reference.quantised &&
         task_.arithmetic != DType::kFloat64 && task_.reference.given_outputs.empty() && reference_.name != "given";
}

const std::vector<Opinion>* OutputChecks::known_opinions() const {
  return reference_.opinions ? &*reference_.opinions : nullptr;
}

Result<OutputChecks::Judged> OutputChecks::judged(const OutputsOfSets& computed,
                                                  const std::vector<Opinion>* opinions) const {
  ASSAY_TRY(Verdict verdict, judge_with(reference_, computed));
  const std::optional<double> limit = verdict.error_limit;
  if (opinions == nullptr || !may_dispute(verdict)) return Judged{std::move(verdict), limit};
  return by_opinions(std::move(verdict), computed, *opinions);
}

// A model that decides by rounding (the floor of a product, the largest of two equal numbers) has other outputs in
// float64 than in float32, on every runtime: those are no measure of who errs.
Result<std::optional<OutputChecks::Judged>> OutputChecks::by_exact(const Opinion& exact,
                                                                   const OutputsOfSets& computed) const {
  Reference other = reference_;
  other.name = exact.name;
  other.outputs = exact.outputs;
  OutputsOfSets of_reference{.sets = computed.sets, .files = {}};
  for (const std::size_t set : computed.sets) of_reference.files.push_back(reference_.outputs[set]);
  ASSAY_TRY(const Verdict reference, judge_with(other, of_reference));
  if (reference.verification == Verification::kWrong && reference.ratio.value_or(INFINITY) > kMayBeDisputed)
    return std::nullopt;
  other.honest = exact.honest;
  ASSAY_TRY(Verdict verdict, judge_with(other, computed));
  std::optional<double> allowed_difference = verdict.error_limit;
  if (allowed_difference) *allowed_difference += reference.max_abs_error.value_or(0);
  return Judged{std::move(verdict), allowed_difference};
}

Result<OutputChecks::Judged> OutputChecks::by_opinions(Verdict verdict, const OutputsOfSets& computed,
                                                       const std::vector<Opinion>& opinions) const {
  const std::string differs = fmt::format("{:.3g} times the limit from {}", verdict.ratio.value_or(0), reference_.name);
  std::string why = "no other engine computes exactly", agrees;
  for (const Opinion& opinion : opinions) {
    if (opinion.engine == row_.engine) continue;  // it would judge itself
    if (opinion.outputs.empty()) {
      if (opinion.exact) why = fmt::format("{}: {}", opinion.name, opinion.why_none);
    } else if (opinion.exact) {
      ASSAY_TRY(std::optional<Judged> decided, by_exact(opinion, computed));
      if (decided) {
        std::string& message = decided->verdict.message;
        message = with_note(message, fmt::format("{} decided, because the outputs are {}", opinion.name, differs));
        return std::move(*decided);
      }
      why = fmt::format("{} differs from {} by more than {:.0f} times the limit", opinion.name, reference_.name,
                        kMayBeDisputed);
    } else if (agrees.empty()) {
      Reference other = reference_;
      other.outputs = opinion.outputs;
      ASSAY_TRY(const Verdict beside, judge_with(other, computed));
      if (beside.verification == Verification::kVerified) agrees = opinion.name;
    }
  }
  verdict.verification = Verification::kIllConditioned;
  verdict.reason.reset();
  verdict.limit_decides = false;
  const std::string who =
      agrees.empty() ? "it is not known who errs"
                     : fmt::format("{} and {} agree with each other, not with the reference", row_.engine, agrees);
  verdict.message = fmt::format("disputed: {}: {}; float64 could not decide: {}", who, verdict.message, why);
  const std::optional<double> allowed_difference = verdict.max_abs_error;
  return Judged{std::move(verdict), allowed_difference};
}

// Each launch begins with another set.
std::size_t OutputChecks::first_set() const {
  const std::vector<std::size_t> sets = sets_to_compare(task_, reference_.outputs.size());
  if (!later_ || !task_.verify || sets.empty()) return 0;
  return sets[static_cast<std::size_t>(row_.launch_number.value_or(1) - 1) % sets.size()];
}

// All sets that ran: a later launch may run any of them alone.
void OutputChecks::set_fingerprint(const OutputsOfSets& computed) {
  for (std::size_t i = 0; i < computed.sets.size(); ++i)
    if (const Result<std::string> hash = sha256_file(computed.files[i]))
      fingerprint_[fmt::format("set{}_sha256", computed.sets[i])] = *hash;
}

bool OutputChecks::is_slow() const { return task_.generation || row_.first_inference_ms.value_or(0) > kSlowRunMs; }

void OutputChecks::set_checked() {
  const bool padded = has_padding(task_.inputs);
  const std::size_t all = sets_to_compare(task_, reference_.outputs.size()).size();
  if (compared_.sets.size() < all) {
    const std::size_t set = compared_.sets.front();
    row_.checked = fmt::format("1 of {} sets (set {}{})", all, set, padded && set == kPaddedSet ? ", padded" : "");
  } else {
    row_.checked = counted(compared_.sets.size(), "set");
    if (padded)
      row_.checked +=
          std::ranges::count(compared_.sets, kPaddedSet) > 0 ? ", 1 padded" : ", none padded: the cache takes no mask";
  }
  if (task_.generation)
    row_.checked +=
        fmt::format("; logits after {} tokens", fmt::join(compared_tokens(task_.generation->output_tokens), ", "));
}

Status OutputChecks::before(Worker& worker, const Deadline& deadline) {
  row_.first_inference_ms.reset();
  const std::size_t first = first_set();
  ASSAY_TRY(OutputsOfSets computed, compute(worker, {first}, 0, "candidate", deadline));
  const bool compares = task_.verify && !task_.inputs.empty() && reference_.name != "none";
  if (!compares) set_fingerprint(computed);
  if (!task_.verify) return {};
  row_.reference = reference_.name;
  if (task_.inputs.empty()) {
    row_.verification = Verification::kDegenerate;
    row_.message = "the model has no inputs: its output proves nothing";
    return {};
  }
  if (reference_.name == "none") {
    row_.verification = Verification::kUnverified;
    row_.message = reference_.why_none;
    return {};
  }
  std::vector<std::size_t> sets = sets_to_compare(task_, reference_.outputs.size());
  if (later_ && is_slow()) sets.clear();
  std::erase(sets, first);
  ASSAY_TRY(const OutputsOfSets others, compute(worker, sets, 0, "candidate", deadline));
  computed.sets.insert(computed.sets.end(), others.sets.begin(), others.sets.end());
  computed.files.insert(computed.files.end(), others.files.begin(), others.files.end());
  set_fingerprint(computed);
  ASSAY_TRY(Judged found, judged(computed, known_opinions()));
  for (const OutputVerdict& output : found.verdict.outputs)
    log_debug("{} on {}, batch {}, {}: {}", row_.model, row_.engine, task_.shape.batch, row_.precision,
              error_text(output, reference_.honest));
  compared_ = std::move(computed);
  set_compared(found);
  set_checked();
  if (known_opinions() == nullptr && may_dispute(found.verdict)) {
    row_.verification = Verification::kUnverified;
    disputed_ = std::move(found.verdict);
  }
  return {};
}

// With what a reader of the row must know beside the verdict.
void OutputChecks::set_compared(const Judged& judged) {
  const Verdict& verdict = judged.verdict;
  set_verdict(verdict);
  allowed_difference_ = judged.allowed_difference;
  compared_.worst = verdict.worst_set;
  if (!reference_.honest && !reference_.why_no_honest.empty())
    row_.message = with_note(row_.message, "the honest error is not known: " + reference_.why_no_honest);
  if (verdict.verification == Verification::kWrong && task_.reference.quantised && row_.hardware == "cpu")
    row_.hint = saturation_hint(detect_cpu().isa);
  if (const std::string& note = task_.reference.given_note; !note.empty())
    row_.message = with_note(row_.message, fmt::format("{}; compared with {}", note, row_.reference));
}

Status OutputChecks::decide(const std::vector<Opinion>& opinions) {
  ASSAY_CHECK(is_disputed(), "decide() follows is_disputed()");
  if (disputed_) {
    ASSAY_TRY(const Judged found, by_opinions(*std::exchange(disputed_, std::nullopt), compared_, opinions));
    set_compared(found);
  }
  for (const AfterSampling& later : std::exchange(undecided_after_sampling_, {})) {
    if (!is_right()) break;
    ASSAY_TRY(const Judged found, judged(later.outputs, &opinions));
    set_again(found.verdict, later.stream);
    if (is_right() && later.stream + 1 == task_.shape.streams) row_.checked += "; again after sampling";
  }
  return is_right() ? check_timed_tokens() : Status();
}

bool OutputChecks::is_right() const {
  return row_.verification == Verification::kVerified || row_.verification == Verification::kIllConditioned;
}

// All numbers of a row are of one output.
void OutputChecks::set_verdict(const Verdict& verdict) {
  row_.reference = verdict.reference;
  row_.verification = verdict.verification;
  limit_decides_ = verdict.limit_decides;
  row_.max_abs_error = verdict.max_abs_error;
  row_.max_rel_error = verdict.max_rel_error;
  row_.cosine_similarity = verdict.cosine;
  row_.error_limit = verdict.error_limit;
  row_.worst_output = verdict.worst_output;
  row_.worst_element = verdict.worst_element;
  row_.rms_error = verdict.rms_error;
  row_.rms_limit = verdict.rms_limit;
  row_.honest_error = verdict.honest_error;
  row_.top1_agreement = verdict.top1_agreement;
  row_.message = verdict.message;
}

void OutputChecks::set_wrong(const std::string& message) {
  row_.verification = Verification::kWrong;
  row_.message = message;
  compared_ = {};  // no longer what the row is about
}

// A cell that was measured does not fail because its time ends now.
bool OutputChecks::has_time(const Deadline& deadline) const {
  const double run_ms = std::max(row_.first_inference_ms.value_or(0), row_.latency_max_ms.value_or(0));
  const auto runs =
      static_cast<double>(task_.shape.streams) * (is_slow() ? 1.0 : static_cast<double>(compared_.sets.size()));
  constexpr double kMargin = 2, kOtherMs = 500;
  return std::chrono::duration<double, std::milli>(deadline.left()).count() > kMargin * runs * run_ms + kOtherMs;
}

Status OutputChecks::after(Worker& worker, const MeasureReply& measured, const Deadline& deadline) {
  if ((!is_right() && !disputed_) || compared_.files.empty()) return {};
  generations_ = measured.generations;
  if (has_time(deadline)) ASSAY_CHECK_OK(check_again(worker, deadline));
  return is_right() && !is_disputed() ? check_timed_tokens() : Status();
}

Status OutputChecks::check_again(Worker& worker, const Deadline& deadline) {
  for (int stream = 0; stream < task_.shape.streams; ++stream) {
    const std::vector<std::size_t> sets = is_slow() ? std::vector{compared_.sets.front()} : compared_.sets;
    ASSAY_TRY(OutputsOfSets again, compute(worker, sets, stream, fmt::format("again{}_", stream), deadline));
    if (!is_disputed()) {
      ASSAY_TRY(const Judged found, judged(again, known_opinions()));
      if (known_opinions() != nullptr || !may_dispute(found.verdict)) {
        set_again(found.verdict, stream);
        if (!is_right()) return {};
        continue;
      }
    }
    undecided_after_sampling_.push_back({stream, std::move(again)});
  }
  if (!is_disputed()) row_.checked += "; again after sampling";
  return {};
}

void OutputChecks::set_again(const Verdict& verdict, int stream) {
  const bool disputed = verdict.verification == Verification::kIllConditioned;
  if (verdict.verification != Verification::kWrong && !(disputed && row_.verification == Verification::kVerified))
    return;
  set_verdict(verdict);
  const std::string stream_text = task_.shape.streams > 1 ? fmt::format(" of stream {}", stream + 1) : "";
  if (disputed)
    row_.message = fmt::format("after sampling, outputs{}: {}", stream_text, verdict.message);
  else
    set_wrong(fmt::format("the outputs{} are no longer right after sampling: {}", stream_text, verdict.message));
}

void OutputChecks::set_ids_checked() {
  set_ids(*ids_, limit_decides_, generations_, row_);
  if (row_.verification == Verification::kWrong) compared_ = {};  // no longer what the row is about
}

Status OutputChecks::check_timed_tokens() {
  if (!task_.generation || reference_.largest.empty() || !allowed_difference_ || generations_ == 0) return {};
  // Both logits may differ by as much.
  ASSAY_TRY(ids_, TimedIdsCheck::compare(tokens_file(), reference_.largest, 2 * *allowed_difference_));
  if (!ids_->expects_force()) set_ids_checked();
  return {};
}

Status OutputChecks::check_forced(const ForceIds& force) {
  ASSAY_CHECK_OK(force_ids(*ids_, force, row_));
  set_ids_checked();
  return {};
}

}  // namespace assay
