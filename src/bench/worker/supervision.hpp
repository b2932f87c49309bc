// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>

/// What assay and assay-supervise agree on. Each worker (and each converter) has a supervisor of its own between assay
/// and itself:
///
///     assay-supervise CONTROLLER PROGRAM ARGUMENT…
///
/// It starts PROGRAM, which gets the descriptors 0, 1, 2 and kSocket, and adopts what PROGRAM leaves behind: processes
/// that left its group and session are still found. As soon as PROGRAM has ended, or assay (the process CONTROLLER) has
/// ended or closed its end of kControl, the supervisor ends every process below itself, and then itself. It does
/// nothing else, so it does not crash with a runtime, and it lives for a moment longer than its controller.
namespace assay::supervision {

inline constexpr int kSocket = 3;   ///< bench/worker/protocol.hpp
inline constexpr int kControl = 4;  ///< SOCK_SEQPACKET: reports from the supervisor, signals (std::int32_t) to it

/// How long the supervisor waits for processes that were killed. One that the kernel cannot end (state D) stays.
inline constexpr std::int64_t kEndLimitMs = 5000;

enum class Event : std::int32_t {
  kStarted,      ///< `value` is the process id of PROGRAM
  kCannotStart,  ///< `value` is errno; nothing follows
  kEnded,        ///< `value` is PROGRAM's status as waitpid() returns it
  kLeft,         ///< the kernel did not end all processes within kEndLimitMs
};
struct Report {
  Event event;
  std::int32_t value;
};

}  // namespace assay::supervision
