// SPDX-License-Identifier: Apache-2.0
#include "values.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "script.hpp"

namespace assay::null_engine {
namespace {

double element(const assay_tensor& tensor, std::size_t index) {
  const auto at = [&]<class T>(T) { return static_cast<double>(static_cast<const T*>(tensor.data)[index]); };
  switch (tensor.dtype) {
    case 1:
      return at(float{});
    case 2:
    case 9:
      return at(std::uint8_t{});
    case 3:
      return at(std::int8_t{});
    case 6:
      return at(std::int32_t{});
    case 7:
      return at(std::int64_t{});
    default:
      return at(double{});
  }
}

}  // namespace

Result<Output> allocate(const plugin::ValueInfo& info, const Extents& extents) {
  constexpr std::uint64_t kMostElements = std::uint64_t{1} << 32;
  Output output{info.dtype, info.dims, 1, element_size(info.dtype), {}};
  std::uint64_t elements = 1;
  for (std::size_t d = 0; d < info.dims.size(); ++d) {
    if (info.dims[d] < 0) {
      const auto extent = sum_of(info.symbols[d], extents);
      if (!extent)
        return fail(ErrorCode::kInvalidArgument,
                    "extent " + std::to_string(d) + " of output '" + info.name + "' has a name that no input has");
      output.dims[d] = *extent;
    }
    elements *= static_cast<std::uint64_t>(std::min<std::int64_t>(output.dims[d], kMostElements));
    if (elements > kMostElements)
      return fail(ErrorCode::kOutOfMemory, "output '" + info.name + "' would have more than 2^32 elements");
  }
  output.elements = elements;
  output.storage.resize((elements * element_size(info.dtype) + 7) / 8);
  return output;
}

Status match(const plugin::ValueInfo& input, assay_dtype dtype, std::span<const std::int64_t> dims, Extents& extents) {
  if (dtype != input.dtype)
    return fail(ErrorCode::kMismatch, "input '" + input.name + "' has element type " + std::to_string(input.dtype) +
                                          " (ONNX number), given " + std::to_string(dtype));
  bool fits = dims.size() == input.dims.size();
  for (std::size_t d = 0; fits && d < dims.size(); ++d) {
    fits = input.dims[d] < 0 ? dims[d] >= -1 : input.dims[d] == dims[d];
    if (fits && dims[d] >= 0 && !input.symbols[d].empty())
      fits = extents.emplace(input.symbols[d], dims[d]).first->second == dims[d];
  }
  if (!fits) return fail(ErrorCode::kMismatch, "the shape given for input '" + input.name + "' does not match");
  return {};
}

bool fits(const assay_tensor& tensor, const plugin::TensorShape& shape) {
  return tensor.dtype == shape.dtype &&
         std::ranges::equal(std::span(tensor.dims, tensor.rank), shape.dims,
                            [](auto given, auto bound) { return given >= 0 && (bound < 0 || given == bound); });
}

void compute(Output& output, std::span<const assay_tensor> inputs, double wrong, bool nan) {
  std::vector<double> values(output.elements, 0.0);
  for (const assay_tensor& input : inputs) {
    if (input.data == nullptr) continue;
    const std::size_t elements = input.byte_size / element_size(input.dtype);
    const std::size_t row =
        input.rank == 0 ? 1 : static_cast<std::size_t>(std::max<std::int64_t>(input.dims[input.rank - 1], 1));
    double sum = 0;
    for (std::size_t i = 0; i < output.elements && elements > 0; ++i) {
      const std::size_t at = i % elements;
      sum = (at % row == 0 ? 0 : sum) + element(input, at);
      values[i] += sum;
    }
  }
  const auto store = [&]<class T>(T) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T value = static_cast<T>(values[i] + (std::is_floating_point_v<T> ? wrong : 0));
      std::memcpy(reinterpret_cast<char*>(output.storage.data()) + i * sizeof(T), &value, sizeof(T));
    }
    const T none = std::numeric_limits<T>::quiet_NaN();
    if (std::is_floating_point_v<T> && nan && !values.empty()) std::memcpy(output.storage.data(), &none, sizeof none);
  };
  switch (output.dtype) {
    case 1:
      return store(float{});
    case 2:
      return store(std::uint8_t{});
    case 3:
      return store(std::int8_t{});
    case 6:
      return store(std::int32_t{});
    case 7:
      return store(std::int64_t{});
    case 9:
      for (double& v : values) v = v != 0;
      return store(std::uint8_t{});
    default:
      return store(double{});
  }
}

}  // namespace assay::null_engine
