// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "app/cli/context.hpp"
#include "app/cli/failure.hpp"

namespace assay::cli {

/// Something that the guides name and that this version does not include, with what to do in its place.
struct NotYet {
  std::string_view feature;
  std::string_view typed;    ///< The commands and options that answer so. No other help lists them.
  std::string_view subject;  ///< The word of the command line that the message begins with; "" if several mean it.
  std::string_view what, hint;
};

/// `assay help guides` shows this table.
[[nodiscard]] std::span<const NotYet> not_yet_features();

/// Its answer, "not_built", to whoever uses it. `feature`: one of not_yet_features().
[[nodiscard]] Failure not_yet(std::string_view feature);

/// Prints the answer and returns the exit status: wrong usage, as nothing was done.
ExitCode answer_not_yet(std::string_view feature, const Context& context);

}  // namespace assay::cli
