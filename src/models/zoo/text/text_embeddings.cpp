// SPDX-License-Identifier: Apache-2.0
// Tables of words, positions, token types and what else text encoders add up.
#include <fmt/format.h>

#include "models/zoo/layers/positions.hpp"
#include "models/zoo/layers/tensors.hpp"
#include "models/zoo/text/text_encoder.hpp"

namespace assay::zoo {
namespace {

// int64 [B, S].
Value zero_ids(const Module& at, const Value& tokens) {
  return at.node("Expand", {at.graph().integer(0), extents(at, tokens, 0, 2)});
}

Status find_positions(const TextEncoder& encoder, Embedded& embedded) {
  Inputs& inputs = encoder.inputs();
  const TextEmbeddings& spec = encoder.variations->embeddings;
  const bool counted = *spec.positions == "after_padding";
  std::int64_t pad = 0;
  embedded.first = spec.offset;
  if (counted) {
    pad = spec.padding->value ? *spec.padding->value : encoder.integer(spec.padding->key);
    embedded.first = pad + 1;
  }
  if (inputs.wants("position_ids")) {
    ASSAY_TRY(embedded.given_positions, take_position_ids(inputs));
    embedded.positions = embedded.given_positions;
  } else if (counted && embedded.ids) {
    const Module at = encoder.base.at(spec.path);
    embedded.positions = positions_after_padding(at, *embedded.ids, pad);
  }
  return {};
}

// LayoutLM adds the tables of the boxes' edges, heights and widths.
Result<Value> box_sum(const TextEncoder& encoder, const Module& at, const Value& tokens) {
  ASSAY_TRY(const std::vector<Value> rows, box_rows(encoder, at, tokens, encoder.hidden));
  Value sum = rows.front();
  for (std::size_t i = 1; i < rows.size(); ++i) sum = add(at, sum, rows[i]);
  return sum;
}

/// RoCBERT's tables of how a character looks and sounds.
struct Glyphs {
  std::vector<Value> rows;  ///< [B, S, width] each
  std::int64_t width = 0;   ///< sum of the widths of `rows`
};

// `always`: a table whose input is not there counts as zeros.
Result<Glyphs> glyph_rows(const TextEncoder& encoder, const Module& at, const Value& tokens, bool always) {
  Glyphs glyphs;
  for (const GlyphTable& table : encoder.variations->embeddings.glyphs) {
    const Module module = encoder.base.at(table.module);
    if (!encoder.context->config.flag(table.when)) {
      encoder.context->model.parameters().unused(module.name_of("weight"));
      continue;
    }
    const std::int64_t width = encoder.integer(table.width);
    ASSAY_TRY(std::optional<Value> ids, token_input(encoder, table.input, kIdTypes));
    if (!ids && !always) {
      encoder.context->model.parameters().unused(module.name_of("weight"));
      continue;
    }
    if (!ids) ids = zero_ids(at, tokens);
    glyphs.rows.push_back(embedding(module, *ids, encoder.integer(table.rows), width));
    glyphs.width += width;
  }
  return glyphs;
}

// Beside the word, mapped to its width.
Result<Value> joined_with_glyphs(const TextEncoder& encoder, const Module& at, const Embedded& embedded) {
  ASSAY_TRY(const Glyphs glyphs, glyph_rows(encoder, at, embedded.tokens, true));
  std::vector<Value> parts = {embedded.hidden};
  parts.insert(parts.end(), glyphs.rows.begin(), glyphs.rows.end());
  const Value joined = at.node("Concat", parts, {{"axis", std::int64_t{2}}});
  return linear(at / "map_inputs_layer", joined, {encoder.hidden + glyphs.width, encoder.hidden});
}

// The mean of the finished embedding and the tables that are there.
Result<Value> averaged_with_glyphs(const TextEncoder& encoder, const Module& at, const Embedded& embedded) {
  ASSAY_TRY(const Glyphs glyphs, glyph_rows(encoder, at, embedded.tokens, false));
  const auto count = static_cast<std::int64_t>(glyphs.rows.size());
  if (glyphs.width != count * encoder.hidden) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("shape_embed_dim and pronunciation_embed_dim: expected hidden_size = {}", encoder.hidden));
  }
  Value sum = embedded.hidden;
  for (const Value& rows : glyphs.rows) sum = add(at, sum, rows);
  return at.node("Div", {sum, encoder.graph().number(static_cast<float>(count + 1))});
}

}  // namespace

Result<Embedded> embed_words(const TextEncoder& encoder) {
  Inputs& inputs = encoder.inputs();
  if (inputs.wants("input_ids") == inputs.wants("inputs_embeds")) {
    return fail(ErrorCode::kInvalidArgument, "inputs: exactly one of input_ids and inputs_embeds is needed");
  }
  const Module words = encoder.base.at(encoder.variations->embeddings.word);
  Embedded embedded;
  if (inputs.wants("input_ids")) {
    ASSAY_TRY(embedded.ids, inputs.take("input_ids", kIdTypes, {"batch", "sequence"}));
    embedded.tokens = *embedded.ids;
    embedded.hidden = embedding(words, *embedded.ids, encoder.vocabulary, encoder.embedding);
  } else {
    ASSAY_TRY(embedded.hidden,
              inputs.take("inputs_embeds", {DType::kFloat32}, {"batch", "sequence", encoder.embedding}));
    embedded.tokens = embedded.hidden;
    encoder.context->model.parameters().unused(words.name_of("weight"));
  }
  ASSAY_CHECK_OK(find_positions(encoder, embedded));
  return embedded;
}

Value position_rows(const TextEncoder& encoder, const Module& table, const Embedded& embedded, std::int64_t width) {
  if (embedded.positions) return embedding(table, *embedded.positions, encoder.positions, width);
  GraphBuilder& graph = encoder.graph();
  Value end = extent(table, embedded.tokens, 1);
  if (embedded.first != 0) end = add(table, end, graph.integers({embedded.first}));
  return table.node("Slice", {table.parameter("weight", {encoder.positions, width}, Role::kTable),
                              graph.integers({embedded.first}), end, graph.integers({0})});
}

Result<std::optional<Value>> token_type_rows(const TextEncoder& encoder, std::int64_t width) {
  const std::string& name = encoder.variations->embeddings.token_type;
  if (name.empty() || encoder.token_types == 0) return std::optional<Value>();
  ASSAY_TRY(const std::optional<Value> given, token_input(encoder, "token_type_ids", kIdTypes));
  const Value types = given.value_or(encoder.graph().integer(0));
  return std::optional(embedding(encoder.base.at(name), types, encoder.token_types, width));
}

Result<std::vector<Value>> box_rows(const TextEncoder& encoder, const Module& at, const Value& tokens,
                                    std::int64_t width) {
  GraphBuilder& graph = encoder.graph();
  const std::int64_t rows = encoder.integer("max_2d_position_embeddings");
  std::optional<Value> boxes;
  if (encoder.inputs().wants("bbox")) {
    ASSAY_TRY(boxes, encoder.inputs().take("bbox", kIdTypes, {"batch", "sequence", std::int64_t{4}}));
  }
  std::vector<Value> edges(4);
  if (!boxes) edges.assign(4, zero_ids(at, tokens));
  for (std::int64_t i = 0; boxes && i < 4; ++i) {
    edges[static_cast<std::size_t>(i)] = at.node("Gather", {*boxes, graph.integer(i)}, {{"axis", std::int64_t{2}}});
  }
  const auto table = [&](const char* name, const Value& ids) { return embedding(at / name, ids, rows, width); };
  return std::vector<Value>{table("x_position_embeddings", edges[0]),
                            table("y_position_embeddings", edges[1]),
                            table("x_position_embeddings", edges[2]),
                            table("y_position_embeddings", edges[3]),
                            table("h_position_embeddings", at.node("Sub", {edges[3], edges[1]})),
                            table("w_position_embeddings", at.node("Sub", {edges[2], edges[0]}))};
}

Result<Embedded> embed_text(const TextEncoder& encoder) {
  const TextEmbeddings& spec = encoder.variations->embeddings;
  const Module at = encoder.base.at(spec.path);
  ASSAY_TRY(Embedded embedded, embed_words(encoder));
  const bool glyphs = !spec.glyphs.empty();
  const bool joined = glyphs && encoder.context->config.flag("concat_input");
  if (joined) {
    ASSAY_TRY(embedded.hidden, joined_with_glyphs(encoder, at, embedded));
  }
  Value sum = embedded.hidden;
  ASSAY_TRY(const std::optional<Value> types, token_type_rows(encoder, encoder.embedding));
  if (types) sum = add(at, sum, *types);
  // Further tables by token, each with an input of its own: ERNIE's tasks.
  for (const TokenTable& table : spec.tables) {
    if (!table.when->empty() && !encoder.context->config.flag(table.when)) continue;
    ASSAY_TRY(const std::optional<Value> given, token_input(encoder, table.input, kIdTypes));
    const Value rows = given.value_or(encoder.graph().integer(0));
    const Module module = encoder.base.at(table.module);
    sum = add(at, sum, embedding(module, rows, encoder.integer(table.rows), encoder.embedding));
  }
  const std::string& name = spec.position;
  if (!name.empty() && !spec.position_when->empty() && !encoder.context->config.flag(spec.position_when)) {
    encoder.context->model.parameters().unused(encoder.base.at(name).name_of("weight"));
  } else if (!name.empty()) {
    sum = add(at, sum, position_rows(encoder, encoder.base.at(name), embedded, encoder.embedding));
  }
  if (spec.boxes) {
    ASSAY_TRY(const Value boxes, box_sum(encoder, at, embedded.tokens));
    sum = add(at, sum, boxes);
  }
  if (!spec.norm->empty()) {
    sum = layer_norm(encoder.base.at(spec.norm), sum, encoder.embedding, encoder.epsilon);
  }
  // ELECTRA widens only if the widths differ, ALBERT always.
  if (!spec.projection->empty() && (spec.always_projected || encoder.embedding != encoder.hidden)) {
    sum = linear(encoder.base.at(spec.projection), sum, {encoder.embedding, encoder.hidden});
  }
  embedded.hidden = std::move(sum);
  if (glyphs && !joined) {
    ASSAY_TRY(embedded.hidden, averaged_with_glyphs(encoder, at, embedded));
  }
  return embedded;
}

}  // namespace assay::zoo
