// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "core/tensor/tensor.hpp"
#include "models/zoo/layers/checkpoint.hpp"

namespace assay::zoo {

/// What a parameter is for: decides its seeded values, so that activations stay finite and outputs depend on inputs at
/// every depth. Real weights ignore it.
enum class Role {
  kWeight,    ///< N(0, 1 / fan_in); fan_in is the product of all extents but the first
  kTable,     ///< an embedding, N(0, 1 / width)
  kBias,      ///< N(0, 0.05²): enough that a bias left out is seen
  kScale,     ///< the scale of a norm: N(1, 0.1²)
  kMean,      ///< a running mean, a buffer: N(0, 0.1²)
  kVariance,  ///< a running variance, a buffer: N(1, 0.1²), bounded away from 0
};

/// Reads elements [first, first + out.size()) of a parameter as float32.
using FloatReader = std::function<void(std::uint64_t first, std::span<float> out)>;

/// Where a model's parameters come from, and the account of which were used.
///
/// Nothing fails at once: a builder reads all its parameters, then finish() reports what is missing, misshapen or left
/// over. Lifetime: readers are valid while the object lives.
class Parameters {
 public:
  /// Seeded by `seed` and each parameter's name.
  explicit Parameters(std::uint64_t seed) : seed_(seed) {}
  explicit Parameters(Checkpoint checkpoint) : checkpoint_(std::move(checkpoint)) {}

  /// Shape: as Hugging Face stores it.
  [[nodiscard]] FloatReader read(const std::string& name, const Shape& shape, Role role);

  /// Makes `target` the same parameter as `source_name`, as transformers ties them: whichever is there is used for
  /// both; if both are there and differ, they stay apart.
  void tie(const std::string& target, const std::string& source_name);
  /// The name that is used for a tied parameter; every other name is its own.
  [[nodiscard]] const std::string& resolve(const std::string& name) const;
  /// Whether the checkpoint has it: for tensors that a checkpoint may lack. Random weights: false.
  [[nodiscard]] bool has(const std::string& name) const;
  /// Declares a parameter that the class has and its forward pass does not use.
  void unused(const std::string& name);
  /// The same for all whose names begin so ("vision_tower.encoder.layers.23.").
  void unused_below(const std::string& prefix);

  /// The shape of the checkpoint's tensor; nullopt if there is no such tensor, or the weights are random.
  [[nodiscard]] std::optional<Shape> stored_shape(const std::string& name) const;
  [[nodiscard]] bool seeded() const { return !checkpoint_.has_value(); }

  /// Elements of all parameters (no buffers), tied ones once.
  [[nodiscard]] std::int64_t count() const { return count_; }

  /// Errors: invalid_argument, naming missing, misshapen, or unknown tensors, or a type that is not floating.
  /// The result: tensors that may be ignored, `ignorable` prefixes (relative to the base model) and names that end in
  /// one of `buffers` among them.
  [[nodiscard]] Result<std::vector<std::string>> finish(const std::vector<std::string>& ignorable,
                                                        const std::vector<std::string>& buffers) const;

  /// The hash of the checkpoint's bytes, or "seeded:SCHEME:SEED". Errors: those of MappedFile::open; cancelled.
  [[nodiscard]] Result<std::string> hash(const Cancelled& cancelled) const;

 private:
  [[nodiscard]] FloatReader generated(const std::string& name, const Shape& shape, Role role) const;
  [[nodiscard]] FloatReader stored(const std::string& name, const Shape& shape);
  void complain(std::string problem);

  std::uint64_t seed_ = 0;
  std::optional<Checkpoint> checkpoint_;
  std::map<std::string, std::string> ties_;
  std::set<std::string> counted_, used_, unused_, unused_below_;
  std::vector<std::string> problems_;  ///< the first few
  std::int64_t count_ = 0;
};

}  // namespace assay::zoo
