// SPDX-License-Identifier: Apache-2.0
#include "models/onnx/tensor_limits.hpp"

#include <fmt/format.h>
#include <onnx/onnx-ml.pb.h>
#include <unistd.h>

#include <algorithm>

namespace assay {
namespace {

constexpr std::size_t kMostExtents = 64;
constexpr std::uint64_t kMaxTensorElements = 1ULL << 60;

}  // namespace

std::uint64_t physical_memory() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

Result<DType> check_element_type(std::int32_t type, const std::string& what) {
  if (type == onnx::TensorProto::FLOAT6E2M3 || type == onnx::TensorProto::FLOAT6E3M2) {
    return fail(ErrorCode::kUnsupported, what + " has six-bit floating elements");
  }
  if (type < static_cast<std::int32_t>(DType::kFloat32) || type > static_cast<std::int32_t>(DType::kInt2)) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} has the unknown element type {}", what, type),
                "ONNX numbers element types from 1 (float32) to 26 (int2)");
  }
  return static_cast<DType>(type);
}

Result<std::uint64_t> check_extents(DType dtype, const Shape& shape, bool dynamic, std::uint64_t memory,
                                    const std::string& what) {
  if (shape.size() > kMostExtents) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} has {} extents, more than {}", what, shape.size(), kMostExtents));
  }
  std::uint64_t elements = 1;
  bool overflow = false, empty = false;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] < (dynamic ? -1 : 0)) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: extent {} at axis {} is below {}", what, shape[axis], axis, dynamic ? "-1" : "0"));
    }
    empty = empty || shape[axis] == 0;
    const auto extent = static_cast<std::uint64_t>(shape[axis] < 0 ? 1 : shape[axis]);
    overflow = overflow || (extent > 0 && elements > kMaxTensorElements / extent);
    if (!overflow) elements *= extent;
  }
  if (empty) return 0;
  const auto bits = static_cast<std::uint64_t>(std::max(1, bit_width(dtype)));
  if (overflow || elements > kMaxTensorElements / bits) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: the size of {} {} overflows", what, to_string(dtype), to_string(shape)));
  }
  const std::uint64_t bytes = (elements * bits + 7) / 8;
  if (bytes > memory) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: {} {} takes {} bytes, more than this machine's memory of {}", what, to_string(dtype),
                            to_string(shape), bytes, memory));
  }
  return bytes;
}

}  // namespace assay
