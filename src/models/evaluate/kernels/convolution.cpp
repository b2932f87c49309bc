// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "models/evaluate/kernels/convolution.hpp"
#include "models/evaluate/kernels/product.hpp"
#include "models/evaluate/strides.hpp"

namespace assay::evaluate {

Result<graph::Window> window_of(const Call& call, const Shape& in, Shape kernel) {
  // Products of extents, strides and dilations do not overflow: each is below 2^31.
  if (std::ranges::any_of(in, [](std::int64_t extent) { return extent < 0 || extent > INT32_MAX; }))
    return call.unsupported("an input of shape " + to_string(in));
  if (const auto more = call.node().integers("output_padding");
      more && std::ranges::any_of(*more, [](std::int64_t one) { return one < 0 || one > INT32_MAX; }))
    return call.invalid("an output_padding below 0 or too large");
  auto window = graph::read_window(call.node(), in, std::move(kernel));
  if (!window) return call.invalid("it has " + window.error());
  return std::move(*window);
}

namespace {

constexpr std::int64_t kColumnsAtOnce = 4096;  // windows whose elements are copied together

std::int64_t product_of(std::span<const std::int64_t> extents) {
  std::int64_t all = 1;
  for (const std::int64_t extent : extents) all *= extent;
  return all;
}

// Counts through extents like an odometer, the last axis first.
void advance(std::vector<std::int64_t>& index, const Shape& extents) {
  for (std::size_t i = extents.size(); i-- > 0;) {
    if (++index[i] < extents[i]) return;
    index[i] = 0;
  }
}

std::vector<std::int64_t> index_at(std::int64_t place, const Shape& extents) {
  std::vector<std::int64_t> index(extents.size(), 0);
  for (std::size_t i = extents.size(); i-- > 0;) {
    index[i] = place % extents[i];
    place /= extents[i];
  }
  return index;
}

// For each element of the kernel and each window: the place in the input's spatial extents, −1 in the padding.
class Places {
 public:
  Places(const graph::Window& window, Shape in, Shape out) : window_(window), in_(std::move(in)), out_(std::move(out)) {
    taps_ = product_of(window.kernel);
  }
  [[nodiscard]] std::int64_t taps() const { return taps_; }

  // Those of windows first … first + count − 1: [taps, count].
  [[nodiscard]] std::vector<std::int64_t> of(std::int64_t first, std::int64_t count) const {
    std::vector<std::int64_t> places(static_cast<std::size_t>(taps_ * count));
    std::vector<std::int64_t> tap(in_.size(), 0);
    const std::vector<std::int64_t> strides = strides_of(in_);
    for (std::int64_t t = 0; t < taps_; ++t, advance(tap, window_.kernel)) {
      std::vector<std::int64_t> at = index_at(first, out_);
      for (std::int64_t i = 0; i < count; ++i, advance(at, out_)) {
        std::int64_t place = 0;
        for (std::size_t axis = 0; axis < in_.size() && place >= 0; ++axis) {
          const std::int64_t x =
              at[axis] * window_.stride[axis] - window_.before[axis] + tap[axis] * window_.dilation[axis];
          place = x < 0 || x >= in_[axis] ? -1 : place + x * strides[axis];
        }
        places[static_cast<std::size_t>(t * count + i)] = place;
      }
    }
    return places;
  }

 private:
  const graph::Window& window_;
  Shape in_, out_;
  std::int64_t taps_ = 1;
};

}  // namespace

Result<Value> convolution(const Call& call, const Value& x, const Value& w, const Value* bias) {
  if (x.rank() < 3 || w.rank() != x.rank() || !x.is_real() || !w.is_real())
    return call.invalid("its input or weights have another rank or type");
  const std::int64_t groups = call.integer("group", 1), batch = x.extent(0), channels = x.extent(1),
                     filters = w.extent(0), own = w.extent(1);
  if (groups < 1 || groups > std::max<std::int64_t>(channels, 1) || channels != own * groups || filters % groups != 0)
    return call.invalid("the channels do not fit the weights and the group");
  if (bias != nullptr && (!bias->is_real() || static_cast<std::int64_t>(bias->count()) != filters))
    return call.invalid("the bias is not one floating number for each filter of the weights");
  ASSAY_TRY(const graph::Window window, window_of(call, x.shape(), Shape(w.shape().begin() + 2, w.shape().end())));
  const Shape in(x.shape().begin() + 2, x.shape().end());
  Shape out, shape{batch, filters};
  for (std::size_t i = 0; i < in.size(); ++i) out.push_back(std::max<std::int64_t>(window.count(i, in[i]), 0));
  shape.insert(shape.end(), out.begin(), out.end());
  ASSAY_TRY(const std::size_t count_out, call.elements_of(shape));
  const std::int64_t size_in = product_of(in), size_out = product_of(out), per_group = filters / groups;
  const Places places(window, in, out);
  const std::int64_t depth = own * places.taps(), chunk = std::min(kColumnsAtOnce, std::max<std::int64_t>(size_out, 1));
  ASSAY_CHECK_OK(call.elements_of({own, places.taps(), chunk}));
  const std::int64_t chunks = (size_out + chunk - 1) / chunk;
  Reals y(count_out, 0.0);
  const double* weights = w.reals().data();
  const double* input = x.reals().data();
  const double cost = 2.0 * static_cast<double>(filters) * static_cast<double>(depth) * static_cast<double>(chunk) *
                      static_cast<double>(batch);
  parallel(call.threads(), chunks, cost, [&](std::int64_t begin, std::int64_t end) {
    Reals columns(static_cast<std::size_t>(depth * chunk)), result(static_cast<std::size_t>(per_group * chunk));
    for (std::int64_t part = begin; part < end; ++part) {
      const std::int64_t first = part * chunk, count = std::min(chunk, size_out - first);
      const std::vector<std::int64_t> at = places.of(first, count);
      for (std::int64_t item = 0; item < batch * groups; ++item) {
        const std::int64_t n = item / groups, g = item % groups;
        for (std::int64_t c = 0; c < own; ++c) {
          const double* from = input + (n * channels + g * own + c) * size_in;
          double* to = columns.data() + c * places.taps() * count;
          for (std::int64_t i = 0; i < places.taps() * count; ++i)
            to[i] = at[static_cast<std::size_t>(i)] < 0 ? 0.0 : from[at[static_cast<std::size_t>(i)]];
        }
        std::fill(result.begin(), result.end(), 0.0);
        add_product({weights + g * per_group * depth, depth, 1}, {columns.data(), count, 1}, result.data(), per_group,
                    depth, count, 1);
        for (std::int64_t f = 0; f < per_group; ++f) {
          const double shift = bias == nullptr ? 0.0 : bias->reals()[static_cast<std::size_t>(g * per_group + f)];
          double* to = y.data() + (n * filters + g * per_group + f) * size_out + first;
          for (std::int64_t i = 0; i < count; ++i) to[i] = result[static_cast<std::size_t>(f * count + i)] + shift;
        }
      }
    }
  });
  return Value(x.dtype(), std::move(shape), std::move(y));
}

namespace {

Outputs conv(const Call& call) {
  ASSAY_TRY(Value y, convolution(call, call.operand(0), call.operand(1), call.has(2) ? &call.operand(2) : nullptr));
  return Values{std::move(y)};
}

// Each element of the input adds its product with the kernel to the output: the transpose of a convolution.
Outputs conv_transpose(const Call& call) {
  const Value &x = call.operand(0), &w = call.operand(1);
  if (x.rank() < 3 || w.rank() != x.rank() || !x.is_real() || !w.is_real())
    return call.invalid("its input or weights have another rank or type");
  const std::int64_t groups = call.integer("group", 1), batch = x.extent(0), channels = x.extent(1), own = w.extent(1);
  if (groups < 1 || groups > std::max<std::int64_t>(channels, 1) || channels != w.extent(0) || channels % groups != 0)
    return call.invalid("the channels do not fit the weights and the group");
  ASSAY_TRY(graph::Window window, window_of(call, x.shape(), Shape(w.shape().begin() + 2, w.shape().end())));
  const Shape in(x.shape().begin() + 2, x.shape().end());
  Shape out, shape{batch, own * groups};
  const auto wanted = call.node().integers("output_shape");
  for (std::size_t i = 0; i < in.size(); ++i) {
    std::int64_t extent = window.transposed_extent(i, in[i]) + window.output_padding[i];
    if (wanted && wanted->size() >= in.size())
      extent = (*wanted)[wanted->size() - in.size() + i];
    else if (call.text("auto_pad", "NOTSET").starts_with("SAME"))
      extent = in[i] * window.stride[i];
    else
      extent -= window.before[i] + window.after[i];
    if (extent < 0) return call.invalid("its output would have a negative extent");
    out.push_back(extent);
    shape.push_back(extent);
    ASSAY_CHECK_OK(call.elements_of(shape));
    window.before[i] = graph::cut_before(call.node(), window, i, in[i], out[i]);
  }
  // A convolution of the output by this window would have the input's extents: its places are those that are added to.
  const std::int64_t size_in = product_of(in), size_out = product_of(out), from_each = channels / groups,
                     filters = own * groups;
  if (call.has(2) && static_cast<std::int64_t>(call.operand(2).count()) != filters)
    return call.invalid("the bias has another number of elements than there are filters");
  const Places places(window, out, in);
  ASSAY_CHECK_OK(call.elements_of({own, places.taps(), std::max<std::int64_t>(size_in, 1)}));
  const std::vector<std::int64_t> at = places.of(0, size_in);
  Reals y(static_cast<std::size_t>(count_of(shape)), 0.0);
  const std::int64_t depth = own * places.taps();
  const double cost = 2.0 * static_cast<double>(from_each * depth) * static_cast<double>(size_in);
  parallel(call.threads(), batch * groups, cost, [&](std::int64_t begin, std::int64_t end) {
    Reals columns(static_cast<std::size_t>(depth * size_in));
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t n = item / groups, g = item % groups;
      std::fill(columns.begin(), columns.end(), 0.0);
      add_product({w.reals().data() + g * from_each * depth, 1, depth},
                  {x.reals().data() + (n * channels + g * from_each) * size_in, size_in, 1}, columns.data(), depth,
                  from_each, size_in, 1);
      for (std::int64_t f = 0; f < own; ++f) {
        double* to = y.data() + (n * filters + g * own + f) * size_out;
        const double* from = columns.data() + f * places.taps() * size_in;
        for (std::int64_t i = 0; i < places.taps() * size_in; ++i)
          if (at[static_cast<std::size_t>(i)] >= 0) to[at[static_cast<std::size_t>(i)]] += from[i];
      }
    }
  });
  if (call.has(2)) {
    ASSAY_TRY(const auto bias, call.reals(2));
    for (std::int64_t i = 0; i < batch * filters; ++i)
      for (std::int64_t j = 0; j < size_out; ++j)
        y[static_cast<std::size_t>(i * size_out + j)] += bias[static_cast<std::size_t>(i % filters)];
  }
  return Values{Value(x.dtype(), std::move(shape), std::move(y))};
}

// Adds blocks [N, C · taps, windows] to an image [N, C, spatial…].
Outputs columns_to_image(const Call& call) {
  ASSAY_TRY(const auto x, call.reals(0));
  ASSAY_TRY(const auto image, call.integers(1));
  ASSAY_TRY(const auto block, call.integers(2));
  if (call.operand(0).rank() != 3 || image.size() != block.size()) return call.invalid("its operands have other ranks");
  const Shape out(image.begin(), image.end());
  Shape all{call.shape(0)[0], 1};
  all.insert(all.end(), out.begin(), out.end());
  const Shape kernel(block.begin(), block.end());
  ASSAY_CHECK_OK(call.elements_of(all));
  ASSAY_CHECK_OK(call.elements_of(kernel));
  ASSAY_TRY(const graph::Window window, window_of(call, all, kernel));
  Shape in;
  for (std::size_t i = 0; i < out.size(); ++i) in.push_back(window.count(i, out[i]));
  ASSAY_CHECK_OK(call.elements_of(in));
  const Places places(window, out, in);
  const std::int64_t windows = product_of(in), batch = call.shape(0)[0];
  if (windows != call.shape(0)[2] || call.shape(0)[1] % places.taps() != 0)
    return call.invalid("its blocks do not fit the image");
  const std::int64_t channels = call.shape(0)[1] / places.taps(), size = product_of(out);
  all[1] = channels;
  ASSAY_TRY(const std::size_t count, call.elements_of(all));
  ASSAY_CHECK_OK(call.elements_of({places.taps(), windows}));
  const std::vector<std::int64_t> at = places.of(0, windows);
  Reals y(count, 0.0);
  for (std::int64_t c = 0; c < batch * channels; ++c)
    for (std::int64_t i = 0; i < places.taps() * windows; ++i)
      if (at[static_cast<std::size_t>(i)] >= 0)
        y[static_cast<std::size_t>(c * size + at[static_cast<std::size_t>(i)])] +=
            x[static_cast<std::size_t>(c * places.taps() * windows + i)];
  return Values{Value(call.dtype(0), std::move(all), std::move(y))};
}

}  // namespace

Operators convolution_operators() {
  return {{"Col2Im", &columns_to_image, 3}, {"Conv", &conv, 2}, {"ConvTranspose", &conv_transpose, 2}};
}

}  // namespace assay::evaluate
