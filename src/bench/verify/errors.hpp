// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "bench/verify/verify.hpp"
#include "core/tensor/safetensors.hpp"
#include "core/tensor/tensor.hpp"

namespace assay {

/// The differences of one output from the reference, over the input sets that were computed. Elements that are not
/// finite on both sides are left out, and masked positions.
struct OutputErrors {
  std::int64_t elements = 0;
  std::int64_t reference_elements = 0;  ///< those of sets that were not computed included
  double reference_rms = 0.0;           ///< root mean square of all these
  double reference_deviation = 0.0;     ///< their standard deviation
  double rms = 0.0;                     ///< root mean square of the errors, in the output's unit
  /// The same of the worst row: a token [B, S, H], an item [B, H], a channel [B, C, H, W]. Rows of fewer than
  /// kLeastRow elements are joined; one row: it equals `rms`.
  double row = 0.0;
  double element = 0.0;  ///< largest
  std::size_t set = 0;   ///< the set with the largest error; from 0
  std::int64_t index = 0;
  double expected = 0.0, actual = 0.0;  ///< the element with the largest error
  double correlation = 1.0;             ///< Pearson's; 1 if the reference is constant, 0 if only the other side is
  /// Share of rows along the last axis whose largest element is at the same place; absent: the last axis has one
  /// element, or there is one row of one.
  std::optional<double> top1{};
  std::int64_t top1_rows = 0;
};
inline constexpr std::int64_t kLeastRow = 8;

/// Adds up the sets of one output.
class ErrorScan {
 public:
  /// `expected` and `actual`: equal shapes; floats of 32 or 64 bits. `mask`: as in compare().
  void add(const TensorView& expected, const TensorView& actual, const std::optional<TensorView>& mask);
  /// The reference of a set that was not computed: it has a size and no error.
  void add_reference(const TensorView& expected, const std::optional<TensorView>& mask);
  [[nodiscard]] OutputErrors finish() const;

 private:
  template <class T>
  void scan(const TensorView& expected, const TensorView& actual, const std::optional<TensorView>& mask);
  template <class T>
  void scan_reference(const TensorView& expected, const std::optional<TensorView>& mask);
  std::size_t sets_ = 0;
  OutputErrors found_{.row = 0.0};
  double error2_ = 0, expected2_ = 0, worst_row_ = 0;
  // Sums around the first value of each side.
  double r0_ = 0, c0_ = 0, r_ = 0, c_ = 0, rr_ = 0, cc_ = 0, rc_ = 0;
  std::int64_t agreeing_ = 0;
  // The same of the reference alone, where a set was not computed.
  std::int64_t other_elements_ = 0;
  double other2_ = 0, other_r_ = 0, other_rr_ = 0;
};

using OpenFiles = std::vector<SafetensorsFile>;
[[nodiscard]] Result<OpenFiles> open_all(std::span<const std::filesystem::path> paths);

/// Floats of 16 bits as float32, which represents them all; other tensors unchanged. `storage` keeps what is new.
[[nodiscard]] Result<TensorView> widened(const TensorView& view, Tensor& storage);

/// The mask of an output among the inputs of its set.
[[nodiscard]] std::optional<TensorView> mask_of(const std::vector<std::vector<NamedView>>& inputs, std::size_t set,
                                                std::string_view output, const Shape& shape);

/// Whether an output is judged by the share of equal elements.
[[nodiscard]] bool is_counted(DType dtype);

}  // namespace assay
