// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <assay/result.hpp>

#include "models/zoo/layers/module.hpp"

namespace assay::zoo {

// The pieces that skeletons are made of. Each adds nodes at the module it is given and emits the pattern that ONNX
// Runtime and OpenVINO recognise and fuse.

struct Width {
  std::int64_t in = 0, out = 0;
};

/// torch.nn.Linear over the last axis: parameters weight [out, in] and, with `bias`, bias [out]. For rank 3: a Gemm
/// needs rank 2, and attention fusions look for a MatMul with a transposed weight.
Value linear(const Module& at, const Value& input, Width width, bool bias = true);
/// Several linear() of one input as one product: their outputs beside each other.
Value joined_linear(const Module& at, const Value& input, std::int64_t in,
                    const std::vector<Module::Projection>& projections, bool bias);
/// The same as linear() for rank 2, as a Gemm; always with a bias.
Value linear_rank2(const Module& at, const Value& input, Width width);
/// input · weightᵀ with a weight [out, in] that belongs to another place (tied embeddings).
Value multiply_tied(const Module& at, const Value& input, const Value& weight);

/// torch.nn.Embedding: weight [rows, width].
Value embedding(const Module& at, const Value& ids, std::int64_t rows, std::int64_t width);

/// torch.nn.LayerNorm over the last axis: weight, bias [width].
Value layer_norm(const Module& at, const Value& input, std::int64_t width, float epsilon);

/// The same with a weight and no bias.
Value layer_norm_without_bias(const Module& at, const Value& input, std::int64_t width, float epsilon);
/// The same without parameters (elementwise_affine=False).
Value plain_layer_norm(const Module& at, const Value& input, std::int64_t width, float epsilon);

/// torch.nn.BatchNorm2d in evaluation, epsilon 1e-5: weight, bias, running_mean, running_var [channels].
Value batch_norm(const Module& at, const Value& input, std::int64_t channels);

/// x / √(mean(x²) + epsilon) · weight over the last axis, in the pattern that runtimes fuse.
Value rms_norm_with(const Module& at, const Value& input, const Value& weight, float epsilon);
/// The same with a parameter weight [width].
Value rms_norm(const Module& at, const Value& input, std::int64_t width, float epsilon);

struct Convolution {
  std::int64_t in = 0, out = 0;
  std::int64_t kernel_height = 1, kernel_width = 1;
  std::int64_t stride_height = 1, stride_width = 1;
  std::int64_t padding = 0;
  bool bias = false;
};
/// torch.nn.Conv2d: weight [out, in, height, width].
Value convolution(const Module& at, const Value& input, const Convolution& shape);

/// One of transformers' ACT2FN by name. Errors: unsupported ("unsupported: KEY = NAME").
[[nodiscard]] Result<Value> activation(const Module& at, const Value& input, const std::string& name,
                                       const std::string& key);

/// Row `index` of axis 1: [B, S, H] → [B, H].
Value token(const Module& at, const Value& input, std::int64_t index);

}  // namespace assay::zoo
