// SPDX-License-Identifier: Apache-2.0
#include "models/evaluate/kernels/elementwise.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

namespace assay::evaluate {
namespace {

std::uint64_t bits_of(std::int64_t x) { return static_cast<std::uint64_t>(x); }
std::int64_t as_signed(std::uint64_t x) { return static_cast<std::int64_t>(x); }

// Arithmetic of integers, on the low 64 bits. What is divided by 0 is 0: runtimes differ, and no model depends on it.
std::int64_t add(DType, std::int64_t a, std::int64_t b) { return as_signed(bits_of(a) + bits_of(b)); }
std::int64_t subtract(DType, std::int64_t a, std::int64_t b) { return as_signed(bits_of(a) - bits_of(b)); }
std::int64_t multiply(DType, std::int64_t a, std::int64_t b) { return as_signed(bits_of(a) * bits_of(b)); }
std::int64_t divide(DType dtype, std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (dtype == DType::kUInt64) return as_signed(bits_of(a) / bits_of(b));
  return b == -1 ? as_signed(0 - bits_of(a)) : a / b;
}

double add(DType, double a, double b) { return a + b; }
double subtract(DType, double a, double b) { return a - b; }
double multiply(DType, double a, double b) { return a * b; }
double divide(DType, double a, double b) { return a / b; }

// One of the functions above, as a type.
#define ASSAY_BINARY(Name, function)               \
  struct Name {                                    \
    template <class T>                             \
    auto operator()(DType dtype, T a, T b) const { \
      return function(dtype, a, b);                \
    }                                              \
  }
ASSAY_BINARY(Add, add);
ASSAY_BINARY(Subtract, subtract);
ASSAY_BINARY(Multiply, multiply);
ASSAY_BINARY(Divide, divide);
ASSAY_BINARY(Less, is_less);
ASSAY_BINARY(Least, least_of);
ASSAY_BINARY(Largest, largest_of);
#undef ASSAY_BINARY
struct Greater {
  template <class T>
  bool operator()(DType dtype, T a, T b) const {
    return is_less(dtype, b, a);
  }
};
struct LessOrEqual {
  template <class T>
  bool operator()(DType dtype, T a, T b) const {
    return a == b || is_less(dtype, a, b);
  }
};
struct GreaterOrEqual {
  template <class T>
  bool operator()(DType dtype, T a, T b) const {
    return a == b || is_less(dtype, b, a);
  }
};
struct Equal {
  template <class T>
  bool operator()(DType, T a, T b) const {
    return a == b;
  }
};

Result<Shape> common_shape(const Call& call, const Value& a, const Value& b) {
  const std::optional<Shape> shape = broadcast(a.shape(), b.shape());
  if (!shape)
    return call.invalid("the shapes " + to_string(a.shape()) + " and " + to_string(b.shape()) + " do not fit together");
  ASSAY_CHECK_OK(call.elements_of(*shape));
  return *shape;
}

// Before operator set 7 the second operand was aligned at `axis` of the first, if `broadcast` was set.
Value aligned(const Call& call, const Value& a, const Value& b) {
  const std::int64_t axis = call.integer("axis", -1);
  if (call.opset() >= 7 || call.integer("broadcast", 0) == 0 || axis < 0 || axis > a.rank()) return b;
  Shape shape = b.shape();
  while (static_cast<std::int64_t>(shape.size()) + axis < a.rank()) shape.push_back(1);
  return b.with_shape(std::move(shape));
}

template <class F>
Result<Value> arithmetic(const Call& call, const Value& a, const Value& b) {
  if (a.is_real() != b.is_real()) return call.invalid("its operands have different types");
  ASSAY_TRY(const Shape to, common_shape(call, a, b));
  const DType dtype = a.dtype();
  if (a.is_real())
    return Value(a.dtype(), to,
                 combined<double>(a.reals(), a.shape(), b.reals(), b.shape(), to,
                                  [&](double x, double y) { return F{}(dtype, x, y); }));
  return Value(
      a.dtype(), to,
      combined<std::int64_t>(a.integers(), a.shape(), b.integers(), b.shape(), to,
                             [&](std::int64_t x, std::int64_t y) { return wrapped_to(dtype, F{}(dtype, x, y)); }));
}

template <class F>
Outputs binary(const Call& call) {
  const Value b = aligned(call, call.operand(0), call.operand(1));
  ASSAY_TRY(Value result, arithmetic<F>(call, call.operand(0), b));
  return Values{std::move(result)};
}

template <class F>
Outputs variadic(const Call& call) {
  Value result = call.operand(0);
  for (std::size_t i = 1; i < call.operand_count(); ++i) {
    ASSAY_TRY(result, arithmetic<F>(call, result, call.operand(i)));
  }
  return Values{std::move(result)};
}

Outputs mean(const Call& call) {
  ASSAY_TRY(Values sum, variadic<Add>(call));
  if (!sum[0].is_real()) return call.invalid("its operands are not floating");
  Reals all(sum[0].reals().begin(), sum[0].reals().end());
  for (double& x : all) x /= static_cast<double>(call.operand_count());
  return Values{Value(sum[0].dtype(), sum[0].shape(), std::move(all))};
}

template <class F>
Outputs compared(const Call& call) {
  const Value& a = call.operand(0);
  const Value b = aligned(call, a, call.operand(1));
  if (a.is_real() != b.is_real()) return call.invalid("its operands have different types");
  ASSAY_TRY(const Shape to, common_shape(call, a, b));
  const DType dtype = a.dtype();
  Integers result =
      a.is_real() ? combined<std::int64_t>(a.reals(), a.shape(), b.reals(), b.shape(), to,
                                           [&](double x, double y) { return F{}(dtype, x, y) ? 1 : 0; })
                  : combined<std::int64_t>(a.integers(), a.shape(), b.integers(), b.shape(), to,
                                           [&](std::int64_t x, std::int64_t y) { return F{}(dtype, x, y) ? 1 : 0; });
  return Values{Value(DType::kBool, to, std::move(result))};
}

template <class F>
Outputs of_integers(const Call& call) {
  const Value& a = call.operand(0);
  const Value b = aligned(call, a, call.operand(1));
  if (a.is_real() || b.is_real()) return call.invalid("its operands are not integers");
  ASSAY_TRY(const Shape to, common_shape(call, a, b));
  const DType dtype = a.dtype();
  return Values{
      Value(dtype, to,
            combined<std::int64_t>(a.integers(), a.shape(), b.integers(), b.shape(), to,
                                   [&](std::int64_t x, std::int64_t y) { return wrapped_to(dtype, F{}(x, y)); }))};
}
struct And {
  std::int64_t operator()(std::int64_t a, std::int64_t b) const { return a & b; }
};
struct Or {
  std::int64_t operator()(std::int64_t a, std::int64_t b) const { return a | b; }
};
struct Xor {
  std::int64_t operator()(std::int64_t a, std::int64_t b) const { return a ^ b; }
};
// Bits that leave the type are lost. A shift beyond its width, or a negative one, moves all of them out.
Outputs bit_shift(const Call& call) {
  const Value &a = call.operand(0), &b = call.operand(1);
  if (a.is_real() || b.is_real()) return call.invalid("its operands are not integers");
  ASSAY_TRY(const Shape to, common_shape(call, a, b));
  const DType dtype = a.dtype();
  const bool left = call.text("direction", "") == "LEFT", fills = !is_unsigned(dtype);
  const auto shifted = [&](std::int64_t x, std::int64_t by) {
    if (by < 0 || by >= bit_width(dtype)) return !left && fills && x < 0 ? std::int64_t{-1} : std::int64_t{0};
    if (left) return wrapped_to(dtype, as_signed(bits_of(x) << bits_of(by)));
    return fills ? x >> by : as_signed(bits_of(x) >> bits_of(by));
  };
  return Values{
      Value(dtype, to, combined<std::int64_t>(a.integers(), a.shape(), b.integers(), b.shape(), to, shifted))};
}

// The same bits as elements of another type that is as wide.
Outputs bit_cast_to(const Call& call) {
  const auto to = static_cast<DType>(call.integer("to", 0));
  const bool known = is_real_type(to) || to == DType::kBool || is_integer(to);
  if (!known) return call.unsupported("the type " + std::string(to_string(to)));
  if (bit_width(to) != bit_width(call.dtype(0))) return call.invalid("a type of another width");
  ASSAY_TRY(const Tensor bits, call.operand(0).to_tensor());
  ASSAY_TRY(Value result, Value::from({to, call.shape(0), bits.bytes()}));
  return Values{std::move(result)};
}

// The low 64 bits of a power of integers. What a negative exponent makes smaller than 1, and 0 to such a power, is 0.
std::int64_t integer_power(std::int64_t base, std::int64_t exponent, bool exponent_is_signed) {
  if (exponent_is_signed && exponent < 0) return base == 1 || base == -1 ? (exponent % 2 == 0 ? 1 : base) : 0;
  std::uint64_t result = 1, factor = bits_of(base);
  for (std::uint64_t rest = bits_of(exponent); rest != 0; rest >>= 1U, factor *= factor)
    if ((rest & 1U) != 0) result *= factor;
  return as_signed(result);
}

Outputs power(const Call& call) {
  const Value &a = call.operand(0), &b = call.operand(1);
  ASSAY_TRY(const Shape to, common_shape(call, a, b));
  if (!a.is_real() && !b.is_real()) {
    const bool is_signed = !is_unsigned(b.dtype());
    return Values{Value(a.dtype(), to,
                        combined<std::int64_t>(a.integers(), a.shape(), b.integers(), b.shape(), to,
                                               [&](std::int64_t x, std::int64_t y) {
                                                 return wrapped_to(a.dtype(), integer_power(x, y, is_signed));
                                               }))};
  }
  const auto convert = [](const Value& value) {
    Reals all(value.count());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = value.number(i);
    return all;
  };
  const Reals x = convert(a), y = convert(b);
  Reals result = combined<double>(x, a.shape(), y, b.shape(), to,
                                  [](double base, double exponent) { return std::pow(base, exponent); });
  if (a.is_real()) return Values{Value(a.dtype(), to, std::move(result))};
  Integers whole(result.size());
  for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = truncated_to(a.dtype(), result[i]);
  return Values{Value(a.dtype(), to, std::move(whole))};
}

struct PythonMod {
  std::int64_t operator()(DType dtype, std::int64_t a, std::int64_t b) const {
    if (b == 0) return 0;
    if (dtype == DType::kUInt64) return as_signed(bits_of(a) % bits_of(b));
    if (b == -1) return 0;
    const std::int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  double operator()(DType, double a, double b) const {
    const double rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
};
struct CMod {
  std::int64_t operator()(DType dtype, std::int64_t a, std::int64_t b) const {
    if (b == 0) return 0;
    if (dtype == DType::kUInt64) return as_signed(bits_of(a) % bits_of(b));
    return b == -1 ? 0 : a % b;
  }
  double operator()(DType, double a, double b) const { return std::fmod(a, b); }
};
Outputs modulo(const Call& call) { return call.integer("fmod", 0) != 0 ? binary<CMod>(call) : binary<PythonMod>(call); }

Outputs invert(const Call& call) {
  ASSAY_TRY(const auto x, call.integers(0));
  const DType dtype = call.dtype(0);
  Integers y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = dtype == DType::kBool ? 1 - x[i] : wrapped_to(dtype, ~x[i]);
  return Values{Value(dtype, call.shape(0), std::move(y))};
}

// Functions that integers have too.
template <class F>
Outputs map_numbers(const Call& call) {
  const DType dtype = call.dtype(0);
  if (call.operand(0).is_real()) return map_reals(call, F{});
  const auto x = call.operand(0).integers();
  Integers y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = wrapped_to(dtype, F{}(dtype, x[i]));
  return Values{Value(dtype, call.shape(0), std::move(y))};
}
struct Absolute {
  double operator()(double x) const { return std::abs(x); }
  std::int64_t operator()(DType dtype, std::int64_t x) const {
    return x < 0 && !is_unsigned(dtype) ? as_signed(0 - bits_of(x)) : x;
  }
};
struct Negative {
  double operator()(double x) const { return -x; }
  std::int64_t operator()(DType, std::int64_t x) const { return as_signed(0 - bits_of(x)); }
};
struct Sign {
  double operator()(double x) const { return std::isnan(x) ? x : x > 0 ? 1 : x < 0 ? -1 : 0; }
  std::int64_t operator()(DType dtype, std::int64_t x) const {
    return x == 0 ? 0 : x < 0 && !is_unsigned(dtype) ? -1 : 1;
  }
};
struct Floor {
  double operator()(double x) const { return std::floor(x); }
  std::int64_t operator()(DType, std::int64_t x) const { return x; }
};
struct Ceil {
  double operator()(double x) const { return std::ceil(x); }
  std::int64_t operator()(DType, std::int64_t x) const { return x; }
};
struct Round {  // halves to even
  double operator()(double x) const { return std::nearbyint(x); }
  std::int64_t operator()(DType, std::int64_t x) const { return x; }
};

template <double (*F)(double)>
Outputs map(const Call& call) {
  return map_reals(call, [](double x) { return F(x); });
}
double reciprocal(double x) { return 1 / x; }
double square_root(double x) { return std::sqrt(x); }

template <class F>
Outputs classified(const Call& call) {
  ASSAY_TRY(const auto x, call.reals(0));
  Integers y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = F{}(call, x[i]) ? 1 : 0;
  return Values{Value(DType::kBool, call.shape(0), std::move(y))};
}
struct IsNan {
  bool operator()(const Call&, double x) const { return std::isnan(x); }
};
struct IsInfinite {
  bool operator()(const Call& call, double x) const {
    return std::isinf(x) && call.integer(x > 0 ? "detect_positive" : "detect_negative", 1) != 0;
  }
};

Outputs where(const Call& call) {
  ASSAY_CHECK_OK(call.integers(0));
  if (call.operand(1).is_real() != call.operand(2).is_real()) return call.invalid("its operands have different types");
  ASSAY_TRY(const Shape both, common_shape(call, call.operand(1), call.operand(2)));
  const std::optional<Shape> all = broadcast(call.shape(0), both);
  if (!all)
    return call.invalid("the shapes " + to_string(call.shape(0)) + " and " + to_string(both) + " do not fit together");
  const Shape& to = *all;
  ASSAY_CHECK_OK(call.elements_of(to));
  const Value chosen = repeated(call.operand(0), to), yes = repeated(call.operand(1), to),
              no = repeated(call.operand(2), to);
  const auto choose = [&](auto x, auto y) {
    using T = std::remove_cvref_t<decltype(x[0])>;
    std::vector<T> result(x.begin(), x.end());
    for (std::size_t i = 0; i < result.size(); ++i)
      if (chosen.integers()[i] == 0) result[i] = y[i];
    return Values{Value(yes.dtype(), to, std::move(result))};
  };
  return yes.is_real() ? choose(yes.reals(), no.reals()) : choose(yes.integers(), no.integers());
}

Outputs clip(const Call& call) {
  const Value& x = call.operand(0);
  if (!x.is_real()) {
    Integers y(x.integers().begin(), x.integers().end());
    if (call.has(1)) {
      ASSAY_TRY(const std::int64_t low, call.integer_scalar(1));
      for (std::int64_t& one : y) one = largest_of(x.dtype(), one, low);
    }
    if (call.has(2)) {
      ASSAY_TRY(const std::int64_t high, call.integer_scalar(2));
      for (std::int64_t& one : y) one = least_of(x.dtype(), one, high);
    }
    return Values{Value(x.dtype(), x.shape(), std::move(y))};
  }
  double low = call.number("min", -std::numeric_limits<float>::infinity());
  double high = call.number("max", std::numeric_limits<float>::infinity());
  if (call.has(1)) {
    ASSAY_TRY(low, call.scalar(1));
  }
  if (call.has(2)) {
    ASSAY_TRY(high, call.scalar(2));
  }
  return map_reals(call, [=](double one) { return std::isnan(one) ? one : std::min(std::max(one, low), high); });
}

// A number as an element of another type. What integers do not have is cut off, and unspecified beyond their range.
Value cast(const Value& x, DType to) {
  if (is_real_type(to)) {
    Reals y(x.count());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double number = x.number(i);
      y[i] = bit_width(to) < 32 || (!x.is_real() && to == DType::kFloat32) ? rounded_to(to, number) : number;
    }
    return {to, x.shape(), std::move(y)};
  }
  Integers y(x.count());
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (!x.is_real()) {
      y[i] = wrapped_to(to, x.integers()[i]);
    } else if (to == DType::kBool) {
      y[i] = x.reals()[i] != 0 ? 1 : 0;
    } else {
      y[i] = truncated_to(to, x.reals()[i]);
    }
  }
  return {to, x.shape(), std::move(y)};
}

Result<Value> cast_checked(const Call& call, DType to) {
  const bool known = is_real_type(to) || to == DType::kBool || (is_integer(to) && bit_width(to) >= 4);
  if (!known) return call.unsupported("the type " + std::string(to_string(to)));
  return cast(call.operand(0), to);
}

Outputs cast_to(const Call& call) {
  ASSAY_TRY(Value result, cast_checked(call, static_cast<DType>(call.integer("to", 0))));
  return Values{std::move(result)};
}
Outputs cast_like(const Call& call) {
  ASSAY_TRY(Value result, cast_checked(call, call.dtype(1)));
  return Values{std::move(result)};
}

}  // namespace

Operators elementwise_operators() {
  return {{"Abs", &map_numbers<Absolute>},
          {"Acos", &map<std::acos>},
          {"Acosh", &map<std::acosh>},
          {"Add", &binary<Add>, 2},
          {"And", &of_integers<And>, 2},
          {"Asin", &map<std::asin>},
          {"Asinh", &map<std::asinh>},
          {"Atan", &map<std::atan>},
          {"Atanh", &map<std::atanh>},
          {"BitCast", &bit_cast_to},
          {"BitShift", &bit_shift, 2},
          {"BitwiseAnd", &of_integers<And>, 2},
          {"BitwiseNot", &invert},
          {"BitwiseOr", &of_integers<Or>, 2},
          {"BitwiseXor", &of_integers<Xor>, 2},
          {"Cast", &cast_to},
          {"CastLike", &cast_like, 2},
          {"Ceil", &map_numbers<Ceil>},
          {"Clip", &clip},
          {"Cos", &map<std::cos>},
          {"Cosh", &map<std::cosh>},
          {"Div", &binary<Divide>, 2},
          {"Equal", &compared<Equal>, 2},
          {"Erf", &map<std::erf>},
          {"Exp", &map<std::exp>},
          {"Floor", &map_numbers<Floor>},
          {"Greater", &compared<Greater>, 2},
          {"GreaterOrEqual", &compared<GreaterOrEqual>, 2},
          {"IsInf", &classified<IsInfinite>},
          {"IsNaN", &classified<IsNan>},
          {"Less", &compared<Less>, 2},
          {"LessOrEqual", &compared<LessOrEqual>, 2},
          {"Log", &map<std::log>},
          {"Max", &variadic<Largest>},
          {"Mean", &mean},
          {"Min", &variadic<Least>},
          {"Mod", &modulo, 2},
          {"Mul", &binary<Multiply>, 2},
          {"Neg", &map_numbers<Negative>},
          {"Not", &invert},
          {"Or", &of_integers<Or>, 2},
          {"Pow", &power, 2},
          {"Reciprocal", &map<reciprocal>},
          {"Round", &map_numbers<Round>},
          {"Sign", &map_numbers<Sign>},
          {"Sin", &map<std::sin>},
          {"Sinh", &map<std::sinh>},
          {"Sqrt", &map<square_root>},
          {"Sub", &binary<Subtract>, 2},
          {"Sum", &variadic<Add>},
          {"Tan", &map<std::tan>},
          {"Where", &where, 3},
          {"Xor", &of_integers<Xor>, 2}};
}

}  // namespace assay::evaluate
