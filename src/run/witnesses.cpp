// SPDX-License-Identifier: Apache-2.0
#include "run/witnesses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "zoo/catalogue/passed_goldens.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

/// Outputs of one cell above this are not kept: two sets of the logits of a long text.
constexpr std::uint64_t kMostKeptBytes = 512ULL << 20;
/// Sets that are kept of each cell: one without and one with padding, if there are both.
constexpr std::size_t kKeptSets = 2;

std::string listed(const std::set<std::string>& words) { return join({words.begin(), words.end()}, ", "); }

}  // namespace

void Witnesses::set_kernels(const LocalTask& local, const Reference& reference, Record& row) const {
  const EngineEntry* candidate = registry_.entry(local.task.engine);
  if (candidate == nullptr || !candidate->needs_model) return;
  const std::vector<std::string>& kernels = candidate->kernels;
  row.kernels = kernels.empty() ? "unknown" : join(kernels, ", ");
  const EngineEntry* other = registry_.entry(kReferenceEngine);
  if (reference.name == "none" || reference.name == "given" || other == nullptr) return;
  std::set<std::string> shared;
  for (const std::string& name : kernels)
    if (std::ranges::find(other->kernels, name) != other->kernels.end()) shared.insert(name);
  if (kernels.empty() || other->kernels.empty())
    row.shared_kernels = "unknown";
  else
    row.shared_kernels = shared.empty() ? "none" : listed(shared);
}

bool Witnesses::agrees(const LocalTask& local, const Reference& reference, const OutputsOfSets& outputs,
                       const Record& row, const OutputsOfSets& other) const {
  OutputsOfSets computed;
  std::vector<fs::path> expected;
  for (std::size_t i = 0; i < outputs.sets.size(); ++i) {
    const auto same = std::ranges::find(other.sets, outputs.sets[i]);
    if (same == other.sets.end()) continue;
    computed.sets.push_back(outputs.sets[i]);
    computed.files.push_back(outputs.files[i]);
    expected.push_back(other.files[static_cast<std::size_t>(same - other.sets.begin())]);
  }
  if (computed.sets.empty()) return false;
  // What is wrong must be among what agrees.
  const bool wrong = row.verification == Verification::kWrong;
  if (wrong && outputs.worst && std::ranges::find(computed.sets, *outputs.worst) == computed.sets.end()) return false;
  const Result<Verdict> verdict = judge_sets(local.task, row, reference, expected, computed);
  return verdict && verdict->verification == Verification::kVerified;
}

void Witnesses::keep(const std::string& key, const std::string& engine, const OutputsOfSets& outputs) {
  std::error_code error;
  std::uint64_t bytes = 0;
  const std::size_t count = std::min(kKeptSets, outputs.files.size());
  if (const auto older = kept_[key].find(engine); older != kept_[key].end() && older->second.sets.size() > count)
    return;
  for (std::size_t i = 0; i < count; ++i) bytes += fs::file_size(outputs.files[i], error);
  fs::create_directories(folder_, error);
  if (error || bytes > kMostKeptBytes) return;
  OutputsOfSets kept;
  for (std::size_t i = 0; i < count && !error; ++i) {
    kept.sets.push_back(outputs.sets[i]);
    kept.files.push_back(folder_ / fmt::format("{}.safetensors", count_++));
    fs::rename(outputs.files[i], kept.files.back(), error);
  }
  if (!error) kept_[key].insert_or_assign(engine, std::move(kept));
}

void Witnesses::add(const LocalTask& local, const Reference& reference, const OutputsOfSets& outputs, Record& row) {
  set_kernels(local, reference, row);
  if (outputs.files.empty()) return;
  const bool verified = row.verification == Verification::kVerified;
  if (!verified && row.verification != Verification::kWrong) return;
  const std::string key = local.reference_key(registry_);
  std::set<std::string> agreeing, others;
  for (const auto& [engine, kept] : kept_[key]) {
    if (engine == row.engine) continue;
    others.insert(engine);
    if (agrees(local, reference, outputs, row, kept)) agreeing.insert(engine);
  }
  if (!verified && !agreeing.empty() && agreeing == others)
    row.message += fmt::format("; {} computed the same as this cell, which points at the reference", listed(agreeing));
  const EngineEntry* reference_engine = registry_.entry(kReferenceEngine);
  if (verified && reference_engine != nullptr && reference.name == reference_engine->reference_name() &&
      reference_engine->name != row.engine)
    agreeing.insert(reference_engine->name);
  if (verified && local.task.artefact.zoo && zoo::passed_golden(row.architecture, row.model_class))
    agreeing.insert("golden " + row.model_class);
  row.agreed_by = listed(agreeing);
  // The newest launch of an engine replaces an older one with as many sets.
  keep(key, row.engine, outputs);
}

void Witnesses::clear() {
  kept_.clear();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace assay
