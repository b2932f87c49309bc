// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/json.hpp"
#include "models/zoo/catalogue/fields.hpp"

namespace assay::zoo {

// What a file of zoo/ says about an architecture, as types. docs/zoo-authors.md explains the keys for those who write
// such files; each struct here lists the keys of one object.

/// A class of the architecture: what it adds to the base model.
struct ClassSpec {
  Field<std::string> head{"none"};                 ///< "none": the base model; its parameters stand at the root
  Field<std::vector<std::string>> head_tensors{};  ///< beginnings of the names of the head's parameters: "classifier."
  Field<std::vector<std::string>> inputs{};        ///< other usual inputs than the architecture's
  Field<std::string> category{}, family{};         ///< others than the architecture's
  Field<std::string> base{}, projection{};         ///< DPR: modules of this class
  Field<std::string> pooler{};                     ///< image_transformer: what a base model gives beside its tokens

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("head", &ClassSpec::head);
    visit("head_tensors", &ClassSpec::head_tensors);
    visit("inputs", &ClassSpec::inputs);
    visit("category", &ClassSpec::category);
    visit("family", &ClassSpec::family);
    visit("base", &ClassSpec::base);
    visit("projection", &ClassSpec::projection);
    visit("pooler", &ClassSpec::pooler, Words{"first", "patches", "dense"});
  }
};

/// A key of the configuration that the architecture reads.
struct KeyRule {
  std::string type;          ///< integer, number, flag, text, pair, integers, token, json
  bool optional = false;     ///< may be null, or absent without a default
  Json standard;             ///< "default"
  Json min, max;             ///< limits of a number, or of each number of a pair or a list
  Json usual_max;            ///< "max" in keys.json: an integer between `max` and this is valid, but not built
  std::int64_t length = 0;   ///< most entries of "integers"
  std::vector<Json> values;  ///< the only ones that are built; empty: all of the type
  bool unused = false;       ///< it changes no graph; it is part of config_hash, by which results are compared
  const Statement* statement = nullptr;

  void mark() const {
    if (statement != nullptr) statement->read.store(true, std::memory_order_relaxed);
  }
};

/// A nested configuration ("vision_config").
struct PartRule {
  std::vector<std::string> types;  ///< the model_types that it may have; the first unless it says so itself
  bool optional = false;
  std::string instead;  ///< an older key that is used instead if the configuration has it
  Json config;          ///< the configuration if there is none; null: an empty one

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("types", &PartRule::types);
    visit("optional", &PartRule::optional);
    visit("instead", &PartRule::instead);
    visit("config", &PartRule::config);
  }
};

/// A published checkpoint.
struct CheckpointSpec {
  std::string id, size;
  std::map<std::string, Json> aliases;  ///< further names: the class to build, null: the configuration's
  Json config;                          ///< complete

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("id", &CheckpointSpec::id);
    visit("size", &CheckpointSpec::size);
    visit("aliases", &CheckpointSpec::aliases);
    visit("config", &CheckpointSpec::config);
  }
};

/// What the parts of a pre-norm transformer layer are called, relative to the layer; "": it has none.
struct LayerNames {
  std::string norm1{}, query{}, key{}, value{}, out{}, scale1{};  ///< attention; scale1: a layer scale, [hidden]
  std::string norm2{}, up{}, down{}, scale2{};                    ///< MLP

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("norm1", &LayerNames::norm1);
    visit("query", &LayerNames::query);
    visit("key", &LayerNames::key);
    visit("value", &LayerNames::value);
    visit("out", &LayerNames::out);
    visit("scale1", &LayerNames::scale1);
    visit("norm2", &LayerNames::norm2);
    visit("up", &LayerNames::up);
    visit("down", &LayerNames::down);
    visit("scale2", &LayerNames::scale2);
  }
};

/// "vision": a vision transformer's modules ("" for those that it lacks) and how it differs from others.
struct VisionSpec {
  Field<std::string> patch{}, class_token{}, extra_tokens{}, positions{}, pre_norm{}, layers{}, final_norm{};
  Field<bool> patch_bias{true}, key_bias{true}, flat{false}, extra_positions{true};
  Field<std::string> interpolation{}, extra_key{}, pool{};
  Field<std::int64_t> extra_count{0};

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("patch", &VisionSpec::patch);
    visit("class_token", &VisionSpec::class_token);
    visit("extra_tokens", &VisionSpec::extra_tokens);
    visit("positions", &VisionSpec::positions);
    visit("pre_norm", &VisionSpec::pre_norm);
    visit("layers", &VisionSpec::layers);
    visit("final_norm", &VisionSpec::final_norm);
    visit("patch_bias", &VisionSpec::patch_bias);
    visit("key_bias", &VisionSpec::key_bias);
    visit("flat", &VisionSpec::flat);
    visit("extra_positions", &VisionSpec::extra_positions);
    visit("interpolation", &VisionSpec::interpolation, Words{"bicubic", "bicubic_antialias"});
    visit("extra_key", &VisionSpec::extra_key);
    visit("extra_count", &VisionSpec::extra_count);
    visit("pool", &VisionSpec::pool, Words{"class_token", "attention"});
  }
};

/// "text": the text tower of a model of texts and images.
struct TextTowerSpec {
  Field<std::string> tower{"clip"};  ///< bert: as the variations say
  Field<std::string> pool{};
  Field<bool> causal{false}, head{false};

  template <class Visit>
  static void fields(Visit&& visit) {
    visit("tower", &TextTowerSpec::tower, Words{"clip", "bert"});
    visit("pool", &TextTowerSpec::pool, Words{"end", "end_token", "last"});
    visit("causal", &TextTowerSpec::causal);
    visit("head", &TextTowerSpec::head);
  }
};

}  // namespace assay::zoo
