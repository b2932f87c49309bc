// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The common code of the tests of plug-ins for real runtimes: small ONNX models, a context with its buffers
/// (runtime_helpers.cpp), and the tests that each plug-in that reads ONNX must pass (runtime_suite.cpp).

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <assay/engine_plugin.hpp>

namespace assay::plugin::test {

/// The tested plug-in. Defined in the test of each plug-in.
[[nodiscard]] Result<std::unique_ptr<Engine>> open_engine();

/// The engine, opened once per process; null if the runtime is not installed, with a message for GTEST_SKIP in `why`.
[[nodiscard]] Engine* engine(std::string& why);

/// A host with a real clock and without a log.
[[nodiscard]] const assay_host_api& host();

/// Minimal ONNX messages.
struct Value {
  std::string name;
  assay_dtype dtype = 1;
  std::vector<std::string> dims;  ///< "3" fixed, "n" symbolic
};
struct Node {
  std::string op;
  std::vector<std::string> inputs, outputs;
  std::string domain{};
};
struct Model {
  std::vector<Node> nodes;
  std::vector<Value> inputs, outputs;
  std::vector<std::pair<std::string, std::vector<float>>> initializers{};  ///< name and values of each; all have rank 1
  int opset = 17;
  std::vector<std::string> more_domains{};
};
/// The file's content.
[[nodiscard]] std::string encode(const Model& model);
/// Writes it into the test's own folder and returns the path.
[[nodiscard]] std::string write(const Model& model, const std::string& name);
[[nodiscard]] std::string write_bytes(std::string_view bytes, const std::string& name);

/// The buffers of one input, one for each set.
class Tensor {
 public:
  template <class T>
  Tensor(assay_dtype dtype, std::vector<std::int64_t> dims, const std::vector<T>& values)
      : dims_(std::move(dims)), bytes_(values.size() * sizeof(T)), dtype_(dtype) {
    std::memcpy(bytes_.data(), values.data(), bytes_.size());
  }
  [[nodiscard]] assay_tensor view() {
    assay_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    tensor.dtype = dtype_;
    tensor.dims = dims_.data();
    tensor.rank = dims_.size();
    tensor.data = bytes_.data();
    tensor.byte_size = bytes_.size();
    return tensor;
  }
  template <class T>
  void assign(const std::vector<T>& values) {
    std::memcpy(bytes_.data(), values.data(), bytes_.size());
  }
  [[nodiscard]] TensorShape shape() const { return {dtype_, dims_}; }

 private:
  std::vector<std::int64_t> dims_;
  std::vector<std::byte> bytes_;
  assay_dtype dtype_;
};
[[nodiscard]] inline Tensor floats(std::vector<std::int64_t> dims, const std::vector<float>& values) {
  return Tensor(1, std::move(dims), values);
}

struct Output {
  std::vector<std::int64_t> dims;
  std::vector<float> values;  ///< float32 outputs only
  const void* data = nullptr;
};
[[nodiscard]] Result<Output> output(Context& context, std::size_t index = 0);

/// A test with the engine; skipped if its runtime is not installed.
class RuntimeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    engine_ = engine(why);
    if (engine_ == nullptr) GTEST_SKIP() << why;
  }
  /// With one thread.
  [[nodiscard]] Result<std::unique_ptr<Program>> load(const std::string& path,
                                                      const std::string& precision = "as_is") const {
    LoadArgs args;
    args.model_path = path;
    args.precision = precision;
    args.threads = 1;
    return engine_->load(args);
  }

  Engine* engine_ = nullptr;
};

MATCHER(IsOk, negation ? "is an error" : "is ok") {
  if (!arg) *result_listener << to_string(arg.error().code) << ": " << arg.error().message;
  return static_cast<bool>(arg);
}
MATCHER_P2(HasError, code, part, "is an error with that code and text") {
  if (arg) return false;
  *result_listener << to_string(arg.error().code) << ": " << arg.error().message;
  return arg.error().code == code && arg.error().message.find(part) != std::string::npos;
}

}  // namespace assay::plugin::test
