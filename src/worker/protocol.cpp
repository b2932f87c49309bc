// SPDX-License-Identifier: Apache-2.0
#include "worker/protocol.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cmath>
#include <concepts>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <type_traits>
#include <utility>

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

// Throws exceptions of nlohmann; decode() converts them to an Error.
template <class T>
void from(const Json& json, T& x);

struct Reader {
  const Json& json;
  template <class T>
  void operator()(const char* key, T& value) {
    from(json.at(key), value);
  }
};

template <class T>
void from(const Json& json, T& x) {
  if constexpr (std::same_as<T, Json>) {
    x = json;
  } else if constexpr (std::floating_point<T>) {
    x = json.is_string() ? std::strtod(json.get_ref<const std::string&>().c_str(), nullptr) : json.get<T>();
  } else if constexpr (std::same_as<T, std::string> || std::same_as<T, bool> || std::integral<T>) {
    x = json.get<T>();
  } else if constexpr (std::is_enum_v<T>) {
    x = static_cast<T>(json.get<int>());
  } else if constexpr (std::same_as<T, std::filesystem::path>) {
    x = json.get<std::string>();
  } else if constexpr (std::same_as<T, Pair>) {
    x = {json.at(0).get<std::string>(), json.at(1).get<std::string>()};
  } else if constexpr (std::same_as<T, InputRecipe>) {
    auto recipe = recipe_from_json(json);
    if (!recipe) throw std::invalid_argument(recipe.error().message);
    x = std::move(*recipe);
  } else if constexpr (IsVector<T>::value) {
    x.clear();
    for (const Json& item : json) from(item, x.emplace_back());
  } else if constexpr (IsOptional<T>::value) {
    x.reset();
    if (!json.is_null()) from(json, x.emplace());
  } else {
    Reader reader{json};
    fields(reader, x);
  }
}

Status gone(std::string_view what) {
  return fail(ErrorCode::kWorkerDied, fmt::format("the other side of the worker's socket was closed while {}", what));
}

Status receive_bytes(int socket, char* to, std::size_t size, const std::function<Status()>& wait,
                     std::chrono::milliseconds patience) {
  while (size > 0) {
    pollfd readable{socket, POLLIN, 0};
    const int ready = ::poll(&readable, 1, wait ? static_cast<int>(patience.count()) : -1);
    if (ready <= 0) {
      if (ready < 0 && errno != EINTR) return gone("waiting");
      if (wait) ASSAY_CHECK_OK(wait());
      continue;
    }
    const ssize_t got = ::recv(socket, to, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return gone("receiving");
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return {};
}

}  // namespace

Status send(int socket, const Json& message) {
  std::string body = json_text(message);
  if (body.size() > kMaxMessageBytes)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a message of {} bytes is too long for the worker", body.size()));
  const auto size = static_cast<std::uint32_t>(body.size());
  std::string frame{static_cast<char>(size), static_cast<char>(size >> 8), static_cast<char>(size >> 16),
                    static_cast<char>(size >> 24)};
  frame += body;
  for (std::size_t done = 0; done < frame.size();) {
    const ssize_t sent = ::send(socket, frame.data() + done, frame.size() - done, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return gone("sending");
    done += static_cast<std::size_t>(sent);
  }
  return {};
}

Result<Json> receive(int socket, const std::function<Status()>& wait, std::chrono::milliseconds patience) {
  unsigned char head[4];
  ASSAY_CHECK_OK(receive_bytes(socket, reinterpret_cast<char*>(head), sizeof head, wait, patience));
  const std::uint32_t size =
      head[0] | std::uint32_t{head[1]} << 8 | std::uint32_t{head[2]} << 16 | std::uint32_t{head[3]} << 24;
  if (size > kMaxMessageBytes)
    return fail(ErrorCode::kInternal, fmt::format("a message with a length of {} bytes", size));
  std::string body(size, '\0');
  ASSAY_CHECK_OK(receive_bytes(socket, body.data(), body.size(), wait, patience));
  Json json = Json::parse(body, nullptr, false);
  if (json.is_discarded()) return fail(ErrorCode::kInternal, "a message that is not JSON");
  return json;
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
} catch (const std::exception& problem) {
  return fail(ErrorCode::kInternal, fmt::format("a message of the worker's protocol is invalid: {}", problem.what()));
}

Json encode_error(const Error& error) { return to(error); }

Error decode_error(const Json& json) {
  auto error = decode<Error>(json);
  return error ? std::move(*error) : std::move(error.error());
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
