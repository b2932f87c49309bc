// SPDX-License-Identifier: Apache-2.0
// What an architecture's "decoder" object and a configuration say together.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "zoo/decoder/decoder.hpp"
#include "zoo/layers/attention.hpp"
#include "zoo/layers/blocks.hpp"

namespace assay::zoo {
namespace {

// The object "decoder" with references replaced: "=hidden_size" stands for the configuration's value of that key. Where
// the conditions of an entry of "when" hold ("if": values of keys), what it says under "set" replaces what stands
// there.
class Variation {
 public:
  explicit Variation(const Config& config) : config_(config), data_(config.architecture().description["decoder"]) {
    for (const Json& entry : data_.value("when", Json::array())) {
      bool holds = true;
      for (const auto& [key, value] : entry["if"].items()) holds = holds && config_.json(key) == value;
      if (!holds) continue;
      if (entry.contains("refuse")) refused_ = entry["refuse"].get<std::string>();
      const Json set = entry.value("set", Json::object());
      for (const auto& [name, value] : set.items()) {
        if (name == "names")
          data_["names"].update(value);
        else
          data_[name] = value;
      }
    }
  }
  /// A key whose value this architecture does not build together with the others.
  [[nodiscard]] Status check() const {
    if (refused_.empty()) return {};
    return unsupported(refused_, config_.json(refused_).dump());
  }

  [[nodiscard]] Json value(const std::string& name, const Json& otherwise = nullptr) const {
    const auto found = data_.find(name);
    Json value = found == data_.end() ? otherwise : *found;
    if (value.is_string() && value.get<std::string>().starts_with("=")) {
      value = config_.json(value.get<std::string>().substr(1));
    }
    return value;
  }
  [[nodiscard]] std::int64_t integer(const std::string& name, const Json& otherwise) const {
    const Json found = value(name, otherwise);
    ASSAY_CHECK(found.is_number_integer(), "zoo/*.json states an integer that its decoder needs");
    return found;
  }
  [[nodiscard]] std::optional<std::int64_t> optional_integer(const std::string& name, const Json& otherwise) const {
    const Json found = value(name, otherwise);
    if (!found.is_number_integer()) return std::nullopt;
    return found.get<std::int64_t>();
  }
  [[nodiscard]] float number(const std::string& name, const Json& otherwise) const {
    const Json found = value(name, otherwise);
    return found.is_number() ? found.get<float>() : 1.0F;
  }
  [[nodiscard]] std::optional<float> optional_number(const std::string& name, const Json& otherwise = nullptr) const {
    const Json found = value(name, otherwise);
    if (!found.is_number()) return std::nullopt;
    return found.get<float>();
  }
  [[nodiscard]] bool flag(const std::string& name, const Json& otherwise = false) const {
    const Json found = value(name, otherwise);
    if (found.is_number()) return found.get<double>() != 0.0;
    return found.is_boolean() && found.get<bool>();
  }
  [[nodiscard]] std::string text(const std::string& name, const Json& otherwise = "") const {
    const Json found = value(name, otherwise);
    return found.is_string() ? found.get<std::string>() : std::string();
  }
  /// The configuration's key that a field refers to, for messages.
  [[nodiscard]] std::string key(const std::string& name, const std::string& otherwise) const {
    const auto found = data_.find(name);
    const std::string stated = found == data_.end() || !found->is_string() ? otherwise : found->get<std::string>();
    return stated.starts_with("=") ? stated.substr(1) : name;
  }

 private:
  const Config& config_;
  Json data_;
  std::string refused_;
};

template <class Kind>
Kind choose(const std::string& text, const std::map<std::string, Kind>& kinds) {
  const auto found = kinds.find(text);
  ASSAY_CHECK(found != kinds.end(), "zoo/*.json names a kind that is there");
  return found->second;
}

NormKind norm_kind(const std::string& text) {
  return choose<NormKind>(text, {{"rms", NormKind::kRms},
                                 {"rms_plus_one", NormKind::kRmsPlusOne},
                                 {"layer", NormKind::kLayer},
                                 {"layer_no_bias", NormKind::kLayerNoBias},
                                 {"layer_plain", NormKind::kLayerPlain},
                                 {"layer_plus_one", NormKind::kLayerPlusOne}});
}

// llama's modules, which most architectures share.
const std::map<std::string, std::string>& usual_names() {
  static const std::map<std::string, std::string> names = {
      {"base", "model"},
      {"bare_base", ""},
      {"embeddings", "embed_tokens"},
      {"layers", "layers"},
      {"final_norm", "norm"},
      {"head", "lm_head"},
      {"attention", "self_attn"},
      {"query", "q_proj"},
      {"key", "k_proj"},
      {"value", "v_proj"},
      {"output", "o_proj"},
      {"attention_inner_norm", ""},
      {"mlp_inner_norm", ""},
      {"qkv", "qkv_proj"},
      {"query_norm", "q_norm"},
      {"key_norm", "k_norm"},
      {"attention_in", "input_layernorm"},
      {"attention_out", ""},
      {"after_attention", ""},
      {"mlp_in", "post_attention_layernorm"},
      {"mlp_out", ""},
      {"after_mlp", ""},
      {"mlp", "mlp"},
      {"gate", "gate_proj"},
      {"up", "up_proj"},
      {"gate_up", ""},
      {"down", "down_proj"},
      {"activation", "act_fn"},
      {"position_table", ""},
      {"embedding_norm", ""},
      {"project_in", ""},
      {"project_out", ""},
  };
  return names;
}

Status read_heads(const Variation& variation, DecoderSpec& spec) {
  spec.heads = variation.integer("heads", "=num_attention_heads");
  spec.key_value_heads = variation.optional_integer("key_value_heads", "=num_key_value_heads").value_or(spec.heads);
  if (variation.flag("multi_query")) spec.key_value_heads = 1;
  const std::optional<std::int64_t> width = variation.optional_integer("head_width", "=head_dim");
  if (width) {
    spec.head_width = *width;
  } else {
    ASSAY_TRY(spec.head_width, head_width(spec.hidden, spec.heads));
  }
  if (spec.heads % spec.key_value_heads == 0) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("num_attention_heads = {} is no multiple of num_key_value_heads = {}", spec.heads,
                          spec.key_value_heads));
}

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
Result<std::vector<bool>> sliding_layers(const Config& config, const Variation& variation, std::int64_t layers,
                                         const std::optional<std::int64_t>& window) {
  std::vector<bool> sliding;
  const std::string key = variation.text("layer_types_key", "layer_types");
  const Json stated = expanded_types(config.json(key));
  if (!stated.is_null()) {
    const Json words = variation.value("layer_type_words", {{"full_attention", false}, {"sliding_attention", true}});
    if (!stated.is_array() || static_cast<std::int64_t>(stated.size()) != layers) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("{}: expected a list of {} names", key, layers));
    }
    for (const Json& type : stated) {
      if (!type.is_string() || !words.contains(type.get<std::string>())) {
        return unsupported(key, sanitise(type.dump()).substr(0, 80));
      }
      sliding.push_back(words[type.get<std::string>()].get<bool>());
    }
    return sliding;
  }
  if (!window) return sliding;
  const std::optional<std::int64_t> pattern = variation.optional_integer("sliding_pattern", nullptr);
  if (const Json given = variation.value("sliding_pattern"); !given.is_null() && !pattern) {
    return unsupported(variation.key("sliding_pattern", ""), sanitise(given.dump()).substr(0, 80),
                       "built is a number of layers, or layer_types");
  }
  const std::optional<std::int64_t> from = variation.optional_integer("sliding_from", nullptr);
  const bool all = variation.flag("all_sliding");
  if (!pattern && !from && !all) return sliding;
  for (std::int64_t i = 0; i < layers; ++i) {
    sliding.push_back(all || (pattern && (*pattern < 1 || (i + 1) % *pattern != 0)) || (from && i >= *from));
  }
  return sliding;
}

// Which layers are rotated.
Result<std::vector<bool>> rotated_layers(const Config& config, const Variation& variation,
                                         const std::vector<bool>& sliding, std::int64_t layers) {
  std::vector<bool> rotated(static_cast<std::size_t>(layers), variation.flag("rope", true));
  const std::string which = variation.text("rope_layers", "all");
  if (which == "sliding") {
    rotated = sliding.empty() ? std::vector<bool>(rotated.size(), variation.flag("rope_without_window")) : sliding;
  } else if (which == "listed") {
    const Json& listed = config.json("no_rope_layers");
    const std::optional<std::int64_t> interval = variation.optional_integer("rope_interval", nullptr);
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

Result<RopeSource> usual_rope(const Config& config, const Variation& variation, std::int64_t head_width) {
  RopeSource source = rope_source(config, head_width);
  source.theta =
      variation.optional_number("rope_theta", "=rope_theta").value_or(variation.number("default_theta", 10000.0));
  source.partial = variation.optional_number("partial_rotary_factor", "=partial_rotary_factor")
                       .value_or(variation.number("default_partial", 1.0));
  source.takes_partial = variation.flag("partial_rotary");
  source.takes_alpha = variation.flag("rope_alpha");
  const Json types = variation.value("rope_types", Json::object());
  for (const auto& [from, to] : types.items()) source.types[from] = to;
  const Json other_keys = variation.value("rope_other_keys", Json::array());
  for (const Json& key : other_keys) source.other_keys.insert(key);
  if (source.parameters.is_null()) source.parameters = variation.value("default_rope");
  return source;
}

Status read_ropes(const Config& config, const Variation& variation, DecoderSpec& spec) {
  const std::int64_t width = variation.optional_integer("rotary_width", nullptr).value_or(spec.head_width);
  if (width > spec.head_width) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} elements of each head would be rotated, it has {}", width, spec.head_width));
  }
  ASSAY_TRY(RopeSource source, usual_rope(config, variation, width));
  const bool interleaved = variation.flag("rope_interleaved");
  const auto read = [&](const char* type) -> Status {
    ASSAY_TRY(spec.ropes[type], read_rope(source));
    spec.ropes[type].interleaved = interleaved;
    return {};
  };
  const Json given = source.parameters;
  const bool nested = given.is_object() && (given.contains(kFull) || given.contains(kSliding));
  if (!variation.flag("rope_by_type")) {
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
  source.theta =
      variation.optional_number("sliding_theta").value_or(variation.number("default_sliding_theta", 10000.0));
  return read(kSliding);
}

Status read_layers(const Config& config, const Variation& variation, DecoderSpec& spec) {
  const std::int64_t count = variation.integer("layer_count", "=num_hidden_layers");
  std::optional<std::int64_t> window = variation.optional_integer("window", nullptr);
  if (!variation.flag("use_window", true)) window = std::nullopt;
  ASSAY_TRY(const std::vector<bool> sliding, sliding_layers(config, variation, count, window));
  ASSAY_TRY(const std::vector<bool> rotated, rotated_layers(config, variation, sliding, count));
  if (std::find(rotated.begin(), rotated.end(), true) != rotated.end()) {
    ASSAY_CHECK_OK(read_ropes(config, variation, spec));
  }
  float scale = variation.flag("scale_scores", true)
                    ? static_cast<float>(1.0 / std::sqrt(static_cast<double>(spec.head_width)))
                    : 1.0F;
  if (const auto scalar = variation.optional_number("query_scalar")) scale = 1.0F / std::sqrt(*scalar);
  if (const auto stated = variation.optional_number("score_scale")) scale = *stated;
  const bool by_depth = variation.flag("scale_by_depth");
  for (std::int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::size_t>(i);
    LayerKind layer;
    const bool slides = !sliding.empty() && sliding[index];
    if (slides && !window) {
      return fail(ErrorCode::kInvalidArgument, "a layer slides, and sliding_window is missing or not in use");
    }
    // transformers' cache of a window of 1 keeps everything: its numbers depend on how the tokens were cut into runs.
    if (slides && *window == 1) return unsupported(variation.key("window", "=sliding_window"), "1");
    if (slides) layer.window = window;
    if (rotated[index]) layer.rope = slides ? kSliding : kFull;
    layer.scale = by_depth ? scale / static_cast<float>(i + 1) : scale;
    spec.layers.push_back(layer);
  }
  return {};
}

}  // namespace

const std::string& DecoderSpec::name(const std::string& role) const {
  const auto found = names.find(role);
  ASSAY_CHECK(found != names.end(), "a role of a decoder's module");
  return found->second;
}

Result<DecoderSpec> read_decoder(const Config& config) {
  const Variation variation(config);
  ASSAY_CHECK_OK(variation.check());
  DecoderSpec spec;
  spec.names = usual_names();
  const Json names = variation.value("names", Json::object());
  for (const auto& [role, name] : names.items()) {
    ASSAY_CHECK(spec.names.contains(role), "zoo/*.json names a role of a decoder's module");
  }
  for (auto& [role, name] : spec.names) name = names.value(role, name);

  spec.vocabulary = variation.integer("vocabulary", "=vocab_size");
  spec.hidden = variation.integer("hidden", "=hidden_size");
  spec.embedding_width = variation.optional_integer("embedding_width", nullptr).value_or(spec.hidden);
  spec.intermediate = variation.optional_integer("intermediate", "=intermediate_size")
                          .value_or(spec.hidden * variation.integer("intermediate_factor", 4));
  ASSAY_CHECK_OK(read_heads(variation, spec));
  if (!spec.name("position_table").empty() || variation.flag("sinusoidal")) {
    spec.learned_positions = variation.integer("positions", "=max_position_embeddings");
    spec.position_offset = variation.integer("position_offset", 0);
  }

  spec.norm = norm_kind(variation.text("norm", "rms"));
  spec.epsilon = variation.number("epsilon", "=rms_norm_eps");
  spec.qkv_layout = choose<QkvLayout>(variation.text("qkv_layout", "separate"), {{"separate", QkvLayout::kSeparate},
                                                                                 {"joined", QkvLayout::kJoined},
                                                                                 {"per_head", QkvLayout::kPerHead},
                                                                                 {"codegen", QkvLayout::kCodegen}});
  if (variation.flag("use_query_key_norm", true)) {
    spec.query_key_norm = choose<QueryKeyNorm>(variation.text("query_key_norm", "none"),
                                               {{"none", QueryKeyNorm::kNone},
                                                {"head", QueryKeyNorm::kHead},
                                                {"head_after_rope", QueryKeyNorm::kHeadAfterRope},
                                                {"full", QueryKeyNorm::kFull},
                                                {"per_head", QueryKeyNorm::kPerHead}});
  }
  spec.query_key_norm_kind = norm_kind(variation.text("query_key_norm_kind", variation.text("norm", "rms")));
  spec.parallel = variation.flag("parallel");
  spec.residual_after_norm = variation.flag("residual_after_norm");
  spec.turned_weights = variation.flag("turned_weights");
  spec.masked_positions = variation.flag("masked_positions");
  spec.alibi = choose<Alibi>(variation.text("alibi", "none"),
                             {{"none", Alibi::kNone}, {"bloom", Alibi::kBloom}, {"falcon", Alibi::kFalcon}});
  spec.sinusoidal = variation.flag("sinusoidal");
  spec.zero_position = variation.optional_integer("zero_position", nullptr);
  if (spec.sinusoidal && (spec.hidden % 2 != 0 || spec.hidden < 4)) {
    return unsupported("hidden_size", std::to_string(spec.hidden), "computed positions need an even width from 4");
  }
  spec.tied = variation.flag("tied", "=tie_word_embeddings");
  spec.qkv_bias = variation.flag("qkv_bias", "=attention_bias");
  spec.output_bias = variation.flag("output_bias", "=attention_bias");
  spec.mlp_bias = variation.flag("mlp_bias", "=mlp_bias");
  spec.head_bias = variation.flag("head_bias");
  spec.activation = variation.text("activation", "=hidden_act");
  if (const Json other = variation.value("activations", Json::object()); other.contains(spec.activation)) {
    spec.activation = other[spec.activation];  // a name that the class takes for another
  }
  spec.activation_key = variation.key("activation", "=hidden_act");
  spec.gated = variation.flag("gated", true);
  spec.gate_first = variation.flag("gate_first", true);

  spec.embedding_scale = variation.number("embedding_scale", 1.0);
  if (variation.flag("scale_embedding")) spec.embedding_scale = std::sqrt(static_cast<float>(spec.hidden));
  spec.residual_scale = variation.number("residual_scale", 1.0);
  spec.logits_scale = variation.number("logits_scale", 1.0);
  if (const auto divisor = variation.optional_number("logits_divisor")) spec.logits_scale = 1.0F / *divisor;
  spec.attention_soft_cap = variation.optional_number("attention_soft_cap");
  spec.logits_soft_cap = variation.optional_number("logits_soft_cap");
  spec.clip_qkv = variation.optional_number("clip_qkv");
  ASSAY_CHECK_OK(read_layers(config, variation, spec));
  return spec;
}

}  // namespace assay::zoo
