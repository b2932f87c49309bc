// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "base/json.hpp"
#include "engine/engine_types.hpp"
#include "worker/worker.hpp"

namespace assay::worker_protocol {

/// The protocol between the controller and assay-worker: one local stream socket, on the worker's file descriptor
/// kSocket, because the runtime may print to stdout and stderr. A message is a 32-bit little-endian length and that
/// many bytes of JSON. The worker sends the first message ({"protocol": kVersion}); then each request
/// {"op": "load", "args": {…}} has one reply, {"ok": {…}} or {"error": {…}}.
inline constexpr int kSocket = 3;
inline constexpr int kVersion = 1;
inline constexpr std::uint32_t kMaxMessageBytes = 64u << 20;

/// The reply to `describe`.
struct Description {
  std::string version;
  std::vector<EngineDevice> devices;
  std::vector<EngineOptionInfo> options;
  EngineOptions notes;  ///< as FoundEngine::notes
};

struct Nothing {};

/// Sends one message; blocks. Errors: worker_died if the other side has closed the socket.
[[nodiscard]] Status send(int socket, const Json& message);

/// Receives one message. `wait` is called whenever nothing arrives for `patience`; its error ends the call.
/// Errors: worker_died when the other side is gone; internal for an invalid message.
[[nodiscard]] Result<Json> receive(int socket, const std::function<Status()>& wait = {},
                                   std::chrono::milliseconds patience = std::chrono::milliseconds(250));

/// JSON of every request and reply and of their parts Generation and MeasurePlan, in both directions; decoding errors:
/// internal, naming the fault of the message.
template <class T>
[[nodiscard]] Json encode(const T& value);
template <class T>
[[nodiscard]] Result<T> decode(const Json& json);

[[nodiscard]] Json encode_error(const Error& error);
[[nodiscard]] Error decode_error(const Json& json);

}  // namespace assay::worker_protocol
