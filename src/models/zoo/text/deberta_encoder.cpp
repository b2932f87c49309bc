// SPDX-License-Identifier: Apache-2.0
// DeBERTa (He et al. 2020, arXiv:2006.03654) and its second and third version: attention scores from contents and,
// apart from them, from relative positions.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/base/text.hpp"
#include "models/zoo/layers/distance.hpp"
#include "models/zoo/layers/tensors.hpp"
#include "models/zoo/text/text_encoder.hpp"
#include "models/zoo/text/text_skeletons.hpp"

namespace assay::zoo {
namespace {

struct Relative {
  bool packed = false;  ///< the first version: query, key and value in one matrix, scaled before they are multiplied
  bool used = false;
  bool content_to_position = false, position_to_content = false, shared_key = false, normed = false;
  std::int64_t longest = 0;  ///< largest distance that has a row of its own
  std::int64_t span = 0;     ///< half of the table's rows
  std::int64_t buckets = 0;  ///< 0: none
  float scale = 1.0F;
};

/// What all layers share.
struct DebertaShared {
  const TextEncoder& encoder;
  Relative relative;
  std::optional<Value> table;    ///< [2 span, hidden]
  std::optional<Value> index;    ///< row of `table` for each query and key: int64 [S, S]
  std::optional<Value> allowed;  ///< bool [B, 1, S, S]
};

// A list of kinds or, older, "c2p|p2c". How many there are.
Result<std::int64_t> read_kinds(const Json& given, Relative& relative) {
  std::vector<std::string> kinds;
  if (given.is_string()) {
    std::string text = given;
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (std::size_t start = 0; start < text.size();) {
      const std::size_t end = std::min(text.find('|', start), text.size());
      kinds.push_back(text.substr(start, end - start));
      start = end + 1;
    }
  } else if (given.is_array()) {
    for (const Json& kind : given) kinds.push_back(kind.is_string() ? kind.get<std::string>() : kind.dump());
  } else if (!given.is_null()) {
    return fail(ErrorCode::kInvalidArgument, "pos_att_type: expected a list of c2p and p2c");
  }
  for (const std::string& kind : kinds) {
    if (kind == "c2p" && !relative.content_to_position) {
      relative.content_to_position = true;
    } else if (kind == "p2c" && !relative.position_to_content) {
      relative.position_to_content = true;
    } else {
      return unsupported("pos_att_type", sanitise(kind));
    }
  }
  return static_cast<std::int64_t>(kinds.size());
}

Result<Relative> read_relative(const TextEncoder& encoder) {
  const Config& config = encoder.context->config;
  if (encoder.has("attention_head_size")) {
    const auto width = config.optional_integer("attention_head_size");
    if (width && *width != encoder.heads.width) return unsupported("attention_head_size", std::to_string(*width));
  }
  Relative relative;
  relative.packed = encoder.variations->layer.packed_attention;
  relative.used = config.flag("relative_attention");
  ASSAY_TRY(const std::int64_t parts, read_kinds(config.json("pos_att_type"), relative));
  relative.scale = std::sqrt(static_cast<float>(encoder.heads.width * (parts + 1)));
  relative.longest = config.integer("max_relative_positions");
  if (relative.longest < 1) relative.longest = encoder.positions;
  relative.span = relative.longest;
  if (encoder.has("position_buckets") && config.integer("position_buckets") > 0) {
    relative.buckets = config.integer("position_buckets");
    relative.span = relative.buckets;
    if (relative.buckets < 4 || relative.longest <= relative.buckets / 2 + 1) {
      return unsupported("position_buckets", std::to_string(relative.buckets),
                         "it must be from 4 and less than twice the longest distance");
    }
  }
  if (encoder.has("share_att_key")) relative.shared_key = config.flag("share_att_key");
  if (encoder.has("norm_rel_ebd")) relative.normed = config.text("norm_rel_ebd") == "layer_norm";
  return relative;
}

// Near distances count exactly, far ones by their logarithm; float32 as transformers computes it.
std::int64_t signed_bucket_of(std::int64_t distance, std::int64_t buckets, std::int64_t longest) {
  const std::int64_t middle = buckets / 2;
  const std::int64_t far = std::abs(distance);
  if (far <= middle) return distance;
  const float ratio = std::log(static_cast<float>(far) / static_cast<float>(middle)) /
                      std::log(static_cast<float>(static_cast<double>(longest - 1) / static_cast<double>(middle)));
  const auto bucket = static_cast<std::int64_t>(std::ceil(ratio * static_cast<float>(middle - 1))) + middle;
  return distance < 0 ? -bucket : bucket;
}

// Rows of the table of relative positions, by query and key: a key's distance is counted from it to the query.
Value table_index(const Module& at, const Value& tokens, const Relative& relative) {
  Integers rows;
  const std::int64_t farthest = relative.longest;
  for (std::int64_t distance = farthest; distance >= -farthest; --distance) {
    const std::int64_t kind =
        relative.buckets > 0 ? signed_bucket_of(distance, relative.buckets, relative.longest) : distance;
    rows.push_back(std::clamp<std::int64_t>(kind + relative.span, 0, 2 * relative.span - 1));
  }
  const Value places = count_up(at, extent(at, tokens, 1));
  return at.node("Gather", {at.graph().integers(rows), distance_index(at, places, places, farthest)});
}

// Rows of the table [rows, heads · width] by head: [1, heads, rows, width].
Value table_by_head(const Module& at, const Value& input, Heads heads) {
  return transpose(at, reshape(at, input, {1, -1, heads.count, heads.width}), {0, 2, 1, 3});
}

struct DebertaProjected {
  Value query, key, value;  ///< [B, heads, S, width]
};

DebertaProjected project(const DebertaShared& shared, const Module& self, const Value& input) {
  const TextEncoder& encoder = shared.encoder;
  const Heads heads = encoder.heads;
  const std::int64_t hidden = encoder.hidden;
  GraphBuilder& graph = encoder.graph();
  if (!shared.relative.packed) {
    const auto one = [&](const char* name) {
      return split_heads(self, linear(self / name, input, {hidden, hidden}), heads);
    };
    return {one("query_proj"), one("key_proj"), one("value_proj")};
  }
  const Value packed = linear(self / "in_proj", input, {hidden, 3 * hidden}, false);
  const Value split = self.node("Reshape", {packed, graph.integers({0, 0, heads.count, 3 * heads.width})});
  const Value transposed = self.node("Transpose", {split}, {{"perm", Integers{0, 2, 1, 3}}});
  const auto part = [&](std::int64_t index) {
    return self.node("Slice", {transposed, graph.integers({index * heads.width}),
                               graph.integers({(index + 1) * heads.width}), graph.integers({3})});
  };
  const auto biased = [&](const Value& value, const char* name) {
    const Value bias = self.node(
        "Reshape", {self.parameter(name, {hidden}, Role::kBias), graph.integers({1, heads.count, 1, heads.width})});
    return self.node("Add", {value, bias});
  };
  return {biased(part(0), "q_bias"), part(1), biased(part(2), "v_bias")};
}

// left · positionsᵀ, of which each pair of tokens takes the column of its distance. [B, heads, S, S].
Value by_distance(const Module& self, const Value& left, const Value& positions, const Value& index, bool transposed) {
  const Value columns = self.node("Transpose", {positions}, {{"perm", Integers{0, 1, 3, 2}}});
  const Value all = self.node("MatMul", {left, columns});
  const Value wanted = concat(self, {extents(self, left, 0, 3), extent(self, left, 2)}, 0);
  const Value rows = transposed ? self.node("Transpose", {index}, {{"perm", Integers{1, 0}}}) : index;
  const Value expanded = self.node("Expand", {rows, wanted});
  const Value taken = self.node("GatherElements", {all, expanded}, {{"axis", std::int64_t{3}}});
  return transposed ? self.node("Transpose", {taken}, {{"perm", Integers{0, 1, 3, 2}}}) : taken;
}

Value attention(const DebertaShared& shared, const Module& self, const Value& input) {
  const TextEncoder& encoder = shared.encoder;
  const Relative& relative = shared.relative;
  const Width square{encoder.hidden, encoder.hidden};
  GraphBuilder& graph = encoder.graph();
  const Value scale = graph.number(relative.scale);
  DebertaProjected projected = project(shared, self, input);
  projected.query = self.node("Div", {projected.query, scale});
  Value scores =
      self.node("MatMul", {projected.query, self.node("Transpose", {projected.key}, {{"perm", Integers{0, 1, 3, 2}}})});
  if (relative.used && relative.content_to_position) {
    const char* name = relative.packed ? "pos_proj" : (relative.shared_key ? "key_proj" : "pos_key_proj");
    const Value keys = table_by_head(self, linear(self / name, *shared.table, square, !relative.packed), encoder.heads);
    scores = self.node("Add", {scores, by_distance(self, projected.query, keys, *shared.index, false)});
  }
  if (relative.used && relative.position_to_content) {
    const char* name = relative.packed ? "pos_q_proj" : (relative.shared_key ? "query_proj" : "pos_query_proj");
    const Value queries = table_by_head(self, linear(self / name, *shared.table, square), encoder.heads);
    const Value scaled = self.node("Div", {queries, scale});
    // The distance is the same seen from the key: the index is transposed, and so is the result.
    scores = self.node("Add", {scores, by_distance(self, projected.key, scaled, *shared.index, true)});
  }
  if (shared.allowed) {
    const Value lowest = graph.number(std::numeric_limits<float>::lowest());
    scores = self.node("Where", {*shared.allowed, scores, lowest}, {}, DType::kFloat32);
  }
  return merge_heads(self, mix_values(self, scores, projected.value), encoder.heads);
}

Result<Value> encoder_layer(const DebertaShared& shared, const Module& layer, const Value& input) {
  const TextEncoder& encoder = shared.encoder;
  const Module output = layer / "attention" / "output";
  const auto norm = [&](const Module& at, const Value& value) {
    return layer_norm(at / "LayerNorm", value, encoder.hidden, encoder.epsilon);
  };
  const Value context = attention(shared, layer / "attention" / "self", input);
  const Value attended =
      norm(output, output.node("Add", {linear(output / "dense", context, {encoder.hidden, encoder.hidden}), input}));
  const Module intermediate = layer / "intermediate";
  const Value wide = linear(intermediate / "dense", attended, {encoder.hidden, encoder.intermediate});
  ASSAY_TRY(const Value active,
            activation(intermediate / "intermediate_act_fn", wide, encoder.hidden_act, "hidden_act"));
  const Value narrow = linear(layer / "output" / "dense", active, {encoder.intermediate, encoder.hidden});
  return norm(layer / "output", (layer / "output").node("Add", {narrow, attended}));
}

// A convolution over the tokens beside the first layer. `mask` [B, S, 1], float32.
Result<Value> convolved(const TextEncoder& encoder, const Value& embeddings, const Value& residual,
                        const std::optional<Value>& mask) {
  const Config& config = encoder.context->config;
  const Module at = encoder.base / "encoder" / "conv";
  const std::int64_t kernel = config.integer("conv_kernel_size");
  const std::int64_t groups = config.integer("conv_groups");
  if (kernel % 2 == 0) return unsupported("conv_kernel_size", std::to_string(kernel));
  if (encoder.hidden % groups != 0) return unsupported("conv_groups", std::to_string(groups));
  const Module conv = at / "conv";
  const Integers order = {0, 2, 1};
  Value value =
      conv.node("Conv",
                {at.node("Transpose", {embeddings}, {{"perm", order}}),
                 conv.parameter("weight", {encoder.hidden, encoder.hidden / groups, kernel}, Role::kWeight),
                 conv.parameter("bias", {encoder.hidden}, Role::kBias)},
                {{"kernel_shape", Integers{kernel}}, {"pads", Integers(2, (kernel - 1) / 2)}, {"group", groups}});
  value = at.node("Transpose", {value}, {{"perm", order}});
  if (mask) value = at.node("Mul", {value, *mask});
  ASSAY_TRY(value, activation(at, value, config.text("conv_act"), "conv_act"));
  value = layer_norm(at / "LayerNorm", at.node("Add", {residual, value}), encoder.hidden, encoder.epsilon);
  return mask ? at.node("Mul", {value, *mask}) : value;
}

Result<Value> encode_deberta(const TextEncoder& encoder, const Embedded& embedded, const std::optional<Value>& mask) {
  GraphBuilder& graph = encoder.graph();
  ASSAY_TRY(const Relative relative, read_relative(encoder));
  if (embedded.given_positions && !encoder.context->config.flag("position_biased_input")) {
    return fail(ErrorCode::kUnsupported, "unsupported: input position_ids", "this configuration has no use for it");
  }
  DebertaShared shared{encoder, relative, std::nullopt, std::nullopt, std::nullopt};
  const Module at = encoder.base / "encoder";
  Value hidden = embedded.hidden;
  std::optional<Value> kept;
  if (mask) {
    const Value flags = cast(encoder.base, *mask, DType::kBool);
    shared.allowed = encoder.base.node("And", {encoder.base.node("Unsqueeze", {flags, graph.integers({1, 2})}),
                                               encoder.base.node("Unsqueeze", {flags, graph.integers({1, 3})})});
    kept = cast(encoder.base, encoder.base.node("Unsqueeze", {flags, graph.integers({2})}), DType::kFloat32);
    hidden = (encoder.base / "embeddings").node("Mul", {hidden, *kept});
  }
  const Value masked = hidden;
  if (relative.used) {
    shared.index = table_index(at, embedded.tokens, relative);
    shared.table = (at / "rel_embeddings").parameter("weight", {2 * relative.span, encoder.hidden}, Role::kTable);
    if (relative.normed) shared.table = layer_norm(at / "LayerNorm", *shared.table, encoder.hidden, encoder.epsilon);
  } else if (relative.normed) {
    for (const char* name : {"weight", "bias"}) {
      encoder.context->model.parameters().unused((at / "LayerNorm").name_of(name));
    }
  }
  const bool convolves = encoder.has("conv_kernel_size") && encoder.integer("conv_kernel_size") > 0;
  for (std::int64_t i = 0; i < encoder.layers; ++i) {
    ASSAY_TRY(hidden, encoder_layer(shared, at / fmt::format("layer.{}", i), hidden));
    if (i == 0 && convolves) {
      ASSAY_TRY(hidden, convolved(encoder, masked, hidden, kept));
    }
  }
  return hidden;
}

}  // namespace

Status build_deberta_encoder(BuildContext& context) {
  const Config& config = context.config;
  if (config.model_class().ends_with("ForMaskedLM") && !config.flag("legacy")) return unsupported("legacy", "false");
  const std::optional<std::int64_t> pooled = config.optional_integer("pooler_hidden_size");
  if (pooled && *pooled != config.integer("hidden_size") &&
      config.model_class().ends_with("ForSequenceClassification")) {
    return unsupported("pooler_hidden_size", std::to_string(*pooled));
  }
  return build_text_encoder(context, encode_deberta);
}

}  // namespace assay::zoo
