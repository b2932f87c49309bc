// SPDX-License-Identifier: Apache-2.0
#include "zoo_graphs.hpp"

#include <fmt/format.h>

#include "core/base/files.hpp"
#include "models/zoo/check.hpp"

namespace assay::testing {
namespace fs = std::filesystem;
namespace {

struct Variant {
  const char* name;
  zoo::Part part;
  KvCache kv_cache;
};
constexpr Variant kParts[] = {
    {"prefill", zoo::Part::kPrefill, KvCache::kGrowing},
    {"decode", zoo::Part::kDecode, KvCache::kGrowing},
    {"decode-fixed", zoo::Part::kDecode, KvCache::kStatic},
    {"decode-native", zoo::Part::kDecode, KvCache::kRuntime},
};

zoo::BuildRequest request_for(const Json& config, const std::string& model_class) {
  zoo::BuildRequest request;
  request.config = config;
  request.model_class = model_class;
  return request;
}

// "whole" and, if the class generates, its parts as runs build them.
void add_parts(std::vector<ZooGraph>& graphs, const std::string& model, const Json& config,
               const std::string& model_class, const std::string& precision) {
  const std::string suffix = precision == "float32" ? "" : "-" + precision;
  const auto add = [&](const std::string& variant) -> zoo::BuildRequest& {
    zoo::BuildRequest& request = graphs.emplace_back(model, variant + suffix, request_for(config, model_class)).request;
    request.precision = precision;
    return request;
  };
  add("whole");
  const Result<zoo::Generates> generates = zoo::generates(config, model_class);
  if (!generates || *generates == zoo::Generates::kNothing) return;
  for (const Variant& variant : kParts) {
    zoo::BuildRequest& request = add(variant.name);
    request.last_logits_only = true;
    request.part = variant.part;
    request.kv_cache = variant.kv_cache;
  }
}

}  // namespace

Result<std::vector<ZooGraph>> golden_graphs(const fs::path& folder) {
  const std::string model = folder.filename().string();
  ASSAY_TRY(zoo::GoldenRequests golden, zoo::golden_requests(folder));
  const Json config = golden.whole.config;
  const std::string model_class = golden.whole.model_class;
  std::vector<ZooGraph> graphs;
  graphs.emplace_back(model, "golden", std::move(golden.whole));
  if (golden.prefill) graphs.emplace_back(model, "golden-prefill", std::move(*golden.prefill));
  if (golden.decode) graphs.emplace_back(model, "golden-decode", std::move(*golden.decode));
  for (const zoo::Architecture& architecture : zoo::architectures()) {
    if (architecture.name != config.value("model_type", "")) continue;
    for (const auto& [name, description] : architecture.classes)
      graphs.emplace_back(model, name, request_for(config, name));
  }
  for (const char* precision : {"float32", "float16", "bfloat16"})
    add_parts(graphs, model, config, model_class, precision);
  return graphs;
}

std::vector<ZooGraph> published_graphs() {
  std::vector<ZooGraph> graphs;
  for (const zoo::Architecture& architecture : zoo::architectures())
    for (const zoo::KnownModel& known : zoo::published(architecture.name))
      add_parts(graphs, known.model_id, known.config, known.model_class, "float32");
  return graphs;
}

Result<CanonicalGraph> build_canonical(ZooGraph& graph, const fs::path& folder) {
  graph.request.weights_left_out = true;
  const fs::path file = folder / "model.onnx";
  ASSAY_CHECK_OK(zoo::build(graph.request, file));
  ASSAY_TRY(const std::string bytes, read_file(file));
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes))
    return fail(ErrorCode::kInternal, fmt::format("'{}' is not an ONNX model", file.string()));
  return canonical_graph(model);
}

}  // namespace assay::testing
