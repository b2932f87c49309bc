// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Sums of squares and products of values times `scale`; the deviation's are taken around the first value, where they
// cancel least.
struct Sums {
  double scale = 1.0;
  std::int64_t count = 0;
  double shift = 0, shifted = 0, shifted_squares = 0;
  double reference = 0, candidate = 0, product = 0, difference = 0;

  void add(double r, double c) {
    r *= scale;
    c *= scale;
    if (count++ == 0) shift = r;
    shifted += r - shift;
    shifted_squares += (r - shift) * (r - shift);
    reference += r * r;
    candidate += c * c;
    product += r * c;
    difference += (c - r) * (c - r);
  }

  [[nodiscard]] bool overflowed() const { return !std::isfinite(reference + candidate + difference + shifted_squares); }

  void finish(Comparison& out) const {
    if (count == 0) return;
    const auto n = static_cast<double>(count);
    const double variance = (shifted_squares - shifted * shifted / n) / n;
    out.reference_deviation = std::sqrt(std::max(variance, 0.0)) / scale;
    out.reference_rms = std::sqrt(reference / n) / scale;
    if (reference > 0 && candidate > 0)
      out.cosine = std::clamp(product / (std::sqrt(reference) * std::sqrt(candidate)), -1.0, 1.0);
    else
      out.cosine = reference == candidate ? 1.0 : 0.0;
    if (reference > 0)
      out.nmse = difference / reference;
    else
      out.nmse = difference > 0 ? kInfinity : 0.0;
  }
};

template <class T>
T load_as(const TensorView& view, std::int64_t index) {
  T value;
  std::memcpy(&value, view.bytes.data() + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

// The distance of two elements; infinity if it is not a number.
template <class Value>
double distance(Value r, Value c) {
  if (r == c) return 0.0;
  const double error = std::abs(static_cast<double>(c) - static_cast<double>(r));
  if constexpr (std::is_integral_v<Value>) return std::max(error, 1.0);  // doubles merge neighbours beyond 2^53
  if (std::isnan(static_cast<double>(r)) && std::isnan(static_cast<double>(c))) return 0.0;
  return std::isnan(error) ? kInfinity : error;
}

class Comparer {
 public:
  explicit Comparer(const Tolerance& tolerance, double scale) : tolerance_(tolerance) { sums_.scale = scale; }

  template <class Value>
  void add(std::int64_t index, Value reference, Value candidate) {
    const auto r = static_cast<double>(reference), c = static_cast<double>(candidate);
    const double error = distance(reference, candidate);
    if (out_.elements++ == 0) first_ = r;
    constant_ = constant_ && (r == first_ || (std::isnan(r) && std::isnan(first_)));
    out_.nan_reference += std::isnan(r);
    out_.nan_candidate += std::isnan(c);
    out_.inf_reference += std::isinf(r);
    out_.inf_candidate += std::isinf(c);
    equal_ += error == 0.0;
    const double bound = tolerance_.absolute + tolerance_.relative * std::abs(r);
    double ratio = error == 0.0 ? 0.0 : error / bound;
    if (std::isinf(error)) ratio = kInfinity;
    if (!(ratio <= 1.0)) ++out_.exceeding;
    if (out_.worst_index < 0 || !(ratio <= out_.worst_ratio)) {
      out_.worst_ratio = ratio;
      out_.worst_index = index;
      out_.worst_reference = r;
      out_.worst_candidate = c;
    }
    out_.max_abs_error = std::max(out_.max_abs_error, error);
    if (error > 0.0)
      out_.max_rel_error =
          std::max(out_.max_rel_error,
                   std::isinf(error) ? kInfinity : error / std::max(std::abs(r), static_cast<double>(FLT_MIN)));
    if (std::isfinite(r)) {
      low_ = std::min(low_, r);
      high_ = std::max(high_, r);
      if (std::isfinite(c)) sums_.add(r, c);
    }
    largest_ = std::max({largest_, std::isfinite(r) ? std::abs(r) : 0.0, std::isfinite(c) ? std::abs(c) : 0.0});
  }

  [[nodiscard]] bool overflowed() const { return sums_.overflowed(); }
  [[nodiscard]] double largest() const { return largest_; }

  [[nodiscard]] Comparison finish() {
    sums_.finish(out_);
    out_.reference_constant = out_.elements > 0 && constant_;
    if (low_ <= high_) {
      out_.reference_min = low_;
      out_.reference_max = high_;
    }
    if (out_.elements > 0) out_.agreement = static_cast<double>(equal_) / static_cast<double>(out_.elements);
    return out_;
  }

 private:
  Tolerance tolerance_;
  Sums sums_;
  Comparison out_;
  std::int64_t equal_ = 0;
  double first_ = 0, low_ = kInfinity, high_ = -kInfinity, largest_ = 0;
  bool constant_ = true;
};

// Calls f(index) for every element that the mask keeps.
template <class F>
void for_each_kept(std::int64_t elements, const std::optional<TensorView>& mask, std::int64_t rows, F&& f) {
  const std::int64_t width = rows == 0 ? 0 : elements / rows;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (mask && element_as_double(*mask, row) == 0.0) continue;
    for (std::int64_t i = row * width; i < (row + 1) * width; ++i) f(i);
  }
}

template <class Load>
Comparison run(const TensorView& reference, const TensorView& candidate, const Tolerance& tolerance,
               const std::optional<TensorView>& mask, std::int64_t elements, std::int64_t rows, Load load) {
  Comparer comparer(tolerance, 1.0);
  const auto pass = [&] {
    for_each_kept(elements, mask, rows,
                  [&](std::int64_t i) { comparer.add(i, load(reference, i), load(candidate, i)); });
  };
  pass();
  if (comparer.overflowed()) {  // squares of huge float64 values: once more, scaled down
    comparer = Comparer(tolerance, 1.0 / comparer.largest());
    pass();
  }
  return comparer.finish();
}

}  // namespace

Result<Comparison> compare(const TensorView& reference, const TensorView& candidate, const Tolerance& tolerance,
                           const std::optional<TensorView>& mask) {
  if (reference.dtype != candidate.dtype)
    return fail(ErrorCode::kMismatch, fmt::format("the reference is {}, the candidate {}", to_string(reference.dtype),
                                                  to_string(candidate.dtype)));
  if (reference.shape != candidate.shape)
    return fail(ErrorCode::kMismatch, fmt::format("the reference has the shape {}, the candidate {}",
                                                  to_string(reference.shape), to_string(candidate.shape)));
  if (reference.dtype == DType::kComplex64 || reference.dtype == DType::kComplex128)
    return fail(ErrorCode::kUnsupported, fmt::format("{} is not compared", to_string(reference.dtype)));
  ASSAY_TRY(const std::int64_t elements, element_count(reference.shape));
  ASSAY_TRY(const std::uint64_t size, byte_size(reference.dtype, reference.shape));
  if (reference.bytes.size() != size || candidate.bytes.size() != size)
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} of shape {} has {} bytes; the reference has {}, the candidate {}", to_string(reference.dtype),
                    to_string(reference.shape), size, reference.bytes.size(), candidate.bytes.size()));
  std::int64_t rows = elements == 0 ? 0 : 1;
  if (mask) {
    if (mask->shape.size() > reference.shape.size() ||
        !std::equal(mask->shape.begin(), mask->shape.end(), reference.shape.begin()))
      return fail(ErrorCode::kMismatch, fmt::format("a mask of shape {} is not a leading block of {}",
                                                    to_string(mask->shape), to_string(reference.shape)));
    ASSAY_TRY(const std::uint64_t mask_size, byte_size(mask->dtype, mask->shape));
    if (mask->bytes.size() != mask_size)
      return fail(ErrorCode::kInvalidArgument, fmt::format("a mask of shape {} has {} bytes, not {}",
                                                           to_string(mask->shape), mask_size, mask->bytes.size()));
    if (elements > 0) {
      ASSAY_TRY(rows, element_count(mask->shape));
    }
  }
  const auto with = [&](auto load) { return run(reference, candidate, tolerance, mask, elements, rows, load); };
  switch (reference.dtype) {
    case DType::kFloat32:
      return with(load_as<float>);
    case DType::kFloat64:
      return with(load_as<double>);
    case DType::kInt32:
      return with(load_as<std::int32_t>);
    case DType::kInt64:
      return with(load_as<std::int64_t>);
    case DType::kUInt64:
      return with(load_as<std::uint64_t>);
    default:
      return with(element_as_double);  // every other kind is exact in double
  }
}

}  // namespace assay
