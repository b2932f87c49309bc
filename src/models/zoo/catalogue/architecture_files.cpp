// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/catalogue/architecture_files.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.hpp"

namespace assay::zoo {
namespace {

tl::unexpected<Error> invalid_file(const JsonDocument& document, const std::vector<std::string>& path,
                                   const std::string& message) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}:{}: {}", document.name, document.line_of(path), message));
}

std::string nearest(const std::string& word, const Words& valid) {
  const std::vector<std::string> near = closest(word, valid);
  return near.empty() ? std::string() : fmt::format("; did you mean \"{}\"?", near.front());
}

const Words& key_types() {
  static const Words all = {"integer", "number", "flag", "text", "pair", "integers", "token", "json"};
  return all;
}

// The parts of a rule that `object` states, over what the rule is already.
void read_rule(FileLayer& layer, ObjectReader& object, KeyRule& rule) {
  layer.read_key(object, "", "type", rule.type, key_types());
  layer.read_key(object, "", "optional", rule.optional);
  layer.read_key(object, "", "length", rule.length);
  layer.read_key(object, "", "unused", rule.unused);
  if (const Json* json = object.value("default")) rule.standard = *json;
  if (const Json* json = object.value("min")) rule.min = *json;
  if (const Json* json = object.value("max")) rule.max = *json;
  const Json* values = object.value("values");
  if (values != nullptr && !values->is_array() && !values->is_null())
    return object.refuse("values", "\"values\" must be a list");
  if (values != nullptr) rule.values.assign(values->begin(), values->end());
  if (rule.type.empty()) return object.refuse("", "the key needs a \"type\", here or in keys.json");
  const bool numbers = is_any(rule.type, {"integer", "number", "pair", "integers"});
  if (numbers && (!rule.min.is_number() || !rule.max.is_number()))
    return object.refuse("", fmt::format("type {} needs \"min\" and \"max\"", rule.type));
  if (rule.type == "integers" && rule.length < 1) object.refuse("", "type integers needs a \"length\"");
}

// A setting "=key" names a key that the architecture reads.
Status check_references(const JsonDocument& document, const Architecture& made, const DecoderVariations& decoder) {
  Words keys;
  for (const auto& [key, rule] : made.keys) keys.push_back(key);
  Status status;
  DecoderVariations::fields([&](const char* name, auto member, const auto&...) {
    if constexpr (requires { (decoder.*member).peek().key; }) {
      const std::string& key = (decoder.*member).peek().key;
      if (!status || !(decoder.*member).stated() || key.empty() || made.keys.contains(key)) return;
      status = invalid_file(
          document, {"variations", name},
          fmt::format("\"{}\" is \"={}\", which is not among the \"keys\"{}", name, key, nearest(key, keys)));
    }
  });
  return status;
}

// What a file and those that it extends state together.
Status check_whole(const JsonDocument& document, const Architecture& made, const SkeletonSpec* skeleton) {
  if (made.name.empty()) return invalid_file(document, {}, "the key \"model_type\" is missing");
  if (made.classes.empty()) return {};
  if (skeleton == nullptr) return invalid_file(document, {}, "the key \"skeleton\" is missing");
  for (const auto& [name, text] : {std::pair{"category", &made.category}, std::pair{"family", &made.family},
                                   std::pair{"base_prefix", &made.base_prefix}})
    if (text->empty()) return invalid_file(document, {}, fmt::format("the key \"{}\" is missing", name));
  for (const auto& [name, spec] : made.classes) {
    const std::string& head = spec.head.peek();
    if (std::ranges::find(skeleton->heads, head) == skeleton->heads.end())
      return invalid_file(document, {"classes"},
                          fmt::format("class {} has the head \"{}\"{}; skeleton {} builds {}", name, head,
                                      nearest(head, skeleton->heads), skeleton->name, join(skeleton->heads, ", ")));
  }
  if (!made.classes.contains(made.default_class))
    return invalid_file(document, {"default_class"},
                        fmt::format("\"default_class\" is \"{}\", which is not a class", made.default_class));
  const auto* decoder = std::get_if<DecoderVariations>(&made.variations);
  return decoder == nullptr ? Status() : check_references(document, made, *decoder);
}

Result<const SkeletonSpec*> find_spec(const JsonDocument& document, const std::string& name) {
  if (name.empty()) return nullptr;
  Words names;
  for (const SkeletonSpec& spec : skeleton_specs()) {
    if (name == spec.name) return &spec;
    names.emplace_back(spec.name);
  }
  return invalid_file(document, {"skeleton"}, fmt::format("there is no skeleton \"{}\"{}", name, nearest(name, names)));
}

}  // namespace

const std::set<std::string>& shared_files() {
  static const std::set<std::string> all = {"blocks",  "common",  "goldens", "keys",
                                            "layouts", "planned", "sets",    "tasks"};
  return all;
}

Result<ArchitectureFiles> ArchitectureFiles::over(const Documents& documents, std::vector<Statement*>& statements) {
  ArchitectureFiles made(documents, statements);
  ASSAY_CHECK_OK(made.read_shared());
  return made;
}

Status ArchitectureFiles::read_shared() {
  FileLayer layer("keys", *statements_);
  ObjectReader object(documents_->at("keys"));
  std::string comment;
  object.read("comment", comment);
  if (std::optional<ObjectReader> keys = object.object("keys")) {
    for (const std::string& name : keys->keys()) {
      std::optional<ObjectReader> rule = keys->object(name);
      if (!rule) break;
      read_rule(layer, *rule, rules_[name]);
      layer.finish(*rule);
    }
    layer.finish(*keys);
  }
  layer.finish(object);
  ObjectReader layouts(documents_->at("layouts"));
  layouts.read("comment", comment);
  for (const std::string& name : layouts.keys())
    if (name != "comment") layer.read_key(layouts, "", name, layouts_[name]);
  layer.finish(layouts);
  return layer.status();
}

Result<Architecture> ArchitectureFiles::read(const std::string& name) {
  Architecture made;
  std::vector<Source> sources;
  ASSAY_CHECK_OK(collect(name, sources, 0));
  prefix_.clear();
  for (const Source& source : sources) {
    if (const std::string found = source.text("skeleton"); !found.empty()) made.skeleton = found;
    if (const std::string found = source.text("class_prefix"); !found.empty()) prefix_ = found;
  }
  const JsonDocument& document = documents_->at(name);
  ASSAY_TRY(const SkeletonSpec* const skeleton, find_spec(document, made.skeleton));
  if (skeleton != nullptr) made.variations = skeleton->variations;
  for (const Source& source : sources) ASSAY_CHECK_OK(read_source(source, made));
  ASSAY_CHECK_OK(check_whole(document, made, skeleton));
  if (!made.layout.peek().empty()) made.laid_out = layouts_.at(made.layout.peek());
  return made;
}

const Json& ArchitectureFiles::Source::json() const {
  return block.empty() ? document->value : document->value["blocks"][block];
}

std::string ArchitectureFiles::Source::text(const std::string& key) const {
  const auto found = json().find(key);
  return found != json().end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Those that `name` extends, then itself.
Status ArchitectureFiles::collect(const std::string& name, std::vector<Source>& sources, std::size_t depth) const {
  constexpr std::size_t kDeepest = 8;
  Source source{name, "", nullptr, depth == 0};
  const JsonDocument& blocks = documents_->at("blocks");
  if (depth > 0 && blocks.value["blocks"].contains(name)) {
    source = {"blocks", name, &blocks, false};
  } else {
    source.document = &documents_->at(name);
  }
  ASSAY_TRY(const std::vector<std::string> names, extended(source));
  if (!names.empty() && depth == kDeepest)
    return invalid_file(*source.document, {}, "\"extends\" goes round in a circle, or deeper than 8 files");
  for (const std::string& other : names) ASSAY_CHECK_OK(collect(other, sources, depth + 1));
  sources.push_back(std::move(source));
  return {};
}

// The names under "extends", each of an architecture's file or of a block.
Result<std::vector<std::string>> ArchitectureFiles::extended(const Source& source) const {
  std::vector<std::string> names;
  const auto stated = source.json().find("extends");
  if (stated == source.json().end()) return names;
  std::vector<std::string> path = {"extends"};
  if (!source.block.empty()) path = {"blocks", source.block, "extends"};
  if (stated->is_string()) {
    names.push_back(stated->get<std::string>());
  } else if (convert(*stated, names) != nullptr) {
    return invalid_file(*source.document, path, "\"extends\" must be a name or a list of names");
  }
  Words valid;
  for (const auto& [file, unused] : *documents_)
    if (!shared_files().contains(file)) valid.push_back(file);
  for (const auto& [block, unused] : documents_->at("blocks").value["blocks"].items()) valid.push_back(block);
  for (const std::string& name : names) {
    if (std::ranges::find(valid, name) != valid.end()) continue;
    return invalid_file(*source.document, path,
                        fmt::format("\"extends\" names \"{}\", which is neither an architecture nor a block{}", name,
                                    nearest(name, valid)));
  }
  return names;
}

// "*" at the front of a class's name stands for the architecture's "class_prefix".
std::string ArchitectureFiles::class_name(std::string name) const {
  if (name.starts_with('*')) name.replace(0, 1, prefix_);
  return name;
}

Status ArchitectureFiles::read_source(const Source& source, Architecture& made) const {
  FileLayer layer(source.file, *statements_);
  ObjectReader whole(*source.document);
  if (source.block.empty()) {
    read_object(layer, whole, source.own, made);
    layer.finish(whole);
    return layer.status();
  }
  std::optional<ObjectReader> blocks = whole.object("blocks");
  std::optional<ObjectReader> object = blocks ? blocks->object(source.block) : std::nullopt;
  if (!object) return whole.finish();
  read_object(layer, *object, false, made);
  layer.finish(*object);
  return layer.status();
}

void ArchitectureFiles::read_object(FileLayer& layer, ObjectReader& object, bool own, Architecture& made) const {
  // These two were looked up before; the others are true of one architecture alone.
  for (const char* key : {"skeleton", "extends"}) static_cast<void>(object.value(key));
  if (own) {
    layer.read_key(object, "", "model_type", made.name);
    layer.read_key(object, "", "reference_checkpoint", made.reference_checkpoint);
    layer.read_key(object, "", "checkpoints", made.checkpoints);
  } else {
    for (const char* key : {"model_type", "reference_checkpoint", "checkpoints"}) static_cast<void>(object.value(key));
  }
  layer.read_key(object, "", "category", made.category);
  layer.read_key(object, "", "family", made.family);
  layer.read_key(object, "", "base_prefix", made.base_prefix);
  read_classes(layer, object, made);
  layer.read_key(object, "", "inputs", made.inputs);
  layer.read_key(object, "", "constants", made.constants);
  read_keys(layer, object, made);
  layer.read_named(object, "", "parts", made.parts, [](const std::string& name) { return name; });
  layer.read_key(object, "", "same", made.same);
  layer.read_key(object, "", "ignored", made.ignored);
  layer.read_key(object, "", "non_parameters", made.non_parameters);
  layer.read_key(object, "", "renames", made.renames);
  Words layouts;
  for (const auto& [name, names] : layouts_) layouts.push_back(name);
  layer.read_key(object, "", "layout", made.layout, layouts);
  layer.read_key(object, "", "image_size", made.image_size);
  layer.read_key(object, "", "vision", made.vision);
  layer.read_key(object, "", "text", made.text);
  std::visit([&](auto& variations) { layer.read_key(object, "", "variations", variations); }, made.variations);
}

void ArchitectureFiles::read_classes(FileLayer& layer, ObjectReader& object, Architecture& made) const {
  static_cast<void>(object.value("class_prefix"));
  layer.read_key(object, "", "default_class", made.default_class);
  layer.read_key(object, "", "other_classes", made.other_classes);
  layer.read_key(object, "", "other_head_tensors", made.other_head_tensors);
  made.default_class = class_name(made.default_class);
  for (std::string& name : made.other_classes) name = class_name(name);
  layer.read_named(object, "", "classes", made.classes, [&](const std::string& name) { return class_name(name); });
}

// A value is the default of the key; its type and range are the inherited ones, else those of keys.json. An object
// states what is otherwise.
void ArchitectureFiles::read_keys(FileLayer& layer, ObjectReader& object, Architecture& made) const {
  std::optional<ObjectReader> keys = object.object("keys");
  if (!keys) return;
  for (const std::string& name : keys->keys()) {
    const Json* json = keys->value(name);
    if (json == nullptr) break;
    if (json->is_null()) {
      made.keys.erase(name);
      continue;
    }
    const auto common = rules_.find(name);
    const bool inherited = made.keys.contains(name);
    if (!json->is_object() && !inherited && common == rules_.end()) {
      keys->refuse(name, fmt::format("\"{}\" is not in keys.json: state its \"type\" here", name));
      break;
    }
    KeyRule& rule = made.keys[name];
    if (!inherited && common != rules_.end()) {
      rule = common->second;
      rule.usual_max = rule.max;
    }
    if (!json->is_object()) {
      rule.standard = *json;
      rule.optional = false;
    } else if (std::optional<ObjectReader> inner = keys->object(name)) {
      read_rule(layer, *inner, rule);
      layer.finish(*inner);
    }
    Statement& statement = layer.note("keys." + name);
    statement.unused = rule.unused;
    rule.statement = &statement;
    statement.fixed = rule.values.size() == 1;
  }
  layer.finish(*keys);
}

}  // namespace assay::zoo
