// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// The kind of an error. The names are stored in results (`reason_code`), so they are never renamed;
/// each has a heading in docs/errors.md.
enum class ErrorCode {
  kInvalidArgument,     ///< the caller's input is invalid: change it
  kNotFound,            ///< something with this name does not exist
  kUnsupported,         ///< a runtime or assay does not support something, which the message names
  kMismatch,            ///< two things that must be equal differ (shape, dtype, checksum)
  kTimeout,             ///< it took longer than allowed
  kOutOfMemory,         ///< host or device memory ran out
  kDeviceLost,          ///< the device failed and only destruction is allowed
  kWorkerDied,          ///< the worker process ended by itself
  kIncompatiblePlugin,  ///< an engine plug-in was built for another ABI
  kStoreBusy,           ///< another process has the database open
  kCancelled,           ///< the user interrupted
  kInternal,            ///< the environment failed (disk full, I/O error) or assay has a bug
  kFixedShape,          ///< a model or its data has a fixed batch, and another was requested
};

/// The stored name: "invalid_argument", "not_found", …
[[nodiscard]] std::string_view to_string(ErrorCode code);

/// The inverse of to_string; nullopt for an unknown name.
[[nodiscard]] std::optional<ErrorCode> error_code_from(std::string_view name);

/// What failed, for the person who can act on it.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;                 ///< one sentence with the values involved; no final full stop
  std::vector<std::string> context{};  ///< innermost first, each "while …"; added by with_context()
  std::string hint{};                  ///< suggested next step; empty if unknown
};

/// As a person reads it, over several lines without a final line break:
/// `error[unsupported]: …`, then `  while …` for each context, then `  hint: …`.
[[nodiscard]] std::string to_string(const Error& error);

}  // namespace assay
