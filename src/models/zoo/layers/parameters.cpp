// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/layers/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/text.hpp"
#include "core/tensor/random.hpp"
#include "models/zoo/catalogue/architecture.hpp"

namespace assay::zoo {
namespace {

constexpr std::size_t kMostProblems = 5;

template <class Stored, class Convert>
FloatReader converting(std::span<const std::byte> bytes, Convert convert) {
  return [bytes, convert](std::uint64_t first, std::span<float> out) {
    const std::byte* from = bytes.data() + first * sizeof(Stored);
    for (float& to : out) {
      Stored value;  // safetensors need not be aligned
      std::memcpy(&value, from, sizeof value);
      from += sizeof value;
      to = convert(value);
    }
  };
}

FloatReader zeros() {
  return [](std::uint64_t, std::span<float> out) { std::fill(out.begin(), out.end(), 0.0F); };
}

std::optional<FloatReader> reader_of(const TensorView& view) {
  switch (view.dtype) {
    case DType::kFloat32:
      return [bytes = view.bytes](std::uint64_t first, std::span<float> out) {
        std::memcpy(out.data(), bytes.data() + first * sizeof(float), out.size_bytes());
      };
    case DType::kFloat16:
      return converting<std::uint16_t>(view.bytes, half_to_float);
    case DType::kBFloat16:
      return converting<std::uint16_t>(view.bytes, bfloat16_to_float);
    case DType::kFloat64:
      return converting<double>(view.bytes, [](double value) { return static_cast<float>(value); });
    default:
      return std::nullopt;
  }
}

}  // namespace

FloatReader Parameters::read(const std::string& asked, const Shape& shape, Role role) {
  const std::string name = resolve(asked);
  const Result<std::int64_t> elements = element_count(shape);
  if (!elements) {
    complain(fmt::format("parameter '{}' would have shape {}, which is too large", name, to_string(shape)));
    return zeros();
  }
  if (counted_.insert(name).second && role != Role::kMean && role != Role::kVariance) {
    if (__builtin_add_overflow(count_, *elements, &count_)) {
      complain(fmt::format("with parameter '{}' of shape {} the model is too large", name, to_string(shape)));
    }
  }
  return checkpoint_ ? stored(name, shape) : generated(name, shape, role);
}

FloatReader Parameters::generated(const std::string& name, const Shape& shape, Role role) const {
  float mean = 0.0F;
  float deviation = 0.1F;
  // 1 / sqrt is exact to the last bit in IEEE arithmetic: the same weights on every machine.
  const auto scaled = [](double fan_in) { return static_cast<float>(1.0 / std::sqrt(std::max(fan_in, 1.0))); };
  switch (role) {
    case Role::kWeight: {
      double fan_in = 1.0;
      for (std::size_t i = 1; i < shape.size(); ++i) fan_in *= static_cast<double>(shape[i]);
      deviation = scaled(fan_in);
      break;
    }
    case Role::kTable:
      deviation = scaled(static_cast<double>(shape.back()));
      break;
    case Role::kBias:
      deviation = 0.05F;
      break;
    case Role::kScale:
    case Role::kVariance:
      mean = 1.0F;
      break;
    case Role::kMean:
      break;
  }
  return [random = CounterRandom(seed_, name), mean, deviation](std::uint64_t first, std::span<float> out) {
    fill_normal(random, mean, deviation, out, first);
  };
}

FloatReader Parameters::stored(const std::string& name, const Shape& shape) {
  const TensorView* view = checkpoint_->find(name);
  if (view == nullptr) {
    complain(fmt::format("parameter '{}' of shape {} is missing", name, to_string(shape)));
    return zeros();
  }
  used_.insert(checkpoint_->canonical(name));
  if (view->shape != shape) {
    complain(fmt::format("tensor '{}' has shape {}, the configuration requires {}", name, to_string(view->shape),
                         to_string(shape)));
    return zeros();
  }
  std::optional<FloatReader> reader = reader_of(*view);
  if (!reader) {
    complain(fmt::format("tensor '{}' is {}, not float32, float16, bfloat16 or float64", name, to_string(view->dtype)));
    return zeros();
  }
  return std::move(*reader);
}

void Parameters::tie(const std::string& target, const std::string& source_name) {
  const std::string source = resolve(source_name);  // which may be tied itself
  if (!checkpoint_) {
    ties_[target] = source;
    return;
  }
  const TensorView* at_target = checkpoint_->find(target);
  const TensorView* at_source = checkpoint_->find(source);
  if (at_target != nullptr && at_source == nullptr) {
    ties_[source] = target;
  } else if (at_target == nullptr) {
    ties_[target] = source;
  } else if (at_target->dtype == at_source->dtype && at_target->shape == at_source->shape &&
             std::equal(at_target->bytes.begin(), at_target->bytes.end(), at_source->bytes.begin())) {
    ties_[target] = source;
    used_.insert(checkpoint_->canonical(target));
  }
}

const std::string& Parameters::resolve(const std::string& name) const {
  const auto found = ties_.find(name);
  return found == ties_.end() ? name : found->second;
}

bool Parameters::has(const std::string& name) const {
  return checkpoint_ && checkpoint_->find(resolve(name)) != nullptr;
}

void Parameters::unused(const std::string& name) {
  if (checkpoint_) unused_.insert(checkpoint_->canonical(name));
}

void Parameters::unused_below(const std::string& prefix) {
  if (checkpoint_) unused_below_.insert(checkpoint_->canonical(prefix));
}

std::optional<Shape> Parameters::stored_shape(const std::string& name) const {
  const TensorView* view = checkpoint_ ? checkpoint_->find(resolve(name)) : nullptr;
  if (view == nullptr) return std::nullopt;
  return view->shape;
}

void Parameters::complain(std::string problem) {
  if (problems_.size() <= kMostProblems) problems_.push_back(std::move(problem));
}

Result<std::vector<std::string>> Parameters::finish(const std::vector<std::string>& ignorable,
                                                    const std::vector<std::string>& buffers) const {
  std::vector<std::string> ignored;
  std::vector<std::string> problems = problems_;
  if (checkpoint_) {
    const std::vector<std::string>& non_parameters = catalogue().non_parameters;
    for (const std::string& name : checkpoint_->names()) {
      const std::string canonical = checkpoint_->canonical(name);
      if (used_.contains(canonical)) continue;
      const bool known = unused_.contains(canonical) ||
                         std::any_of(unused_below_.begin(), unused_below_.end(),
                                     [&](const std::string& prefix) { return canonical.starts_with(prefix); }) ||
                         std::any_of(ignorable.begin(), ignorable.end(),
                                     [&](const std::string& prefix) { return canonical.starts_with(prefix); }) ||
                         std::any_of(buffers.begin(), buffers.end(),
                                     [&](const std::string& suffix) { return ("." + name).ends_with(suffix); }) ||
                         std::any_of(non_parameters.begin(), non_parameters.end(),
                                     [&](const std::string& suffix) { return ("." + name).ends_with(suffix); });
      if (known) {
        ignored.push_back(name);
      } else if (problems.size() <= kMostProblems) {
        problems.push_back(fmt::format("tensor '{}' is not a parameter of this model", sanitise(name)));
      }
    }
  }
  if (problems.empty()) return ignored;
  if (problems.size() > kMostProblems) problems.back() = "…";
  return fail(ErrorCode::kInvalidArgument, "weights do not fit the configuration: " + join(problems, "; "),
              checkpoint_ ? "check that config.json and the weights belong together" : "choose smaller sizes");
}

Result<std::string> Parameters::hash(const Cancelled& cancelled) const {
  if (!checkpoint_) return fmt::format("seeded:{}:{}", seed_scheme(), seed_);
  return checkpoint_->hash(cancelled);
}

}  // namespace assay::zoo
