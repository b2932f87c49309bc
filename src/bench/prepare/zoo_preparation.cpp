// SPDX-License-Identifier: Apache-2.0
#include "bench/prepare/zoo_preparation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/measure/environment.hpp"
#include "bench/prepare/estimate.hpp"
#include "bench/prepare/sizes.hpp"
#include "core/base/hash.hpp"
#include "core/base/text.hpp"
#include "core/tensor/random.hpp"
#include "models/model/classify.hpp"

namespace assay {
namespace {

/// If even this rate leaves enough time, the rate of this machine is not measured.
const MachineRate kSlowMachine{1e9, 1e9, "a slow machine"};

void set_source(PreparedModel& model, const ZooSource& source) {
  model.identity.model_id = source.model_id;
  model.identity.architecture = source.architecture;
  model.note = source.note;
  model.note_is_of_weights = !source.note.empty();
}

void set_built(Record& row, const ZooDescription& described, const ZooSource& source) {
  const zoo::BuiltModel& built = described.built;
  row.architecture = built.architecture;
  row.model_class = built.model_class;
  row.kv_cache = built.kv_cache;
  row.config_hash = built.config_hash;
  row.weights_hash = built.weights_hash;
  row.builder_version = built.builder_version;
  row.weights = built.seeded ? Weights::kSeeded : Weights::kCheckpoint;
  row.size = source.size;
  if (source.model_id.starts_with("zoo:")) row.flags.add(Flag::kScaled);
  if (built.seeded) {
    row.flags.add(Flag::kSeeded);
    row.seed_scheme = std::string(seed_scheme());
  }
  set_graph(row, described.info);
  if (described.generation && described.generation->step)
    row.graph_hash = sha256_hex(row.graph_hash + described.generation->step_info.graph_hash);
}

/// A size of a model, and why it cannot run here.
struct Candidate {
  ZooSource source;
  std::optional<ZooDescription> described{};   ///< present if it fits into memory
  std::optional<std::string> space{}, time{};  ///< why there is too little
  bool on_disk = false;                        ///< `space` is about the disk, not the memory
  double cell_s = 0;
};

/// Chooses the size of a zoo model and describes it.
class ZooPreparation {
 public:
  ZooPreparation(PreparedModel& model, const RunSettings& settings, const Preparing& with)
      : model_(model), settings_(settings), with_(with), any_size_(model.choice.any_size && settings.size.empty()) {}

  // `named`: the model that the user or the set names.
  Status prepare(const ZooSource& named) {
    ASSAY_TRY(ZooSource source, source_of_size(named, settings_.size));
    if (settings_.scale != 1.0 && !source.planned) {
      ASSAY_TRY(source, scaled_source(source));
    }
    set_source(model_, source);
    if (source.planned) return refuse_planned(source);
    if (with_.engines.empty()) return name_only(source);
    ASSAY_TRY(Candidate whole, look_at(source));
    if (whole.space || whole.time) {
      model_.refusal = too_large(whole.space ? *whole.space : *whole.time);
      if (whole.on_disk)
        model_.refusal->hint = "use a smaller model, or name a cache folder on a larger disk with ASSAY_CACHE_DIR";
      return any_size_ ? take_smaller(std::move(whole)) : Status();
    }
    return take(whole);
  }

 private:
  [[nodiscard]] Result<ZooSource> scaled_source(const ZooSource& source) {
    const bool weights = source.weights.has_value();
    ASSAY_TRY(ZooSource less, scaled(source, settings_.scale, fmt::format("{}*{}", source.size, settings_.scale)));
    model_.identity.flags.add(Flag::kScaled);
    if (weights)
      less.note = fmt::format("{}: random weights, because those of its folder are for all layers", model_.choice.name);
    return less;
  }

  Status refuse_planned(const ZooSource& source) {
    Record& row = model_.identity;
    if (row.family.empty()) row.family = source.family;
    if (row.category.empty()) row.category = source.category;
    model_.refusal =
        not_built(fmt::format("the architecture '{}' is not part of this version of assay", source.architecture));
    return {};
  }

  Status name_only(const ZooSource& source) {
    Record& row = model_.identity;
    row.size = source.size;
    const auto& all = zoo::architectures();
    const auto known = std::ranges::find(all, source.architecture, &zoo::Architecture::name);
    if (known == all.end()) return {};
    if (row.family.empty()) row.family = known->family;
    if (row.category.empty()) row.category = known->category;
    return {};
  }

  [[nodiscard]] Result<Candidate> look_at(const ZooSource& source) const {
    ASSAY_CHECK_OK(check_cancelled(with_.cancelled));
    Candidate candidate{source};
    const std::uint64_t memory = free_memory();
    // The user's data is for a forward pass.
    const bool generation = settings_.output_tokens.front() > 0 && settings_.data.empty();
    const auto shortfall = [&](std::uint64_t weights, bool generates) {
      std::optional<std::string> why = memory_shortfall(weights, 0, memory);
      if (why) return why;
      why = disk_shortfall(disk_use(weights, settings_, engines(), generates), with_.cache);
      candidate.on_disk = why.has_value();
      return why;
    };
    const auto first = [&](std::uint64_t weights) { return candidate.space = shortfall(weights, false); };
    Result<ZooDescription> described =
        describe(zoo_build(source, settings_), generation, with_.cache, with_.cancelled, first);
    if (candidate.space) return candidate;
    if (!described) return tl::unexpected<Error>(std::move(described).error());
    candidate.described = std::move(*described);
    candidate.space = shortfall(candidate.described->weight_bytes, candidate.described->generation.has_value());
    if (candidate.space || !any_size_) return candidate;
    ASSAY_CHECK_OK(check_cancelled(with_.cancelled));
    ASSAY_TRY(const Estimate needs, estimate(*candidate.described, settings_));
    candidate.space = memory_shortfall(needs.weight_bytes, needs.activation_bytes, memory);
    if (!candidate.space) set_time(candidate, needs);
    return candidate;
  }

  // The engines that may run the model.
  [[nodiscard]] std::vector<EngineEntry> engines() const {
    std::vector<EngineEntry> entries;
    for (const std::string& name : with_.engines)
      if (const EngineEntry* entry = with_.registry->entry(name)) entries.push_back(*entry);
    return entries;
  }

  void set_time(Candidate& candidate, const Estimate& needs) const {
    if (!time_shortfall(time_of(needs, settings_, kSlowMachine), settings_)) return;
    const std::optional<MachineRate> rate = with_.rate();
    if (!rate) return;
    const CellTime time = time_of(needs, settings_, *rate);
    candidate.time = time_shortfall(time, settings_);
    candidate.cell_s = time.cell_s;
  }

  // The largest of the smaller sizes that fits into memory and into a cell's time; if all are too slow, the quickest.
  // The refusal stays if none fits into memory.
  Status take_smaller(Candidate whole) {
    const std::string why = whole.space ? *whole.space : *whole.time;
    const std::string id = whole.source.model_id, size = whole.source.size;
    const auto take_instead = [&](const Candidate& candidate) -> Status {
      model_.refusal.reset();
      set_source(model_, candidate.source);
      if (candidate.source.size != size || candidate.source.model_id != id) {
        model_.identity.flags.add(Flag::kScaled);
        model_.note_is_of_weights = false;
        model_.note = fmt::format("{}: {}, size {}, stands in for {}: {}", model_.choice.name,
                                  candidate.source.model_id, candidate.source.size, id, why);
      }
      return take(candidate);
    };
    std::optional<Candidate> quickest;
    const std::vector<ZooSource> sizes = smaller_sizes(whole.source, with_.cancelled);
    if (!whole.space) quickest = std::move(whole);
    for (const ZooSource& smaller : sizes) {
      Result<Candidate> candidate = look_at(smaller);
      if (!candidate && candidate.error().code == ErrorCode::kUnsupported) continue;
      if (!candidate) return tl::unexpected<Error>(candidate.error());
      if (candidate->space) continue;
      if (!candidate->time) return take_instead(*candidate);
      if (!quickest || candidate->cell_s < quickest->cell_s) quickest = std::move(*candidate);
    }
    return quickest ? take_instead(*quickest) : Status();
  }

  Status take(const Candidate& candidate) {
    ZooDescription described = *candidate.described;
    if (described.build.weights) {
      ASSAY_TRY(described.build.weights_hash, zoo::weights_hash(described.build.request(), with_.cancelled));
      described.built.weights_hash = described.build.weights_hash;
    }
    set_built(model_.identity, described, candidate.source);
    model_.format = "onnx";
    model_.max_sequence =
        described.info.max_sequence ? described.info.max_sequence : max_sequence_of(described.build.config);
    ASSAY_CHECK_OK(check_cancelled(with_.cancelled));
    std::optional<KvCache> requested = settings_.kv_cache;
    if (settings_.default_kv_cache && requested == KvCache::kGrowing) requested.reset();
    model_.variants = describe_variants(described, requested, with_.engines, *with_.registry);
    model_.artefact.zoo = described.build;
    model_.graph = described.built.path;
    model_.folder = described.folder;
    model_.generation = described.generation;
    model_.info = std::move(described.info);
    return {};
  }

  PreparedModel& model_;
  const RunSettings& settings_;
  const Preparing& with_;
  bool any_size_;
};

}  // namespace

Status prepare_zoo(PreparedModel& model, const ZooSource& named, const RunSettings& settings, const Preparing& with) {
  return ZooPreparation(model, settings, with).prepare(named);
}

void set_graph(Record& row, const ModelInfo& info) {
  row.graph_hash = info.graph_hash;
  row.parameter_count = info.parameter_count;
  const Classification what = classify(info);
  if (row.family.empty() && what.family != kUnknownClass) row.family = what.family;
  if (row.category.empty() && what.category != kUnknownClass) row.category = what.category;
}

Refusal not_built(std::string message) {
  return {CellStatus::kSkipped, Reason::kNotBuilt, std::move(message), "`assay zoo list` shows what is built"};
}

Refusal too_large(std::string message) {
  return {CellStatus::kSkipped, Reason::kTooLarge, std::move(message),
          "use a smaller model, or a machine with more memory"};
}

std::optional<std::int64_t> max_sequence_of(const Json& config) {
  const auto key = config.find("max_position_embeddings");
  if (key == config.end()) {
    const auto text = config.find("text_config");
    return text != config.end() && text->is_object() ? max_sequence_of(*text) : std::nullopt;
  }
  if (!key->is_number_integer() || key->get<std::int64_t>() < 1) return std::nullopt;
  return key->get<std::int64_t>();
}

}  // namespace assay
