// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "core/base/json.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/tensor.hpp"

/// The shapes of inputs as a user gives them by name: `--shape x:Bx3x48x320` and `--dim width=320` (docs/bench.md).
/// What they mean for a model: models/inputs/fixed_extents.hpp.
namespace assay {

/// Extents of a given shape that are no numbers.
inline constexpr std::int64_t kBatchExtent = -1;     ///< "B": --batch-sizes
inline constexpr std::int64_t kSequenceExtent = -2;  ///< "S": --sequence-lengths
inline constexpr std::int64_t kOpenExtent = -3;      ///< "?": what it is without the option

/// `--shape NAME:EXTENTS[:DTYPE]`.
struct GivenShape {
  std::string input;
  Shape extents;                    ///< 1 or more, or one of the three above; empty: a scalar
  DType dtype = DType::kUndefined;  ///< kUndefined: that of the model, else float32
  bool operator==(const GivenShape&) const = default;
};

/// `--dim SYMBOL=N`.
struct GivenExtent {
  std::string symbol;
  std::int64_t extent = 0;
  bool operator==(const GivenExtent&) const = default;
};

struct GivenShapes {
  std::vector<GivenShape> shapes;
  std::vector<GivenExtent> extents;
  [[nodiscard]] bool empty() const { return shapes.empty() && extents.empty(); }
};

/// Adds the shapes of "x:Bx3x48x320" or "a:1x3,b:2x4". A name may contain ':': the extents follow the last one, or the
/// one before the element type. Errors: invalid_argument: no name, an extent that is not valid, an unknown type, two
/// shapes for one input.
[[nodiscard]] Status add_shapes(std::string_view text, std::vector<GivenShape>& shapes);
/// Adds the extents of "width=320" or "height=48,width=320". Errors: invalid_argument, likewise.
[[nodiscard]] Status add_extents(std::string_view text, std::vector<GivenExtent>& extents);

/// "x:Bx3x48x320", "ids:BxS:int64", "n:scalar".
[[nodiscard]] std::string option_value(const GivenShape& shape);
/// "width=320".
[[nodiscard]] std::string option_value(const GivenExtent& extent);
/// "--shape x:Bx3x48x320", "--dim width=320".
[[nodiscard]] std::string option_text(const GivenShape& shape);
[[nodiscard]] std::string option_text(const GivenExtent& extent);
void to_json(Json& json, const GivenShape& shape);
void to_json(Json& json, const GivenExtent& extent);

/// `own`, and of `general` what it says of other inputs and symbols.
[[nodiscard]] GivenShapes merged(GivenShapes own, const GivenShapes& general);

}  // namespace assay
