// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <assay/engine_plugin.hpp>

namespace assay::null_engine {

enum class Distribution { kConstant, kNormal, kLognormal };

/// Faults in the Nth run of a context, counted from 1.
enum class Fault { kCloseSocket, kCrash, kAbort, kExit, kHang, kOutOfMemory, kError };
inline constexpr std::size_t kFaults = 7;

/// The options of the null engine (README.md), parsed.
struct Script {
  std::int64_t cost_ns = 0;
  Distribution distribution = Distribution::kConstant;
  double spread = 0.05;
  std::int64_t seed = 1;
  std::int64_t stall_every = 0, stall_ns = 10'000'000;
  double growing_memory = 0, model_memory = 0;  ///< MB (10^6 bytes)
  std::int64_t load_ms = 0, compile_ms = 0;
  std::array<std::int64_t, kFaults> fault_at_run{};  ///< number of the run at which each Fault happens; 0: never
  std::int64_t only_batch = 0;
  std::int64_t daemons = 0;
  double wrong = 0;
  bool nan = false;
  std::int64_t wrong_after_run = 0, wrong_at_token = 0;  ///< 0: never
  std::int64_t stale_set = 0;                            ///< 0: none
  std::string ignored_input;
  std::string unsupported, chatter, effective_precision;
  std::string inputs = "input:float32[batch,16]", outputs = "output:float32[batch,16]";
};

/// Errors: invalid_argument for an unknown option (the message lists the known ones) or a value with the wrong type.
[[nodiscard]] Result<Script> parse_script(const plugin::KeyValues& options);
[[nodiscard]] std::vector<plugin::OptionInfo> option_infos();

/// `name:dtype[extent,…]` separated by `;`; an extent is a number, a name (unknown until bound), `?`, or, for an
/// output, a sum of numbers and names ("past + 1"). Errors: invalid_argument, naming the invalid part.
[[nodiscard]] Result<std::vector<plugin::ValueInfo>> parse_signature(const std::string& text);

/// The value of such an extent; nullopt if it names an extent that is not in `extents`.
[[nodiscard]] std::optional<std::int64_t> sum_of(std::string_view extent,
                                                 const std::map<std::string, std::int64_t>& extents);

/// Bytes of one element of the dtypes that the null engine supports; 0 for others.
[[nodiscard]] std::size_t element_size(assay_dtype dtype);

}  // namespace assay::null_engine
