// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/layers/module.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace assay::zoo {
namespace {

constexpr std::uint64_t kPieceElements = 1 << 16;
constexpr std::uint64_t kBandElements = 1 << 22;  ///< approximate number of elements that are transposed at a time

ByteSource in_order(FloatReader read, std::uint64_t elements) {
  return [read = std::move(read), elements](const ByteSink& sink) -> Status {
    std::vector<float> piece(std::min(elements, kPieceElements));
    for (std::uint64_t first = 0; first < elements; first += piece.size()) {
      const auto part = std::span(piece).first(std::min<std::uint64_t>(piece.size(), elements - first));
      read(first, part);
      ASSAY_CHECK_OK(sink(std::as_bytes(part)));
    }
    return {};
  };
}

// Reads a band of columns of [rows, columns] at a time and writes it as rows of [columns, rows].
ByteSource transposed(FloatReader read, std::uint64_t rows, std::uint64_t columns) {
  return [read = std::move(read), rows, columns](const ByteSink& sink) -> Status {
    const std::uint64_t band = std::min(columns, std::clamp<std::uint64_t>(kBandElements / rows, 4, 64));
    std::vector<float> transposed(band * rows);
    std::vector<float> part(band);
    for (std::uint64_t column = 0; column < columns; column += band) {
      const std::uint64_t width = std::min(band, columns - column);
      for (std::uint64_t row = 0; row < rows; ++row) {
        read(row * columns + column, std::span(part).first(width));
        for (std::uint64_t i = 0; i < width; ++i) transposed[i * rows + row] = part[i];
      }
      ASSAY_CHECK_OK(sink(std::as_bytes(std::span(transposed).first(width * rows))));
    }
    return {};
  };
}

// The elements of each parameter, one parameter after the other.
class Joined {
 public:
  void add(FloatReader read, const Shape& shape) {
    parts_.emplace_back(std::move(read), static_cast<std::uint64_t>(element_count(shape).value_or(0)));
  }
  void operator()(std::uint64_t first, std::span<float> out) const {
    for (const auto& [read, elements] : parts_) {
      const std::uint64_t skipped = std::min(first, elements);
      const auto here = out.first(std::min<std::uint64_t>(out.size(), elements - skipped));
      if (!here.empty()) read(skipped, here);
      out = out.subspan(here.size());
      first -= skipped;
    }
  }

 private:
  std::vector<std::pair<FloatReader, std::uint64_t>> parts_;
};

std::string joined_name(const std::vector<Module::Projection>& projections) {
  std::string joined;
  for (const Module::Projection& projection : projections) joined += (joined.empty() ? "" : "+") + projection.name;
  return joined;
}

std::int64_t joined_width(const std::vector<Module::Projection>& projections) {
  std::int64_t width = 0;
  for (const Module::Projection& projection : projections) width += projection.out;
  return width;
}

}  // namespace

Module Module::operator/(std::string_view child) const {
  Module module = *this;
  module.name_ = name_of(child);
  module.path_ += fmt::format("/{}", child);
  return module;
}

Module Module::at(std::string_view path) const {
  Module module = *this;
  std::string child;
  for (std::string_view rest = path; !rest.empty();) {
    const std::size_t dot = rest.find('.');
    const std::string_view word = rest.substr(0, dot);
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
    const bool number = !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
    if (!child.empty() && !number) {
      module = module / child;
      child.clear();
    }
    if (!child.empty()) child += '.';
    child += word;
  }
  return child.empty() ? module : module / child;
}

std::string Module::name_of(std::string_view parameter) const {
  return name_.empty() ? std::string(parameter) : fmt::format("{}.{}", name_, parameter);
}

Value Module::parameter(std::string_view name, const Shape& shape, Role role) const {
  const std::string full = parameters_->resolve(name_of(name));
  FloatReader read = parameters_->read(full, shape, role);
  const Result<std::int64_t> elements = element_count(shape);  // an overflow is in the parameters' account already
  return graph_->initializer(full, DType::kFloat32, shape,
                             in_order(std::move(read), static_cast<std::uint64_t>(elements.value_or(0))));
}

Value Module::transposed_parameter(std::string_view name, std::int64_t out, std::int64_t in) const {
  const std::string full = parameters_->resolve(name_of(name));
  FloatReader read = parameters_->read(full, {out, in}, Role::kWeight);
  return graph_->initializer(
      full + ".T", DType::kFloat32, {in, out},
      transposed(std::move(read), static_cast<std::uint64_t>(out), static_cast<std::uint64_t>(in)));
}

Value Module::joined_weights(const std::vector<Projection>& projections, std::int64_t in) const {
  Joined read;
  for (const Projection& each : projections) {
    const Shape shape{each.out, in};
    read.add(parameters_->read((*this / each.name).name_of("weight"), shape, Role::kWeight), shape);
  }
  const std::int64_t out = joined_width(projections);
  return graph_->initializer(
      (*this / joined_name(projections)).name_of("weight.T"), DType::kFloat32, {in, out},
      transposed(std::move(read), static_cast<std::uint64_t>(out), static_cast<std::uint64_t>(in)));
}

Value Module::joined_biases(const std::vector<Projection>& projections) const {
  Joined read;
  for (const Projection& each : projections)
    read.add(parameters_->read((*this / each.name).name_of("bias"), {each.out}, Role::kBias), {each.out});
  const std::int64_t out = joined_width(projections);
  return graph_->initializer((*this / joined_name(projections)).name_of("bias"), DType::kFloat32, {out},
                             in_order(std::move(read), static_cast<std::uint64_t>(out)));
}

Value Module::viewed_parameter(std::string_view name, const Shape& stored, const Shape& shape, Role role) const {
  const std::string full = parameters_->resolve(name_of(name));
  FloatReader read = parameters_->read(full, stored, role);
  const Result<std::int64_t> elements = element_count(shape);
  return graph_->initializer(full, DType::kFloat32, shape,
                             in_order(std::move(read), static_cast<std::uint64_t>(elements.value_or(0))));
}

Value Module::derived_parameter(std::string_view name, const Shape& stored, Role role, std::string_view suffix,
                                const Shape& shape, Compute compute) const {
  const std::string full = parameters_->resolve(name_of(name));
  FloatReader read = parameters_->read(full, stored, role);
  const auto elements = static_cast<std::size_t>(element_count(stored).value_or(0));
  const ByteSource source = [read = std::move(read), elements, compute = std::move(compute)](const ByteSink& sink) {
    std::vector<float> values(elements);
    read(0, values);
    const std::vector<float> computed = compute(values);
    return sink(std::as_bytes(std::span(computed)));
  };
  return graph_->initializer(fmt::format("{}.{}", full, suffix), DType::kFloat32, shape, source);
}

std::optional<Shape> Module::stored_shape(std::string_view name) const {
  return parameters_->stored_shape(name_of(name));
}

}  // namespace assay::zoo
