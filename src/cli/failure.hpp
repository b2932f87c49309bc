// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <assay/result.hpp>

#include "base/json.hpp"

namespace assay::cli {

/// What ended a command before it had results. `code` is an ErrorCode's name, or a reason that is none ("not_built").
struct Failure {
  std::string code, message, hint;
  std::vector<std::string> context{};
};
[[nodiscard]] Failure failure_of(const Error& error);

/// Tells people on stderr and, in JSON mode, programs on stdout:
/// {"schema_version", "error": {"code", "message", "context", "hint"}}.
void tell(const Failure& failure, bool json);

/// The object that stands under "error", and in the lists of what was refused or found.
[[nodiscard]] Json to_json(const Failure& failure);
[[nodiscard]] Json to_json(const std::vector<Error>& errors);

/// One document to stdout, with the schema version that all of them carry.
void print_document(const Json& content);

}  // namespace assay::cli
