// SPDX-License-Identifier: Apache-2.0
#include "torch_file.hpp"

#include <fmt/format.h>

namespace assay::plugin {

Result<LoadedModule> load_foreign(const std::filesystem::path& file) {
  return fail(ErrorCode::kUnsupported, fmt::format("'{}' is not a lowered model", file.string()));
}

}  // namespace assay::plugin
