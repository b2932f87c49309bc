// SPDX-License-Identifier: Apache-2.0
// FNet (Lee-Thorp et al. 2021, arXiv:2105.03824): layers that mix tokens by a Fourier transform instead of attention.
#include <fmt/format.h>

#include <numbers>

#include "models/zoo/layers/tensors.hpp"
#include "models/zoo/text/text_encoder.hpp"
#include "models/zoo/text/text_skeletons.hpp"

namespace assay::zoo {
namespace {

/// The discrete Fourier transform of n points as two real matrices [n, n]; both are symmetric.
struct Fourier {
  Value cosine, sine;
};

Fourier fourier(const Module& at, const Value& points) {
  GraphBuilder& graph = at.graph();
  const Value range = at.node("Range", {graph.integer(0), points, graph.integer(1)}, {}, DType::kInt64);
  const Value product = at.node(
      "Mul", {at.node("Unsqueeze", {range, graph.integers({0})}), at.node("Unsqueeze", {range, graph.integers({1})})});
  // In integers, as long as it goes: the angle stays exact.
  const auto to_float = [&](const Value& value) {
    return at.node("Cast", {value}, {{"to", static_cast<std::int64_t>(DType::kFloat32)}}, DType::kFloat32);
  };
  const Value fraction = at.node("Div", {to_float(at.node("Mod", {product, points})), to_float(points)});
  const Value angle = at.node("Mul", {fraction, graph.number(2.0F * std::numbers::pi_v<float>)});
  return {at.node("Cos", {angle}), at.node("Sin", {angle})};
}

Result<Value> encode_fnet(const TextEncoder& encoder, const Embedded& embedded, const std::optional<Value>& /*mask*/) {
  const Module at = encoder.base / "encoder";
  GraphBuilder& graph = encoder.graph();
  const Value tokens = scalar_extent(at, embedded.tokens, 1);
  const Fourier over_tokens = fourier(at, tokens);
  const Fourier over_channels = fourier(at, graph.integer(encoder.hidden));
  const std::int64_t hidden_size = encoder.hidden;
  Value hidden = embedded.hidden;
  for (std::int64_t i = 0; i < encoder.layers; ++i) {
    const Module layer = at / fmt::format("layer.{}", i);
    const auto norm = [&](const Module& place, const Value& left, const Value& right) {
      return layer_norm(place / "LayerNorm", place.node("Add", {left, right}), hidden_size, encoder.epsilon);
    };
    // The real part of a transform over both axes.
    const Module mixing = layer / "fourier" / "self";
    const Value real =
        mixing.node("MatMul", {over_tokens.cosine, mixing.node("MatMul", {hidden, over_channels.cosine})});
    const Value other = mixing.node("MatMul", {over_tokens.sine, mixing.node("MatMul", {hidden, over_channels.sine})});
    const Value mixed = norm(layer / "fourier" / "output", hidden, mixing.node("Sub", {real, other}));
    const Module intermediate = layer / "intermediate";
    const Value wide = linear(intermediate / "dense", mixed, {hidden_size, encoder.intermediate});
    ASSAY_TRY(const Value active,
              activation(intermediate / "intermediate_act_fn", wide, encoder.hidden_act, "hidden_act"));
    hidden =
        norm(layer / "output", linear(layer / "output" / "dense", active, {encoder.intermediate, hidden_size}), mixed);
  }
  return hidden;
}

}  // namespace

Status build_fnet_encoder(BuildContext& context) { return build_text_encoder(context, encode_fnet); }

}  // namespace assay::zoo
