// SPDX-License-Identifier: Apache-2.0
#include "plan/task.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "worker/protocol.hpp"

namespace assay {
namespace {

using worker_protocol::decode;
using worker_protocol::encode;

constexpr int kTaskVersion = 1;

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
          {"why_none", reference.why_none},
          {"given_outputs", reference.given_outputs.string()},
          {"given_note", reference.given_note}};
}

// The value, or an exception that task_from_json() converts to its error.
template <class T>
T value_of(Result<T> result) {
  if (!result) throw std::invalid_argument(result.error().message);
  return std::move(*result);
}

template <class T>
std::optional<T> maybe(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return value_of(decode<T>(json));
}

CellShape shape_from(const Json& json) {
  return {json.at("batch"), json.at("sequence"), json.at("output_tokens"), json.at("streams"), json.at("threads")};
}

std::vector<InputRecipe> recipes_from(const Json& json) {
  std::vector<InputRecipe> recipes;
  for (const Json& item : json) recipes.push_back(value_of(recipe_from_json(item)));
  return recipes;
}

Task::Reference reference_from(const Json& json) {
  Task::Reference reference;
  reference.artefact = value_of(artefact_from_json(json.at("artefact")));
  reference.graph_hash = json.at("graph_hash");
  reference.weights_hash = json.at("weights_hash");
  reference.signature = json.at("signature").get<EngineOptions>();
  reference.why_none = json.at("why_none");
  reference.given_outputs = json.at("given_outputs").get<std::string>();
  reference.given_note = json.at("given_note");
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
            {"contradiction", task.contradiction ? worker_protocol::encode_error(*task.contradiction) : Json()},
            {"reference", to_json(task.reference)},
            {"arithmetic", to_string(task.arithmetic)},
            {"verify", task.verify},
            {"benchmark", task.benchmark},
            {"default_batch", task.default_batch},
            {"measure", encode(task.measure)},
            {"seed", task.seed},
            {"input_sets", task.input_sets},
            {"timeout_ns", task.timeout.count()}};
  if (task.variant)
    json["variant"] = {{"inputs", list_of(task.variant->inputs)}, {"generation", encode(task.variant->generation)}};
  return json;
}

Result<Task> task_from_json(const Json& json) try {
  if (json.at("version") != kTaskVersion)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the task has version {}, this assay reads {}", json.at("version").dump(), kTaskVersion));
  Task task;
  task.row = value_of(record_from_json(json.at("row")));
  task.engine = json.at("engine");
  task.shape = shape_from(json.at("shape"));
  task.artefact = value_of(artefact_from_json(json.at("artefact")));
  task.static_shapes = json.at("static_shapes");
  task.load = value_of(decode<LoadRequest>(json.at("load")));
  task.inputs = recipes_from(json.at("inputs"));
  task.generation = maybe<Generation>(json.at("generation"));
  if (const Json& variant = json.at("variant"); !variant.is_null())
    task.variant = {recipes_from(variant.at("inputs")), value_of(decode<Generation>(variant.at("generation")))};
  if (const Json& error = json.at("contradiction"); !error.is_null())
    task.contradiction = worker_protocol::decode_error(error);
  task.reference = reference_from(json.at("reference"));
  task.arithmetic = dtype_from(json.at("arithmetic").get<std::string>()).value_or(DType::kUndefined);
  task.verify = json.at("verify");
  task.benchmark = json.at("benchmark");
  task.default_batch = json.at("default_batch");
  task.measure = value_of(decode<MeasurePlan>(json.at("measure")));
  task.seed = json.at("seed");
  task.input_sets = json.at("input_sets");
  task.timeout = std::chrono::nanoseconds(json.at("timeout_ns").get<std::int64_t>());
  return task;
} catch (const std::exception& problem) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("this is not a task: {}", problem.what()));
}

}  // namespace assay
