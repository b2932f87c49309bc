// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openvino/openvino.hpp>

/// Rewrites the operators of a model into the patterns that OpenVINO's processor plug-in fuses, without a change of
/// what is computed. Part of assay-openvino-stateful: no code of assay, the C++ API of OpenVINO.
namespace stateful {

/// softmax(query · keys^T · scale + biases) · values becomes opset13's ScaledDotProductAttention. Attention of another
/// form (scores that pass a tanh) stays as it is. Returns the number of those that were replaced.
std::size_t fuse_attention(ov::Model& model);

/// Splits along a last axis count it from the front, and a sign is changed by a product: the rotary embeddings that
/// OpenVINO fuses are written in this way.
void normalise_rotary(ov::Model& model);

/// What is read from a variable of rank 4 and then concatenated is gathered by `beams` (int32 [batch]) along the batch.
void reorder_by_beam(ov::Model& model, const ov::Output<ov::Node>& beams);

/// The number of attentions one of whose factors is read from a variable: products that a softmax is taken of, with
/// nothing but sums, other element-wise operators and changes of shape between factor and variable. To be called before
/// fuse_attention().
std::size_t attentions_with_cache(const ov::Model& model);

/// The number of attentions that OpenVINO's processor plug-in executes as one operator that also keeps the cache.
std::size_t fused_with_cache(const ov::CompiledModel& compiled);

}  // namespace stateful
