// SPDX-License-Identifier: Apache-2.0
#include "torch_settings.hpp"

#include <algorithm>
#include <cmath>

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

namespace assay::plugin {
namespace {

constexpr std::int64_t kSide = 64;

/// The relative error of a product whose factors are 1 + 2^-12.
double error_of(const at::Tensor& product, double exact) {
  return std::abs(product.flatten()[5].item<double>() / exact - 1);
}

}  // namespace

void set_strict_arithmetic() {
  at::Context& context = at::globalContext();
  context.setFloat32MatmulPrecision("highest");
  for (const auto backend : {at::Float32Backend::MKLDNN, at::Float32Backend::CUDA})
    for (const auto op : {at::Float32Op::CONV, at::Float32Op::RNN, at::Float32Op::MATMUL})
      context.setFloat32Precision(backend, op, at::Float32Precision::IEEE);
  at::Context::setFlushDenormal(false);
  at::set_num_interop_threads(1);
}

void set_threads(int threads) {
  static const int otherwise = at::get_num_threads();
  at::set_num_threads(threads > 0 ? threads : otherwise);
}

int threads() { return at::get_num_threads(); }

std::string measured_float32() {
  const c10::InferenceMode inference;
  const double value = 1.0 + std::ldexp(1.0, -12);  // no bfloat16 and no TF32 is nearer than 2^-12 to it
  const at::Tensor x = at::full({kSide, kSide}, value);
  const at::Tensor image = at::full({1, kSide, 8, 8}, value), kernel = at::full({kSide, kSide, 1, 1}, value);
  const double exact = kSide * value * value;
  const double worst = std::max({error_of(at::matmul(x, x), exact), error_of(at::linear(x, x), exact),
                                 error_of(at::conv2d(image, kernel), exact)});
  if (!std::isfinite(worst)) return "unknown";
  if (worst < 1e-6) return "float32";
  return worst < 6e-4 ? "tf32" : "bfloat16";
}

std::string measured_denormals() {
  const c10::InferenceMode inference;
  const at::Tensor tiny = at::full({kSide}, 1e-40);
  return at::add(tiny, tiny)[0].item<float>() > 0 ? "kept" : "flushed";
}

}  // namespace assay::plugin
