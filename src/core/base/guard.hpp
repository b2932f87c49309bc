// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include <assay/result.hpp>

#include "core/base/text.hpp"

namespace assay {

/// Runs `body`, which returns a Result, and returns what it returns. assay reports errors as values, so an exception
/// that leaves `body` is a bug, or memory is exhausted: it becomes an error (internal, out_of_memory) with the context
/// `doing` ("while writing the report"), so that it costs this step and nothing that was done before.
template <class Body>
[[nodiscard]] std::invoke_result_t<Body> guarded(std::string doing, Body&& body) {
  Error error;
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    error = {ErrorCode::kOutOfMemory, "not enough memory", {}, {}};
  } catch (const std::exception& exception) {
    error = {ErrorCode::kInternal,
             "internal error: " + sanitise(exception.what()),
             {},
             "please report it with the command; what was measured before is in the bundles"};
  }
  if (!doing.empty()) error.context.push_back(std::move(doing));
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace assay
