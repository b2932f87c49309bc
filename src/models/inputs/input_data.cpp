// SPDX-License-Identifier: Apache-2.0
#include "models/inputs/input_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/base/text.hpp"
#include "core/tensor/npy.hpp"
#include "core/tensor/npz.hpp"
#include "core/tensor/safetensors.hpp"
#include "models/inputs/converted.hpp"
#include "models/onnx/tensor_pb.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

// One array that some file offers, under the name by which a model's input may claim it.
struct Offer {
  fs::path source;  // where the user put it
  fs::path file;    // what the worker can read: .npy, or .safetensors if the array has the input's name
  DType dtype = DType::kUndefined;
  Shape shape;
};
using Offers = std::map<std::string, Offer>;

std::string file_name_of(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == ':'; }, '_');
  return name;
}

class Collector {
 public:
  Collector(const ModelInfo& model, fs::path cache) : model_(model), cache_(std::move(cache)) {}

  Status add_file(const fs::path& file) {
    const std::string kind = lower(file.extension().string());
    if (kind == ".npy") {
      ASSAY_TRY(const Tensor tensor, read_npy(file));
      ASSAY_CHECK_OK(add(claimed_name(file), {file, file, tensor.dtype(), tensor.shape()}));
    } else if (kind == ".npz") {
      ASSAY_TRY(const std::vector<NamedTensor> arrays, read_npz(file));
      for (const NamedTensor& array : arrays) ASSAY_CHECK_OK(add_converted(file, array.name, array.tensor));
    } else if (kind == ".pb") {
      ASSAY_TRY(const NamedTensor named, read_tensor_pb(file));
      const bool own_name = is_input(named.name) && !number_of(file);
      ASSAY_CHECK_OK(add_converted(file, own_name ? named.name : claimed_name(file), named.tensor));
    } else if (kind == ".safetensors") {
      ASSAY_TRY(const SafetensorsFile tensors, SafetensorsFile::open(file));
      for (const std::string& name : tensors.names()) {
        ASSAY_TRY(const TensorView view, tensors.tensor(name));
        ASSAY_CHECK_OK(add(name, {file, file, view.dtype, view.shape}));
      }
    }
    return {};
  }

  Status add_folder(const fs::path& folder) {
    std::error_code error;
    std::vector<fs::path> files;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
      files.push_back(it->path());
    if (error) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("cannot read the folder {}: {}", shown_path(folder), error.message()));
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
      if (fs::is_regular_file(file, error) && !file.filename().string().starts_with("output_"))
        ASSAY_CHECK_OK(add_file(file));
    }
    const fs::path set = folder / "test_data_set_0";
    if (offers_.empty() && fs::is_directory(set, error)) return add_folder(set);
    return {};
  }

  [[nodiscard]] const Offers& offers() const { return offers_; }

 private:
  [[nodiscard]] bool is_input(const std::string& name) const {
    return std::any_of(model_.inputs.begin(), model_.inputs.end(),
                       [&](const ModelValue& input) { return input.name == name; });
  }

  // The 3 of input_3.pb.
  static std::optional<std::size_t> number_of(const fs::path& file) {
    constexpr std::string_view kPrefix = "input_";
    const std::string stem = file.stem().string();
    if (!stem.starts_with(kPrefix)) return std::nullopt;
    return parse_number<std::size_t>(std::string_view(stem).substr(kPrefix.size()));
  }

  // The input that a file's name stands for, else the name itself.
  [[nodiscard]] std::string claimed_name(const fs::path& file) const {
    std::string stem = file.stem().string();
    for (const ModelValue& input : model_.inputs) {
      if (file_name_of(input.name) == stem) return input.name;
    }
    if (const std::optional<std::size_t> index = number_of(file); index && *index < model_.inputs.size())
      return model_.inputs[*index].name;
    return stem;
  }

  // Workers read neither archives nor protobuf: such arrays go into a .safetensors, named by their content.
  Status add_converted(const fs::path& source, const std::string& name, const Tensor& tensor) {
    if (!is_input(name)) return add(name, {source, source, tensor.dtype(), tensor.shape()});
    ASSAY_TRY(const fs::path file, write_converted(cache_, {{name, tensor.view()}}));
    return add(name, {source, file, tensor.dtype(), tensor.shape()});
  }

  // Two arrays for one input are an error: neither is chosen by a guess.
  Status add(const std::string& name, Offer offer) {
    const auto there = offers_.find(name);
    if (there == offers_.end()) return offers_.emplace(name, std::move(offer)), Status();
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} and {} both have an array for {}", shown_path(there->second.source),
                            shown_path(offer.source), shown(name)),
                "remove one of them");
  }

  const ModelInfo& model_;
  fs::path cache_;
  Offers offers_;
};

// An array without an input was meant for one: its name is misspelt, or it belongs to another model.
Status check_all_taken(const ModelInfo& model, const fs::path& data, const Offers& offers) {
  std::vector<std::string> names;
  names.reserve(model.inputs.size());
  for (const ModelValue& input : model.inputs) names.push_back(shown(input.name));
  for (const auto& [name, offer] : offers) {
    if (std::any_of(model.inputs.begin(), model.inputs.end(), [&](const auto& input) { return input.name == name; }))
      continue;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} has an array for {}, which is not an input of the model; its inputs: {}",
                            shown_path(offer.source), shown(name), join(names, ", ")),
                fmt::format("rename it, or take it out of {}", shown_path(data)));
  }
  return {};
}

Status check_fits(const ModelValue& input, const Offer& offer) {
  if (offer.dtype != input.dtype) {
    return fail(ErrorCode::kMismatch,
                fmt::format("input {} expects {}, but {} has {}", shown(input.name), to_string(input.dtype),
                            shown_path(offer.source), to_string(offer.dtype)),
                fmt::format("convert it: array.astype('{}')", to_string(input.dtype)));
  }
  bool fits = !input.has_rank || offer.shape.size() == input.shape.size();
  for (std::size_t i = 0; fits && input.has_rank && i < offer.shape.size(); ++i) {
    fits = input.shape[i] < 0 || input.shape[i] == offer.shape[i];
  }
  if (fits) return {};
  return fail(ErrorCode::kMismatch,
              fmt::format("input {} expects {} (-1: any), but {} has {}", shown(input.name), to_string(input.shape),
                          shown_path(offer.source), to_string(offer.shape)));
}

Result<Offers> offers_in(const ModelInfo& model, const InputAxes& axes) {
  Collector collector(model, axes.cache);
  std::error_code error;
  const fs::file_status status = fs::status(axes.data, error);
  if (!fs::exists(status)) {
    return fail(ErrorCode::kNotFound, fmt::format("no file or folder {} with input data", shown_path(axes.data)),
                "check the path given to --data");
  }
  ASSAY_CHECK_OK(fs::is_directory(status) ? collector.add_folder(axes.data) : collector.add_file(axes.data));
  return collector.offers();
}

}  // namespace

Result<std::vector<ModelValue>> values_in_data(const InputAxes& axes) {
  ASSAY_TRY(const Offers offers, offers_in(ModelInfo{}, axes));
  std::vector<ModelValue> values;
  for (const auto& [name, offer] : offers) values.push_back({name, offer.dtype, offer.shape, {}});
  return values;
}

Result<std::vector<InputRecipe>> read_input_data(const ModelInfo& model, const InputAxes& axes) {
  ASSAY_TRY(Offers offers, offers_in(model, axes));
  // One array for one input needs no name.
  if (model.inputs.size() == 1 && offers.size() == 1 && offers.begin()->second.file.extension() == ".npy") {
    auto only = offers.extract(offers.begin());
    only.key() = model.inputs[0].name;
    offers.insert(std::move(only));
  }
  std::vector<InputRecipe> recipes;
  for (const ModelValue& input : model.inputs) {
    const auto offer = offers.find(input.name);
    if (offer == offers.end()) {
      std::vector<std::string> found;
      for (const auto& [name, unused] : offers) found.push_back(shown(name));
      return fail(
          ErrorCode::kNotFound,
          fmt::format("{} has no data for input {}; it has {}", shown_path(axes.data), shown(input.name),
                      found.empty() ? "no .npy, .npz, .pb, .safetensors, .jpg or .png at all" : join(found, ", ")),
          fmt::format("add a file {}.npy", sanitise(file_name_of(input.name))));
    }
    ASSAY_CHECK_OK(check_fits(input, offer->second));
    recipes.push_back({.name = input.name,
                       .dtype = input.dtype,
                       .shape = offer->second.shape,
                       .fill = Fill::kFile,
                       .file = offer->second.file});
  }
  ASSAY_CHECK_OK(check_all_taken(model, axes.data, offers));
  return recipes;
}

}  // namespace assay
