// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <assay/result.hpp>

#include "core/base/cancel.hpp"
#include "core/tensor/tensor.hpp"

namespace assay {

/// One extent of an input or output: a number, or a symbol such as "batch".
using Extent = std::variant<std::int64_t, std::string>;
using Extents = std::vector<Extent>;

/// A tensor that flows through the graph under construction.
struct Value {
  std::string name;
  DType dtype = DType::kUndefined;
};

struct Attribute {
  std::string name;
  std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>> value;
};

/// Receives a tensor's packed little-endian bytes piece by piece, in order.
using ByteSink = std::function<Status(std::span<const std::byte>)>;
/// Passes a tensor's bytes to a sink. Called while the file is written: no weight is in memory as a whole.
using ByteSource = std::function<Status(const ByteSink&)>;

/// Builds an ONNX model node by node and writes it with its weights streamed.
///
/// Nodes are named by their place, "/encoder/layer.0/attention/MatMul", their outputs by the node. The same calls give
/// the same bytes. Operators are not checked: the caller makes types and attributes fit together.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name, std::int64_t opset = 17);
  GraphBuilder(GraphBuilder&&) noexcept;
  GraphBuilder& operator=(GraphBuilder&&) noexcept;
  ~GraphBuilder();

  Value input(const std::string& name, DType dtype, const Extents& extents);
  /// Puts an input behind all others.
  void move_input_last(const std::string& name);
  /// Makes `value` the graph's next output, called `name`.
  void output(const std::string& name, const Value& value, const Extents& extents);
  [[nodiscard]] const std::vector<std::pair<std::string, Extents>>& outputs() const;
  [[nodiscard]] std::vector<std::string> input_names() const;  ///< names in the graph's order

  /// Adds a node at `path` ("" or "/encoder/layer.0"). `dtype` is its output's; kUndefined: that of its first input.
  /// An input with an empty name is an optional one left out. `op_type` may be "DOMAIN:Operator" for an operator of
  /// another domain, in its version 1.
  Value node(std::string_view path, const std::string& op_type, const std::vector<Value>& inputs,
             const std::vector<Attribute>& attributes = {}, DType dtype = DType::kUndefined);
  /// The same with several outputs, all of one dtype.
  std::vector<Value> nodes(std::string_view path, const std::string& op_type, const std::vector<Value>& inputs,
                           std::size_t outputs, const std::vector<Attribute>& attributes = {},
                           DType dtype = DType::kUndefined);

  /// Declares the shape of a value (value_info) that a runtime would not infer: fusions require equal shapes.
  void declare(const Value& value, const Extents& extents);

  /// A small constant. Equal ones are stored once; one that no node uses is not stored.
  Value integers(const std::vector<std::int64_t>& values);              ///< int64, [n]
  Value integer(std::int64_t value);                                    ///< int64, a scalar
  Value number(float value);                                            ///< float32, a scalar
  Value numbers(const std::vector<float>& values, const Shape& shape);  ///< float32

  /// A weight. A name that was used before returns the same value; `source` is then not used.
  Value initializer(const std::string& name, DType dtype, const Shape& shape, ByteSource source);
  /// A constant that is not in a checkpoint (frequencies, sinusoids), otherwise like a weight.
  Value table(const std::string& name, DType dtype, const Shape& shape, ByteSource source);

  /// Written into metadata_props, sorted by key.
  void metadata(const std::string& key, const std::string& value);

  /// Converts the complete graph from float32 to `to` (float16 or bfloat16): inputs, outputs and weights. These stay in
  /// float32, between casts: values computed from integers (positions, and angles computed from them) until they are
  /// combined with activations; sums of squares, which overflow float16; operators that do not support the type.
  /// Constants beyond the type's range, such as those of masks, become a quarter of its largest number, so that sums of
  /// two of them stay finite.
  void lower_floats(DType to);
  /// Rounds every weight to the nearest number of type `to`. Types, tables and constants do not change.
  void round_weights(DType to);

  struct WriteOptions {
    /// A model with more bytes of weights is written as two files, FILE and FILE.data: protobuf is limited to 2 GB.
    std::uint64_t single_file_bytes = 2'000'000'000;
    /// False: all weights, and tables above 4 MiB, are a hole of the right size in FILE.data. Smaller tables and
    /// constants are in FILE. For callers that need only the graph.
    bool weights = true;
    Cancelled cancelled{};  ///< called between pieces of a weight
  };
  /// Writes the model; an existing file is replaced only when the new one is complete. Memory: the graph without its
  /// weights, and one piece of a weight. Not synced to disk: a model can be built again.
  /// Errors: those of the sources; invalid_argument (the folder cannot be written), internal (disk full, or a source
  /// gives another number of bytes than its shape needs), cancelled.
  [[nodiscard]] Status write(const std::filesystem::path& path, const WriteOptions& options) const;
  [[nodiscard]] Status write(const std::filesystem::path& path) const { return write(path, WriteOptions{}); }

  /// Bytes of all weights. Errors: invalid_argument, naming a tensor whose size overflows.
  [[nodiscard]] Result<std::uint64_t> weight_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
