// SPDX-License-Identifier: Apache-2.0
#include "bench/plan/task.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <type_traits>
#include <utility>

#include "bench/worker/protocol.hpp"

namespace assay {
namespace {

using worker_protocol::decode;
using worker_protocol::encode;

constexpr int kTaskVersion = 3;

Json to_json(const CellShape& shape) {
  return {{"batch", shape.batch},
          {"sequence", shape.sequence},
          {"output_tokens", shape.output_tokens},
          {"streams", shape.streams},
          {"threads", shape.threads}};
}

Json list_of(const std::vector<InputRecipe>& recipes) {
  Json list = Json::array();
  for (const InputRecipe& recipe : recipes) list.push_back(assay::to_json(recipe));
  return list;
}

Json to_json(const Task::Reference& reference) {
  return {{"artefact", assay::to_json(reference.artefact)},
          {"graph_hash", reference.graph_hash},
          {"weights_hash", reference.weights_hash},
          {"signature", reference.signature},
          {"step_signature", reference.step_signature},
          {"why_none", reference.why_none},
          {"given_outputs", reference.given_outputs.string()},
          {"given_note", reference.given_note},
          {"quantised", reference.quantised}};
}

// The value, or an exception that task_from_json() converts to its error.
template <class T>
T value_of(Result<T> result) {
  if (!result) throw std::invalid_argument(result.error().message);
  return std::move(*result);
}

// What `from` makes of the value of a key. Exceptions of `from` get the key and the value.
template <class From>
auto at(const Json& object, const char* key, const From& from) {
  const auto value = object.find(key);
  if (value == object.end()) throw std::invalid_argument(fmt::format("\"{}\" is absent", key));
  try {
    return from(*value);
  } catch (const std::exception& problem) {
    constexpr std::size_t kMost = 60;
    const std::string text = value->dump();
    throw std::invalid_argument(
        fmt::format("\"{}\" is {}{}: {}", key, text.substr(0, kMost), text.size() > kMost ? "…" : "", problem.what()));
  }
}

template <class T>
T get(const Json& object, const char* key) {
  return at(object, key, [](const Json& json) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (!json.is_number_integer()) throw std::invalid_argument("an integer is expected");
      if (std::is_unsigned_v<T> && !json.is_number_unsigned()) throw std::invalid_argument("0 or more is expected");
    }
    return json.get<T>();
  });
}

template <class T>
T decoded(const Json& object, const char* key) {
  return at(object, key, [](const Json& json) { return value_of(decode<T>(json)); });
}

CellShape shape_from(const Json& json) {
  const auto number = [&](const char* key) { return get<std::int64_t>(json, key); };
  return {number("batch"), number("sequence"), number("output_tokens"), number("streams"), number("threads")};
}

std::vector<InputRecipe> recipes_from(const Json& json) {
  if (!json.is_array()) throw std::invalid_argument("a list is expected");
  std::vector<InputRecipe> recipes;
  for (const Json& item : json) recipes.push_back(value_of(recipe_from_json(item)));
  return recipes;
}

ArtefactSpec artefact_at(const Json& json, const char* key) {
  return at(json, key, [](const Json& artefact) { return value_of(artefact_from_json(artefact)); });
}

DType dtype_from_json(const Json& json) {
  const std::optional<DType> dtype = dtype_from(json.get<std::string>());
  if (!dtype) throw std::invalid_argument("this is not an element type");
  return *dtype;
}

Task::Reference reference_from(const Json& json) {
  Task::Reference reference;
  reference.artefact = artefact_at(json, "artefact");
  reference.graph_hash = get<std::string>(json, "graph_hash");
  reference.weights_hash = get<std::string>(json, "weights_hash");
  reference.signature = get<EngineOptions>(json, "signature");
  reference.step_signature = get<EngineOptions>(json, "step_signature");
  reference.why_none = get<std::string>(json, "why_none");
  reference.given_outputs = get<std::string>(json, "given_outputs");
  reference.given_note = get<std::string>(json, "given_note");
  reference.quantised = get<bool>(json, "quantised");
  return reference;
}

}  // namespace

Json to_json(const Task& task) {
  Json json{{"version", kTaskVersion},
            {"row", to_json(task.row)},
            {"engine", task.engine},
            {"shape", to_json(task.shape)},
            {"artefact", to_json(task.artefact)},
            {"static_shapes", task.static_shapes},
            {"load", encode(task.load)},
            {"inputs", list_of(task.inputs)},
            {"generation", task.generation ? encode(*task.generation) : Json()},
            {"variant", Json()},
            {"shape_hint", task.shape_hint},
            {"contradiction", task.contradiction ? worker_protocol::encode_error(*task.contradiction) : Json()},
            {"reference", to_json(task.reference)},
            {"arithmetic", to_string(task.arithmetic)},
            {"verify", task.verify},
            {"benchmark", task.benchmark},
            {"default_batch", task.default_batch},
            {"measure", encode(task.measure)},
            {"launches", task.launches},
            {"max_time_ns", task.max_time ? Json(task.max_time->count()) : Json()},
            {"notes", task.notes},
            {"seed", task.seed},
            {"input_sets", task.input_sets},
            {"timeout_ns", task.timeout.count()}};
  if (task.variant)
    json["variant"] = {{"inputs", list_of(task.variant->inputs)}, {"generation", encode(task.variant->generation)}};
  return json;
}

Result<Task> task_from_json(const Json& json) try {
  if (const Json version = json.value("version", Json()); version != kTaskVersion)
    return fail(ErrorCode::kInvalidArgument,
                version.is_null()
                    ? "this is not a task: \"version\" is absent"
                    : fmt::format("the task has version {}, this assay reads {}", version.dump(), kTaskVersion));
  Task task;
  task.row = at(json, "row", [](const Json& row) { return value_of(record_from_json(row)); });
  task.engine = get<std::string>(json, "engine");
  task.shape = at(json, "shape", shape_from);
  task.artefact = artefact_at(json, "artefact");
  task.static_shapes = get<bool>(json, "static_shapes");
  task.load = decoded<LoadRequest>(json, "load");
  task.inputs = at(json, "inputs", recipes_from);
  task.generation = at(json, "generation", [](const Json& generation) -> std::optional<Generation> {
    if (generation.is_null()) return std::nullopt;
    return value_of(decode<Generation>(generation));
  });
  task.variant = at(json, "variant", [](const Json& variant) -> std::optional<Task::Variant> {
    if (variant.is_null()) return std::nullopt;
    return Task::Variant{at(variant, "inputs", recipes_from), decoded<Generation>(variant, "generation")};
  });
  task.shape_hint = get<std::string>(json, "shape_hint");
  task.contradiction = at(json, "contradiction", [](const Json& error) -> std::optional<Error> {
    if (error.is_null()) return std::nullopt;
    return value_of(worker_protocol::decode_error(error));
  });
  task.reference = at(json, "reference", reference_from);
  task.arithmetic = at(json, "arithmetic", dtype_from_json);
  task.verify = get<bool>(json, "verify");
  task.benchmark = get<bool>(json, "benchmark");
  task.default_batch = get<bool>(json, "default_batch");
  task.measure = decoded<MeasurePlan>(json, "measure");
  task.launches = get<std::int64_t>(json, "launches");
  task.max_time = at(json, "max_time_ns", [](const Json& time) -> std::optional<std::chrono::nanoseconds> {
    if (time.is_null()) return std::nullopt;
    return std::chrono::nanoseconds(time.get<std::int64_t>());
  });
  task.notes = get<std::vector<std::string>>(json, "notes");
  task.seed = get<std::uint64_t>(json, "seed");
  task.input_sets = get<std::size_t>(json, "input_sets");
  task.timeout = std::chrono::nanoseconds(get<std::int64_t>(json, "timeout_ns"));
  return task;
} catch (const std::exception& problem) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("this is not a task: {}", problem.what()));
}

}  // namespace assay
