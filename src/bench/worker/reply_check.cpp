// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include "bench/worker/protocol.hpp"
#include "core/base/text.hpp"

namespace assay::worker_protocol {
namespace {

struct Quantity {
  const char* name;
  double value;
};

// A week in nanoseconds is 6e14; beyond this a number is no longer an exact integer.
constexpr double kMost = 9'007'199'254'740'992.0;

Status check_range(std::initializer_list<Quantity> quantities) {
  for (const auto& [name, value] : quantities)
    if (!(value >= 0 && value <= kMost))
      return fail(ErrorCode::kInternal, fmt::format("'{}' is {}, not a number from 0 to {:.0f}", name, value, kMost));
  return {};
}

Status check_signature(const char* list, const std::vector<ValueSignature>& values) {
  for (const ValueSignature& value : values) {
    const bool extents = std::ranges::all_of(value.shape, [](std::int64_t extent) { return extent >= -1; });
    const bool symbols = value.symbols.empty() || value.symbols.size() == value.shape.size();
    if (extents && symbols && value.index_limit >= 0 && (value.has_rank || value.shape.empty())) continue;
    return fail(ErrorCode::kInternal, fmt::format("'{}': {} has an invalid shape", list, shown(value.name)));
  }
  return {};
}

}  // namespace

Status check(const Description& reply) {
  for (const EngineDevice& device : reply.devices)
    if (device.id.empty()) return fail(ErrorCode::kInternal, "'devices': a device without an id");
  return {};
}

Status check(const LoadReply& reply) {
  ASSAY_CHECK_OK(check_range({{"runtime_load_ms", reply.runtime_load_ms},
                              {"model_load_s", reply.model_load_s},
                              {"rss_before_model_bytes", static_cast<double>(reply.rss_before_model_bytes)},
                              {"rss_after_load_bytes", static_cast<double>(reply.rss_after_load_bytes)},
                              {"peak_load_bytes", static_cast<double>(reply.peak_load_bytes)}}));
  ASSAY_CHECK_OK(check_signature("inputs", reply.inputs));
  return check_signature("outputs", reply.outputs);
}

Status check(const BindReply& reply) { return check_range({{"compilation_ms", reply.compilation_ms.value_or(0)}}); }

Status check(const InferReply& reply) { return check_range({{"run_ms", reply.run_ms}}); }

Status check(const MeasureReply& reply) {
  const Measurement& measured = reply.measurement;
  ASSAY_CHECK_OK(check_range({{"steady_from", static_cast<double>(measured.steady_from)},
                              {"warmup_iterations", static_cast<double>(measured.warmup_iterations)},
                              {"warmup_ns", static_cast<double>(measured.warmup_ns)},
                              {"window_ns", static_cast<double>(measured.window_ns)},
                              {"loop_ns", static_cast<double>(measured.loop_ns)},
                              {"relative_half_width", measured.relative_half_width.value_or(0)},
                              {"peak_rss_bytes", static_cast<double>(reply.peak_rss_bytes)},
                              {"mean_rss_bytes", static_cast<double>(reply.mean_rss_bytes)},
                              {"generations", static_cast<double>(reply.generations)}}));
  if (!reply.environment.is_object()) return fail(ErrorCode::kInternal, "'environment' is not an object");
  return {};
}

}  // namespace assay::worker_protocol
