// SPDX-License-Identifier: Apache-2.0
#include "models/onnx/tensor_pb.hpp"

#include "models/onnx/onnx_tensor.hpp"

namespace assay {

Result<NamedTensor> read_tensor_pb(const std::filesystem::path& path) {
  ASSAY_TRY(const onnx::TensorProto proto, read_tensor_proto(path));
  const auto raw = proto.has_raw_data() ? std::optional(std::as_bytes(std::span(proto.raw_data()))) : std::nullopt;
  ASSAY_TRY(const CheckedTensor checked,
            check_tensor(proto, raw, std::nullopt, physical_memory(), "the tensor in " + shown_path(path)));
  if (checked.dtype == DType::kString) return fail(ErrorCode::kUnsupported, shown_path(path) + " has strings");
  if (raw && !raw->empty()) {
    ASSAY_TRY(Tensor tensor, Tensor::copy_of({checked.dtype, checked.shape, *raw}));
    return NamedTensor{proto.name(), std::move(tensor)};
  }
  ASSAY_TRY(Tensor tensor, Tensor::copy_of({checked.dtype, checked.shape, decode_fields(checked)}));
  return NamedTensor{proto.name(), std::move(tensor)};
}

}  // namespace assay
