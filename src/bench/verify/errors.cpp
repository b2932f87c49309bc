// SPDX-License-Identifier: Apache-2.0
#include "bench/verify/errors.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/tensor/ulp.hpp"

namespace assay {
namespace {

// Elements of a row: see OutputErrors::row.
std::int64_t row_width(const Shape& shape, std::int64_t elements) {
  if (shape.size() < 2 || elements == 0) return std::max<std::int64_t>(elements, 1);
  const auto width = [&](std::size_t leading) {
    std::int64_t rows = 1;
    for (std::size_t d = 0; d < leading; ++d) rows *= shape[d];
    return elements / std::max<std::int64_t>(rows, 1);
  };
  for (std::size_t leading = std::min<std::size_t>(2, shape.size() - 1); leading > 0; --leading)
    if (width(leading) >= kLeastRow) return width(leading);
  return elements;
}

std::int64_t number_of_elements(const Shape& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  return elements;
}

// Elements that one element of the mask keeps.
std::int64_t width_of_mask(std::int64_t elements, const std::optional<TensorView>& mask) {
  return elements / std::max<std::int64_t>(mask ? number_of_elements(mask->shape) : 1, 1);
}

template <class T>
double value_at(const T* values, std::int64_t i) {
  T value;
  std::memcpy(&value, values + i, sizeof value);
  return static_cast<double>(value);
}

}  // namespace

Result<OpenFiles> open_all(std::span<const std::filesystem::path> paths) {
  OpenFiles files;
  for (const auto& path : paths) {
    ASSAY_TRY(SafetensorsFile file, SafetensorsFile::open(path));
    files.push_back(std::move(file));
  }
  return files;
}

Result<TensorView> widened(const TensorView& view, Tensor& storage) {
  const bool half = view.dtype == DType::kFloat16;
  if (!half && view.dtype != DType::kBFloat16) return view;
  ASSAY_TRY(storage, Tensor::create(DType::kFloat32, view.shape));
  widen(view.dtype, view.bytes, storage.as<float>());
  return std::as_const(storage).view();
}

std::optional<TensorView> mask_of(const std::vector<std::vector<NamedView>>& inputs, std::size_t set,
                                  std::string_view output, const Shape& shape) {
  if (set >= inputs.size()) return std::nullopt;
  std::vector<NamedShape> shapes;
  shapes.reserve(inputs[set].size());
  for (const auto& [name, view] : inputs[set]) shapes.push_back({name, view.shape});
  const auto index = mask_for(output, shape, shapes);
  if (!index) return std::nullopt;
  return inputs[set][*index].view;
}

bool is_counted(DType dtype) { return is_integer(dtype) || dtype == DType::kBool; }

template <class T>
void ErrorScan::scan(const TensorView& expected, const TensorView& actual, const std::optional<TensorView>& mask) {
  const std::int64_t elements = number_of_elements(expected.shape);
  if (elements == 0) return;
  const std::int64_t masked_width = width_of_mask(elements, mask);
  const std::int64_t width = row_width(expected.shape, elements);
  const std::int64_t last = expected.shape.empty() ? 1 : expected.shape.back();
  const auto* r = reinterpret_cast<const T*>(expected.bytes.data());
  const auto* c = reinterpret_cast<const T*>(actual.bytes.data());
  const auto kept = [&](std::int64_t i) { return !mask || element_as_double(*mask, i / masked_width) != 0.0; };
  for (std::int64_t begin = 0; begin < elements; begin += width) {
    double row = 0;
    std::int64_t in_row = 0;
    bool keep = true;
    for (std::int64_t i = begin; i < std::min(begin + width, elements); ++i) {
      if (i == begin || (mask && i % masked_width == 0)) keep = kept(i);
      if (!keep) continue;
      const double x = value_at(r, i), y = value_at(c, i), error = std::abs(y - x);
      if (!std::isfinite(x) || !std::isfinite(y)) continue;
      if (found_.elements++ == 0) {
        r0_ = x;
        c0_ = y;
      }
      row += error * error;
      ++in_row;
      expected2_ += x * x;
      r_ += x - r0_;
      c_ += y - c0_;
      rr_ += (x - r0_) * (x - r0_);
      cc_ += (y - c0_) * (y - c0_);
      rc_ += (x - r0_) * (y - c0_);
      if (found_.elements == 1 || error > found_.element) {
        found_.element = error;
        found_.set = sets_;
        found_.index = i;
        found_.expected = x;
        found_.actual = y;
      }
    }
    error2_ += row;
    if (in_row > 0) worst_row_ = std::max(worst_row_, row / static_cast<double>(in_row));
  }
  if (last < 2) return;
  for (std::int64_t begin = 0; begin < elements; begin += last) {
    if (!kept(begin)) continue;
    const auto largest = [&](const T* values) {
      std::int64_t best = begin;
      for (std::int64_t i = begin + 1; i < begin + last; ++i)
        if (value_at(values, i) > value_at(values, best)) best = i;
      return best;
    };
    ++found_.top1_rows;
    agreeing_ += largest(r) == largest(c) ? 1 : 0;
  }
}

void ErrorScan::add(const TensorView& expected, const TensorView& actual, const std::optional<TensorView>& mask) {
  if (expected.dtype == DType::kFloat64)
    scan<double>(expected, actual, mask);
  else
    scan<float>(expected, actual, mask);
  ++sets_;
}

template <class T>
void ErrorScan::scan_reference(const TensorView& expected, const std::optional<TensorView>& mask) {
  const std::int64_t elements = number_of_elements(expected.shape);
  const std::int64_t masked_width = width_of_mask(elements, mask);
  const auto* r = reinterpret_cast<const T*>(expected.bytes.data());
  bool keep = true;
  for (std::int64_t i = 0; i < elements; ++i) {
    if (mask && i % masked_width == 0) keep = element_as_double(*mask, i / masked_width) != 0.0;
    const double x = value_at(r, i);
    if (!keep || !std::isfinite(x)) continue;
    ++other_elements_;
    other2_ += x * x;
    other_r_ += x - r0_;
    other_rr_ += (x - r0_) * (x - r0_);
  }
}

void ErrorScan::add_reference(const TensorView& expected, const std::optional<TensorView>& mask) {
  if (expected.dtype == DType::kFloat64)
    scan_reference<double>(expected, mask);
  else
    scan_reference<float>(expected, mask);
}

OutputErrors ErrorScan::finish() const {
  OutputErrors out = found_;
  if (out.elements == 0) return out;
  const auto n = static_cast<double>(out.elements);
  out.rms = std::sqrt(error2_ / n);
  out.row = std::sqrt(worst_row_);
  out.reference_elements = out.elements + other_elements_;
  const auto all = static_cast<double>(out.reference_elements);
  out.reference_rms = std::sqrt((expected2_ + other2_) / all);
  const double all_r = r_ + other_r_;
  out.reference_deviation = std::sqrt(std::max(rr_ + other_rr_ - all_r * all_r / all, 0.0) / all);
  const double rr = std::max(rr_ - r_ * r_ / n, 0.0), cc = std::max(cc_ - c_ * c_ / n, 0.0);
  // A deviation that is rounding noise is none.
  const bool flat_r = rr <= 1e-14 * std::max(expected2_, rr_), flat_c = cc <= 1e-14 * std::max(cc_, c0_ * c0_ * n);
  if (flat_r)
    out.correlation = 1.0;
  else if (flat_c)
    out.correlation = 0.0;
  else
    out.correlation = std::clamp((rc_ - r_ * c_ / n) / std::sqrt(rr * cc), -1.0, 1.0);
  if (out.top1_rows > 0) out.top1 = static_cast<double>(agreeing_) / static_cast<double>(out.top1_rows);
  return out;
}

}  // namespace assay
