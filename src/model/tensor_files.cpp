// SPDX-License-Identifier: Apache-2.0
#include "model/tensor_files.hpp"

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "model/onnx_tensor.hpp"

namespace assay {
namespace fs = std::filesystem;

Result<NamedTensor> read_tensor_pb(const fs::path& path) {
  ASSAY_TRY(const onnx::TensorProto proto, read_tensor_proto(path));
  const auto raw = proto.has_raw_data() ? std::optional(std::as_bytes(std::span(proto.raw_data()))) : std::nullopt;
  ASSAY_TRY(const CheckedTensor checked,
            check_tensor(proto, raw, std::nullopt, physical_memory(), "the tensor in " + shown_path(path)));
  if (checked.dtype == DType::kString) return fail(ErrorCode::kUnsupported, shown_path(path) + " holds strings");
  if (raw && !raw->empty()) {
    ASSAY_TRY(Tensor tensor, Tensor::copy_of({checked.dtype, checked.shape, *raw}));
    return NamedTensor{proto.name(), std::move(tensor)};
  }
  ASSAY_TRY(Tensor tensor, Tensor::copy_of({checked.dtype, checked.shape, decode_fields(checked)}));
  return NamedTensor{proto.name(), std::move(tensor)};
}

Result<fs::path> write_converted(const fs::path& cache, const std::vector<NamedView>& tensors) {
  ASSAY_CHECK(!cache.empty(), "converted tensors need a folder");
  Sha256 hash;
  for (const NamedView& tensor : tensors) {
    hash.update(fmt::format("{}\n{} {}\n", tensor.name, to_string(tensor.view.dtype), to_string(tensor.view.shape)))
        .update(tensor.view.bytes);
  }
  const fs::path file = cache / (hash.hex().substr(0, 32) + ".safetensors");
  ASSAY_CHECK_OK(make_directories(cache));
  ASSAY_CHECK_OK(write_safetensors(file, tensors));
  return file;
}

}  // namespace assay
