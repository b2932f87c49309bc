// SPDX-License-Identifier: Apache-2.0
// Operands, attributes and shapes that no kernel may trust.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <random>
#include <set>

#include "models/evaluate/kernels_testing.hpp"

namespace assay::evaluate {
namespace {
using testing::compute;
using testing::first_of;
using testing::floats;
using ::testing::HasSubstr;
using testing::list;
using testing::longs;
using testing::number;
using testing::numbers;
using testing::reals_of;
using testing::text;

constexpr std::int64_t kHuge = std::int64_t{1} << 40;

ErrorCode refused(const Outputs& results) {
  EXPECT_FALSE(results);
  return results ? ErrorCode::kInternal : results.error().code;
}

TEST(KernelLimits, AShapeWhoseProductOverflowsIsRefused) {
  const Value x = floats({4}, {1, 2, 3, 4}), repeats = list({4611686018427387905});
  EXPECT_EQ(refused(compute("Tile", 13, {&x, &repeats})), ErrorCode::kOutOfMemory);
  const Value row = floats({1, 1}, {1}), pads = list({kHuge, kHuge, 0, 0});
  EXPECT_EQ(refused(compute("Pad", 13, {&row, &pads})), ErrorCode::kOutOfMemory);
  const Value tall = floats({kHuge, 0}, {}), wide = floats({0, kHuge}, {});
  EXPECT_EQ(refused(compute("MatMul", 13, {&tall, &wide})), ErrorCode::kOutOfMemory);
  const Value extents = list({kHuge, kHuge, kHuge, 0});
  EXPECT_EQ(refused(compute("ConstantOfShape", 13, {&extents})), ErrorCode::kOutOfMemory);
  const Value image = floats({1, 1, 2, 2}, {1, 2, 3, 4}), kernel = floats({1, 1, 1, 1}, {1});
  const Integers output_shape{std::int64_t{1} << 32, std::int64_t{1} << 32};
  EXPECT_EQ(refused(compute("ConvTranspose", 13, {&image, &kernel}, {numbers("output_shape", output_shape)})),
            ErrorCode::kOutOfMemory);
}

TEST(KernelLimits, ATensorThatTheMemoryHasNoRoomForIsRefused) {
  const Value column = floats({600, 1}, Reals(600, 1.0)), row = floats({600}, Reals(600, 1.0));
  const auto add = [&](std::int64_t most) { return compute("Add", 14, {&column, &row}, {}, "", 1, most); };
  EXPECT_TRUE(add(600 * 600));
  const Outputs results = add(600 * 600 - 1);
  EXPECT_EQ(refused(results), ErrorCode::kOutOfMemory);
  EXPECT_THAT(results.error().message, HasSubstr("[600, 600]"));
}

TEST(KernelLimits, MaxUnpoolRefusesNegativeExtents) {
  const Value x = floats({1, 1, 2, 2}, {1, 2, 3, 4}), places = longs({1, 1, 2, 2}, {5, 5, 5, 5}),
              shape = list({1, 1, 3, 3});
  const Integers kernel{1, 1}, pads{3, 3, 2, 2};
  EXPECT_EQ(refused(compute("MaxUnpool", 11, {&x, &places, &shape},
                            {numbers("kernel_shape", kernel), numbers("pads", pads)})),
            ErrorCode::kInvalidArgument);
}

TEST(KernelLimits, GatherNdComparesItsBatches) {
  const Value data = floats({1, 3}, {1, 2, 3}), indices = longs({5, 1}, {0, 0, 0, 0, 0});
  EXPECT_EQ(refused(compute("GatherND", 13, {&data, &indices}, {number("batch_dims", 1)})),
            ErrorCode::kInvalidArgument);
}

TEST(KernelLimits, ABiasOfIntegersIsRefused) {
  const Value x = floats({1, 1, 2}, {1, 2}), w = floats({1, 1, 1}, {1}), bias = list({1});
  EXPECT_EQ(refused(compute("Conv", 13, {&x, &w, &bias})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused(compute("ConvTranspose", 13, {&x, &w, &bias})), ErrorCode::kInvalidArgument);
}

TEST(KernelLimits, ACircularCacheWithoutElements) {
  const Value cache = floats({1, 0, 2}, {}), update = floats({1, 1, 2}, {1, 2});
  EXPECT_EQ(refused(compute("TensorScatter", 24, {&cache, &update}, {text("mode", "circular")})),
            ErrorCode::kInvalidArgument);
}

// The rows of the mask are those of queries behind the past, which may be more than keys.
TEST(KernelLimits, ASquareMaskHasARowForEachQuery) {
  const Value q = floats({1, 3, 2}, Reals(6, 1.0)), k = floats({1, 1, 2}, Reals(2, 1.0)),
              mask(DType::kInt32, {1, 1, 2, 2}, Integers{1, 1, 1, 1});
  EXPECT_EQ(refused(compute("MultiHeadAttention", 1, {&q, &k, &k, nullptr, &mask}, {number("num_heads", 1)},
                            "com.microsoft")),
            ErrorCode::kInvalidArgument);
}

TEST(KernelLimits, TheDeterminantOfAMatrixWithoutElementsIs1) {
  const Value x = floats({2, 0, 0}, {});
  EXPECT_EQ(reals_of(first_of(compute("Det", 22, {&x}))), (Reals{1, 1}));
}

TEST(KernelLimits, AnExceptionOfAnyThreadReachesTheCaller) {
  for (const int threads : {1, 4})
    EXPECT_THROW(parallel(threads, 64, 1e9, [](std::int64_t, std::int64_t) { throw std::bad_alloc(); }),
                 std::bad_alloc);
}

/// Operands of random types, ranks and elements, and attributes of random values: mostly nonsense.
class Nonsense {
 public:
  /// `huge`: some integers and extents are among the largest that an int64 has, or powers of 2 that overflow in
  /// products.
  explicit Nonsense(std::uint32_t seed, bool huge) : random_(seed), huge_(huge) {}

  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint32_t>(end));
  }

  std::int64_t integer(std::int64_t usual) {
    constexpr std::int64_t k2To31 = std::int64_t{1} << 31, k2To62 = std::int64_t{1} << 62;
    constexpr std::array kAll{k2To31 - 1, k2To31,    k2To31 + 1, std::int64_t{1} << 32, kHuge,  kHuge + 1, k2To62,
                              k2To62 + 1, INT64_MAX, INT64_MIN,  INT64_MIN + 1,         -k2To31};
    return huge_ && below(4) == 0 ? kAll[static_cast<std::size_t>(below(kAll.size()))] : usual;
  }

  Value value() {
    constexpr std::array kTypes{DType::kFloat32, DType::kFloat32, DType::kFloat32, DType::kInt64, DType::kInt64,
                                DType::kInt32,   DType::kBool,    DType::kUInt8,   DType::kInt8};
    const DType dtype = kTypes[static_cast<std::size_t>(below(kTypes.size()))];
    Shape shape(static_cast<std::size_t>(below(6)));
    for (std::int64_t& extent : shape) extent = below(12) == 0 ? 0 : 1 + below(4);
    // Beside an extent of 0 another one may be large.
    if (huge_ && shape.size() > 1 && below(8) == 0) {
      shape.front() = std::int64_t{1} << 18;
      shape.back() = 0;
    }
    const auto count = static_cast<std::size_t>(count_of(shape));
    Reals reals;
    Integers integers;
    for (std::size_t i = 0; i < count; ++i) {
      reals.push_back(below(20) == 0   ? std::nan("")
                      : below(20) == 0 ? HUGE_VAL
                                       : static_cast<double>(below(80) - 30) / 8);
      integers.push_back(wrapped_to(dtype, integer(below(40) == 0 ? INT64_MIN : below(9) - 3)));
    }
    return is_real_type(dtype) ? Value(dtype, std::move(shape), std::move(reals))
                               : Value(dtype, std::move(shape), std::move(integers));
  }

  std::vector<graph::Attribute> attributes() {
    static const std::vector<std::string_view> integer_names{"K",
                                                             "N",
                                                             "alpha",
                                                             "axis",
                                                             "batch_axis",
                                                             "batch_dims",
                                                             "bits",
                                                             "block_size",
                                                             "blocksize",
                                                             "ceil_mode",
                                                             "center_point_box",
                                                             "direction",
                                                             "do_rotary",
                                                             "dtype",
                                                             "exclusive",
                                                             "group",
                                                             "interleaved",
                                                             "inverse",
                                                             "is_causal",
                                                             "k",
                                                             "keepdims",
                                                             "kv_num_heads",
                                                             "largest",
                                                             "layout",
                                                             "left_window_size",
                                                             "linear_before_reset",
                                                             "num_groups",
                                                             "num_heads",
                                                             "num_outputs",
                                                             "offset_group",
                                                             "onesided",
                                                             "output_height",
                                                             "output_width",
                                                             "p",
                                                             "q_num_heads",
                                                             "reverse",
                                                             "rotary_embedding_dim",
                                                             "sampling_ratio",
                                                             "select_last_index",
                                                             "size",
                                                             "sorted",
                                                             "time_axis",
                                                             "to",
                                                             "transA",
                                                             "transB",
                                                             "unidirectional",
                                                             "upper"};
    static const std::vector<std::string_view> list_names{
        "axes",         "dilations",        "ends",  "kernel_shape", "output_padding", "output_shape", "pads", "perm",
        "pooled_shape", "qkv_hidden_sizes", "shape", "split",        "starts",         "strides"};
    static const std::vector<std::pair<std::string_view, std::string_view>> texts{
        {"mode", "linear"},
        {"mode", "cubic"},
        {"mode", "reflect"},
        {"auto_pad", "SAME_UPPER"},
        {"direction", "bidirectional"},
        {"update_rule", "linear"},
        {"equation", "ij,jk->ik"},
        {"padding_mode", "reflection"},
        {"reduction", "none"},
        {"coordinate_transformation_mode", "tf_crop_and_resize"},
        {"mode", "circular"}};
    std::vector<graph::Attribute> all;
    std::set<std::string_view> taken;
    for (std::int64_t i = below(10); i > 0; --i) {
      const std::string_view name =
          integer_names[static_cast<std::size_t>(below(static_cast<std::int64_t>(integer_names.size())))];
      if (taken.insert(name).second) all.push_back(number(name, integer(below(9) - 2)));
    }
    for (std::int64_t i = below(5); i > 0; --i) {
      const std::string_view name =
          list_names[static_cast<std::size_t>(below(static_cast<std::int64_t>(list_names.size())))];
      if (!taken.insert(name).second) continue;
      lists_.emplace_back(std::make_unique<Integers>());
      for (std::int64_t k = below(5); k > 0; --k) lists_.back()->push_back(integer(below(7) - 2));
      all.push_back(numbers(name, *lists_.back()));
    }
    if (below(2) == 0) {
      const auto& [name, content] = texts[static_cast<std::size_t>(below(static_cast<std::int64_t>(texts.size())))];
      if (taken.insert(name).second) all.push_back(text(name, content));
    }
    return all;
  }

 private:
  std::mt19937 random_;
  bool huge_;
  std::vector<std::unique_ptr<Integers>> lists_;
};

// Each kernel checks types, ranks and extents before it reads elements, whatever a file says.
void expect_answers(std::uint32_t seed, bool huge) {
  constexpr std::array<std::int64_t, 6> kOpsets{1, 7, 9, 11, 13, 23};
  constexpr std::int64_t kMost = 1 << 20;  // more would need seconds, not fail
  for (const Operator& row : operators())
    for (int round = 0; round < 150; ++round, ++seed) {
      Nonsense nonsense(seed, huge);
      Values values;
      for (std::int64_t i = static_cast<std::int64_t>(row.needed) + nonsense.below(5); i > 0; --i)
        values.push_back(nonsense.value());
      if (nonsense.below(3) == 0)  // operands of one type and shape get farther
        for (Value& one : values) one = values.front();
      std::vector<const Value*> operands;
      for (const Value& one : values)
        operands.push_back(operands.size() >= row.needed && nonsense.below(4) == 0 ? nullptr : &one);
      const std::int64_t opset = kOpsets[static_cast<std::size_t>(nonsense.below(kOpsets.size()))];
      SCOPED_TRACE(std::string(row.name) + " " + std::to_string(seed));
      try {
        const Outputs results = compute(row.name, opset, operands, nonsense.attributes(), row.domain, 1, kMost);
        if (!results) continue;
        for (const Value& one : *results) {
          ASSERT_TRUE(checked_count(one.shape()));
          EXPECT_EQ(static_cast<std::int64_t>(one.count()), count_of(one.shape()));
        }
      } catch (const std::exception& thrown) {
        ADD_FAILURE() << thrown.what();
      }
    }
}

TEST(KernelLimits, AnswerNonsenseWithAnError) { expect_answers(1, false); }
TEST(KernelLimits, AnswerHugeNumbersWithAnError) { expect_answers(1000000, true); }

}  // namespace
}  // namespace assay::evaluate
