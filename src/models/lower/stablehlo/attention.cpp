// SPDX-License-Identifier: Apache-2.0
// Attention and the operators around it.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "models/lower/stablehlo/elementwise.hpp"

namespace assay::lowering::stablehlo {
namespace {

// [B, S, heads · size] or [B, heads, S, size] to [B, heads, S, size].
Hlo apart_by_heads(HloWriter& writer, const Hlo& x, std::int64_t heads) {
  if (x.rank() == 4) return x;
  if (x.rank() != 3 || heads < 1)
    return writer.misfit(x, fmt::format("a tensor of rank {} in {} heads", x.rank(), heads));
  const Hlo apart = writer.reshape(x, {x.extent(0), x.extent(1), heads, x.extent(2) / heads});
  return writer.transpose(apart, {0, 2, 1, 3});
}

// [B, heads, S, size] to the shape of an output.
Hlo together(HloWriter& writer, const Hlo& x, const Shape& shape) {
  return shape.size() == 4 ? x : writer.reshape(writer.transpose(x, {0, 2, 1, 3}), shape);
}

// Each head `times` times, one after the other.
Hlo repeated_heads(HloWriter& writer, const Hlo& x, std::int64_t times) {
  if (times == 1) return x;
  const Shape apart{x.extent(0), x.extent(1), times, x.extent(2), x.extent(3)};
  return writer.reshape(writer.broadcast_in_dim(x, apart, {0, 1, 3, 4}),
                        {x.extent(0), x.extent(1) * times, x.extent(2), x.extent(3)});
}

double stated_number(const graph::Node& node, const char* name, double otherwise) {
  return node.attribute(name) != nullptr ? node.number(name, 0) : otherwise;
}

// What is added to the products: a mask, and −∞ where a query may not see a key. [B, heads, S, T]
class Bias {
 public:
  Bias(HloWriter& writer, DType dtype, Shape shape) : writer_(&writer), dtype_(dtype), shape_(std::move(shape)) {}

  void allow(const Hlo& condition) {
    const Hlo whole = writer_->broadcast(condition, shape_);
    allowed_ = allowed_ ? writer_->binary("stablehlo.and", *allowed_, whole) : whole;
  }
  // A mask that is shorter than the keys does not allow the rest.
  void add_mask(const Hlo& mask) {
    Axes none(mask.shape.size(), 0), after = none;
    after.back() = shape_[3] - mask.shape.back();
    const bool is_bool = mask.dtype == DType::kBool;
    const Hlo scalar = is_bool ? writer_->splat(0, DType::kBool) : writer_->lowest(mask.dtype);
    const Hlo whole =
        writer_->broadcast(mask.shape.back() == 1 ? mask : writer_->pad(mask, scalar, none, after), shape_);
    if (is_bool)
      allow(whole);
    else
      added_ = writer_->convert(whole, dtype_);
  }
  [[nodiscard]] std::optional<Hlo> value() const {
    if (!allowed_) return added_;
    const Hlo otherwise = added_ ? *added_ : writer_->splat(0, dtype_, shape_);
    return writer_->select(*allowed_, otherwise, writer_->lowest(dtype_, shape_));
  }

 private:
  HloWriter* writer_;
  DType dtype_;
  Shape shape_;
  std::optional<Hlo> allowed_{}, added_{};
};

// The query's place minus the key's, as int64 of shape [S, T], or [B, 1, S, T] if each sequence has its own length.
Hlo distances(HloWriter& writer, const Shape& shape, std::int64_t past, const std::optional<Hlo>& lengths) {
  const Shape pair{shape[2], shape[3]};
  const Hlo apart = writer.subtract(writer.iota(DType::kInt64, pair, 0), writer.iota(DType::kInt64, pair, 1));
  if (!lengths) return past == 0 ? apart : writer.add(apart, writer.splat_like(static_cast<double>(past), apart));
  const Shape whole{shape[0], 1, shape[2], shape[3]};
  const Hlo before = writer.subtract(*lengths, writer.splat_like(static_cast<double>(shape[2]), *lengths));
  return writer.add(writer.broadcast(apart, whole), writer.broadcast_in_dim(before, whole, {0}));
}

Result<std::optional<Hlo>> bias_of(HloWriter& writer, const graph::Node& node, const Shape& shape, DType dtype,
                                   std::int64_t past) {
  Bias bias(writer, dtype, shape);
  if (has_input(node, 3)) {
    ASSAY_TRY(const Hlo mask, writer.input(node, 3));
    bias.add_mask(mask);
  }
  std::optional<Hlo> lengths;
  if (has_input(node, 6)) {
    ASSAY_TRY(const Hlo given, writer.input(node, 6));
    lengths = writer.reshape(writer.convert(given, DType::kInt64), {shape[0]});
  }
  const bool causal = node.integer("is_causal", 0) != 0;
  const std::int64_t left = node.integer("left_window_size", -1), right = node.integer("right_window_size", -1);
  if (causal || left >= 0 || right >= 0) {
    const Hlo distance = distances(writer, shape, past, lengths);
    const auto limit = [&](const char* direction, std::int64_t number) {
      bias.allow(writer.compare(direction, distance, writer.splat_like(static_cast<double>(number), distance)));
    };
    if (causal) limit("GE", 0);
    if (left >= 0) limit("LE", left);
    if (right >= 0) limit("GE", -right);
  }
  if (lengths) {
    const Shape whole{shape[0], 1, 1, shape[3]};
    bias.allow(
        writer.compare("LT", writer.iota(DType::kInt64, whole, 3), writer.broadcast_in_dim(*lengths, whole, {0})));
  }
  return bias.value();
}

// Rows that see no key are 0.
Hlo guarded(HloWriter& writer, const Hlo& shares, const std::optional<Hlo>& bias) {
  if (!bias) return shares;
  const Axes last{3};
  const Hlo most = writer.spread(writer.largest(*bias, last), *bias, last);
  return writer.select(writer.compare("EQ", most, writer.lowest(most.dtype, most.shape)), writer.splat_like(0, shares),
                       shares);
}

// Q, K, V, mask, past keys, past values, lengths → Y, keys, values, products.
Status attention(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo given_q, writer.input(node, 0));
  ASSAY_TRY(const Hlo given_k, writer.input(node, 1));
  ASSAY_TRY(const Hlo given_v, writer.input(node, 2));
  const Hlo q = apart_by_heads(writer, given_q, node.integer("q_num_heads", 1));
  Hlo k = apart_by_heads(writer, given_k, node.integer("kv_num_heads", 1));
  Hlo v = apart_by_heads(writer, given_v, node.integer("kv_num_heads", 1));
  std::int64_t past = 0;
  for (const std::size_t i : {4, 5}) {
    if (!has_input(node, i)) continue;
    ASSAY_TRY(const Hlo before, writer.input(node, i));
    Hlo& now = i == 4 ? k : v;
    past = before.extent(2);
    now = writer.concatenate(std::vector<Hlo>{before, now}, 2);
  }
  ASSAY_CHECK_OK(writer.output(node, 1, k));
  ASSAY_CHECK_OK(writer.output(node, 2, v));
  const std::int64_t times = q.extent(1) / k.extent(1);
  k = repeated_heads(writer, k, times);
  v = repeated_heads(writer, v, times);

  // Both operands are scaled by the root, so that half precision does not overflow.
  const double scale = std::sqrt(stated_number(node, "scale", 1 / std::sqrt(static_cast<double>(q.extent(3)))));
  const auto scaled = [&](const Hlo& x) { return writer.multiply(x, writer.splat_like(scale, x)); };
  const Axes batch{0, 1};
  Hlo products = writer.dot(scaled(q), scaled(k),
                            {.batch_a = batch, .batch_b = batch, .contract_a = {3}, .contract_b = {3}}, q.dtype);
  const std::int64_t mode = node.integer("qk_matmul_output_mode", 0);
  Hlo shown = products;
  if (const double cap = stated_number(node, "softcap", 0); cap > 0) {
    const Hlo limit = writer.splat_like(cap, products);
    products = writer.multiply(writer.unary("stablehlo.tanh", writer.divide(products, limit)), limit);
    if (mode == 1) shown = products;
  }
  ASSAY_TRY(const std::optional<Hlo> bias, bias_of(writer, node, products.shape, products.dtype, past));
  if (bias) products = writer.add(products, *bias);
  if (mode == 2) shown = products;
  const auto precision = static_cast<DType>(node.integer("softmax_precision", 0));
  const Hlo exact = precision == DType::kUndefined ? products : writer.convert(products, precision);
  const Hlo shares = guarded(writer, writer.convert(writer.softmax(exact, {3}), q.dtype), bias);
  if (mode == 3) shown = shares;
  ASSAY_CHECK_OK(writer.output(node, 3, shown));
  const Hlo y =
      writer.dot(shares, v, {.batch_a = batch, .batch_b = batch, .contract_a = {3}, .contract_b = {2}}, v.dtype);
  return writer.output(node, together(writer, y, writer.program().shape(node.outputs[0])));
}

// Pairs of numbers of a head are rotated by the angle of their place.
Status rotary_embedding(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo given, writer.input(node, 0));
  const Hlo x = apart_by_heads(writer, given, node.integer("num_heads", 1));
  const std::int64_t stated = node.integer("rotary_embedding_dim", 0), size = x.extent(3);
  const std::int64_t rotated = stated == 0 ? size : stated, half = rotated / 2;
  const bool interleaved = node.integer("interleaved", 0) != 0;
  const Hlo turned = writer.slice_axis(x, 3, 0, rotated);
  const Shape part{x.extent(0), x.extent(1), x.extent(2), half};
  const auto half_of = [&](std::int64_t which) {
    if (!interleaved) return writer.slice_axis(turned, 3, which * half, (which + 1) * half);
    return writer.slice(turned, {0, 0, 0, which}, turned.shape, {1, 1, 1, 2});
  };
  const Hlo first = half_of(0), second = half_of(1);
  std::vector<Hlo> angles;  // cosines, sines
  for (const std::size_t i : {1, 2}) {
    ASSAY_TRY(Hlo cache, writer.input(node, i));
    if (has_input(node, 3)) {
      ASSAY_TRY(const Hlo places, writer.input(node, 3));
      cache = writer.take(cache, places, 0);
    }
    angles.push_back(writer.broadcast_in_dim(cache, part, {0, 2, 3}));
  }
  const Hlo real = writer.subtract(writer.multiply(angles[0], first), writer.multiply(angles[1], second));
  const Hlo imaginary = writer.add(writer.multiply(angles[1], first), writer.multiply(angles[0], second));
  std::vector<Hlo> pieces;
  if (interleaved) {
    const Shape apart{part[0], part[1], part[2], half, 1};
    const Hlo pairs[] = {writer.reshape(real, apart), writer.reshape(imaginary, apart)};
    pieces.push_back(writer.reshape(writer.concatenate(pairs, 4), turned.shape));
  } else {
    pieces = {real, imaginary};
  }
  if (rotated < size) pieces.push_back(writer.slice_axis(x, 3, rotated, size));
  return writer.output(node, together(writer, writer.concatenate(pieces, 3), given.shape));
}

// Writes an update into a cache, for each sequence from its own place on.
Status written_cache(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo cache, writer.input(node, 0));
  ASSAY_TRY(const Hlo update, writer.input(node, 1));
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", -2), cache.rank()));
  if (axis == 0) return refuse(node, "the axis 0");
  const Shape places{update.extent(0), update.extent(axis), 1};
  Hlo along = writer.iota(DType::kInt64, places, 1);
  if (has_input(node, 2)) {
    ASSAY_TRY(const Hlo starts, writer.input(node, 2));
    along = writer.add(along, writer.broadcast_in_dim(writer.convert(starts, DType::kInt64), places, {0}));
  }
  if (node.text("mode", "linear") == "circular")
    along =
        writer.binary("stablehlo.remainder", along, writer.splat_like(static_cast<double>(cache.extent(axis)), along));
  const Hlo pair[] = {writer.iota(DType::kInt64, places, 0), along};
  Axes order{0, axis}, back(cache.shape.size());
  for (std::int64_t i = 1; i < cache.rank(); ++i)
    if (i != axis) order.push_back(i);
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  const Hlo written = writer.scatter_nd(writer.transpose(cache, order), writer.concatenate(pair, 2),
                                        writer.transpose(update, order), "");
  return writer.output(node, writer.transpose(written, back));
}

Hlo gated(HloWriter& writer, const graph::Node& node, const Hlo& a, const Hlo& b) {
  const Hlo scaled = writer.multiply(a, writer.splat_like(stated_number(node, "alpha", 1), a));
  return writer.multiply(writer.multiply(a, writer.unary("stablehlo.logistic", scaled)), b);
}

// A convolution of each channel over its own past, whose end is the state.
Status causal_convolution(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  ASSAY_TRY(const Hlo weight, writer.input(node, 1));
  const std::int64_t channels = x.extent(1), size = weight.extent(2), reach = size - 1;
  Hlo before = writer.splat(0, x.dtype, {x.extent(0), channels, reach});
  if (has_input(node, 3)) {
    ASSAY_TRY(before, writer.input(node, 3));
  }
  const Hlo whole = reach == 0 ? x : writer.concatenate(std::vector<Hlo>{before, x}, 2);
  const HloWindow window{.size = {size}, .stride = {1}, .dilation = {1}, .before = {0}, .after = {0}};
  const Shape shape{x.extent(0), x.extent(2), channels};
  Hlo y =
      writer.convolution(writer.to_last(whole), writer.transpose(weight, {2, 1, 0}), window, channels, shape, x.dtype);
  if (has_input(node, 2)) {
    ASSAY_TRY(const Hlo bias, writer.input(node, 2));
    y = writer.add(y, writer.broadcast_in_dim(bias, y.shape, {2}));
  }
  const std::string_view activation = node.text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return refuse(node, fmt::format("the activation '{}'", activation));
  if (activation != "none") y = writer.multiply(y, writer.unary("stablehlo.logistic", y));
  ASSAY_CHECK_OK(writer.output(node, 1, writer.slice_axis(whole, 2, x.extent(2), x.extent(2) + reach)));
  return writer.output_last(node, 0, y);
}

// [B, T, heads · size] to [B, heads, T, size], in float32.
Hlo wide_heads(HloWriter& writer, const Hlo& x, std::int64_t heads) {
  return apart_by_heads(writer, writer.convert(x, DType::kFloat32), heads);
}

// A state for each head, [keys, values], instead of a cache. In each step: the state decays; what it holds for the key
// is subtracted from the value ("delta"); the outer product of key and value is added; the query reads it.
Status linear_attention(HloWriter& writer, const graph::Node& node) {
  const std::int64_t q_heads = node.integer("q_num_heads", 1), heads = node.integer("kv_num_heads", 1);
  const std::string_view rule = node.text("update_rule", "gated_delta");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta")
    return refuse(node, fmt::format("the update rule '{}'", rule));
  const bool decays = rule.starts_with("gated"), corrects = rule.ends_with("delta");
  std::vector<Hlo> read;
  for (const std::size_t i : {0, 1, 2}) {
    ASSAY_TRY(const Hlo given, writer.input(node, i));
    read.push_back(wide_heads(writer, given, i == 0 ? q_heads : heads));
  }
  const Hlo &q = read[0], &k = read[1], &v = read[2];
  const std::int64_t batch = q.extent(0), steps = q.extent(2), keys = k.extent(3), values = v.extent(3);
  const Shape whole{batch, heads, keys, values};
  Hlo state = writer.splat(0, DType::kFloat32, whole), decay, factor;
  if (has_input(node, 3)) {
    ASSAY_TRY(const Hlo given, writer.input(node, 3));
    state = writer.convert(given, DType::kFloat32);
  }
  if (decays) {
    ASSAY_TRY(const Hlo given, writer.input(node, 4));
    decay = writer.unary("stablehlo.exponential", wide_heads(writer, given, heads));
  }
  if (corrects) {
    ASSAY_TRY(const Hlo given, writer.input(node, 5));
    factor = wide_heads(writer, given, given.extent(2));
  }
  const double stated = stated_number(node, "scale", 0);
  const double scale = stated == 0 ? 1 / std::sqrt(static_cast<double>(keys)) : stated;
  const Hlo first[] = {writer.splat(0, DType::kFloat32, {batch, q_heads, steps, values}), state};
  const auto last = writer.repeat(steps, first, [&](HloWriter& w, const Hlo& number, std::span<const Hlo> now) {
    const Hlo zero = w.splat(0, number.dtype);
    const Hlo starts[] = {zero, zero, number, zero};
    const auto at = [&](const Hlo& x) {
      const Shape one{x.extent(0), x.extent(1), 1, x.extent(3)};
      return w.reshape(w.dynamic_slice(x, starts, one), {one[0], one[1], one[3]});
    };
    const Hlo key = at(k);
    Hlo held = now[1], value = at(v);
    if (decays) {
      const Hlo kept = at(decay);
      held = w.multiply(held, w.broadcast(w.reshape(kept, {batch, heads, kept.extent(2), 1}), whole));
    }
    const Axes pair{0, 1};
    if (corrects) {
      const Hlo known =
          w.dot(key, held, {.batch_a = pair, .batch_b = pair, .contract_a = {2}, .contract_b = {2}}, DType::kFloat32);
      value = w.multiply(w.broadcast(at(factor), value.shape), w.subtract(value, known));
    }
    held =
        w.add(held, w.multiply(w.broadcast_in_dim(key, whole, {0, 1, 2}), w.broadcast_in_dim(value, whole, {0, 1, 3})));
    const Hlo query = w.reshape(at(q), {batch, heads, q_heads / heads, keys});
    Hlo y =
        w.dot(query, held, {.batch_a = pair, .batch_b = pair, .contract_a = {3}, .contract_b = {2}}, DType::kFloat32);
    y = w.multiply(y, w.splat_like(scale, y));
    return std::vector<Hlo>{w.dynamic_update_slice(now[0], w.reshape(y, {batch, q_heads, 1, values}), starts), held};
  });
  const Hlo y = writer.convert(last[0], writer.program().dtype(node.outputs[0]));
  ASSAY_CHECK_OK(writer.output(node, 0, together(writer, y, writer.program().shape(node.outputs[0]))));
  if (node.outputs.size() < 2 || node.outputs[1].empty()) return {};
  return writer.output(node, 1, writer.convert(last[1], writer.program().dtype(node.outputs[1])));
}

constexpr HloRow kAttention[] = {
    {{"", "Attention", 23, kNewestOpset, ""}, attention},
    {{"", "CausalConvWithState", 27, kNewestOpset, ""}, causal_convolution},
    {{"", "LinearAttention", 27, kNewestOpset, ""}, linear_attention},
    {{"", "RotaryEmbedding", 23, kNewestOpset, ""}, rotary_embedding},
    {{"", "SwiGLU", 28, kNewestOpset, ""}, map_two<gated>},
    {{"", "TensorScatter", 24, kNewestOpset, "the first axis"}, written_cache},
};

}  // namespace

std::span<const HloRow> hlo_attention() { return kAttention; }

}  // namespace assay::lowering::stablehlo
