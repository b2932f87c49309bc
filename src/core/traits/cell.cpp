// SPDX-License-Identifier: Apache-2.0
#include "core/traits/cell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <tuple>
#include <utility>

#include "core/base/hash.hpp"
#include "core/traits/engine_entry.hpp"

namespace assay {
namespace {

// What must be equal for two times to be compared.
auto cell_of(const Record& row) {
  return std::tuple(row.model, model_identity(row), shape_key(row), row.precision, row.effective_precision,
                    std::string(to_string(row.contract)), row.hardware_id);
}

// A part of a key, whose words are separated by '_'.
std::string key_word(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return std::isalnum(c) == 0 && c != '.'; }, '-');
  return text;
}

}  // namespace

std::string_view unusual_shapes(const Record& row) {
  const EngineEntry* engine = own_engine(row.engine);
  if (engine == nullptr || !engine->gets_exported_shapes(row.family))
    return row.shapes == ShapesForm::kDynamic ? "dynamic" : "";
  // "open" is partly static, but a model that generates has open extents in either form.
  const bool fixed = row.shapes == ShapesForm::kStatic || (row.shapes == ShapesForm::kOpen && !row.output_tokens);
  return fixed ? "static" : "";
}

std::string cell_key(const Record& row) {
  return std::apply([](const auto&... part) { return (... + (part + '\n')); }, cell_of(row));
}

std::string cell_key_of_any_batch(Record row) {
  row.batch_size = 1;
  return cell_key(row);
}

std::string cell_key_but_choices(Record row) {
  row.precision = row.effective_precision = row.hardware_id = "";
  return cell_key_of_any_batch(std::move(row));
}

std::string shape_key(const Record& row) {
  std::string key = fmt::format("batch_{}", row.batch_size.value_or(1));
  if (row.sequence_length) key += fmt::format("_seq_{}", *row.sequence_length);
  if (row.output_tokens.value_or(kDefaultOutputTokens) != kDefaultOutputTokens)
    key += fmt::format("_out_{}", *row.output_tokens);
  if (!row.precision.empty() && row.precision != "float32" && row.precision != "as_is") key += "_" + row.precision;
  if (row.streams.value_or(1) != 1) key += fmt::format("_streams_{}", *row.streams);
  if (row.threads.value_or(0) != 0) key += fmt::format("_threads_{}", *row.threads);
  if (row.spin.value_or(Spin::kRuntime) != Spin::kRuntime) key += fmt::format("_spin_{}", to_string(row.spin));
  if (row.contract == Contract::kDeviceResident) key += "_device_resident";
  if (row.kv_cache.value_or(KvCache::kGrowing) != KvCache::kGrowing)
    key += fmt::format("_kv_{}", to_string(row.kv_cache));
  if (!row.given_shapes.empty()) key += "_shape_" + key_word(row.given_shapes);
  if (const std::string_view form = unusual_shapes(row); !form.empty()) key += fmt::format("_{}", form);
  constexpr std::size_t kDigits = 8;
  if (!row.engine_options.empty()) key += "_" + sha256_hex(row.engine_options).substr(0, kDigits);
  return key;
}

bool unfinished(const Record& row) {
  return row.reason_code == Reason::kCancelled ||
         (row.flags.has(Flag::kPartial) && row.stop_reason == StopReasons{StopReason::kInterrupted});
}

std::string model_identity(const Record& row) {
  const std::string& graph = row.config_hash.empty() ? row.graph_hash : row.config_hash;
  if (graph.empty() && row.weights_hash.empty()) return {};
  return fmt::format("{} {} {} {}", graph, row.weights_hash, row.model_class, to_string(row.kv_cache));
}

std::string target_key(const Record& row) { return target_key(row.hardware, row.engine); }

bool comparable(const Record& a, const Record& b) { return cell_of(a) == cell_of(b); }

std::string shape_words(const Record& row) {
  std::string words = fmt::format("batch {}", row.batch_size.value_or(1));
  if (row.sequence_length) words += fmt::format(", {} tokens", *row.sequence_length);
  if (row.output_tokens) words += fmt::format(", {} output tokens", *row.output_tokens);
  if (row.streams.value_or(1) > 1) words += fmt::format(", {} streams", *row.streams);
  if (!row.given_shapes.empty()) words += ", shape " + row.given_shapes;
  return words;
}

}  // namespace assay
