// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <assay/result.hpp>

#include "bench/rate/rate.hpp"
#include "bench/run/local_executor.hpp"
#include "bench/run/session.hpp"
#include "core/base/json.hpp"

// What a run leaves for later ones, and gets from earlier ones.
namespace assay {

/// A run of the same plan: what its output directory says about it.
struct LastRun {
  std::string run_id;
  std::optional<MachineRate> rate;  ///< the rate that the choice of sizes used
  Json sizes;                       ///< chosen_sizes() of bench/prepare/prepare.hpp
};

/// The run that --resume continues; nullopt if there is none of this plan, or nothing is resumed.
[[nodiscard]] std::optional<LastRun> last_run(const SessionRequest& request);
/// Leaves the name of this run in the output directory, so that --resume finds it.
/// Errors: those of write_file_atomically.
[[nodiscard]] Status write_run_mark(const SessionRequest& request, const LastRun& run);

/// Sets what the history gives to this run: rows that --resume keeps, with their logs and the number of attempts;
/// verdicts for --benchmark-only. A run that needs neither does not open the database.
/// Errors: those of Store::open, ingest and results.
[[nodiscard]] Status read_history(const SessionRequest& request, SessionResult& out, ExecutorServices& services);

}  // namespace assay
