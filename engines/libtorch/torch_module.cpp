// SPDX-License-Identifier: Apache-2.0
#include "torch_module.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

#include <ATen/Functions.h>
#include <fmt/format.h>
#include <torch/csrc/jit/frontend/resolver.h>

#include "torch_values.hpp"

namespace assay::plugin {
namespace fs = std::filesystem;

struct MappedFiles::File {
  fs::path path;
  std::byte* data = nullptr;
  std::size_t size = 0;
  File() = default;
  File(const File&) = delete;
  ~File() {
    if (data != nullptr) munmap(data, size);
  }
};

namespace {

Result<std::string> read_text(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return fail(ErrorCode::kNotFound, fmt::format("there is no file '{}'", file.string()));
  return std::string{std::istreambuf_iterator<char>(stream), {}};
}

/// Operators are written as torch.NAME, and infinite numbers as inf.
struct LoweredNames final : torch::jit::Resolver {
  std::shared_ptr<torch::jit::SugaredValue> resolveValue(const std::string& name, torch::jit::GraphFunction& function,
                                                         const torch::jit::SourceRange&) override {
    if (name == "torch") return std::make_shared<torch::jit::BuiltinModule>("aten");
    if (name != "inf" && name != "nan") return nullptr;
    const double value =
        name == "inf" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    return std::make_shared<torch::jit::SimpleValue>(function.graph()->insertConstant(value));
  }
  c10::TypePtr resolveType(const std::string&, const torch::jit::SourceRange&) override { return nullptr; }
};

/// A text that was cut off after a statement is still a method, but returns nothing.
Status check_returns(const torch::jit::Module& module, const fs::path& file) {
  const auto& returned = module.get_method("forward").function().getSchema().returns();
  if (!returned.empty() && returned.front().type()->kind() != c10::TypeKind::NoneType) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("the method in '{}' returns nothing; is the file complete?", file.string()));
}

}  // namespace

Result<at::Tensor> MappedFiles::tensor(const StoredWeight& weight) {
  const auto type = scalar_type_of(weight.value.dtype);
  if (!type)
    return fail(ErrorCode::kUnsupported,
                fmt::format("libtorch has no element type for weight '{}'", weight.value.name));
  std::uint64_t bytes = c10::elementSize(*type);
  bool representable = true;
  for (const std::int64_t extent : weight.value.dims)
    representable = !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes) && representable;
  if (!representable || bytes != weight.bytes)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("weight '{}' has {} bytes, its type and shape need {}", weight.value.name, weight.bytes,
                            representable ? std::to_string(bytes) : "more than 2^64"));
  const at::TensorOptions options = at::TensorOptions().dtype(type);
  if (bytes == 0) return at::empty(weight.value.dims, options);
  auto found = std::ranges::find(files_, weight.file, [](const auto& file) -> const fs::path& { return file->path; });
  if (found == files_.end()) {
    auto file = std::make_shared<File>();
    file->path = weight.file;
    const int descriptor = open(weight.file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
      return fail(ErrorCode::kNotFound, fmt::format("cannot open '{}', which has weights: {}", weight.file.string(),
                                                    std::generic_category().message(errno)));
    struct stat facts {};
    fstat(descriptor, &facts);
    file->size = static_cast<std::size_t>(facts.st_size);
    void* data = file->size == 0 ? nullptr : mmap(nullptr, file->size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    const int reason = errno;
    close(descriptor);
    if (data == MAP_FAILED)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("cannot map '{}', which has weights: {}", weight.file.string(),
                              std::generic_category().message(reason)));
    file->data = static_cast<std::byte*>(data);  // null for an empty file
    found = files_.insert(files_.end(), std::move(file));
  }
  const std::shared_ptr<const File>& file = *found;
  if (weight.offset > file->size || weight.bytes > file->size - weight.offset)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' has {} bytes; weight '{}' is at {} to {}", file->path.string(), file->size,
                            weight.value.name, weight.offset, weight.offset + weight.bytes));
  std::byte* const data = file->data + weight.offset;
  if (reinterpret_cast<std::uintptr_t>(data) % c10::elementSize(*type) == 0)
    return at::from_blob(
        data, weight.value.dims, [file](void*) {}, options);
  at::Tensor copy = at::empty(weight.value.dims, options);
  std::memcpy(copy.data_ptr(), data, bytes);
  return copy;
}

void MappedFiles::release() const {
  for (const auto& file : files_)
    if (file->data != nullptr) madvise(file->data, file->size, MADV_DONTNEED);
}

Result<LoadedModule> load_lowered(const fs::path& file) {
  ASSAY_TRY(const std::string text, read_text(file));
  const std::string sidecar = file.string() + ".json";
  ASSAY_TRY(const std::string described, read_text(sidecar));
  ASSAY_TRY(Signature signature, parse_signature(described, sidecar, file.parent_path()));
  LoadedModule loaded{torch::jit::Module("Lowered"), std::move(signature), {}};
  try {
    for (std::size_t i = 0; i < loaded.signature.weights.size(); ++i) {
      ASSAY_TRY(at::Tensor weight, loaded.weights.tensor(loaded.signature.weights[i]));
      loaded.module.register_buffer(fmt::format("w{}", i), std::move(weight));
    }
  } catch (const std::exception& thrown) {
    return torch_error(thrown, ErrorCode::kInvalidArgument,
                       fmt::format("libtorch does not take the weights of '{}'", file.string()));
  }
  try {
    loaded.module.define(text, std::make_shared<LoweredNames>());
    ASSAY_CHECK_OK(check_returns(loaded.module, file));
  } catch (const std::exception& thrown) {
    return torch_error(thrown, ErrorCode::kInvalidArgument,
                       fmt::format("libtorch does not compile '{}'", file.string()));
  }
  loaded.module.eval();
  return loaded;
}

}  // namespace assay::plugin
