// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <assay/engine_plugin.hpp>

namespace assay::null_engine {

struct Output {
  assay_dtype dtype;
  std::vector<std::int64_t> dims;
  std::size_t elements, element_size;
  std::vector<std::uint64_t> storage;  ///< 64-bit words, so that every dtype is aligned

  [[nodiscard]] assay_tensor view() {
    assay_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    tensor.dtype = dtype;
    tensor.memory_kind = ASSAY_MEMORY_HOST;
    tensor.dims = dims.data();
    tensor.rank = dims.size();
    tensor.data = storage.data();
    tensor.byte_size = elements * element_size;
    return tensor;
  }
};

/// Values of named extents.
using Extents = std::map<std::string, std::int64_t>;

/// An output of zeros. Its open extents have the values from the inputs.
/// Errors: invalid_argument (an extent that no input names), out_of_memory (more than 2^32 elements).
[[nodiscard]] Result<Output> allocate(const plugin::ValueInfo& info, const Extents& extents);

/// Checks extents against an input and stores the named ones. -1: open, each input set defines it.
/// Errors: mismatch.
[[nodiscard]] Status match(const plugin::ValueInfo& input, assay_dtype dtype, std::span<const std::int64_t> dims,
                           Extents& extents);

/// Whether `tensor` may be bound to `shape`; -1 in it accepts any extent.
[[nodiscard]] bool fits(const assay_tensor& tensor, const plugin::TensorShape& shape);

/// Element i is the sum over the inputs of running_sum(input)[i mod its elements], which starts at 0 in each row.
/// In floating outputs `wrong` is added to all elements, and with `nan` the first element is NaN.
void compute(Output& output, std::span<const assay_tensor> inputs, double wrong, bool nan);

}  // namespace assay::null_engine
