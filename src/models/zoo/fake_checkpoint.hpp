// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/base/files.hpp"
#include "core/base/json.hpp"
#include "core/tensor/safetensors.hpp"
#include "models/zoo/zoo.hpp"

// What the zoo's tests share: the committed goldens, and checkpoints made from them with something changed.
namespace assay::zoo {

/// A committed golden, else one of the large collection.
inline std::filesystem::path golden_folder(const std::string& name) {
  const std::filesystem::path committed = std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/goldens" / name;
  const char* collection = std::getenv("ASSAY_GOLDENS_DIR");
  if (collection == nullptr || std::filesystem::exists(committed)) return committed;
  return std::filesystem::path(collection) / name;
}

inline Json golden_config(const std::string& name) { return read_json(golden_folder(name) / "config.json").value(); }

class ZooTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = TemporaryDirectory::create();
    ASSERT_TRUE(folder);
    folder_.emplace(std::move(*folder));
  }
  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_->path() / name; }

  /// Builds with seeded weights into a file of the test's own.
  [[nodiscard]] Result<BuiltModel> build_seeded(const Json& config, const std::string& model_class = {}) const {
    BuildRequest request;
    request.config = config;
    request.model_class = model_class;
    return build(request, path("model.onnx"));
  }

  std::optional<TemporaryDirectory> folder_;
};

/// The tensors of a golden, to be changed and written again.
class FakeCheckpoint {
 public:
  explicit FakeCheckpoint(const std::string& golden)
      : file_(SafetensorsFile::open(golden_folder(golden) / "model.safetensors").value()) {
    for (const std::string& name : file_.names()) tensors_.push_back({name, file_.tensor(name).value()});
  }
  std::vector<NamedView>& tensors() { return tensors_; }
  void rename(const std::string& from, const std::string& to) {
    for (NamedView& tensor : tensors_) {
      if (const std::size_t at = tensor.name.find(from); at != std::string::npos)
        tensor.name.replace(at, from.size(), to);
    }
  }
  void remove(const std::string& name) {
    std::erase_if(tensors_, [&](const NamedView& tensor) { return tensor.name == name; });
  }
  void add(const std::string& name, Tensor tensor) {
    tensors_.push_back({name, tensor.view()});
    owned_.push_back(std::move(tensor));
  }
  [[nodiscard]] std::filesystem::path write(const std::filesystem::path& path) const {
    EXPECT_TRUE(write_safetensors(path, tensors_));
    return path;
  }

 private:
  SafetensorsFile file_;
  std::vector<NamedView> tensors_;
  std::vector<Tensor> owned_;
};

}  // namespace assay::zoo
