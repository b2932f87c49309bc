// SPDX-License-Identifier: Apache-2.0
#include "faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>

#include "fault_places.hpp"

namespace assay::faults {
namespace {

Places places_of(const GraphEditor& graph, std::string_view name) {
  static const std::map<std::string_view, std::function<Places(const GraphEditor&)>> finders{
      {"skipped_layer", [](const GraphEditor& g) { return residual_sums(g, true); }},
      {"dropped_residual", [](const GraphEditor& g) { return residual_sums(g, false); }},
      {"dropped_bias", biases},
      {"ignored_mask", [](const GraphEditor& g) { return masks(g, false); }},
      {"swapped_heads", heads},
      {"transposed_weight", square_weights},
      {"other_gelu", gelus},
      {"large_epsilon", epsilons},
      {"rope_base", rope_bases},
      {"position_off_by_one", positions},
      {"clipped", products},
      {"lost_cache_slot", [](const GraphEditor& g) { return cache_slots(g, false); }},
      {"late_cache_slot", [](const GraphEditor& g) { return cache_slots(g, true); }},
      {"late_mask", [](const GraphEditor& g) { return masks(g, true); }},
  };
  return finders.at(name)(graph);
}

// The indices that `where` selects of `count` places; empty if its number is too large.
Result<std::vector<std::size_t>> chosen(const std::string& where, std::size_t count) {
  if (count == 0) return std::vector<std::size_t>{};
  if (where == "first") return std::vector<std::size_t>{0};
  if (where == "middle") return std::vector<std::size_t>{count / 2};
  if (where == "last") return std::vector<std::size_t>{count - 1};
  if (where == "all") {
    std::vector<std::size_t> every(count);
    for (std::size_t i = 0; i < count; ++i) every[i] = i;
    return every;
  }
  if (where.empty() || !std::ranges::all_of(where, [](char c) { return c >= '0' && c <= '9'; }) || where.size() > 6)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is not a place: use first, middle, last, all or a number", where));
  const std::size_t number = std::stoul(where);
  return number < count ? std::vector<std::size_t>{number} : std::vector<std::size_t>{};
}

}  // namespace

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> list{
      {"skipped_layer", "middle", 1.0, "x + f(x) becomes x: attention, feed-forward or convolution block"},
      {"dropped_residual", "middle", 1.0, "x + f(x) becomes f(x)"},
      {"dropped_bias", "middle", 1.0, "the bias of a matrix product or convolution is zero"},
      {"ignored_mask", "all", 1.0, "every mask is all ones"},
      {"swapped_heads", "middle", 1.0, "heads 0 and 1 of a query, key or value change places"},
      {"transposed_weight", "middle", 1.0, "a square weight is transposed"},
      {"other_gelu", "all", 1.0, "erf for tanh in GELU, or the reverse"},
      {"large_epsilon", "all", 1.0, "the epsilon of normalisations times 1000^strength"},
      {"rope_base", "all", 1.0, "the base of rotary embeddings times 50^strength"},
      {"position_off_by_one", "first", 1.0, "learnt positions are those of the next token; rotary ones in steps"},
      {"clipped", "middle", 2.0, "a product saturates at strength times its root mean square"},
      {"lost_cache_slot", "all", 1.0, "the newest slot of each cache is zero"},
      {"late_cache_slot", "all", 32.0, "the same where a cache has more than `strength` tokens"},
      {"late_mask", "all", 32.0, "every mask of more than `strength` tokens is all ones"},
  };
  return list;
}

Result<Fault> Fault::parse(std::string_view text) {
  Fault fault;
  const std::size_t at = text.find('@'), colon = text.substr(0, at).find(':');
  fault.name = text.substr(0, std::min(at, colon));
  const auto& known = kinds();
  const auto kind = std::ranges::find(known, fault.name, &Kind::name);
  if (kind == known.end()) {
    std::string names;
    for (const Kind& one : known) names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
    return fail(ErrorCode::kInvalidArgument, fmt::format("unknown fault '{}'", fault.name), "known faults: " + names);
  }
  const std::string_view head = text.substr(0, at);
  fault.where = colon == std::string_view::npos ? kind->where : head.substr(colon + 1);
  fault.strength = kind->strength;
  if (at != std::string_view::npos) {
    const std::string number(text.substr(at + 1));
    char* end = nullptr;
    fault.strength = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0' || !std::isfinite(*fault.strength))
      return fail(ErrorCode::kInvalidArgument, fmt::format("strength '{}' is not a number", number));
  }
  return fault;
}

Result<bool> plant(onnx::ModelProto& model, const Fault& fault) {
  GraphEditor graph(model);
  const Places places = places_of(graph, fault.name);
  ASSAY_TRY(const std::vector<std::size_t> indices, chosen(fault.where, places.size()));
  for (const std::size_t index : indices) places[index](graph, *fault.strength);
  graph.sort();
  return !indices.empty();
}

}  // namespace assay::faults
