// SPDX-License-Identifier: Apache-2.0
// Attention, and the operators around it: rotary embeddings, linear attention, causal convolution, caches.
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "models/lower/torchscript/groups.hpp"

namespace assay::lowering {
namespace torchscript::attention {
namespace {

using graph::Node;

constexpr int kLong = 4;  // int64

// [batch, heads, tokens, width]
struct Heads {
  std::string x{};
  Shape shape{};
};

Heads heads_of(TorchWriter& writer, const Node& node, std::size_t i, const char* attribute) {
  const Shape& given = writer.shape(node, i);
  if (given.size() == 4) return {writer.in(node, i), given};
  const std::int64_t heads = node.integer(attribute, 1);
  const Shape apart{given[0], given[1], heads, given[2] / heads};
  return {torch_call("permute", torch_call("reshape", writer.in(node, i), torch_list(apart)), "[0, 2, 1, 3]"),
          {apart[0], apart[2], apart[1], apart[3]}};
}

// The cache in front of new keys or values.
void join_past(TorchWriter& writer, const Node& node, std::size_t input, Heads& heads) {
  if (has_input(node, input)) {
    heads.x = torch_call("cat", torch_list(std::vector{writer.in(node, input), heads.x}), 2);
    heads.shape[2] += writer.shape(node, input)[2];
  }
  heads.x = writer.let(heads.x);
}

std::string zero_where(const std::string& allowed, DType dtype) {
  return torch_call("to", torch_call("where", allowed, "0.0", "-inf"), *torch_type(dtype));
}

// The mask that the node has as an input, as a term of the scores.
std::string given_mask(TorchWriter& writer, const Node& node, DType dtype, std::int64_t keys) {
  std::string mask = writer.in(node, 3);
  if (writer.dtype(node, 3) == DType::kBool)
    mask = zero_where(mask, dtype);
  else if (writer.dtype(node, 3) != dtype)
    mask = torch_call("to", mask, *torch_type(dtype));
  const std::int64_t missing = keys - writer.shape(node, 3).back();
  return missing > 0 ? torch_call("constant_pad_nd", mask, fmt::format("[0, {}]", missing), "-inf") : mask;
}

// Which query may see which key: causal, within a window, before the padding. "": all may.
std::string allowed_keys(TorchWriter& writer, const Node& node, std::int64_t queries, std::int64_t keys) {
  const bool causal = node.integer("is_causal", 0) != 0, padded = has_input(node, 6);
  const std::int64_t left = node.integer("left_window_size", -1), right = node.integer("right_window_size", -1);
  if (!causal && left < 0 && right < 0 && !padded) return "";
  const std::string key = writer.let(torch_call("arange", 0, keys, 1, "dtype=4"));
  std::string all;
  const auto require = [&](const std::string& condition) {
    all = all.empty() ? condition : torch_call("logical_and", all, condition);
  };
  std::string filled;  // the number of keys that are not padding, by batch
  if (padded) {
    filled = writer.let(torch_call("reshape", torch_call("to", writer.in(node, 6), kLong), "[-1, 1, 1, 1]"));
    require(torch_call("lt", key, filled));
  }
  if (causal || left >= 0 || right >= 0) {
    const std::string query = torch_call("unsqueeze", torch_call("arange", 0, queries, 1, "dtype=4"), 1);
    const std::int64_t past = has_input(node, 4) ? writer.shape(node, 4)[2] : 0;
    const std::string place = has_input(node, 4) || !padded
                                  ? torch_call("add", query, past)
                                  : torch_call("add", query, torch_call("sub", filled, queries));
    const std::string distance = writer.let(torch_call("sub", place, key));
    if (causal) require(torch_call("ge", distance, 0));
    if (left >= 0) require(torch_call("le", distance, left));
    if (right >= 0) require(torch_call("ge", distance, -right));
  }
  return all;
}

// [batch, heads, queries, width of the values] → the shape of the output.
void write_result(TorchWriter& writer, const Node& node, const std::string& made) {
  writer.out(node, writer.rank(node, 0) == 4 ? made
                                             : torch_call("reshape", torch_call("permute", made, "[0, 2, 1, 3]"),
                                                          torch_list(writer.out_shape(node))));
}

// Step by step, for what libtorch's own operator does not have: a limit of the scores, scores as an output.
Status write_steps(TorchWriter& writer, const Node& node, const Heads& q, const std::string& k, const std::string& v,
                   const std::string& bias, double scale) {
  const std::string root = torch_number(std::sqrt(scale));
  const std::string turned = torch_call("permute", k, "[0, 1, 3, 2]");
  const std::string raw =
      writer.let(torch_call("matmul", torch_call("mul", q.x, root), torch_call("mul", turned, root)));
  const double limit = double{node.number("softcap", 0.0F)};
  const std::string capped =
      limit > 0 ? writer.let(torch_call("mul", torch_call("tanh", torch_call("div", raw, torch_number(limit))),
                                        torch_number(limit)))
                : raw;
  const std::string masked = bias.empty() ? capped : writer.let(torch_call("add", capped, bias));
  std::string scores = masked;
  const std::int64_t precision = node.integer("softmax_precision", 0);
  const DType dtype = writer.dtype(node, 0);
  if (precision != 0) {
    ASSAY_TRY(scores, torch_cast(node, scores, static_cast<DType>(precision)));
  }
  std::string shares = torch_call("softmax", scores, -1);
  // A query that may see no key has no share of any.
  if (!bias.empty())
    shares = torch_call("where", torch_call("isneginf", torch_call("amax", bias, "[-1]", "True")), "0.0", shares);
  if (precision != 0) shares = torch_call("to", shares, *torch_type(dtype));
  shares = writer.let(shares);
  const std::string* const shown[] = {&raw, &capped, &masked, &shares};
  const std::int64_t mode = node.integer("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) return refuse(node, fmt::format("the mode {}", mode));
  if (node.outputs.size() > 3 && !node.outputs[3].empty())
    writer.out(node, 3, torch_call("broadcast_to", *shown[mode], torch_list(writer.out_shape(node, 3))));
  write_result(writer, node, torch_call("matmul", shares, v));
  return {};
}

Status attention(TorchWriter& writer, const Node& node) {
  const DType dtype = writer.dtype(node, 0);
  for (const std::size_t i : {1U, 2U})
    if (writer.dtype(node, i) != dtype) return refuse(node, "queries, keys and values of different types");
  Heads q = heads_of(writer, node, 0, "q_num_heads");
  Heads k = heads_of(writer, node, 1, "kv_num_heads"), v = heads_of(writer, node, 2, "kv_num_heads");
  q.x = writer.let(q.x);
  join_past(writer, node, 4, k);
  join_past(writer, node, 5, v);
  if (node.outputs.size() > 1 && !node.outputs[1].empty()) writer.is(node.outputs[1], k.x);
  if (node.outputs.size() > 2 && !node.outputs[2].empty()) writer.is(node.outputs[2], v.x);
  std::string bias = has_input(node, 3) ? given_mask(writer, node, dtype, k.shape[2]) : "";
  if (const std::string allowed = allowed_keys(writer, node, q.shape[2], k.shape[2]); !allowed.empty()) {
    const std::string own = zero_where(allowed, dtype);
    bias = bias.empty() ? own : torch_call("add", bias, own);
  }
  if (!bias.empty()) bias = writer.let(bias);
  if (q.shape[1] != k.shape[1]) {
    const std::int64_t times = q.shape[1] / k.shape[1];
    for (Heads* shared : {&k, &v}) shared->x = writer.let(torch_call("repeat_interleave", shared->x, times, 1));
  }
  const double given = double{node.number("scale", 0.0F)};
  const double scale = node.attribute("scale") != nullptr ? given : 1.0 / std::sqrt(static_cast<double>(q.shape[3]));
  const bool shows_scores = node.outputs.size() > 3 && !node.outputs[3].empty();
  if (shows_scores || node.number("softcap", 0.0F) > 0 || node.integer("softmax_precision", 0) != 0)
    return write_steps(writer, node, q, k.x, v.x, bias, scale);
  write_result(writer, node,
               torch_call("scaled_dot_product_attention", q.x, k.x, v.x, bias.empty() ? "None" : bias, "0.0", "False",
                          fmt::format("scale={}", torch_number(scale))));
  return {};
}

// Pairs of elements, turned by an angle that the tables have for each place.
Status rotary_embedding(TorchWriter& writer, const Node& node) {
  const Shape& given = writer.shape(node, 0);
  const bool packed = given.size() == 3;  // [batch, tokens, heads · width]; else [batch, heads, tokens, width]
  const std::int64_t heads = packed ? node.integer("num_heads", 0) : given[1];
  if (heads < 1) return refuse(node, "a missing number of heads");
  const std::int64_t width = packed ? given[2] / heads : given[3];
  std::int64_t turned = node.integer("rotary_embedding_dim", 0);
  if (turned == 0) turned = width;
  std::string x = writer.in(node, 0);
  if (packed) x = torch_call("reshape", x, torch_list(Shape{given[0], given[1], heads, width}));
  x = writer.let(x);
  const auto table = [&](std::size_t i) {
    std::string all = writer.in(node, i);
    if (has_input(node, 3)) all = torch_call("embedding", all, torch_call("to", writer.in(node, 3), kLong));
    return writer.let(torch_call("unsqueeze", all, packed ? 2 : 1));
  };
  const std::string cosine = table(1), sine = table(2);
  const bool interleaved = node.integer("interleaved", 0) != 0;
  const auto half = [&](std::int64_t which) {
    return writer.let(interleaved ? torch_call("slice", x, 3, which, turned, 2)
                                  : torch_call("narrow", x, 3, which * (turned / 2), turned / 2));
  };
  const std::string a = half(0), b = half(1);
  const std::vector<std::string> parts{torch_call("sub", torch_call("mul", cosine, a), torch_call("mul", sine, b)),
                                       torch_call("add", torch_call("mul", sine, a), torch_call("mul", cosine, b))};
  Shape whole = packed ? Shape{given[0], given[1], heads, turned} : Shape{given[0], heads, given[2], turned};
  std::string made = interleaved ? torch_call("reshape", torch_call("stack", torch_list(parts), 4), torch_list(whole))
                                 : torch_call("cat", torch_list(parts), 3);
  if (turned < width)
    made = torch_call("cat", torch_list(std::vector{made, torch_call("narrow", x, 3, turned, width - turned)}), 3);
  writer.out(node, packed ? torch_call("reshape", made, torch_list(given)) : made);
  return {};
}

// A state of keys times values, token by token: faded, corrected, added to, read.
Status linear_attention(TorchWriter& writer, const Node& node) {
  const std::string_view rule = node.text("update_rule", "gated_delta");
  const bool fades = rule == "gated" || rule == "gated_delta", corrects = rule == "delta" || rule == "gated_delta";
  if (!fades && !corrects && rule != "linear") return refuse(node, "the update rule");
  if (fades != has_input(node, 4) || corrects != has_input(node, 5)) return refuse(node, "the update rule's inputs");
  const int float32 = *torch_type(DType::kFloat32);
  const auto wide = [&](const std::string& x) { return writer.let(torch_call("to", x, float32)); };
  const Heads q = heads_of(writer, node, 0, "q_num_heads"), k = heads_of(writer, node, 1, "kv_num_heads"),
              v = heads_of(writer, node, 2, "kv_num_heads");
  const std::int64_t batch = k.shape[0], heads = k.shape[1], tokens = k.shape[2], width = k.shape[3];
  const std::int64_t times = q.shape[1] / heads;
  const Shape state_shape{batch, heads, width, v.shape[3]};
  const auto by_head = [&](std::size_t i) {  // [batch, tokens, heads · n] → [batch, heads, tokens, n]
    const Shape& shape = writer.shape(node, i);
    const std::int64_t columns = shape[2] % heads == 0 && shape[2] >= heads ? heads : 1;
    return wide(torch_call(
        "permute",
        torch_call("reshape", writer.in(node, i), torch_list(Shape{batch, tokens, columns, shape[2] / columns})),
        "[0, 2, 1, 3]"));
  };
  const std::string query = wide(q.x), key = wide(k.x), value = wide(v.x);
  const std::string decay = fades ? by_head(4) : "", rate = corrects ? by_head(5) : "";
  const std::string state =
      has_input(node, 3) ? wide(writer.in(node, 3))
                         : writer.let(torch_call("zeros", torch_list(state_shape), fmt::format("dtype={}", float32)));
  const std::string results = writer.let("[]");
  const auto at = [](const std::string& x) { return torch_call("select", x, 2, "token"); };
  writer.line(fmt::format("for token in range({}):", tokens));
  if (fades)
    writer.line(fmt::format("    {} = {}", state,
                            torch_call("mul", state, torch_call("unsqueeze", torch_call("exp", at(decay)), -1))));
  std::string change = at(value);
  if (corrects) {
    const std::string read =
        torch_call("squeeze", torch_call("matmul", torch_call("unsqueeze", at(key), -2), state), -2);
    change = torch_call("mul", at(rate), torch_call("sub", change, read));
  }
  writer.line(fmt::format(
      "    {} = {}", state,
      torch_call("add", state,
                 torch_call("mul", torch_call("unsqueeze", at(key), -1), torch_call("unsqueeze", change, -2)))));
  const std::string seen = times == 1 ? state : torch_call("repeat_interleave", state, times, 1);
  writer.line(
      fmt::format("    {}.append({})", results,
                  torch_call("squeeze", torch_call("matmul", torch_call("unsqueeze", at(query), -2), seen), -2)));
  double scale = double{node.number("scale", 0.0F)};
  if (scale == 0.0) scale = 1.0 / std::sqrt(static_cast<double>(width));
  const std::string all = torch_call("permute", torch_call("stack", results, 2), "[0, 2, 1, 3]");
  writer.out(
      node, 0,
      torch_call("to",
                 torch_call("mul", torch_call("reshape", all, torch_list(writer.out_shape(node))), torch_number(scale)),
                 *torch_type(writer.out_dtype(node))));
  if (node.outputs.size() > 1 && !node.outputs[1].empty())
    writer.out(node, 1, torch_call("to", state, *torch_type(writer.out_dtype(node, 1))));
  return {};
}

Status causal_convolution(TorchWriter& writer, const Node& node) {
  const Shape& in = writer.shape(node, 0);
  const std::int64_t past = writer.shape(node, 1)[2] - 1;
  const std::string x = writer.in(node, 0);
  const std::string padded =
      writer.let(has_input(node, 3) ? torch_call("cat", torch_list(std::vector{writer.in(node, 3), x}), 2)
                                    : torch_call("constant_pad_nd", x, fmt::format("[{}, 0]", past), "0.0"));
  std::string made = torch_call("conv1d", padded, writer.in(node, 1), has_input(node, 2) ? writer.in(node, 2) : "None",
                                "[1]", "[0]", "[1]", in[1]);
  const std::string_view activation = node.text("activation", "none");
  if (activation == "silu" || activation == "swish")
    made = torch_call("silu", made);
  else if (activation != "none")
    return refuse(node, "the activation");
  writer.out(node, 0, made);
  if (node.outputs.size() > 1 && !node.outputs[1].empty())
    writer.out(node, 1, torch_call("narrow", padded, 2, in[2], past));
  return {};
}

// Each batch's update is written from a place of its own on.
Status tensor_scatter(TorchWriter& writer, const Node& node) {
  const Shape& cache = writer.shape(node, 0);
  const Shape& update = writer.shape(node, 1);
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", -2), writer.rank(node, 0)));
  const auto along = static_cast<std::size_t>(axis);
  std::vector<std::int64_t> steps(static_cast<std::size_t>(update[along]));
  std::iota(steps.begin(), steps.end(), 0);
  Shape by_axis(cache.size(), 1), by_batch(cache.size(), 1);
  by_axis[along] = update[along];
  by_batch[0] = cache[0];
  std::string places = torch_call("reshape", writer.integers(steps), torch_list(by_axis));
  if (has_input(node, 2))
    places = torch_call("add", places,
                        torch_call("reshape", torch_call("to", writer.in(node, 2), kLong), torch_list(by_batch)));
  if (node.text("mode", "linear") == "circular") places = torch_call("remainder", places, cache[along]);
  writer.out(node, torch_call("scatter", writer.in(node, 0), axis,
                              torch_call("broadcast_to", places, torch_list(update)), writer.in(node, 1)));
  return {};
}

}  // namespace
}  // namespace torchscript::attention

TorchOperators torch_attention() {
  using namespace torchscript::attention;
  return {since(23, "Attention", attention, "queries, keys and values of different types"),
          since(27, "CausalConvWithState", causal_convolution), since(27, "LinearAttention", linear_attention),
          since(23, "RotaryEmbedding", rotary_embedding), since(24, "TensorScatter", tensor_scatter)};
}

}  // namespace assay::lowering
