// SPDX-License-Identifier: Apache-2.0
#include "bench/run/reference_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/plan/row.hpp"
#include "bench/run/batch_times.hpp"
#include "core/base/guard.hpp"
#include "core/base/hash.hpp"
#include "core/traits/cell.hpp"

namespace assay {

// The worker ends before the reference starts.
Status ReferenceSet::choose_arithmetic(LocalTask& local) {
  const Record& row = local.task.row;
  if (row.precision != "runtime") return {};
  const std::string target = target_key(row), key = local.model_key() + " " + target;
  if (!chosen_.contains(key)) {
    services_.doing(fmt::format("{} on {}: which precision it chooses", row.model, target));
    const WorkTimer::Scope work(services_.timer, Work::kLoading);
    ASSAY_TRY(WorkerPool::Lease leased, workers_.acquire(local, "runtime", local.task.timeout));
    Record loaded;
    set_load(loaded, leased.loaded());
    leased.discard();
    chosen_[key] = dtype_from(loaded.effective_precision).value_or(DType::kFloat32);
  }
  local.task.arithmetic = chosen_[key];
  return {};
}

Status ReferenceSet::make_for(LocalTask& local, Slowest& slowest) {
  Task& task = local.task;
  ASSAY_CHECK_OK(choose_arithmetic(local));
  const double estimate = slowest.ms * static_cast<double>(task.shape.batch) / static_cast<double>(slowest.batch);
  if (task.default_batch && task.shape.batch > slowest.batch && estimate > kSlowDefaultMs) {
    set_refusal(task.row, slow_batch(task.shape.batch, estimate, "the reference's run"));
    return {};
  }
  const std::string key = local.reference_key(*services_.registry);
  if (made_.contains(key)) return {};
  services_.doing(fmt::format("{}, {}: reference", task.row.model, shape_key(task.row)));
  const WorkTimer::Scope work(services_.timer, Work::kReferences);
  Reference& reference = made_[key];
  if (task.inputs.empty()) return {};
  reference = maker_.make(task);
  if (reference.run_ms > 0 && !task.generation)  // for a generation it is the time of the prompt only
    slowest = {reference.run_ms, task.shape.batch};
  return {};
}

void ReferenceSet::make(std::vector<LocalTask>& tasks) {
  made_.clear();
  unanswered_.clear();
  chosen_.clear();
  forced_.clear();
  std::map<std::string, Slowest> slowest;  // by model_key()
  for (LocalTask& local : tasks) {
    if (!local.runs() || !local.task.verify || services_.cancelled()) continue;
    const Status done =
        guarded("while making the reference", [&] { return make_for(local, slowest[local.model_key()]); });
    if (!done) set_failure(local.task.row, done.error());
  }
  maker_.release();
}

Result<std::vector<Opinion>> ReferenceSet::ask(const LocalTask& local, const Deadline& deadline) {
  constexpr double kClearlyMore = 1.5;
  Reference& reference = of(local);
  const std::string key = local.reference_key(*services_.registry);
  if (const auto asked = unanswered_.find(key);
      asked != unanswered_.end() &&
      static_cast<double>(deadline.left().count()) < kClearlyMore * static_cast<double>(asked->second.limit.count()))
    return asked->second.opinions;
  const WorkTimer::Scope work(services_.timer, Work::kReferences);
  workers_.clear();
  const Record& row = local.task.row;
  services_.doing(fmt::format("{}, {}: disputed, computing in float64", row.model, shape_key(row)));
  const std::chrono::nanoseconds limit = deadline.left();
  Result<std::vector<Opinion>> opinions = maker_.ask(local.task, reference, limit);
  maker_.release();
  if (!opinions) return opinions;
  if (std::ranges::any_of(*opinions, &Opinion::may_answer_later))
    unanswered_[key] = {*opinions, limit};
  else
    reference.opinions = *opinions;
  return opinions;
}

Result<std::vector<std::filesystem::path>> ReferenceSet::force(const LocalTask& local,
                                                               std::span<const TimedIds> generations,
                                                               const Deadline& deadline) {
  const WorkTimer::Scope work(services_.timer, Work::kReferences);
  std::vector<std::filesystem::path> files;
  bool alone = false;
  for (const TimedIds& generation : generations) {
    const TensorView ids = generation.ids.view();
    const std::string key =
        fmt::format("{} {} {}", local.reference_key(*services_.registry), generation.set,
                    sha256_hex({reinterpret_cast<const char*>(ids.bytes.data()), ids.bytes.size()}));
    const auto known = forced_.find(key);
    if (known != forced_.end()) {
      files.push_back(known->second);
      continue;
    }
    if (!forced_folder_) {
      ASSAY_TRY(forced_folder_, TemporaryDirectory::create("assay-forced-"));
    }
    if (!std::exchange(alone, true)) workers_.clear();
    const Record& row = local.task.row;
    services_.doing(fmt::format("{}, {}: token ids through the reference", row.model, shape_key(row)));
    files.push_back(forced_folder_->path() / fmt::format("{}.safetensors", forced_.size()));
    const Status forced = maker_.force(local.task, generation.set, ids, files.back(), deadline.left());
    if (!forced) {
      maker_.release();
      return tl::unexpected<Error>(forced.error());
    }
    forced_.emplace(key, files.back());
  }
  maker_.release();
  return files;
}

std::optional<Error> ReferenceSet::invalid_file(const LocalTask& local) const {
  const auto reference = made_.find(local.reference_key(*services_.registry));
  const std::optional<Error>& contradiction = local.task.contradiction;
  if (reference != made_.end() && reference->second.invalid_file)
    return contradiction ? contradiction : reference->second.invalid_file;  // ours names the node better
  if (reference != made_.end() && reference->second.name != "none") return std::nullopt;
  return contradiction;
}

}  // namespace assay
