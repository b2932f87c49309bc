// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "models/lower/operators.hpp"

namespace assay::lowering::stablehlo {

using Axes = std::vector<std::int64_t>;

/// A value of the module: its name in the text, and its type.
struct Hlo {
  std::string id;
  DType dtype = DType::kUndefined;
  Shape shape{};
  [[nodiscard]] std::int64_t rank() const { return static_cast<std::int64_t>(shape.size()); }
  /// 1 beyond the rank, as in broadcasting.
  [[nodiscard]] std::int64_t extent(std::int64_t axis) const {
    return axis >= 0 && axis < rank() ? shape[static_cast<std::size_t>(axis)] : 1;
  }
};

/// A window over spatial axes, for convolutions and pooling. All lists have one entry for each spatial axis.
struct HloWindow {
  Axes size{}, stride{}, dilation{}, before{}, after{};
  Axes base_dilation{};  ///< empty: 1
};

/// Writes the text of a StableHLO module, operation by operation. Values are named `%x…` (inputs), `%w…` (weights) and
/// `%…`. Members that make a value append an operation, or return what is there already if it would change nothing.
///
/// Axes are counted from 0. Types must fit, as StableHLO's specification says. If operands do not, a member writes
/// nothing and returns one of them, or a value of the right type; the first misfit is kept, and fault() says what it
/// is.
///
/// Layout: convolutions of XLA compute with channels last on processors, where ONNX has them second. A value may be
/// held in either order: [N, C, spatial…] or [N, spatial…, C]. Operators that work in both stay in the order that they
/// get, so that a chain of convolutions needs no transposition; all others read values in ONNX's order.
class HloWriter {
 public:
  HloWriter(const StaticProgram& program, Program& into);

  // ---- the ONNX graph

  [[nodiscard]] const StaticProgram& program() const { return *program_; }
  /// An input of a node, in ONNX's order. A constant becomes text if it has few elements, else a weight.
  /// Errors: unsupported: the input is left out, or has elements of a type that StableHLO lacks.
  [[nodiscard]] Result<Hlo> input(const graph::Node& node, std::size_t index);
  /// The same with channels last; only of rank 3 or more.
  [[nodiscard]] Result<Hlo> input_last(const graph::Node& node, std::size_t index);
  /// Whether an input is held with channels last only.
  [[nodiscard]] bool prefers_last(const graph::Node& node, std::size_t index) const;
  /// The node that makes a value; nullptr: an input or a constant.
  [[nodiscard]] const graph::Node* producer(std::string_view name) const;
  /// A constant with its axes permuted when it is loaded, not in each run. nullopt: the input is not a constant.
  [[nodiscard]] std::optional<Hlo> permuted_constant(const graph::Node& node, std::size_t index,
                                                     const Axes& permutation);

  /// Errors: unsupported: operands did not fit until now; `node` is the one that was being written.
  [[nodiscard]] Status fault(const graph::Node& node) const;
  /// Records that what `what` names cannot be written. Returns `instead`.
  Hlo misfit(const Hlo& instead, std::string what);

  /// Gives an output of a node its value. Errors: those of fault(); internal: another type or shape than the graph's.
  [[nodiscard]] Status output(const graph::Node& node, std::size_t index, const Hlo& value);
  [[nodiscard]] Status output_last(const graph::Node& node, std::size_t index, const Hlo& value);
  /// Output 0.
  [[nodiscard]] Status output(const graph::Node& node, const Hlo& value) { return output(node, 0, value); }

  /// The name of a value in the module, in ONNX's order. Errors: those of input().
  [[nodiscard]] Result<Hlo> value(std::string_view name);

  // ---- constants

  /// All elements equal. An integer type gets the number truncated; bool: whether it is not 0.
  [[nodiscard]] Hlo splat(double number, DType dtype, const Shape& shape = {});
  /// All elements equal to the first one of `element`, exactly: a double does not have all integers of 64 bits.
  [[nodiscard]] Hlo splat_of(const TensorView& element, const Shape& shape = {});
  [[nodiscard]] Hlo splat_like(double number, const Hlo& like) { return splat(number, like.dtype, like.shape); }
  /// The smallest and the largest value of a type: −∞ and ∞, if it has them.
  [[nodiscard]] Hlo lowest(DType dtype, const Shape& shape = {});
  [[nodiscard]] Hlo highest(DType dtype, const Shape& shape = {});
  [[nodiscard]] Hlo list(std::span<const std::int64_t> numbers, DType dtype = DType::kInt64);
  [[nodiscard]] Hlo list(std::span<const double> numbers, DType dtype);
  /// Elements that lowering computed: text if they are few, else a weight.
  [[nodiscard]] Hlo computed(std::span<const double> numbers, DType dtype, const Shape& shape);
  /// The tensor of an attribute. Errors: those of graph::Model::data().
  [[nodiscard]] Result<Hlo> tensor(const graph::Constant& constant, const std::string& name);
  /// 0, 1, … along an axis.
  [[nodiscard]] Hlo iota(DType dtype, const Shape& shape, std::int64_t axis);

  // ---- elementwise; operands of equal shapes

  [[nodiscard]] Hlo unary(std::string_view operation, const Hlo& x);  ///< "stablehlo.tanh", "chlo.erf"
  [[nodiscard]] Hlo binary(std::string_view operation, const Hlo& a, const Hlo& b);
  [[nodiscard]] Hlo add(const Hlo& a, const Hlo& b) { return binary("stablehlo.add", a, b); }
  [[nodiscard]] Hlo subtract(const Hlo& a, const Hlo& b) { return binary("stablehlo.subtract", a, b); }
  [[nodiscard]] Hlo multiply(const Hlo& a, const Hlo& b) { return binary("stablehlo.multiply", a, b); }
  [[nodiscard]] Hlo divide(const Hlo& a, const Hlo& b) { return binary("stablehlo.divide", a, b); }
  [[nodiscard]] Hlo maximum(const Hlo& a, const Hlo& b) { return binary("stablehlo.maximum", a, b); }
  [[nodiscard]] Hlo minimum(const Hlo& a, const Hlo& b) { return binary("stablehlo.minimum", a, b); }
  /// `direction`: EQ, NE, LT, LE, GT, GE.
  [[nodiscard]] Hlo compare(std::string_view direction, const Hlo& a, const Hlo& b);
  [[nodiscard]] Hlo select(const Hlo& condition, const Hlo& yes, const Hlo& no);
  /// As ONNX's Cast: numbers become bools by comparison with 0, fractions are cut off.
  [[nodiscard]] Hlo convert(const Hlo& x, DType dtype);

  // ---- complex numbers

  [[nodiscard]] Hlo complex(const Hlo& real, const Hlo& imaginary);
  [[nodiscard]] Hlo part_of(const Hlo& x, std::string_view part);  ///< "real", "imag"
  /// Along the last axis. `kind`: FFT, IFFT of complex numbers; IRFFT of `length` / 2 + 1 of them to real ones.
  [[nodiscard]] Hlo fourier(const Hlo& x, std::string_view kind, std::int64_t length);

  // ---- layout

  /// Operand axis i is result axis `axes[i]`.
  [[nodiscard]] Hlo broadcast_in_dim(const Hlo& x, const Shape& shape, const Axes& axes);
  /// By NumPy's rule: axes are aligned at the end.
  [[nodiscard]] Hlo broadcast(const Hlo& x, const Shape& shape);
  [[nodiscard]] Hlo reshape(const Hlo& x, const Shape& shape);
  [[nodiscard]] Hlo transpose(const Hlo& x, const Axes& permutation);
  [[nodiscard]] Hlo slice(const Hlo& x, const Axes& begin, const Axes& end, const Axes& step);
  [[nodiscard]] Hlo slice_axis(const Hlo& x, std::int64_t axis, std::int64_t begin, std::int64_t end);
  [[nodiscard]] Hlo concatenate(std::span<const Hlo> values, std::int64_t axis);
  /// Negative padding cuts off.
  [[nodiscard]] Hlo pad(const Hlo& x, const Hlo& scalar, const Axes& before, const Axes& after,
                        const Axes& between = {});
  [[nodiscard]] Hlo reverse(const Hlo& x, const Axes& axes);
  /// Channels second to channels last, and back.
  [[nodiscard]] Hlo to_last(const Hlo& x);
  [[nodiscard]] Hlo from_last(const Hlo& x);

  // ---- combining

  /// Removes the axes. `operation` combines two elements: "stablehlo.add".
  [[nodiscard]] Hlo reduce(std::string_view operation, const Hlo& x, const Hlo& start, const Axes& axes);
  /// Sums, in float32 if the type is smaller.
  [[nodiscard]] Hlo sum(const Hlo& x, const Axes& axes);
  [[nodiscard]] Hlo mean(const Hlo& x, const Axes& axes);
  [[nodiscard]] Hlo largest(const Hlo& x, const Axes& axes);
  /// Puts axes of extent 1 back where a reduction removed them.
  [[nodiscard]] Hlo keep_axes(const Hlo& reduced, const Hlo& of, const Axes& axes);
  /// Repeats what was reduced along the axes, for each element of `like`.
  [[nodiscard]] Hlo spread(const Hlo& reduced, const Hlo& like, const Axes& axes);

  /// In float32 if the type is smaller.
  [[nodiscard]] Hlo softmax(const Hlo& x, const Axes& axes);
  [[nodiscard]] Hlo log_softmax(const Hlo& x, const Axes& axes);

  struct DotAxes {
    Axes batch_a{}, batch_b{}, contract_a{}, contract_b{};
  };
  /// Result: batch axes, the other axes of a, those of b.
  [[nodiscard]] Hlo dot(const Hlo& a, const Hlo& b, const DotAxes& axes, DType result);
  /// NumPy's matmul, for operands of rank 2 or more.
  [[nodiscard]] Hlo matmul(const Hlo& a, const Hlo& b, DType result);
  /// x: [N, spatial…, C]; kernel: [spatial…, C / groups, O]; result: [N, spatial…, O].
  [[nodiscard]] Hlo convolution(const Hlo& x, const Hlo& kernel, const HloWindow& window, std::int64_t groups,
                                const Shape& shape, DType result);
  /// The window is over all axes of x.
  [[nodiscard]] Hlo reduce_window(std::string_view operation, const Hlo& x, const Hlo& start, const HloWindow& window);

  struct GatherAxes {
    Axes offset{}, collapsed{}, batch{}, index_batch{}, index_map{};
    std::int64_t vector_axis = 0;
  };
  [[nodiscard]] Hlo gather(const Hlo& x, const Hlo& indices, const GatherAxes& axes, const Axes& sizes,
                           const Shape& shape);
  /// Along one axis, as numpy.take; indices are in range. Result: axes before, those of the indices, axes after.
  [[nodiscard]] Hlo take(const Hlo& x, const Hlo& indices, std::int64_t axis);
  /// indices: [..., depth] of positions in the first axes of x; the other axes of x are copied as a whole.
  [[nodiscard]] Hlo gather_nd(const Hlo& x, const Hlo& indices);
  /// `combine`: an operation of two elements, the old and the new one; "": the new one.
  [[nodiscard]] Hlo scatter_nd(const Hlo& x, const Hlo& indices, const Hlo& updates, std::string_view combine);

  /// Writes whole slices of `axis`: places [S], updates as x with the extent S there.
  [[nodiscard]] Hlo scatter_slices(const Hlo& x, const Hlo& places, const Hlo& updates, std::int64_t axis);
  /// `starts`: a scalar for each axis.
  [[nodiscard]] Hlo dynamic_slice(const Hlo& x, std::span<const Hlo> starts, const Shape& sizes);
  [[nodiscard]] Hlo dynamic_update_slice(const Hlo& x, const Hlo& update, std::span<const Hlo> starts);

  // ---- loops and any operation

  /// The next state, of the same types, from the number of the step (int32, from 0 on) and the state. Inputs of nodes
  /// are read before the loop: a value that is written in it is only valid there.
  using Step = std::function<std::vector<Hlo>(HloWriter&, const Hlo& number, std::span<const Hlo> state)>;
  /// The state after `count` steps.
  [[nodiscard]] std::vector<Hlo> repeat(std::int64_t count, std::span<const Hlo> state, const Step& step);

  using Region = std::function<std::vector<Hlo>(HloWriter&, std::span<const Hlo> arguments)>;
  /// An operation in MLIR's general form. `attributes`: "dimensions = array<i64: 1>". Arguments of the region have
  /// `arguments` types.
  std::vector<Hlo> operation(std::string_view name, std::span<const Hlo> operands, std::string_view attributes,
                             std::span<const Hlo> results,
                             std::span<const std::pair<std::vector<Hlo>, Region>> regions = {});
  /// A type, as an Hlo without a name.
  [[nodiscard]] static Hlo type(DType dtype, Shape shape = {}) { return {"", dtype, std::move(shape)}; }

  /// The text of the operations.
  [[nodiscard]] const std::string& body() const { return body_; }

  static constexpr std::int64_t kMostInline = 16;  ///< elements of a constant in the text

 private:
  struct Held {
    std::optional<Hlo> plain{}, last{};
  };
  [[nodiscard]] std::string fresh();
  [[nodiscard]] Hlo line(const std::string& text, DType dtype, Shape shape);
  [[nodiscard]] Hlo constant_text(const std::string& elements, DType dtype, const Shape& shape);
  [[nodiscard]] Result<Hlo> constant(const Weight& weight);
  [[nodiscard]] Hlo elements_of(const TensorView& view);
  [[nodiscard]] Hlo add_weight(Weight weight);
  [[nodiscard]] Status check_type(const graph::Node& node, std::size_t index, DType dtype, const Shape& shape) const;

  const StaticProgram* program_;
  Program* into_;
  std::string body_;
  std::size_t count_ = 0;
  std::map<std::string, Held, std::less<>> values_;
  std::map<std::string_view, const graph::Node*> producers_;
  std::map<std::string, Hlo, std::less<>> constants_;  ///< constants that are already written, by their text
  std::map<std::string, Hlo, std::less<>> permuted_;   ///< permuted weights, by name and permutation
  std::optional<std::string> misfit_;                  ///< the first problem that misfit() reported
};

/// "tensor<2x3xf32>"; nullopt: StableHLO has no such elements.
[[nodiscard]] std::optional<std::string> mlir_type(DType dtype, const Shape& shape);
[[nodiscard]] std::optional<std::string_view> mlir_element(DType dtype);
/// "1, 2, 3"
[[nodiscard]] std::string joined(const Axes& numbers);
[[nodiscard]] Axes all_axes(const Hlo& x);
/// The permutations from channels second to channels last, and back.
[[nodiscard]] Axes order_to_last(std::int64_t rank);
[[nodiscard]] Axes order_from_last(std::int64_t rank);
/// The same for a list with one number for each axis: extents, paddings.
void channels_to_last(std::vector<std::int64_t>& numbers);
[[nodiscard]] bool is_float(DType dtype);  ///< float16 and wider
/// The type to compute in: float32 for float16, bfloat16 and integers; the type itself for float32 and float64.
[[nodiscard]] DType wide(DType dtype);

using HloLowering = Status (*)(HloWriter&, const graph::Node&);
using HloRow = LoweredOperator<HloWriter>;

// The rows, by what operators do; each is in a file of its own.
[[nodiscard]] std::span<const HloRow> hlo_elementwise();
[[nodiscard]] std::span<const HloRow> hlo_activations();
[[nodiscard]] std::span<const HloRow> hlo_reductions();
[[nodiscard]] std::span<const HloRow> hlo_layout();
[[nodiscard]] std::span<const HloRow> hlo_linear();
[[nodiscard]] std::span<const HloRow> hlo_convolutions();
[[nodiscard]] std::span<const HloRow> hlo_pooling();
[[nodiscard]] std::span<const HloRow> hlo_normalisations();
[[nodiscard]] std::span<const HloRow> hlo_indexing();
[[nodiscard]] std::span<const HloRow> hlo_quantisation();
[[nodiscard]] std::span<const HloRow> hlo_losses();
[[nodiscard]] std::span<const HloRow> hlo_attention();
[[nodiscard]] std::span<const HloRow> hlo_recurrences();
[[nodiscard]] std::span<const HloRow> hlo_resizing();
[[nodiscard]] std::span<const HloRow> hlo_sampling();
[[nodiscard]] std::span<const HloRow> hlo_signals();

}  // namespace assay::lowering::stablehlo
