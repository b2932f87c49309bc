// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

#include <assay/error.hpp>

namespace assay {

/// A value, or the Error that explains why there is no value. Errors are values because in assay errors are data:
/// a run of 500 cells records "unsupported operator" as a row and continues.
template <class T>
using Result = tl::expected<T, Error>;

/// Success, or an Error.
using Status = Result<void>;

/// For returning: `return fail(ErrorCode::kNotFound, fmt::format("no file '{}'", path), "check the path");`
[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string hint = {}) {
  return tl::unexpected<Error>(Error{code, std::move(message), {}, std::move(hint)});
}

/// Adds "while …" to an error; a value is returned unchanged.
template <class T>
[[nodiscard]] Result<T> with_context(Result<T> result, std::string what) {
  if (!result) result.error().context.push_back(std::move(what));
  return result;
}

/// Ends the process with `what` if a bug violated an invariant. Never reachable by user input, files or plug-ins.
[[noreturn]] void check_failed(const char* condition, const char* what, const char* file, int line);

}  // namespace assay

#define ASSAY_CONCAT_INNER(a, b) a##b
#define ASSAY_CONCAT(a, b) ASSAY_CONCAT_INNER(a, b)

/// `ASSAY_TRY(auto x, f());` declares x from f()'s value, or returns f()'s error from the calling function.
#define ASSAY_TRY(declaration, ...)                                                                    \
  auto ASSAY_CONCAT(assay_result_, __LINE__) = (__VA_ARGS__);                                          \
  if (!ASSAY_CONCAT(assay_result_, __LINE__))                                                          \
    return ::tl::unexpected<::assay::Error>(std::move(ASSAY_CONCAT(assay_result_, __LINE__)).error()); \
  declaration = std::move(*ASSAY_CONCAT(assay_result_, __LINE__))

/// `ASSAY_CHECK_OK(f());` returns f()'s error from the calling function, if there is one.
#define ASSAY_CHECK_OK(...)                             \
  if (auto assay_status = (__VA_ARGS__); !assay_status) \
  return ::tl::unexpected<::assay::Error>(std::move(assay_status).error())

/// A violated invariant is a bug, in release builds too.
#define ASSAY_CHECK(condition, what) \
  (static_cast<bool>(condition) ? void(0) : ::assay::check_failed(#condition, what, __FILE__, __LINE__))
