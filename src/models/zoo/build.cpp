// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <set>
#include <system_error>

#include "core/base/hash.hpp"
#include "models/zoo/catalogue/architecture.hpp"
#include "models/zoo/catalogue/config.hpp"
#include "models/zoo/skeletons.hpp"
#include "models/zoo/zoo.hpp"

namespace assay::zoo {
namespace fs = std::filesystem;
namespace {

constexpr const char* kBuilderVersion = "5";  ///< raised whenever a graph changes for the same configuration

// The heads that other classes of this type have and this one lacks: their tensors may lie in the checkpoint.
std::vector<std::string> foreign_heads(const Config& config) {
  const Architecture& architecture = config.architecture();
  std::set<std::string> heads(architecture.other_head_tensors.begin(), architecture.other_head_tensors.end());
  for (const auto& [name, spec] : architecture.classes)
    heads.insert(spec.head_tensors->begin(), spec.head_tensors->end());
  for (const std::string& head : *config.class_spec().head_tensors) heads.erase(head);
  return {heads.begin(), heads.end()};
}

// What makes one graph differ from another, but for the weights.
std::string hash_of(const Config& config, const BuildRequest& request) {
  Json identity;
  identity["class"] = config.model_class();
  identity["config"] = config.effective();
  identity["labels"] = config.label_count();
  identity["model_type"] = config.architecture().name;
  identity["precision"] = request.precision;
  identity["part"] = part_name(request.part);
  identity["last_logits_only"] = request.last_logits_only;
  if (request.weights_rounded_to) identity["weights_rounded_to"] = to_string(*request.weights_rounded_to);
  // These are the names that the kinds of KV cache had first: stored rows have this hash.
  if (request.kv_cache != KvCache::kGrowing)
    identity["form"] = request.kv_cache == KvCache::kStatic ? "fixed" : "native";
  if (request.longest > 0) identity["longest"] = request.longest;
  for (const auto& [name, shape] : request.input_shapes) identity["inputs"][name] = shape;
  for (const auto& [name, dtype] : request.input_dtypes) identity["input_types"][name] = to_string(dtype);
  for (const auto& [name, tensor] : request.constants) {
    const std::span<const std::byte> bytes = tensor.bytes();
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    identity["constants"][name] = {to_string(tensor.dtype()), tensor.shape(), sha256_hex(text)};
  }
  return sha256_hex(identity.dump());
}

Status check_space(const GraphBuilder& graph, const BuildRequest& request, const fs::path& output) {
  ASSAY_TRY(const std::uint64_t needed, graph.weight_bytes());
  if (request.max_weight_bytes && needed > *request.max_weight_bytes) {
    return fail(ErrorCode::kOutOfMemory,
                fmt::format("the model's weights need {:.1f} GB, {:.1f} GB are allowed",
                            static_cast<double>(needed) / 1e9, static_cast<double>(*request.max_weight_bytes) / 1e9),
                "use a smaller model, or a machine with more memory");
  }
  std::error_code error;
  fs::path folder = fs::absolute(output, error).parent_path();
  while (!folder.empty() && !fs::exists(folder, error) && folder != folder.parent_path()) folder = folder.parent_path();
  const fs::space_info space = fs::space(folder, error);
  if (error || space.available >= needed) return {};
  return fail(
      ErrorCode::kOutOfMemory,
      fmt::format("the model's weights need {:.1f} GB, '{}' has {:.1f} GB free", static_cast<double>(needed) / 1e9,
                  folder.string(), static_cast<double>(space.available) / 1e9),
      "choose smaller sizes or another folder");
}

Result<Parameters> open_parameters(const BuildRequest& request, const Architecture& architecture) {
  if (!request.weights) return Parameters(request.seed);
  ASSAY_TRY(Checkpoint checkpoint, Checkpoint::open(*request.weights, architecture));
  return Parameters(std::move(checkpoint));
}

}  // namespace

Result<std::string> weights_hash(const BuildRequest& request, const Cancelled& cancelled) {
  ASSAY_TRY(const Config config, Config::read(request.config, request.model_class));
  ASSAY_TRY(const Parameters parameters, open_parameters(request, config.architecture()));
  return parameters.hash(cancelled);
}

Result<BuiltModel> build(const BuildRequest& request, const fs::path& output) {
  ASSAY_TRY(const Config config, Config::read(request.config, request.model_class));
  const Architecture& architecture = config.architecture();
  const DType precision = dtype_from(request.precision).value_or(DType::kUndefined);
  if (precision != DType::kFloat32 && precision != DType::kFloat16 && precision != DType::kBFloat16)
    return unsupported("precision", request.precision, "built are float32, float16 and bfloat16");
  if (request.kv_cache != KvCache::kGrowing && request.part != Part::kDecode)
    return unsupported("kv_cache", std::string(to_string(request.kv_cache)), "only a decode graph has this KV cache");

  ASSAY_TRY(Parameters parameters, open_parameters(request, architecture));
  GraphBuilder graph(config.model_class());
  Inputs inputs(graph, request, config);
  States states(graph, request.part, request.kv_cache);
  BuildContext context{Module(graph, parameters), config, inputs, states, request.last_logits_only};
  ASSAY_CHECK_OK(find_skeleton(architecture.skeleton)(context));
  ASSAY_CHECK_OK(inputs.finish());
  ASSAY_CHECK_OK(states.finish());
  if (request.weights_rounded_to) graph.round_weights(*request.weights_rounded_to);
  if (precision != DType::kFloat32) graph.lower_floats(precision);

  BuiltModel built;
  ASSAY_TRY(built.ignored_tensors, parameters.finish(foreign_heads(config), architecture.non_parameters));
  if (!request.weights_left_out) ASSAY_CHECK_OK(check_space(graph, request, output));
  built.path = output;
  built.architecture = architecture.name;
  built.model_class = config.model_class();
  const Classification what = classify(architecture, built.model_class);
  built.category = what.category;
  built.family = what.family;
  built.task = what.task;
  built.kv_cache = request.kv_cache;
  built.config_hash = hash_of(config, request);
  built.weights_hash = request.weights_hash;
  if (built.weights_hash.empty() && (!request.weights_left_out || !request.weights)) {
    ASSAY_TRY(built.weights_hash, parameters.hash(request.cancelled));
  }
  built.builder_version = kBuilderVersion;
  built.seeded = !request.weights.has_value();
  built.parameter_count = parameters.count();
  built.inputs = graph.input_names();
  built.states = states.tensors();
  for (StateTensor& state : built.states)
    if (state.dtype == DType::kFloat32) state.dtype = precision;
  for (const auto& [name, extents] : graph.outputs()) built.outputs.push_back(name);

  graph.metadata("assay.architecture", built.architecture);
  graph.metadata("assay.builder_version", built.builder_version);
  graph.metadata("assay.category", built.category);
  graph.metadata("assay.class", built.model_class);
  graph.metadata("assay.config_hash", built.config_hash);
  graph.metadata("assay.family", built.family);
  graph.metadata("assay.kv_cache", std::string(to_string(built.kv_cache)));
  graph.metadata("assay.parameter_count", std::to_string(built.parameter_count));
  graph.metadata("assay.part", std::string(part_name(request.part)));
  graph.metadata("assay.precision", request.precision);
  graph.metadata("assay.task", built.task);
  graph.metadata("assay.weights_hash", built.weights_hash);
  GraphBuilder::WriteOptions options;
  options.weights = !request.weights_left_out;
  options.cancelled = request.cancelled;
  ASSAY_CHECK_OK(graph.write(output, options));
  return built;
}

}  // namespace assay::zoo
