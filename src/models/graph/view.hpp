// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <assay/result.hpp>

#include "core/base/files.hpp"
#include "core/tensor/tensor.hpp"
#include "models/onnx/external_range.hpp"

/// A read-only view of a model's graph, without any protobuf type. Everything that reads graphs is written against
/// it: shape rules, specialise(), and lowerings to other formats (docs/graphs.md has an example).
///
/// Lifetime: Model::open() creates a view; copies of the Model share it. Every string_view, span, reference and pointer
/// in the view is valid while one copy lives. ConstantData and Elements keep alive what they refer to.
/// Thread: the view never changes after open(); any thread may call const members.
/// Byte order: little-endian, as in ONNX files and on every machine that assay supports.
/// Not in the view: documentation strings, metadata, training information, quantisation annotations.
namespace assay::graph {

/// One extent of a declared shape: a number, a symbol ("batch"), or neither.
struct Dimension {
  std::optional<std::int64_t> extent{};  ///< 0 or more
  std::string_view symbol{};             ///< the name as it is in the file: sanitise() it before printing
};

enum class ValueKind { kTensor, kSparseTensor, kSequence, kMap, kOptional, kOpaque, kUndeclared };

/// What the file declares about a value. StaticGraph infers the rest.
struct ValueInfo {
  std::string_view name{};
  ValueKind kind = ValueKind::kUndeclared;
  DType dtype = DType::kUndefined;                ///< element type of a tensor; kUndefined: not declared
  std::optional<std::vector<Dimension>> shape{};  ///< shape of a tensor; nullopt: not even the rank is declared
};

/// A tensor that is part of the model: an initialiser, or an attribute's value. Model::data() and Model::elements()
/// read its elements.
struct Constant {
  std::string_view name{};  ///< often "" in an attribute
  DType dtype = DType::kUndefined;
  Shape shape{};                            ///< the dense shape, if the tensor is sparse
  std::uint64_t bytes = 0;                  ///< packed; of strings: their lengths; of a sparse tensor: 0
  std::optional<ExternalRange> external{};  ///< the file that has the elements, if it is not the model's own
  bool sparse = false;

 private:
  friend class Model;
  friend class ViewReader;
  std::size_t place_ = 0;  ///< index in the Model's list of tensors
};

/// The packed elements of a constant, in row-major order. Types of less than 8 bits are packed, the first element in
/// the lowest bits.
struct ConstantData {
  Bytes bytes{};
  std::shared_ptr<const void> owner{};  ///< keeps `bytes` alive
};

/// The elements of a constant as numbers, in row-major order.
template <class T>
class Elements {
 public:
  // NOLINTBEGIN(readability-identifier-naming): names of the standard library
  using value_type = T;
  using const_iterator = typename std::span<const T>::iterator;
  // NOLINTEND(readability-identifier-naming)
  explicit Elements(ConstantData data) : data_(std::move(data)) {}
  [[nodiscard]] std::span<const T> span() const {
    return {reinterpret_cast<const T*>(data_.bytes.data()), data_.bytes.size() / sizeof(T)};
  }
  [[nodiscard]] const_iterator begin() const { return span().begin(); }
  [[nodiscard]] const_iterator end() const { return span().end(); }
  [[nodiscard]] std::size_t size() const { return span().size(); }
  [[nodiscard]] bool empty() const { return data_.bytes.empty(); }
  [[nodiscard]] const T& operator[](std::size_t i) const { return span()[i]; }

 private:
  ConstantData data_;
};

struct Graph;
struct Function;

/// An attribute of a node.
struct Attribute {
  /// std::monostate: a type (type_proto); a reference (see below); a tensor or graph among Function::defaults.
  using Value =
      std::variant<std::monostate, std::int64_t, float, std::string_view, Constant, std::shared_ptr<const Graph>,
                   std::span<const std::int64_t>, std::span<const float>, std::vector<std::string_view>,
                   std::vector<Constant>, std::vector<std::shared_ptr<const Graph>>>;
  std::string_view name{};
  Value value{};
  /// In a local function: the name of the function's attribute whose value this one gets.
  std::string_view refers_to{};

  /// The value if it has type T, else nullptr.
  template <class T>
  [[nodiscard]] const T* get() const {
    return std::get_if<T>(&value);
  }
};

struct Node {
  std::string_view name{};  ///< may be "", and need not be unique
  std::string_view op_type{};
  std::string_view domain{};                ///< "" for ONNX's own operators
  std::vector<std::string_view> inputs{};   ///< "": an optional input that is left out
  std::vector<std::string_view> outputs{};  ///< "": an output that no node reads
  std::vector<Attribute> attributes{};      ///< names are unique
  const Function* function = nullptr;       ///< the local function that the node calls

  /// nullptr: the node does not have it.
  [[nodiscard]] const Attribute* attribute(std::string_view wanted) const;
  /// The attribute's value, or `otherwise` if the node does not have it or has it with another type.
  [[nodiscard]] std::int64_t integer(std::string_view wanted, std::int64_t otherwise) const;
  [[nodiscard]] float number(std::string_view wanted, float otherwise) const;
  [[nodiscard]] std::string_view text(std::string_view wanted, std::string_view otherwise) const;
  /// nullopt: the node does not have it, or has it with another type.
  [[nodiscard]] std::optional<std::span<const std::int64_t>> integers(std::string_view wanted) const;

  /// The operator's name in messages: "MatMul", "com.microsoft:Attention". Not sanitised.
  [[nodiscard]] std::string operator_name() const;
  /// The node's name in messages: that of its first output if it has none. Not sanitised.
  [[nodiscard]] std::string_view shown_name() const;
};

/// The main graph, or a graph in an attribute (If, Loop, Scan). A graph in an attribute also reads values of the graphs
/// around it, by their names.
struct Graph {
  std::string_view name{};
  std::vector<ValueInfo> inputs{};  ///< files of IR version 3 and older list initialisers here, too
  std::vector<ValueInfo> outputs{};
  std::vector<ValueInfo> values{};       ///< declared between inputs and outputs (value_info)
  std::vector<Constant> initializers{};  ///< one with an input's name is that input's default value
  std::vector<Constant> sparse_initializers{};
  std::vector<Node> nodes{};         ///< nodes in the file's order
  std::vector<std::size_t> order{};  ///< places of the nodes, each after those whose outputs it reads

  [[nodiscard]] bool has_output(std::string_view wanted) const;
};

/// A function of the model's own, which runtimes inline. Calls end: no function calls itself, also not indirectly.
struct Function {
  std::string_view name{}, domain{}, overload{};
  std::vector<std::string_view> inputs{}, outputs{};
  std::vector<std::string_view> attributes{};  ///< names of those without a default value
  std::vector<Attribute> defaults{};           ///< those with a default value
  std::vector<Node> nodes{};
  std::vector<std::size_t> order{};  ///< places of the nodes, each after those whose outputs it reads
};

/// The names that a node reads, each once: its inputs, and what the graphs in its attributes read from around them.
[[nodiscard]] std::vector<std::string_view> reads_of(const Node& node);

/// Whether elements of this type are stored as T: float16 and bfloat16 as std::uint16_t (their bits), bool and the
/// float8 types as std::uint8_t. Types of less than 8 bits, complex numbers and strings are stored as no T.
template <class T>
[[nodiscard]] constexpr bool is_stored_as(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return std::same_as<T, float>;
    case DType::kFloat64:
      return std::same_as<T, double>;
    case DType::kInt8:
      return std::same_as<T, std::int8_t>;
    case DType::kInt16:
      return std::same_as<T, std::int16_t>;
    case DType::kInt32:
      return std::same_as<T, std::int32_t>;
    case DType::kInt64:
      return std::same_as<T, std::int64_t>;
    case DType::kUInt16:
    case DType::kFloat16:
    case DType::kBFloat16:
      return std::same_as<T, std::uint16_t>;
    case DType::kUInt32:
      return std::same_as<T, std::uint32_t>;
    case DType::kUInt64:
      return std::same_as<T, std::uint64_t>;
    case DType::kUInt8:
    case DType::kBool:
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
    case DType::kFloat8E8M0:
      return std::same_as<T, std::uint8_t>;
    default:
      return false;
  }
}

/// An ONNX file, opened, checked and ready to be read.
class Model {
 public:
  /// Checks the file as inspect_model() does, except for the types of its inputs and outputs: sequences, maps and
  /// strings are in the view, and a reader that has no use for them refuses them.
  /// Errors: not_found; invalid_argument: empty, truncated, not ONNX, cyclic, no outputs, data too short or outside the
  /// folder, an attribute that has a graph beside a value of another type; unsupported: six-bit floating elements.
  /// Cost: reads the graph, not the weights. Memory: the graph without its weights.
  [[nodiscard]] static Result<Model> open(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const;
  [[nodiscard]] const Graph& graph() const;
  [[nodiscard]] std::span<const Function> functions() const;
  /// The imported version of a domain's operators; nullopt: not imported. "" is ONNX's own domain.
  [[nodiscard]] std::optional<std::int64_t> opset(std::string_view domain = "") const;

  /// The packed bytes of a constant of this model. They are in the mapped file (the model's own or the external one,
  /// which is mapped when it is first needed and stays so), or in memory of their own if the file has them in another
  /// encoding. No alignment is promised.
  /// Errors: unsupported: strings, sparse tensors; not_found, invalid_argument: the external file disappeared or became
  /// shorter since open().
  [[nodiscard]] Result<ConstantData> data(const Constant& constant) const;

  /// The file that has these bytes in this form, and where; nullopt: no file has them. Errors: those of data().
  struct FilePlace {
    std::filesystem::path file;
    std::uint64_t offset = 0;
  };
  [[nodiscard]] Result<std::optional<FilePlace>> place(const Constant& constant) const;

  /// The elements as T. Copied only if the file has them at an address that is not aligned for T.
  /// Errors: those of data(); mismatch: elements of this type are not stored as T (is_stored_as).
  template <class T>
  [[nodiscard]] Result<Elements<T>> elements(const Constant& constant) const {
    ASSAY_TRY(ConstantData found, aligned_data(constant, is_stored_as<T>(constant.dtype), sizeof(T)));
    return Elements<T>(std::move(found));
  }

  struct State;  ///< models/graph/view_state.hpp: internal to this module
  [[nodiscard]] const State& state() const { return *state_; }

 private:
  explicit Model(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  [[nodiscard]] Result<ConstantData> aligned_data(const Constant& constant, bool matches, std::size_t width) const;
  std::shared_ptr<const State> state_;
};

}  // namespace assay::graph
