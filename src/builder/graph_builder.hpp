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

#include "base/cancel.hpp"
#include "tensor/tensor.hpp"

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

/// Takes a tensor's packed little-endian bytes piece by piece, in order.
using ByteSink = std::function<Status(std::span<const std::byte>)>;
/// Pushes a tensor's bytes into a sink; called while the file is written, so that weights are never held whole.
using ByteSource = std::function<Status(const ByteSink&)>;

/// Builds an ONNX model node by node and writes it with its weights streamed.
///
/// Nodes are named by the place they stand at, "/encoder/layer.0/attention/MatMul", their outputs after the node. The
/// same calls give the same bytes. It knows no operator: that types and attributes fit together is the caller's care.
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
  [[nodiscard]] std::vector<std::string> input_names() const;  ///< in the graph's order

  /// Adds a node at `path` ("" or "/encoder/layer.0"). `dtype` is its output's; kUndefined: that of its first input.
  /// An input with an empty name is an optional one left out. `op_type` may be "DOMAIN:Operator" for an operator of
  /// another domain, in its version 1.
  Value node(std::string_view path, const std::string& op_type, const std::vector<Value>& inputs,
             const std::vector<Attribute>& attributes = {}, DType dtype = DType::kUndefined);
  /// The same with several outputs, all of one dtype.
  std::vector<Value> nodes(std::string_view path, const std::string& op_type, const std::vector<Value>& inputs,
                           std::size_t outputs, const std::vector<Attribute>& attributes = {},
                           DType dtype = DType::kUndefined);

  /// States the shape of a value (value_info), where a runtime's inference would lose it: fusions ask for equal shapes.
  void declare(const Value& value, const Extents& extents);

  /// A small constant; equal ones are stored once, and one that no node uses not at all.
  Value integers(const std::vector<std::int64_t>& values);              ///< int64, [n]
  Value integer(std::int64_t value);                                    ///< int64, a scalar
  Value number(float value);                                            ///< float32, a scalar
  Value numbers(const std::vector<float>& values, const Shape& shape);  ///< float32

  /// A weight. A name that is there already gives the same value again: `source` is then not used.
  Value initializer(const std::string& name, DType dtype, const Shape& shape, ByteSource source);
  /// A constant that no checkpoint holds (frequencies, sinusoids), otherwise like a weight.
  Value table(const std::string& name, DType dtype, const Shape& shape, ByteSource source);

  /// Written into metadata_props, sorted by key.
  void metadata(const std::string& key, const std::string& value);

  /// Once the graph is whole: turns it from float32 into `to`, float16 or bfloat16, inputs, outputs and weights. In
  /// float32 stays, between casts: what integers become (positions, and the angles made of them) until it meets
  /// activations, sums of squares, which overflow float16, and operators that do not have the type. Constants beyond
  /// the type's range, such as a mask's, become a quarter of its end, so that sums of two of them stay finite.
  void lower_floats(DType to);
  /// Rounds every weight to the nearest number that `to` has; types stay, tables and constants too.
  void round_weights(DType to);

  struct WriteOptions {
    /// A model whose weights are more than this goes into two files, FILE and FILE.data: protobuf ends at 2 GB.
    std::uint64_t single_file_bytes = 2'000'000'000;
    /// False: all weights, and tables above 4 MiB, are a hole of the right size in FILE.data. Smaller tables and the
    /// constants are in FILE. For callers that need the graph alone.
    bool weights = true;
    Cancelled cancelled{};  ///< asked between pieces of a weight
  };
  /// Writes the model; a file of that name is replaced only when the new one is complete. Memory: the graph without
  /// its weights plus one piece of a weight. Not synced to disk: a model can be built again.
  /// Errors: those of the sources; invalid_argument (the folder cannot be written), internal (disk full, or a source
  /// that gives another number of bytes than its shape says), cancelled.
  [[nodiscard]] Status write(const std::filesystem::path& path, const WriteOptions& options) const;
  [[nodiscard]] Status write(const std::filesystem::path& path) const { return write(path, WriteOptions{}); }

  /// Bytes of all weights. Errors: invalid_argument, naming a tensor whose size overflows.
  [[nodiscard]] Result<std::uint64_t> weight_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
