// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/engine/registry.hpp"
#include "core/base/cancel.hpp"
#include "core/tensor/dtype.hpp"

/// How fast a runtime multiplies two matrices: what the rate of a machine and the peaks of its devices are made of.
namespace assay {

/// [rows, inner] by [inner, columns].
struct Product {
  std::int64_t rows = 0, inner = 0, columns = 0;

  [[nodiscard]] double flops() const;  ///< 2 × multiply-adds
  [[nodiscard]] double weight_bytes(DType dtype) const;
};
/// Limited by arithmetic.
inline constexpr Product kWideProduct{512, 2048, 2048};
/// Limited by memory: in float32 268 MB of weights, more than fits in caches.
inline constexpr Product kThinProduct{1, 4096, 16384};

/// Some runs of one multiplication, right after each other.
struct RunBurst {
  std::vector<double> seconds;  ///< duration of each run; at least one
  bool noisy = false;           ///< other processes, or a throttled processor, disturbed it
};
/// What undisturbed runs take.
struct BestRun {
  double seconds = 0;
  bool disturbed = false;
};
/// The fastest run of up to four bursts. The first calm one is the last: it is not noisy, and three of its runs, the
/// fastest of all bursts included, differ by less than 15 %. `disturbed`: none was calm. Errors: those of `burst`.
[[nodiscard]] Result<BestRun> best_run(const std::function<Result<RunBurst>()>& burst);

/// A runtime on one of its devices.
struct Multiplier {
  const EngineRegistry* registry = nullptr;
  EngineLocation location;
  std::string device;             ///< an id of the runtime
  DType dtype = DType::kFloat32;  ///< type of both matrices and of the product: float32, float16, bfloat16
  int threads = 1;
  std::filesystem::path folder;  ///< contains the model, which has the second matrix, and the samples
  Cancelled cancelled;
};
struct MultiplierRun {
  BestRun best;
  std::string precision;       ///< precision of the arithmetic, as reported by the runtime; may be empty
  std::string engine_version;  ///< version of the runtime
};
/// Multiplies in a worker of its own, for about a second, two if something else uses the machine. Errors: those of the
/// worker and of the runtime, such as unsupported for a type that it does not compute; those of writing a file.
[[nodiscard]] Result<MultiplierRun> multiply(const Multiplier& multiplier, const Product& product);

}  // namespace assay
