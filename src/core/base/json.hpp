// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include <assay/result.hpp>

#include "core/base/cancel.hpp"
#include "core/base/ordered_object.hpp"

namespace assay {

/// Objects keep the order in which keys were written, so that files read as they were meant.
using Json = nlohmann::basic_json<OrderedObject>;

/// A place in a text, counted from 1; columns in characters of UTF-8.
struct TextPlace {
  int line = 1, column = 1;
};
/// The place of the byte number `at` of `text`, counted from 0.
[[nodiscard]] TextPlace place_at(std::string_view text, std::size_t at);

/// Parses `text`; messages contain `name` (a path, "the worker's answer").
/// Errors: invalid_argument with line and column and what was expected there. Nesting is limited to 200 levels,
/// duplicate keys are refused, at the place of the second. cancelled.
/// Cost:   linear in the length of the text.
[[nodiscard]] Result<Json> parse_json(std::string_view text, std::string_view name, const Cancelled& cancelled = {});

/// Reads and parses a file. Errors: those of read_file and parse_json.
[[nodiscard]] Result<Json> read_json(const std::filesystem::path& path, const Cancelled& cancelled = {});

/// `value` as text. Bytes that are not UTF-8 become U+FFFD: a file's name or a runtime's message may have any bytes,
/// and what was measured must be written nevertheless. `indent` −1: one line.
[[nodiscard]] inline std::string json_text(const Json& value, int indent = -1) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace assay
