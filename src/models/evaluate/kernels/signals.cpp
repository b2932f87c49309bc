// SPDX-License-Identifier: Apache-2.0
// Fourier transforms, windows, and losses.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>

#include "models/evaluate/kernel.hpp"
#include "models/evaluate/strides.hpp"

namespace assay::evaluate {
namespace {

using Complex = std::complex<double>;

constexpr std::int64_t kMostBins = std::int64_t{1} << 26;

/// The discrete Fourier transform of one length.
class Fourier {
 public:
  Fourier(std::int64_t length, bool inverse) : length_(length), inverse_(inverse) {
    for (std::int64_t i = 0; i < length; ++i) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(length);
      roots_.emplace_back(std::cos(angle), inverse ? std::sin(angle) : -std::sin(angle));
    }
  }

  /// Both have `length` elements. The inverse is divided by the length.
  void transform(const std::vector<Complex>& x, std::vector<Complex>& y) const {
    y.resize(static_cast<std::size_t>(length_));
    part(x.data(), 1, y.data(), length_);
    if (inverse_)
      for (Complex& one : y) one /= static_cast<double>(length_);
  }

 private:
  // Every `step`-th element of x: halves are transformed by themselves as long as they are halves.
  void part(const Complex* x, std::int64_t step, Complex* y, std::int64_t count) const {
    if (count % 2 != 0) {
      for (std::int64_t k = 0; k < count; ++k) {
        Complex sum = 0;
        for (std::int64_t i = 0; i < count; ++i) sum += x[i * step] * root(i * k % count * step);
        y[k] = sum;
      }
      return;
    }
    const std::int64_t half = count / 2;
    part(x, 2 * step, y, half);
    part(x + step, 2 * step, y + half, half);
    for (std::int64_t k = 0; k < half; ++k) {
      const Complex even = y[k], odd = y[half + k] * root(k * step);
      y[k] = even + odd;
      y[half + k] = even - odd;
    }
  }
  [[nodiscard]] Complex root(std::int64_t i) const { return roots_[static_cast<std::size_t>(i)]; }

  std::int64_t length_;
  bool inverse_;
  std::vector<Complex> roots_;
};

/// What a node asks of its transform, along one axis of [outer, extent, inner, 1 or 2].
struct Spectrum {
  std::int64_t length = 0;  ///< number of elements of the transform
  bool inverse = false, one_sided = false;

  [[nodiscard]] bool gives_reals() const { return inverse && one_sided; }
  [[nodiscard]] std::int64_t bins() const { return one_sided && !inverse ? length / 2 + 1 : length; }
};

// The second half of the spectrum of real numbers mirrors the first.
void mirror(std::vector<Complex>& x) {
  const std::size_t n = x.size();
  if (n == 0) return;
  x[0] = x[0].real();
  for (std::size_t k = n / 2 + 1; k < n; ++k) x[k] = std::conj(x[n - k]);
  if (n % 2 == 0) x[n / 2] = x[n / 2].real();
}

Result<Value> spectrum_of(const Call& call, const Value& x, std::int64_t axis, const Spectrum& wanted) {
  const std::int64_t parts_of_number = x.shape().back();
  if (wanted.length < 1 || wanted.length > kMostBins)
    return call.invalid("a transform of " + std::to_string(wanted.length) + " elements");
  Shape shape = x.shape();
  const Around parts = around(Shape(shape.begin(), shape.end() - 1), axis);
  const std::int64_t bins = wanted.bins(), width = wanted.gives_reals() ? 1 : 2;
  shape[static_cast<std::size_t>(axis)] = bins;
  shape.back() = width;
  ASSAY_TRY(const std::size_t count, call.elements_of(shape));
  Reals y(count);
  const Fourier fourier(wanted.length, wanted.inverse);
  const std::int64_t read = std::min(parts.extent, wanted.gives_reals() ? wanted.length / 2 + 1 : wanted.length);
  parallel(call.threads(), parts.outer * parts.inner, 20.0 * static_cast<double>(wanted.length),
           [&](std::int64_t begin, std::int64_t end) {
             std::vector<Complex> from, to;
             for (std::int64_t item = begin; item < end; ++item) {
               const std::int64_t o = item / parts.inner, i = item % parts.inner;
               from.assign(static_cast<std::size_t>(wanted.length), 0);
               for (std::int64_t k = 0; k < read; ++k) {
                 const auto at = static_cast<std::size_t>(((o * parts.extent + k) * parts.inner + i) * parts_of_number);
                 from[static_cast<std::size_t>(k)] = {x.reals()[at], parts_of_number == 2 ? x.reals()[at + 1] : 0.0};
               }
               if (wanted.gives_reals()) mirror(from);
               fourier.transform(from, to);
               for (std::int64_t k = 0; k < bins; ++k) {
                 const auto at = static_cast<std::size_t>(((o * bins + k) * parts.inner + i) * width);
                 y[at] = to[static_cast<std::size_t>(k)].real();
                 if (width == 2) y[at + 1] = to[static_cast<std::size_t>(k)].imag();
               }
             }
           });
  return Value(x.dtype(), std::move(shape), std::move(y));
}

Outputs fourier_transform(const Call& call) {
  ASSAY_TRY([[maybe_unused]] const auto x, call.reals(0));
  const std::int64_t rank = call.operand(0).rank();
  if (rank < 2 || call.shape(0).back() < 1 || call.shape(0).back() > 2)
    return call.invalid("its operand does not end with an axis of 1 or 2");
  std::int64_t axis = call.integer("axis", 1);
  if (call.opset() >= 20) {
    axis = -2;
    if (call.has(2)) {
      ASSAY_TRY(axis, call.integer_scalar(2));
    }
  }
  ASSAY_TRY(axis, call.axis(axis, rank));
  if (axis == rank - 1) return call.invalid("its axis is the last one, which has the parts of complex numbers");
  Spectrum wanted{.inverse = call.integer("inverse", 0) != 0, .one_sided = call.integer("onesided", 0) != 0};
  const std::int64_t extent = call.operand(0).extent(axis);
  wanted.length = wanted.gives_reals() ? 2 * (extent - 1) : extent;
  if (call.has(1)) {
    ASSAY_TRY(wanted.length, call.integer_scalar(1));
  }
  ASSAY_TRY(Value y, spectrum_of(call, call.operand(0), axis, wanted));
  return Values{std::move(y)};
}

// Frames of a signal, each weighted by the window and transformed.
Outputs short_time_transform(const Call& call) {
  ASSAY_TRY(const auto x, call.reals(0));
  Shape in = call.shape(0);
  if (in.size() == 2) in.push_back(1);
  if (in.size() != 3 || in[2] < 1 || in[2] > 2) return call.invalid("its signal has another rank than 3");
  ASSAY_TRY(const std::int64_t step, call.integer_scalar(1));
  std::span<const double> window;
  std::int64_t length = in[1];
  if (call.has(2)) {
    ASSAY_TRY(window, call.reals(2));
    length = static_cast<std::int64_t>(window.size());
  }
  if (call.has(3)) {
    ASSAY_TRY(length, call.integer_scalar(3));
  }
  if (step < 1 || length < 1 || length > in[1])
    return call.invalid("frames of " + std::to_string(length) + " elements every " + std::to_string(step) + " of " +
                        std::to_string(in[1]));
  const std::int64_t frames = 1 + (in[1] - length) / step,
                     size = window.empty() ? length : static_cast<std::int64_t>(window.size());
  const Shape shape{in[0], frames, size, in[2]};
  ASSAY_TRY(const std::size_t count, call.elements_of(shape));
  Reals cut;
  cut.reserve(count);
  for (std::int64_t b = 0; b < in[0]; ++b)
    for (std::int64_t f = 0; f < frames; ++f)
      for (std::int64_t i = 0; i < size; ++i)
        for (std::int64_t c = 0; c < in[2]; ++c) {
          const std::int64_t at = f * step + i;
          const double one = at < in[1] ? x[static_cast<std::size_t>((b * in[1] + at) * in[2] + c)] : 0;
          cut.push_back(window.empty() ? one : one * window[static_cast<std::size_t>(i)]);
        }
  const Spectrum wanted{.length = length, .one_sided = call.integer("onesided", 1) != 0};
  ASSAY_TRY(Value y, spectrum_of(call, Value(call.dtype(0), shape, std::move(cut)), 2, wanted));
  return Values{std::move(y)};
}

Result<DType> stated_type(const Call& call) {
  const auto dtype = static_cast<DType>(call.integer("output_datatype", 1));
  if (!is_real_type(dtype)) return call.unsupported("the type " + std::string(to_string(dtype)));
  return dtype;
}

// c0 − c1 cos(2πn / N) + c2 cos(4πn / N)
Outputs cosine_window(const Call& call, double c0, double c1, double c2) {
  ASSAY_TRY(const std::int64_t size, call.integer_scalar(0));
  ASSAY_TRY(const DType dtype, stated_type(call));
  ASSAY_CHECK_OK(call.elements_of({size}));
  const auto length = static_cast<double>(call.integer("periodic", 1) != 0 ? size : size - 1);
  Reals y;
  for (std::int64_t n = 0; n < size; ++n) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(n) / length;
    y.push_back(c0 - c1 * std::cos(angle) + c2 * std::cos(2 * angle));
  }
  return Values{Value(dtype, {size}, std::move(y))};
}
Outputs hann_window(const Call& call) { return cosine_window(call, 0.5, 0.5, 0); }
Outputs hamming_window(const Call& call) { return cosine_window(call, 25.0 / 46, 21.0 / 46, 0); }
Outputs blackman_window(const Call& call) { return cosine_window(call, 0.42, 0.5, 0.08); }

// Triangles over the bins of a spectrum, equally wide on the scale of mel.
Outputs mel_weight_matrix(const Call& call) {
  ASSAY_TRY(const std::int64_t bands, call.integer_scalar(0));
  ASSAY_TRY(const std::int64_t length, call.integer_scalar(1));
  ASSAY_TRY(const std::int64_t rate, call.integer_scalar(2));
  ASSAY_TRY(const double lower, call.scalar(3));
  ASSAY_TRY(const double upper, call.scalar(4));
  ASSAY_TRY(const DType dtype, stated_type(call));
  if (bands < 1 || length < 1 || rate < 1 || bands > kMostBins || length > kMostBins)
    return call.invalid("a number below 1, or a huge one");
  const std::int64_t bins = length / 2 + 1;
  const Shape shape{bins, bands};
  ASSAY_TRY(const std::size_t count, call.elements_of(shape));
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double first = mel(lower), step = (mel(upper) - first) / static_cast<double>(bands + 2);
  std::vector<std::int64_t> edges;
  for (std::int64_t i = 0; i < bands + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (first + step * static_cast<double>(i)) / 2595) - 1);
    const double bin = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    if (!(bin >= 0 && bin < static_cast<double>(bins))) return call.invalid("an edge of a band beyond the spectrum");
    edges.push_back(static_cast<std::int64_t>(bin));
  }
  Reals y(count, 0.0);
  for (std::int64_t i = 0; i < bands; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t low = edges[at], middle = edges[at + 1], high = edges[at + 2];
    const auto put = [&](std::int64_t bin, double weight) { y[static_cast<std::size_t>(bin * bands + i)] = weight; };
    for (std::int64_t j = low; j <= middle; ++j)
      put(j, low == middle ? 1 : static_cast<double>(j - low) / static_cast<double>(middle - low));
    for (std::int64_t j = middle; j < high; ++j)
      put(j, static_cast<double>(high - j) / static_cast<double>(high - middle));
  }
  return Values{Value(dtype, shape, std::move(y))};
}

// The loss of logarithms of shares [N, C, …] by the class that each place should have.
Result<Value> loss_of(const Call& call, std::span<const double> logs, const Shape& shape) {
  ASSAY_TRY(const auto targets, call.integers(1));
  Shape outer = shape;
  if (shape.size() < 2) return call.invalid("scores of rank below 2");
  outer.erase(outer.begin() + 1);
  if (call.shape(1) != outer)
    return call.invalid("classes " + to_string(call.shape(1)) + " for scores " + to_string(shape));
  const Around parts = around(shape, 1);
  std::span<const double> weights;
  if (call.has(2)) {
    ASSAY_TRY(weights, call.reals(2));
    if (static_cast<std::int64_t>(weights.size()) != parts.extent)
      return call.invalid("weights that do not fit the classes");
  }
  const bool ignores = call.node().attribute("ignore_index") != nullptr;
  const std::int64_t ignored = call.integer("ignore_index", 0);
  Reals losses;
  double sum = 0, total = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::int64_t target = targets[i], place = static_cast<std::int64_t>(i);
    if (ignores && target == ignored) {
      losses.push_back(0);
      continue;
    }
    if (target < 0 || target >= parts.extent)
      return call.invalid("a class " + std::to_string(target) + " of " + std::to_string(parts.extent));
    const double weight = weights.empty() ? 1 : weights[static_cast<std::size_t>(target)];
    losses.push_back(-weight * logs[static_cast<std::size_t>(
                                   (place / parts.inner * parts.extent + target) * parts.inner + place % parts.inner)]);
    sum += losses.back();
    total += weight;
  }
  const std::string_view reduction = call.text("reduction", "mean");
  if (reduction == "none") return Value(call.dtype(0), outer, std::move(losses));
  if (reduction != "mean" && reduction != "sum") return call.invalid("an unknown reduction");
  return Value(call.dtype(0), {}, Reals{reduction == "sum" ? sum : sum / total});
}

Outputs negative_log_likelihood(const Call& call) {
  ASSAY_TRY(const auto logs, call.reals(0));
  ASSAY_TRY(Value loss, loss_of(call, logs, call.shape(0)));
  return Values{std::move(loss)};
}

Outputs softmax_cross_entropy(const Call& call) {
  ASSAY_TRY(const auto scores, call.reals(0));
  if (call.operand(0).rank() < 2) return call.invalid("scores of rank below 2");
  const Around parts = around(call.shape(0), 1);
  Reals logs(scores.begin(), scores.end());
  for (std::int64_t i = 0; i < parts.outer * parts.inner; ++i) {
    double* const row = logs.data() + i / parts.inner * parts.extent * parts.inner + i % parts.inner;
    double most = -HUGE_VAL, total = 0;
    for (std::int64_t k = 0; k < parts.extent; ++k) most = std::max(most, row[k * parts.inner]);
    for (std::int64_t k = 0; k < parts.extent; ++k) total += std::exp(row[k * parts.inner] - most);
    for (std::int64_t k = 0; k < parts.extent; ++k) row[k * parts.inner] -= most + std::log(total);
  }
  ASSAY_TRY(Value loss, loss_of(call, logs, call.shape(0)));
  Values results{std::move(loss)};
  results.emplace_back(call.dtype(0), call.shape(0), std::move(logs));
  return results;
}

}  // namespace

Operators signal_operators() {
  return {{"BlackmanWindow", &blackman_window},       {"DFT", &fourier_transform},
          {"HammingWindow", &hamming_window},         {"HannWindow", &hann_window},
          {"MelWeightMatrix", &mel_weight_matrix, 5}, {"NegativeLogLikelihoodLoss", &negative_log_likelihood, 2},
          {"STFT", &short_time_transform, 2},         {"SoftmaxCrossEntropyLoss", &softmax_cross_entropy, 2}};
}

}  // namespace assay::evaluate
