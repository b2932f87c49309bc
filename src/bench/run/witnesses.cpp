// SPDX-License-Identifier: Apache-2.0
#include "bench/run/witnesses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "models/zoo/catalogue/passed_goldens.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

// Indices into the outputs: the set with the largest error, then by number, so that engines keep the same ones.
std::vector<std::size_t> by_importance(const OutputsOfSets& outputs) {
  std::vector<std::size_t> order(outputs.sets.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {},
                    [&](std::size_t i) { return std::pair(outputs.sets[i] != outputs.worst, outputs.sets[i]); });
  return order;
}

std::string listed(const std::set<std::string>& words) { return join({words.begin(), words.end()}, ", "); }

}  // namespace

// The engine that computed what the row was judged by.
const EngineEntry* Witnesses::reference_engine_of(const Reference& reference, const Record& row) const {
  if (reference.opinions)
    for (const Opinion& opinion : *reference.opinions)
      if (opinion.exact && opinion.name == row.reference) return registry_.entry(opinion.engine);
  return registry_.entry(kReferenceEngine);
}

void Witnesses::set_kernels(const LocalTask& local, const Reference& reference, Record& row) const {
  const EngineEntry* candidate = registry_.entry(local.task.engine);
  if (candidate == nullptr || !candidate->needs_model) return;
  const std::vector<std::string>& kernels = candidate->kernels;
  row.kernels = kernels.empty() ? "unknown" : join(kernels, ", ");
  const EngineEntry* other = reference_engine_of(reference, row);
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
  const auto verdict_against = [&](const std::vector<fs::path>& files) {
    const Result<Verdict> verdict = judge_sets(local.task, row, reference, files, computed);
    return verdict ? std::optional(verdict->verification) : std::nullopt;
  };
  // What is wrong must be among what agrees.
  if (row.verification == Verification::kWrong && outputs.worst &&
      std::ranges::find(computed.sets, *outputs.worst) == computed.sets.end()) {
    std::vector<fs::path> of_reference;
    for (const std::size_t set : computed.sets)
      if (set < reference.outputs.size()) of_reference.push_back(reference.outputs[set]);
    if (verdict_against(of_reference) != Verification::kWrong) return false;
  }
  return verdict_against(expected) == Verification::kVerified;
}

void Witnesses::keep(const std::string& key, const std::string& engine, const OutputsOfSets& outputs) {
  std::vector<std::size_t> chosen;
  std::uint64_t bytes = 0;
  for (const std::size_t i : by_importance(outputs)) {
    std::error_code unknown;
    const std::uint64_t size = fs::file_size(outputs.files[i], unknown);
    if (unknown || bytes + size > most_bytes_) break;
    bytes += size;
    chosen.push_back(i);
  }
  if (const auto older = kept_[key].find(engine);
      older != kept_[key].end() && older->second.sets.size() > chosen.size())
    return;
  std::error_code error;
  fs::create_directories(folder_, error);
  OutputsOfSets kept;
  for (const std::size_t i : chosen) {
    if (error) break;
    kept.sets.push_back(outputs.sets[i]);
    kept.files.push_back(folder_ / fmt::format("{}.safetensors", count_++));
    fs::rename(outputs.files[i], kept.files.back(), error);
  }
  if (error || kept.sets.empty()) return;
  if (const auto older = kept_[key].find(engine); older != kept_[key].end())
    for (const fs::path& file : older->second.files) fs::remove(file, error);
  kept_[key].insert_or_assign(engine, std::move(kept));
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
  const EngineEntry* reference_engine = reference_engine_of(reference, row);
  // Two runtimes may err alike; exact arithmetic is not overruled by them.
  const bool exact = reference_engine != nullptr && reference_engine->exact;
  if (!verified && !exact && !agreeing.empty() && agreeing == others)
    row.message += fmt::format("; {} computed the same as this cell, which points at the reference", listed(agreeing));
  if (verified && reference_engine != nullptr && row.reference == reference_engine->reference_name() &&
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
