// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <assay/result.hpp>

#include "app/cli/typed_names.hpp"
#include "core/base/json.hpp"

namespace assay::cli {

/// Why a command ended before it had results. `code` is the name of an ErrorCode, or another reason ("not_built").
struct Failure {
  std::string code, message, hint;
  std::vector<std::string> context{};
};
[[nodiscard]] Failure failure_of(const Error& error);

/// Prints it on stderr for people and, in JSON mode, on stdout for programs:
/// {"schema_version", "error": {"code", "message", "context", "hint"}}.
void print_failure(const Failure& failure, bool json);

/// How print_failure() names options from now on.
void name_options_as_typed(TypedNames names);

/// The object under "error", and in the lists "refused" and "findings".
[[nodiscard]] Json to_json(const Failure& failure);
[[nodiscard]] Json to_json(const std::vector<Error>& errors);

/// Prints one document, with its schema version, on stdout.
void print_document(const Json& content);

}  // namespace assay::cli
