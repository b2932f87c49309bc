// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

/// Ends processes that are found in /proc. Uses only the C library, because assay-supervise links nothing else.
namespace assay {

/// Sends SIGKILL to every process below this one, whatever its group and session.
void kill_descendants();

/// Sends SIGKILL to every process of a session. Its leader must not be reaped before: until then its number is in use.
void kill_session(pid_t session);

}  // namespace assay
