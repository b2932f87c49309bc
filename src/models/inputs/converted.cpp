// SPDX-License-Identifier: Apache-2.0
#include "models/inputs/converted.hpp"

#include <fmt/format.h>

#include "core/base/files.hpp"
#include "core/base/hash.hpp"

namespace assay {
namespace fs = std::filesystem;

Result<fs::path> write_converted(const fs::path& cache, const std::vector<NamedView>& tensors) {
  ASSAY_CHECK(!cache.empty(), "converted tensors need a folder");
  Sha256 hash;
  for (const NamedView& tensor : tensors) {
    hash.update(fmt::format("{}\n{} {}\n", tensor.name, to_string(tensor.view.dtype), to_string(tensor.view.shape)))
        .update(tensor.view.bytes);
  }
  fs::path file = cache / (hash.hex().substr(0, 32) + ".safetensors");
  ASSAY_CHECK_OK(make_directories(cache));
  ASSAY_CHECK_OK(write_safetensors(file, tensors));
  return file;
}

}  // namespace assay
