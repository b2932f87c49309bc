// SPDX-License-Identifier: Apache-2.0
#include "app/cli/model_facts.hpp"

#include <fmt/format.h>

#include "bench/measure/environment.hpp"
#include "core/base/text.hpp"
#include "show/report/format.hpp"

namespace assay {
namespace {

// "[batch, 128]"
std::string extents_text(const ModelValue& value) {
  std::vector<std::string> extents;
  for (std::size_t i = 0; i < value.shape.size(); ++i) {
    const bool named = i < value.symbols.size() && !value.symbols[i].empty();
    extents.push_back(value.shape[i] >= 0 ? std::to_string(value.shape[i]) : named ? value.symbols[i] : "?");
  }
  return value.has_rank ? fmt::format("[{}]", join(extents, ", ")) : "?";
}

Json values_json(const std::vector<ModelValue>& values) {
  Json list = Json::array();
  for (const ModelValue& value : values) {
    list.push_back({{"name", value.name}, {"dtype", to_string(value.dtype)}, {"shape", extents_text(value)}});
  }
  return list;
}

}  // namespace

Json model_facts_json(const ModelFacts& facts) {
  const auto text = [](const std::string& word) { return word.empty() ? Json(nullptr) : Json(word); };
  Json shapes = Json::object();
  for (const auto& [name, shape] : facts.shapes) shapes[name] = shape;
  Json published = Json::array();
  for (const auto& [id, size] : facts.published) published.push_back({{"model_id", id}, {"size", size}});
  return {{"schema_version", kReportSchema},
          {"model_id", facts.model_id},
          {"architecture", text(facts.architecture)},
          {"class", text(facts.model_class)},
          {"category", facts.what.category},
          {"family", facts.what.family},
          {"task", facts.what.task},
          {"classified_by", facts.what.basis},
          {"size", facts.size},
          {"source", facts.source},
          {"note", text(facts.note)},
          {"parameter_count", facts.info.parameter_count},
          {"weight_bytes", facts.cost.weight_bytes},
          {"inputs", values_json(facts.info.inputs)},
          {"outputs", values_json(facts.info.outputs)},
          {"batch_size", facts.axes.batch},
          {"sequence_length", facts.axes.sequence},
          {"input_shapes", std::move(shapes)},
          {"flops", facts.cost.flops},
          {"bytes", facts.cost.bytes},
          {"flops_counted", facts.cost.counted},
          {"unknown_operators", facts.unknown_operators},
          {"activation_bytes", facts.cost.peak_activation_bytes},
          {"memory_to_run_bytes", memory_to_run(facts.cost)},
          {"memory_free_bytes", free_memory()},
          {"published", std::move(published)}};
}

std::string model_facts_text(const ModelFacts& facts) {
  std::string out;
  const auto line = [&](const char* what, const std::string& value) {
    if (!value.empty()) out += fmt::format("{:<14} {}\n", what, one_line(value));
  };
  const auto megabytes = [](std::uint64_t bytes) { return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6); };
  line("model", facts.model_id);
  if (!facts.architecture.empty()) line("architecture", fmt::format("{}, {}", facts.architecture, facts.model_class));
  line("task", fmt::format("{} (family {}, category {}), classified by its {}", facts.what.task, facts.what.family,
                           facts.what.category, facts.what.basis));
  line("size", facts.size);
  line("weights", facts.source + (facts.note.empty() ? "" : ": " + facts.note));
  line("parameters", fmt::format("{:.1f} million, {}", static_cast<double>(facts.info.parameter_count) / 1e6,
                                 megabytes(facts.cost.weight_bytes)));
  const auto values = [&](const char* what, const std::vector<ModelValue>& all) {
    for (const ModelValue& value : all) {
      line(what, fmt::format("{} {} {}", value.name, to_string(value.dtype), extents_text(value)));
      what = "";
    }
  };
  values("inputs", facts.info.inputs);
  values("outputs", facts.info.outputs);
  std::vector<std::string> shapes;
  shapes.reserve(facts.shapes.size());
  for (const auto& [name, shape] : facts.shapes) shapes.push_back(name + " " + to_string(shape));
  line("one inference", join(shapes, ", "));
  line("  FLOPs",
       fmt::format("{:.3f} G (2 x multiply-adds){}", facts.cost.flops / 1e9,
                   facts.cost.counted < 1 ? fmt::format(", of {:.1f} % of the operators; not of {}",
                                                        100 * facts.cost.counted, join(facts.unknown_operators, ", "))
                                          : ""));
  line("  traffic", fmt::format("{:.1f} MB of reads and writes, without operator fusion", facts.cost.bytes / 1e6));
  line("  activations", "at most " + megabytes(facts.cost.peak_activation_bytes) + " at the same time");
  const std::uint64_t needed = memory_to_run(facts.cost);
  line("memory to run", fmt::format("about {}; {} are free{}", megabytes(needed), megabytes(free_memory()),
                                    needed > free_memory() ? ": it does not fit" : ""));
  std::vector<std::string> published;
  published.reserve(facts.published.size());
  for (const auto& [id, size] : facts.published) published.push_back(fmt::format("{} ({})", id, size));
  line("published", join(published, ", "));
  return out;
}

}  // namespace assay
