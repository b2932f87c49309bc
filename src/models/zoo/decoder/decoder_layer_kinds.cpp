// SPDX-License-Identifier: Apache-2.0
// Which layers of a decoder slide, and which are rotated how.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.hpp"
#include "models/zoo/decoder/decoder_settings.hpp"

namespace assay::zoo {
namespace {

// gpt_neo's [[["global", "local"], 12]] is twelve times the two.
Json expanded_types(const Json& stated) {
  if (!stated.is_array() || stated.empty() || !stated[0].is_array()) return stated;
  constexpr std::size_t kMostLayers = 4096;
  Json all = Json::array();
  for (const Json& item : stated) {
    const bool pair = item.is_array() && item.size() == 2 && item[0].is_array() && item[1].is_number_unsigned();
    if (!pair) return stated;
    for (std::uint64_t i = 0; i < item[1].get<std::uint64_t>() && all.size() < kMostLayers && !item[0].empty(); ++i) {
      for (const Json& type : item[0]) all.push_back(type);
    }
  }
  return all;
}

// Which layers slide: as the configuration lists them, else by the pattern that the class fills in; empty: none does.
Result<std::vector<bool>> sliding_layers(const Config& config, const DecoderSettings& settings, std::int64_t layers,
                                         const std::optional<std::int64_t>& window) {
  std::vector<bool> sliding;
  const std::string& key = settings->layer_types_key;
  const Json stated = expanded_types(config.json(key));
  if (!stated.is_null()) {
    const std::map<std::string, bool>& words = settings->layer_type_words;
    if (!stated.is_array() || static_cast<std::int64_t>(stated.size()) != layers) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("{}: expected a list of {} names", key, layers));
    }
    for (const Json& type : stated) {
      if (!type.is_string() || !words.contains(type.get<std::string>())) {
        return unsupported(key, sanitise(type.dump()).substr(0, 80));
      }
      sliding.push_back(words.at(type.get<std::string>()));
    }
    return sliding;
  }
  if (!window) return sliding;
  const std::optional<std::int64_t> pattern = settings.optional(settings->sliding_pattern);
  if (const Json given = settings.value(settings->sliding_pattern); !given.is_null() && !pattern) {
    return unsupported(settings->sliding_pattern->key, sanitise(given.dump()).substr(0, 80),
                       "built is a number of layers, or layer_types");
  }
  const std::optional<std::int64_t> from = settings.optional(settings->sliding_from);
  const bool all = settings.flag(settings->all_sliding);
  if (!pattern && !from && !all) return sliding;
  for (std::int64_t i = 0; i < layers; ++i) {
    sliding.push_back(all || (pattern && (*pattern < 1 || (i + 1) % *pattern != 0)) || (from && i >= *from));
  }
  return sliding;
}

// Which layers are rotated.
Result<std::vector<bool>> rotated_layers(const Config& config, const DecoderSettings& settings,
                                         const std::vector<bool>& sliding, std::int64_t layers) {
  std::vector<bool> rotated(static_cast<std::size_t>(layers), settings.flag(settings->rope));
  const std::string& which = settings->rope_layers;
  if (which == "sliding") {
    rotated = sliding.empty() ? std::vector<bool>(rotated.size(), false) : sliding;
  } else if (which == "listed") {
    const Json& listed = config.json("no_rope_layers");
    const std::optional<std::int64_t> interval = settings.optional(settings->rope_interval);
    for (std::size_t i = 0; i < rotated.size(); ++i) {
      if (listed.is_array() && listed.size() == rotated.size()) {
        rotated[i] = listed[i] != 0;
      } else if (listed.is_null() && interval) {
        rotated[i] = (static_cast<std::int64_t>(i) + 1) % *interval != 0;
      } else {
        return fail(ErrorCode::kInvalidArgument, fmt::format("no_rope_layers: expected a list of {} integers", layers));
      }
    }
  }
  return rotated;
}

constexpr const char* kFull = "full_attention";
constexpr const char* kSliding = "sliding_attention";

Result<RopeSource> usual_rope(const Config& config, const DecoderSettings& settings, std::int64_t head_width) {
  RopeSource source = rope_source(config, head_width);
  source.theta = settings.optional(settings->rope_theta).value_or(settings.number(settings->default_theta));
  source.partial =
      settings.optional(settings->partial_rotary_factor).value_or(settings.number(settings->default_partial));
  source.takes_partial = settings.flag(settings->partial_rotary);
  source.takes_alpha = settings.flag(settings->rope_alpha);
  for (const auto& [from, to] : *settings->rope_types) source.types[from] = to;
  return source;
}

Status read_ropes(const Config& config, const DecoderSettings& settings, DecoderSpec& spec) {
  const std::int64_t width = settings.optional(settings->rotary_width).value_or(spec.head_width);
  if (width > spec.head_width) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} elements of each head would be rotated, it has {}", width, spec.head_width));
  }
  ASSAY_TRY(RopeSource source, usual_rope(config, settings, width));
  const bool interleaved = settings.flag(settings->rope_interleaved);
  const auto read = [&](const char* type) -> Status {
    ASSAY_TRY(spec.ropes[type], read_rope(source));
    spec.ropes[type].interleaved = interleaved;
    return {};
  };
  const Json given = source.parameters;
  const bool nested = given.is_object() && (given.contains(kFull) || given.contains(kSliding));
  if (!settings.flag(settings->rope_by_type)) {
    if (nested) return unsupported(source.key, "by layer type");
    ASSAY_CHECK_OK(read(kFull));
    spec.ropes[kSliding] = spec.ropes[kFull];
    return {};
  }
  // Each kind of layer has parameters of its own; what the older rope_scaling says is for the full ones.
  if (!nested && source.key == "rope_parameters" && given.is_object() && !given.empty()) {
    return unsupported("rope_parameters", sanitise(given.dump()).substr(0, 80), "expected one object per layer type");
  }
  // transformers looks for "truncate" beside the layer types and so never finds theirs.
  const auto own = [&](const char* type) {
    Json parameters = given.value(type, Json());
    if (parameters.is_object()) parameters.erase("truncate");
    return parameters;
  };
  if (nested) {
    for (const auto& [type, parameters] : given.items()) {
      if (type != kFull && type != kSliding) return unsupported("rope_parameters." + sanitise(type), "…");
    }
    source.parameters = own(kFull);
    source.key = std::string("rope_parameters.") + kFull;
  }
  ASSAY_CHECK_OK(read(kFull));
  source.parameters = nested ? own(kSliding) : Json();
  source.key = std::string("rope_parameters.") + kSliding;
  source.theta = settings.optional(settings->sliding_theta).value_or(settings.number(settings->default_sliding_theta));
  return read(kSliding);
}

}  // namespace

Status read_decoder_layers(const Config& config, const DecoderSettings& settings, DecoderSpec& spec) {
  const std::int64_t count = settings.integer(settings->layer_count);
  std::optional<std::int64_t> window = settings.optional(settings->window);
  if (!settings.flag(settings->use_window)) window = std::nullopt;
  ASSAY_TRY(const std::vector<bool> sliding, sliding_layers(config, settings, count, window));
  ASSAY_TRY(const std::vector<bool> rotated, rotated_layers(config, settings, sliding, count));
  if (std::find(rotated.begin(), rotated.end(), true) != rotated.end()) {
    ASSAY_CHECK_OK(read_ropes(config, settings, spec));
  }
  float scale = settings.flag(settings->scale_scores)
                    ? static_cast<float>(1.0 / std::sqrt(static_cast<double>(spec.head_width)))
                    : 1.0F;
  if (const auto scalar = settings.optional(settings->query_scalar)) scale = 1.0F / std::sqrt(*scalar);
  if (const auto stated = settings.optional(settings->score_scale)) scale = *stated;
  const bool by_depth = settings.flag(settings->scale_by_depth);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::size_t>(i);
    LayerKind layer;
    const bool slides = !sliding.empty() && sliding[index];
    if (slides && !window) {
      return fail(ErrorCode::kInvalidArgument, "a layer slides, and sliding_window is missing or not in use");
    }
    // transformers' cache of a window of 1 keeps everything: its numbers depend on how the tokens were cut into runs.
    if (slides && spec.causal && *window == 1) return unsupported(settings->window->key, "1");
    if (slides) layer.window = window;
    if (rotated[index]) layer.rope = slides ? kSliding : kFull;
    layer.scale = by_depth ? scale / static_cast<float>(i + 1) : scale;
    spec.layers.push_back(layer);
  }
  return {};
}

}  // namespace assay::zoo
