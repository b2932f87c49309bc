// SPDX-License-Identifier: Apache-2.0
#include "models/evaluate/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <tuple>

#include "core/base/text.hpp"

namespace assay::evaluate {
namespace {

std::string at_node(const graph::Node& node) {
  return fmt::format("node {} ({})", shown(node.shown_name()), sanitise(node.operator_name()));
}

}  // namespace

tl::unexpected<Error> Call::invalid(const std::string& why) const {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", at_node(node_), why));
}

tl::unexpected<Error> Call::unsupported(const std::string& what) const {
  return fail(ErrorCode::kUnsupported, fmt::format("{}: {} is not evaluated in float64", at_node(node_), what));
}

Result<std::span<const double>> Call::reals(std::size_t i) const {
  if (!operand(i).is_real() && operand(i).dtype() != DType::kUndefined)
    return invalid(fmt::format("input {} has the type {} instead of a floating type", i, to_string(dtype(i))));
  return operand(i).reals();
}

Result<std::span<const std::int64_t>> Call::integers(std::size_t i) const {
  if (operand(i).is_real())
    return invalid(fmt::format("input {} has the type {} instead of an integer type", i, to_string(dtype(i))));
  return operand(i).integers();
}

Result<double> Call::scalar(std::size_t i) const {
  if (operand(i).count() != 1)
    return invalid(fmt::format("input {} has {} elements instead of one", i, operand(i).count()));
  return operand(i).number(0);
}

Result<std::int64_t> Call::integer_scalar(std::size_t i) const {
  ASSAY_TRY(const auto all, integers(i));
  if (all.size() != 1) return invalid(fmt::format("input {} has {} elements instead of one", i, all.size()));
  return all.front();
}

Result<Integers> Call::list(std::string_view attribute, std::size_t place) const {
  if (has(place)) {
    ASSAY_TRY(const auto all, integers(place));
    return Integers(all.begin(), all.end());
  }
  const auto given = node_.integers(attribute);
  return given ? Integers(given->begin(), given->end()) : Integers();
}

Result<std::int64_t> Call::axis(std::int64_t given, std::int64_t rank) const {
  const std::int64_t found = given < 0 ? given + rank : given;
  if (found < 0 || found >= rank) return invalid(fmt::format("axis {} of a tensor of rank {}", given, rank));
  return found;
}

Result<std::vector<std::int64_t>> Call::axes(std::span<const std::int64_t> given, std::int64_t rank) const {
  std::vector<std::int64_t> found;
  for (const std::int64_t one : given) {
    ASSAY_TRY(const std::int64_t from_0, axis(one, rank));
    if (std::ranges::find(found, from_0) != found.end()) return invalid(fmt::format("axis {} is named twice", one));
    found.push_back(from_0);
  }
  return found;
}

Result<std::size_t> Call::elements_of(const Shape& shape) const {
  const Result<std::int64_t> count = checked_count(shape);
  if (std::ranges::any_of(shape, [](std::int64_t extent) { return extent < 0; })) return invalid(count.error().message);
  if (!count || count_beside_zeros(shape) > most_elements_)
    return fail(ErrorCode::kOutOfMemory, fmt::format("{}: a tensor {} is larger than the memory, which has room for {} "
                                                     "numbers",
                                                     at_node(node_), to_string(shape), most_elements_));
  return static_cast<std::size_t>(*count);
}

std::span<const Operator> operators() {
  static const Operators all = [] {
    Operators rows;
    for (Operators (*group)() :
         {&activation_operators, &attention_operators, &control_operators, &convolution_operators, &detection_operators,
          &elementwise_operators, &indexing_operators, &layout_operators, &linear_operators, &making_operators,
          &microsoft_operators, &normalisation_operators, &pooling_operators, &quantisation_operators,
          &recurrent_operators, &reduction_operators, &resizing_operators, &signal_operators}) {
      const Operators some = group();
      rows.insert(rows.end(), some.begin(), some.end());
    }
    std::ranges::sort(rows, {}, [](const Operator& row) { return std::tuple(row.domain, row.name); });
    return rows;
  }();
  return all;
}

const Operator* find_operator(std::string_view domain, std::string_view name) {
  const std::span<const Operator> all = operators();
  const auto key = [](const Operator& row) { return std::tuple(row.domain, row.name); };
  const auto found = std::ranges::lower_bound(all, std::tuple(domain, name), {}, key);
  return found != all.end() && key(*found) == std::tuple(domain, name) ? &*found : nullptr;
}

Outputs computed(const Operator* known, const Call& call) {
  if (known == nullptr) return call.unsupported("this operator");
  for (std::size_t i = 0; i < known->needed; ++i)
    if (!call.has(i)) return call.invalid(fmt::format("input {} is missing", i));
  // Kernels walk along axes of a tensor without elements, too.
  for (std::size_t i = 0; i < call.operand_count(); ++i) ASSAY_CHECK_OK(call.elements_of(call.shape(i)));
  return known->compute(call);
}

void parallel(int threads, std::int64_t count, double cost,
              const std::function<void(std::int64_t, std::int64_t)>& body) {
  // A thread costs some 20 µs: less than this many operations are not worth one.
  constexpr double kLeast = 1e6;
  const auto wanted = static_cast<std::int64_t>(std::min(static_cast<double>(count) * cost / kLeast, 1e9));
  const std::int64_t workers = std::min<std::int64_t>({threads, count, wanted});
  if (workers < 2) {
    if (count > 0) body(0, count);
    return;
  }
  // More parts than threads: one that waits for its processor does not hold up the others.
  const std::int64_t parts = std::min(count, 4 * workers);
  std::atomic<std::int64_t> next{0};
  std::exception_ptr thrown;
  std::mutex mutex;
  const auto work = [&] {
    try {
      for (std::int64_t part = next++; part < parts; part = next++)
        body(count * part / parts, count * (part + 1) / parts);
    } catch (...) {
      next = parts;
      const std::scoped_lock lock(mutex);
      thrown = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::int64_t i = 1; i < workers; ++i) others.emplace_back(work);
    work();
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace assay::evaluate
