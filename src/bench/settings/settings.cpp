// SPDX-License-Identifier: Apache-2.0
#include "bench/settings/settings.hpp"

#include <type_traits>
#include <utility>

#include "bench/worker/protocol.hpp"

namespace assay {
namespace {

enum class PlanIdentity { kIdentity, kNoIdentity };
using enum PlanIdentity;

template <PlanIdentity kWhether, class T>
void add_setting(Json& json, const char* name, const T& value) {
  if constexpr (kWhether == kNoIdentity) {
    return;
  } else if constexpr (std::is_same_v<T, MeasurePlan>) {
    json[name] = worker_protocol::encode(value);
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    json[name] = value.string();
  } else if constexpr (HasWords<T>) {
    json[name] = to_string(value);
  } else if constexpr (std::is_same_v<T, std::optional<std::chrono::nanoseconds>>) {
    json[name] = value ? Json(value->count()) : Json();
  } else {
    json[name] = value;
  }
}

}  // namespace

RunSettings settings_of(const ModelChoice& choice, RunSettings settings) {
  GivenShapes given = merged(choice.given, {std::move(settings.shapes), std::move(settings.extents)});
  settings.shapes = std::move(given.shapes);
  settings.extents = std::move(given.extents);
  return settings;
}

// The binding names every member: a new one does not compile until it is here.
Json to_json(const ModelChoice& choice) {
  const auto& [name, reference, family, category, size, modality, from_set, built, any_size, given] = choice;
  return {{"name", name},         {"reference", reference}, {"family", family},        {"category", category},
          {"size", size},         {"modality", modality},   {"from_set", from_set},    {"built", built},
          {"any_size", any_size}, {"shapes", given.shapes}, {"extents", given.extents}};
}

Json to_json(const RunSettings& settings) {
  Json json = Json::object();
#define VALUE(type, member, initial, identity) add_setting<identity>(json, #member, settings.member);
#define FLAG(type, member, initial, identity, option, group, reader, help) \
  add_setting<identity>(json, #member, settings.member);
#define OPTION(member, option, group, reader, help)
#include "bench/settings/settings.def"
  return json;
}

}  // namespace assay
