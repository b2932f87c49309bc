// SPDX-License-Identifier: Apache-2.0
#include "bench/prepare/zoo_source.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.hpp"
#include "core/base/unknown_word.hpp"
#include "models/hub/cache.hpp"
#include "models/model/ways.hpp"
#include "models/zoo/zoo.hpp"

namespace assay {
namespace {

// The size that every architecture has: the catalogue's, where none is published.
constexpr std::string_view kTinySize = "tiny";

// The id that `name` may have on the hub; "" for names of the zoo.
std::string hub_id(const std::string& name, const std::optional<zoo::KnownModel>& known) {
  if (hub::is_model_id(name)) return known ? known->model_id : name;
  if (!known) return "";
  // Before organisations had names: "bert-base-uncased" is google-bert/bert-base-uncased, and "gpt2", although an
  // architecture has the same name, openai-community/gpt2.
  return known->model_id.ends_with("/" + name) ? known->model_id : "";
}

Result<ZooSource> from_snapshot(const hub::Snapshot& snapshot, const std::string& id,
                                const std::optional<zoo::KnownModel>& known) {
  ZooSource source;
  ASSAY_TRY(source.config, read_json(snapshot.folder / "config.json"));
  source.weights = snapshot.weights;
  source.model_id = id;
  source.size = "as_is";
  if (!snapshot.weights) {
    source.note = fmt::format("{}: random weights: {}", id, snapshot.why_no_weights);
  } else if (!hub::has_usual_name(*snapshot.weights)) {
    source.note = fmt::format("{}: its weights are those of '{}'", id, sanitise(snapshot.weights->filename().string()));
    if (!snapshot.weights_confirmed)
      source.note += ", the only ones in the cache; the hub did not say that they are: " + snapshot.why_not_confirmed;
  }
  if (known && source.config.is_object()) {
    source.architecture = known->architecture;
    source.size = known->size;
    // Old configurations leave out what was built into the classes of their time.
    for (const auto& [key, value] : known->config.items())
      if (!source.config.contains(key)) source.config[key] = value;
  }
  return source;
}

// The hub does not have the id, or cannot be reached: perhaps a known one was meant.
tl::unexpected<Error> not_fetched(Error error, const std::string& id) {
  const std::string near = did_you_mean(id, zoo::known_names());
  if (error.code != ErrorCode::kCancelled && !near.empty())
    error.hint = error.hint.empty() ? near : near + " " + error.hint;
  return tl::unexpected<Error>(std::move(error));
}

tl::unexpected<Error> unknown(const std::string& name) {
  const std::string near = did_you_mean(name, zoo::known_names());
  std::string hint = "`assay zoo list` shows the names";
  if (!near.empty()) hint = near + " " + hint;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("unknown model '{}'; valid: {}", sanitise(name), ways_to_name_a_model()), std::move(hint));
}

// Why the published weights of the id are not used, and what can be done.
tl::unexpected<Error> without_weights(Error error) {
  constexpr const char* kAllow = "--allow-random-weights uses random weights instead";
  error.hint = error.hint.empty() ? kAllow : error.hint + "; " + kAllow;
  return tl::unexpected<Error>(std::move(error));
}

// "albert/tiny" of zoo:albert/tiny, the id of results: what one prints can be typed again.
std::optional<zoo::KnownModel> named_tiny(const ModelReference& reference) {
  constexpr std::string_view kTiny = "/tiny";
  if (!reference.zoo_only || !reference.name.ends_with(kTiny)) return std::nullopt;
  return zoo::tiny_model(reference.name.substr(0, reference.name.size() - kTiny.size()));
}

Result<ZooSource> from_name(const ModelReference& reference, hub::Hub& hub, bool allow_random_weights) {
  const std::string& name = reference.name;
  if (const auto tiny = named_tiny(reference)) return zoo_source(*tiny);
  const std::optional<zoo::KnownModel> known = zoo::find_known(name);
  const auto planned = zoo::find_planned(name);
  const std::string id = reference.zoo_only ? "" : hub_id(name, known);
  std::string note;
  if (!id.empty() && (known || !planned)) {
    const Result<hub::Snapshot> snapshot = hub.get(id);
    if (snapshot) {
      if (snapshot->weights_unknown && !known && !allow_random_weights)
        return without_weights({.code = ErrorCode::kNotFound, .message = snapshot->why_no_weights});
      if (snapshot->weights_ambiguous && !allow_random_weights)
        return without_weights({.code = ErrorCode::kUnsupported,
                                .message = snapshot->why_no_weights,
                                .hint = "download them, and name a folder with config.json and model.safetensors"});
      return from_snapshot(*snapshot, id, known);
    }
    if (!known) return not_fetched(snapshot.error(), id);
    if (snapshot.error().code == ErrorCode::kCancelled) return tl::unexpected<Error>(snapshot.error());
    if (!hub.off() && !allow_random_weights) return without_weights(snapshot.error());
    note = fmt::format("{}: random weights and built-in configuration: {}", id, snapshot.error().message);
  }
  if (known) {
    ZooSource source = zoo_source(*known);
    source.note = std::move(note);
    return source;
  }
  if (const auto tiny = zoo::tiny_model(name)) {
    ZooSource source = zoo_source(*tiny);
    source.note =
        fmt::format("{}: no published checkpoint is known; measured in the size tiny, with random weights", name);
    return source;
  }
  if (!planned) return unknown(name);
  ZooSource source;
  source.planned = true;
  source.architecture = planned->architecture;
  source.family = planned->family;
  source.category = planned->category;
  return source;
}

}  // namespace

ZooSource zoo_source(const zoo::KnownModel& known) {
  ZooSource source;
  source.config = known.config;
  source.model_class = known.model_class;
  source.model_id = known.model_id;
  source.architecture = known.architecture;
  source.size = known.size;
  return source;
}

Result<ZooSource> find_zoo_source(const ModelReference& reference, hub::Hub& hub, bool allow_random_weights) {
  if (reference.kind != ModelReference::Kind::kConfigFolder) return from_name(reference, hub, allow_random_weights);
  ZooSource source;
  ASSAY_TRY(source.config, read_json(reference.path / "config.json"));
  source.weights = reference.weights;
  source.model_id = reference.path.string();
  source.size = "as_is";
  return source;
}

Result<ZooSource> source_of_size(const ZooSource& named, const std::string& size) {
  if (size.empty() || named.size == "as_is" || named.size == size) return named;
  std::vector<std::string> there{named.size};
  for (const zoo::KnownModel& known : zoo::published(named.architecture)) {
    if (known.model_class == named.model_class && known.size == size) return zoo_source(known);
    if (known.model_class == named.model_class && known.size != named.size) there.push_back(known.size);
  }
  if (const auto tiny = size == kTinySize ? zoo::tiny_model(named.architecture) : std::nullopt)
    return zoo_source(*tiny);
  return fail(ErrorCode::kUnsupported, fmt::format("{} is not published in size '{}'; there is {}", named.architecture,
                                                   size, join(there, ", ")));
}

}  // namespace assay
