// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/worker/supervision.hpp"
#include "bench/worker/worker.hpp"
#include "core/base/json.hpp"
#include "core/traits/engine_types.hpp"

namespace assay::worker_protocol {

/// The protocol between the controller and assay-worker: one local stream socket, on the worker's file descriptor
/// kSocket, because the runtime may print to stdout and stderr. A message is a 32-bit little-endian length and that
/// many bytes of JSON. The worker sends the first message ({"protocol": kVersion}); then each request
/// {"op": "load", "args": {…}} has one reply, {"ok": {…}} or {"error": {…}}.
///
/// Neither side trusts the other: a runtime may crash in the middle of a message, or write into the descriptor. Lengths
/// are limited, parse_json() limits the nesting, decode() checks the type and range of every field, and the time for a
/// message counts from its first byte to its last.
inline constexpr int kSocket = supervision::kSocket;
inline constexpr int kVersion = 1;
inline constexpr std::uint32_t kMaxHelloBytes = 64u << 10;
/// A thousand inputs and outputs take 200 kB.
inline constexpr std::uint32_t kMaxMessageBytes = 4u << 20;

/// The reply to `describe`.
struct Description {
  std::string version;
  std::vector<EngineDevice> devices;
  std::vector<EngineOptionInfo> options;
  EngineOptions notes;  ///< same as FoundEngine::notes
};

struct Nothing {};

/// When to give up. `ask` is called at least every `every`, whether bytes move or not; its error ends the call.
struct Patience {
  std::function<Status()> ask{};  ///< empty: never
  std::chrono::milliseconds every{250};
};
/// Whole messages within `limit` from now. Errors: timeout.
[[nodiscard]] Patience within(std::chrono::nanoseconds limit);

/// Sends one message, also to a side that reads slowly. Errors: worker_died if the other side has closed the socket;
/// invalid_argument if the message is longer than kMaxMessageBytes; those of `patience`.
[[nodiscard]] Status send(int socket, const Json& message, const Patience& patience);

/// Receives one message of at most `most_bytes`.
/// Errors: worker_died if the other side is gone, also in the middle of a message; internal for an invalid message,
/// after which nothing that follows has a meaning; those of `patience`.
[[nodiscard]] Result<Json> receive(int socket, const Patience& patience, std::uint32_t most_bytes = kMaxMessageBytes);

/// Waits without limit until a message begins or the other side is gone. Errors: worker_died if that cannot be known.
[[nodiscard]] Status await_message(int socket);

/// JSON of every request and reply and of their parts Generation and MeasurePlan, in both directions. decode() accepts
/// what encode() writes, and more fields. Errors: internal, with the field that is missing, of another type, out of the
/// range of its type, or not a value of its enumeration.
template <class T>
[[nodiscard]] Json encode(const T& value);
template <class T>
[[nodiscard]] Result<T> decode(const Json& json);

[[nodiscard]] Json encode_error(const Error& error);
/// An error of the other side, its texts shortened to what a person can read. Errors: those of decode().
[[nodiscard]] Result<Error> decode_error(const Json& json);

/// What the types of the fields cannot say: times that are numbers and not negative, a signature in which extents and
/// their symbols belong together. The rest of the program relies on it. Errors: internal, with the field.
[[nodiscard]] Status check(const Description& reply);
[[nodiscard]] Status check(const LoadReply& reply);
[[nodiscard]] Status check(const BindReply& reply);
[[nodiscard]] Status check(const InferReply& reply);
[[nodiscard]] Status check(const MeasureReply& reply);
[[nodiscard]] inline Status check(const Nothing&) { return {}; }

}  // namespace assay::worker_protocol
