// SPDX-License-Identifier: Apache-2.0
#include "torch_file.hpp"

#include <fmt/format.h>

namespace assay::plugin {

Result<LoadedModule> load_foreign(const std::filesystem::path& file) {
  return fail(
      ErrorCode::kUnsupported,
      fmt::format("'{}': files of TorchScript that assay did not make are not part of this version", file.string()),
      "give the model as ONNX, or by its name");
}

}  // namespace assay::plugin
