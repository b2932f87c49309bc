// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/verify/honest.hpp"
#include "bench/verify/verify.hpp"
#include "core/base/files.hpp"
#include "core/tensor/random.hpp"

// Files of outputs to be judged.
namespace assay::testing {

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class T>
Tensor tensor(DType dtype, Shape shape, const std::vector<T>& values) {
  Tensor result = *Tensor::create(dtype, std::move(shape));
  std::copy(values.begin(), values.end(), result.as<T>().begin());
  return result;
}
inline Tensor floats(const std::vector<float>& values) {
  return tensor<float>(DType::kFloat32, {static_cast<std::int64_t>(values.size())}, values);
}
inline Tensor ids(const std::vector<std::int64_t>& values) {
  return tensor<std::int64_t>(DType::kInt64, {static_cast<std::int64_t>(values.size())}, values);
}

class Judge : public ::testing::Test {
 protected:
  using Named = std::vector<std::pair<std::string, Tensor>>;

  std::filesystem::path write(const Named& tensors) {
    std::vector<NamedView> views;
    for (const auto& [name, t] : tensors) views.push_back({name, t.view()});
    auto path = folder_->path() / std::to_string(count_++);
    EXPECT_TRUE(write_safetensors(path, views));
    return path;
  }
  std::filesystem::path write(const std::string& name, Tensor value) {
    Named tensors;
    tensors.emplace_back(name, std::move(value));
    return write(tensors);
  }
  std::filesystem::path y(Tensor value) { return write("y", std::move(value)); }

  // 1,000 values of mean 0 and deviation 1, times `scale`, each moved by up to `error`.
  static Tensor noise(std::string_view seed, double error = 0.0, double scale = 1.0, double offset = 0.0) {
    Tensor t = *Tensor::create(DType::kFloat32, {10, 100});
    const CounterRandom values(1, seed), errors(2, "errors");
    for (std::size_t i = 0; i < 1000; ++i) {
      const double moved =
          static_cast<double>(values.normal(i)) + error * (2.0 * static_cast<double>(errors.uniform(i)) - 1.0);
      t.as<float>()[i] = static_cast<float>(scale * moved + offset);
    }
    return t;
  }
  static Tensor with(Tensor t, std::size_t index, float value) {
    t.as<float>()[index] = value;
    return t;
  }
  // The honest errors of runs whose elements differ by up to each of `errors`.
  HonestErrors honest(const std::vector<double>& errors, double scale = 1.0, std::string method = "perturbed") {
    std::vector<std::vector<std::filesystem::path>> runs;
    for (const double error : errors) runs.push_back({y(noise("a", error, scale)), y(noise("b", error, scale))});
    return *measure_honest(std::move(method), {y(noise("a", 0, scale)), y(noise("b", 0, scale))}, runs, {});
  }
  // Two sets of references and candidates. Uniform errors up to e have a root mean square of e / sqrt(3).
  Verdict judged(double error, VerifyOptions options = {}, double scale = 1.0, double honest_error = 1e-7) {
    if (!options.honest) options.honest = honest({honest_error, -honest_error}, scale);
    return *judge({{y(noise("a", 0, scale)), y(noise("b", 0, scale))},
                   {y(noise("a", error, scale)), y(noise("b", error, scale))}},
                  options);
  }

  Result<TemporaryDirectory> folder_ = TemporaryDirectory::create();
  int count_ = 0;
};

}  // namespace assay::testing
