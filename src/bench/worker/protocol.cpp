// SPDX-License-Identifier: Apache-2.0
#include "bench/worker/protocol.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <concepts>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "core/base/text.hpp"

namespace assay::worker_protocol {
namespace {

// Every struct of a message is defined once, as its list of fields; Writer and Reader iterate over the list.
// clang-format off
template <class V> void fields(V& v, EngineDevice& x) {
  v("id", x.id); v("hardware", x.hardware); v("name", x.name); v("memory_bytes", x.memory_bytes); v("score", x.score);
  v("simulated", x.simulated); v("software", x.software);
}
template <class V> void fields(V& v, EngineOptionInfo& x) {
  v("name", x.name); v("type", x.type); v("default", x.default_value); v("help", x.help);
}
template <class V> void fields(V& v, Description& x) {
  v("version", x.version); v("devices", x.devices); v("options", x.options); v("notes", x.notes);
}
template <class V> void fields(V& v, ValueSignature& x) {
  v("name", x.name); v("dtype", x.dtype); v("has_rank", x.has_rank); v("shape", x.shape); v("symbols", x.symbols);
  v("index_limit", x.index_limit);
}
template <class V> void fields(V& v, Error& x) {
  v("code", x.code); v("message", x.message); v("context", x.context); v("hint", x.hint);
}
template <class V> void fields(V& v, LoadRequest& x) {
  v("model", x.model); v("step_model", x.step_model); v("device", x.device_id); v("precision", x.precision); v("threads", x.threads);
  v("streams", x.streams); v("options", x.options); v("step_options", x.step_options);
  v("shape_options", x.shape_options);
}
template <class V> void fields(V& v, LoadReply& x) {
  v("runtime_load_ms", x.runtime_load_ms); v("model_load_s", x.model_load_s); v("engine_version", x.engine_version);
  v("inputs", x.inputs); v("outputs", x.outputs); v("effective", x.effective);
  v("rss_before_model_bytes", x.rss_before_model_bytes); v("rss_after_load_bytes", x.rss_after_load_bytes);
  v("peak_load_bytes", x.peak_load_bytes);
}
template <class V> void fields(V& v, Generation::State& x) {
  v("prompt_output", x.prompt_output); v("step_input", x.step_input); v("step_output", x.step_output);
}
template <class V> void fields(V& v, Generation& x) {
  v("output_tokens", x.output_tokens); v("prompt_tokens", x.prompt_tokens); v("tokens", x.tokens); v("mask", x.mask);
  v("logits", x.logits); v("states", x.states);
  v("cache_tokens", x.cache_tokens); v("positions", x.positions);
}
template <class V> void fields(V& v, BindRequest& x) {
  v("inputs", x.inputs); v("seed", x.seed); v("sets", x.sets); v("streams", x.streams);
  v("generation", x.generation);
}
template <class V> void fields(V& v, BindReply& x) {
  v("compilation_ms", x.compilation_ms); v("effective", x.effective);
}
template <class V> void fields(V& v, InferRequest& x) { v("set", x.set); v("outputs", x.outputs); v("largest", x.largest); v("forced", x.forced); v("stream", x.stream); }
template <class V> void fields(V& v, InferReply& x) { v("run_ms", x.run_ms); }
template <class V> void fields(V& v, MeasurePlan& x) {
  v("warmup_iterations", x.warmup_iterations); v("iterations", x.iterations);
  v("relative_precision", x.relative_precision); v("min_samples", x.min_samples); v("max_samples", x.max_samples);
  v("min_time_ns", x.min_time_ns); v("max_time_ns", x.max_time_ns);
  v("min_samples_at_time_limit", x.min_samples_at_time_limit); v("max_warmup_ns", x.max_warmup_ns);
  v("time_limits_iterations", x.time_limits_iterations); v("streams", x.streams);
}
template <class V> void fields(V& v, MeasureRequest& x) { v("plan", x.plan); v("samples", x.samples); v("tokens", x.tokens); }
template <class V> void fields(V& v, Measurement& x) {  // its samples are in the file
  v("steady_from", x.steady_from); v("steady_class", x.steady_class); v("warmup_iterations", x.warmup_iterations);
  v("warmup_ns", x.warmup_ns); v("window_ns", x.window_ns); v("loop_ns", x.loop_ns);
  v("relative_half_width", x.relative_half_width); v("stop_reason", x.stop_reason); v("failure", x.failure);
}
template <class V> void fields(V& v, MeasureReply& x) {
  v("measurement", x.measurement); v("peak_rss_bytes", x.peak_rss_bytes); v("mean_rss_bytes", x.mean_rss_bytes);
  v("environment", x.environment); v("generations", x.generations);
}
template <class V> void fields(V& v, SaveRequest& x) { v("file", x.file); }
template <class V> void fields(V&, Nothing&) {}
// clang-format on

template <class T>
Json to(const T& x);

struct Writer {
  Json& json;
  template <class T>
  void operator()(const char* key, const T& value) {
    json[key] = to(value);
  }
};

template <class T>
Json to_list(const std::vector<T>& items) {
  Json list = Json::array();
  for (const T& item : items) list.push_back(to(item));
  return list;
}
template <class T>
Json to_maybe(const std::optional<T>& x) {
  return x ? to(*x) : Json();
}
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
using Pair = std::pair<std::string, std::string>;

template <class T>
Json to(const T& x) {
  if constexpr (std::same_as<T, Json> || std::same_as<T, std::string> || std::same_as<T, bool> || std::integral<T>) {
    return x;
  } else if constexpr (std::floating_point<T>) {
    return std::isfinite(x) ? Json(x) : Json(fmt::format("{}", x));  // JSON has no infinities
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<int>(x);
  } else if constexpr (std::same_as<T, std::filesystem::path>) {
    return x.string();
  } else if constexpr (std::same_as<T, Pair>) {
    return Json::array({x.first, x.second});
  } else if constexpr (std::same_as<T, InputRecipe>) {
    return to_json(x);
  } else if constexpr (IsVector<T>::value) {
    return to_list(x);
  } else if constexpr (IsOptional<T>::value) {
    return to_maybe(x);
  } else {
    Json json = Json::object();
    T copy = x;  // the lists of fields are for both directions and need mutable arguments
    Writer writer{json};
    fields(writer, copy);
    return json;
  }
}

// Not a message of this protocol. decode() makes an Error of it.
class Invalid : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

std::string cut(const std::string& text, std::size_t bytes) {
  return sanitise(text.substr(0, bytes)) + (text.size() > bytes ? "…" : "");
}

[[noreturn]] void expected(const char* what, const Json& json) {
  throw Invalid(fmt::format("{} was expected, not {}", what, cut(json_text(json), 60)));
}

// The last enumerator of what messages contain; the first is 0.
template <class T>
inline constexpr T kLast{};
template <>
inline constexpr DType kLast<DType> = DType::kInt2;
template <>
inline constexpr ErrorCode kLast<ErrorCode> = ErrorCode::kInternal;
template <>
inline constexpr StopReason kLast<StopReason> = StopReason::kFailure;
template <>
inline constexpr stats::SteadyClass kLast<stats::SteadyClass> = stats::SteadyClass::kUnsteady;

template <class T>
void from(const Json& json, T& x);

// Throws Invalid.
struct Reader {
  const Json& json;
  template <class T>
  void operator()(const char* key, T& value) {
    const auto found = json.find(key);
    if (found == json.end()) throw Invalid(fmt::format("'{}' is missing", key));
    try {
      from(*found, value);
    } catch (const Invalid& problem) {
      throw Invalid(fmt::format("'{}': {}", key, problem.what()));
    }
  }
};

template <std::integral T>
void from_integer(const Json& json, T& x) {
  if (json.is_number_unsigned() && std::in_range<T>(json.get<std::uint64_t>()))
    x = static_cast<T>(json.get<std::uint64_t>());
  else if (json.is_number_integer() && !json.is_number_unsigned() && std::in_range<T>(json.get<std::int64_t>()))
    x = static_cast<T>(json.get<std::int64_t>());
  else
    expected(std::numeric_limits<T>::is_signed ? "an integer that fits" : "a natural number that fits", json);
}

double to_double(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (json.is_string())  // as to() writes them
    for (const double special : {HUGE_VAL, -HUGE_VAL, std::nan("")})
      if (json.get_ref<const std::string&>() == fmt::format("{}", special)) return special;
  expected("a number", json);
}

const std::string& to_text(const Json& json) {
  if (!json.is_string()) expected("a text", json);
  const std::string& text = json.get_ref<const std::string&>();
  if (text.find('\0') != text.npos) expected("a text without a byte 0", json);  // it would end in a C interface
  return text;
}

template <class T>
void from(const Json& json, T& x) {
  if constexpr (std::same_as<T, Json>) {
    x = json;
  } else if constexpr (std::floating_point<T>) {
    x = to_double(json);
  } else if constexpr (std::same_as<T, bool>) {
    if (!json.is_boolean()) expected("true or false", json);
    x = json.get<bool>();
  } else if constexpr (std::integral<T>) {
    from_integer(json, x);
  } else if constexpr (std::same_as<T, std::string> || std::same_as<T, std::filesystem::path>) {
    x = to_text(json);
  } else if constexpr (std::is_enum_v<T>) {
    int number = 0;
    from_integer(json, number);
    if (number < 0 || number > static_cast<int>(kLast<T>)) expected("a known value", json);
    x = static_cast<T>(number);
  } else if constexpr (std::same_as<T, Pair>) {
    if (!json.is_array() || json.size() != 2) expected("a pair of texts", json);
    x = {to_text(json[0]), to_text(json[1])};
  } else if constexpr (std::same_as<T, InputRecipe>) {
    auto recipe = recipe_from_json(json);
    if (!recipe) throw Invalid(cut(recipe.error().message, 200));
    x = std::move(*recipe);
  } else if constexpr (IsVector<T>::value) {
    if (!json.is_array()) expected("a list", json);
    x.clear();
    for (const Json& item : json) from(item, x.emplace_back());
  } else if constexpr (IsOptional<T>::value) {
    x.reset();
    if (!json.is_null()) from(json, x.emplace());
  } else {
    if (!json.is_object()) expected("an object", json);
    Reader reader{json};
    fields(reader, x);
  }
}

Status gone(std::string_view what) {
  return fail(ErrorCode::kWorkerDied, fmt::format("the other side of the worker's socket was closed while {}", what));
}

// Calls `ask` again and again, at its pace, however often the socket becomes ready.
class Asking {
 public:
  explicit Asking(const Patience& patience) : patience_(patience) {}

  // Waits until `socket` may be ready for `events`.
  Status wait(int socket, short events) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_ - std::chrono::steady_clock::now());
    pollfd watched{socket, events, 0};
    const int limit = patience_.ask ? static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX)) : -1;
    int ready = 0;
    do {
      ready = ::poll(&watched, 1, limit);
    } while (ready < 0 && errno == EINTR && !patience_.ask);  // a signal is not a message
    if (ready < 0 && errno != EINTR) return gone("waiting");
    if ((watched.revents & POLLNVAL) != 0) return gone("waiting: the descriptor is closed");
    if (!patience_.ask || std::chrono::steady_clock::now() < next_) return {};
    next_ = std::chrono::steady_clock::now() + patience_.every;
    return patience_.ask();
  }

 private:
  const Patience& patience_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + patience_.every;
};

// Whether a call on a non-blocking socket should be tried again.
bool would_block() { return errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK; }

Status receive_bytes(int socket, char* to, std::size_t size, Asking& asking) {
  while (size > 0) {
    ASSAY_CHECK_OK(asking.wait(socket, POLLIN));
    const ssize_t got = ::recv(socket, to, size, MSG_DONTWAIT);
    if (got < 0 && would_block()) continue;
    if (got <= 0) return gone("receiving");
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return {};
}

}  // namespace

Patience within(std::chrono::nanoseconds limit) {
  using std::chrono::milliseconds;
  const auto until = std::chrono::steady_clock::now() + limit;
  const auto ask = [until, limit]() -> Status {
    if (std::chrono::steady_clock::now() < until) return {};
    return fail(ErrorCode::kTimeout,
                fmt::format("a message took more than {:g} s", std::chrono::duration<double>(limit).count()));
  };
  return {ask, std::clamp(std::chrono::duration_cast<milliseconds>(limit / 10), milliseconds(1), milliseconds(250))};
}

Status send(int socket, const Json& message, const Patience& patience) {
  const std::string body = json_text(message);
  if (body.size() > kMaxMessageBytes)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a message of {} bytes is too long: at most {} are sent between assay and a worker",
                            body.size(), kMaxMessageBytes));
  const auto size = static_cast<std::uint32_t>(body.size());
  std::string frame{static_cast<char>(size), static_cast<char>(size >> 8), static_cast<char>(size >> 16),
                    static_cast<char>(size >> 24)};
  frame += body;
  Asking asking(patience);
  for (std::size_t done = 0; done < frame.size();) {
    ASSAY_CHECK_OK(asking.wait(socket, POLLOUT));
    const ssize_t sent = ::send(socket, frame.data() + done, frame.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && would_block()) continue;
    if (sent <= 0) return gone("sending");
    done += static_cast<std::size_t>(sent);
  }
  return {};
}

Result<Json> receive(int socket, const Patience& patience, std::uint32_t most_bytes) {
  Asking asking(patience);
  unsigned char head[4];
  ASSAY_CHECK_OK(receive_bytes(socket, reinterpret_cast<char*>(head), sizeof head, asking));
  const std::uint32_t size =
      head[0] | std::uint32_t{head[1]} << 8 | std::uint32_t{head[2]} << 16 | std::uint32_t{head[3]} << 24;
  if (size > most_bytes)
    return fail(ErrorCode::kInternal, fmt::format("a message of {} bytes; at most {} are valid", size, most_bytes));
  std::string body(size, '\0');
  ASSAY_CHECK_OK(receive_bytes(socket, body.data(), body.size(), asking));
  Result<Json> json = parse_json(body, "a message");
  if (!json) return fail(ErrorCode::kInternal, cut(json.error().message, 300));
  return json;
}

Status await_message(int socket) {
  const Patience for_ever{};
  return Asking(for_ever).wait(socket, POLLIN);
}

template <class T>
Json encode(const T& value) {
  return to(value);
}

template <class T>
Result<T> decode(const Json& json) try {
  T value;
  from(json, value);
  return value;
} catch (const Invalid& problem) {
  return fail(ErrorCode::kInternal, problem.what());
}

Json encode_error(const Error& error) { return to(error); }

Result<Error> decode_error(const Json& json) {
  constexpr std::size_t kMessageBytes = 16'000, kContexts = 20;
  auto error = decode<Error>(json);
  if (!error) return error;
  const auto shorten = [](std::string& text) { text = cut(text, kMessageBytes); };
  shorten(error->message);
  shorten(error->hint);
  if (error->context.size() > kContexts) error->context.resize(kContexts);
  std::ranges::for_each(error->context, shorten);
  return error;
}

#define ASSAY_MESSAGE(T)             \
  template Json encode<T>(const T&); \
  template Result<T> decode<T>(const Json&)
ASSAY_MESSAGE(Description);
ASSAY_MESSAGE(LoadRequest);
ASSAY_MESSAGE(LoadReply);
ASSAY_MESSAGE(BindRequest);
ASSAY_MESSAGE(BindReply);
ASSAY_MESSAGE(InferRequest);
ASSAY_MESSAGE(InferReply);
ASSAY_MESSAGE(MeasureRequest);
ASSAY_MESSAGE(MeasureReply);
ASSAY_MESSAGE(SaveRequest);
ASSAY_MESSAGE(Generation);
ASSAY_MESSAGE(MeasurePlan);
ASSAY_MESSAGE(Nothing);
#undef ASSAY_MESSAGE

}  // namespace assay::worker_protocol
