// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/text.hpp"
#include "core/tensor/safetensors.hpp"
#include "models/zoo/catalogue/architecture.hpp"
#include "models/zoo/catalogue/config.hpp"

namespace assay::zoo {
namespace fs = std::filesystem;
namespace {

constexpr double kUsualTolerance = 1e-4;  ///< tolerance if meta.json states none

// A string of meta.json; absent or null is "".
Result<std::string> text_of(const Json& meta, const std::string& key) {
  const auto found = meta.find(key);
  if (found == meta.end() || found->is_null()) return std::string();
  if (!found->is_string())
    return fail(ErrorCode::kInvalidArgument, fmt::format("meta.json: {} = {}: expected a string", key, shown(*found)));
  return found->get<std::string>();
}

Result<double> tolerance_of(const Json& meta, const std::string& key) {
  const auto found = meta.find(key);
  if (found == meta.end() || found->is_null()) return kUsualTolerance;
  if (!found->is_number() || !(found->get<double>() >= 0.0)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("meta.json: {} = {}: expected a number from 0", key, shown(*found)));
  }
  return found->get<double>();
}

// Constant arguments of forward, as Python literals; those that say what forward does anyway change nothing.
Status check_fixed_arguments(const Json& meta) {
  const auto arguments = meta.find("fixed_args");
  if (arguments == meta.end() || arguments->is_null()) return {};
  if (!arguments->is_object()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("meta.json: fixed_args = {}: expected an object", shown(*arguments)));
  }
  for (const auto& [name, value] : arguments->items()) {
    const std::string literal = shown(value);
    if (literal == "None" || literal == "False" || literal == "false" || literal == "null") continue;
    if (name == "return_dict") continue;
    return unsupported("fixed_args." + sanitise(name), literal);
  }
  return {};
}

// What a folder of another library or an architecture that is not built has instead of what Config expects. A diffusion
// configuration has no model_type: then meta.json says what it is.
Status check_known(const Json& config, const Json& meta) {
  ASSAY_TRY(const std::string said, text_of(meta, "model_type"));
  ASSAY_TRY(const std::string model_class, text_of(meta, "class"));
  const auto type = config.is_object() ? config.find("model_type") : config.end();
  if (type == config.end()) return unsupported("model_type", said.empty() ? "(missing)" : sanitise(said));
  const Architecture* architecture = type->is_string() ? find_architecture(type->get<std::string>()) : nullptr;
  if (architecture == nullptr) return unsupported("model_type", shown(*type));
  if (!model_class.empty() && !architecture->classes.contains(model_class)) {
    return unsupported("class", sanitise(model_class));
  }
  return {};
}

bool is_in(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// The expected outputs whose names begin with `prefix`, under the graph's names: `path` itself, or `copy` where the
// names differ.
Result<fs::path> expected_outputs(const fs::path& path, const std::string& prefix, const BuiltModel& model,
                                  const fs::path& copy) {
  ASSAY_TRY(const SafetensorsFile file, SafetensorsFile::open(path));
  std::vector<NamedView> tensors;
  for (const std::string& expected : file.names()) {
    if (!expected.starts_with(prefix)) continue;
    const std::string name = expected.substr(prefix.size());
    if (!is_in(model.outputs, name)) {
      return fail(ErrorCode::kUnsupported, fmt::format("unsupported: output {}", sanitise(expected)),
                  "the graph that assay builds does not give it");
    }
    ASSAY_TRY(const TensorView view, file.tensor(expected));
    tensors.push_back({name, view});
  }
  if (tensors.empty()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' has no output to compare with", path.string()));
  }
  if (prefix.empty()) return path;
  ASSAY_CHECK_OK(write_safetensors(copy, tensors, {}, Persistence::kScratch));
  return copy;
}

// Asks for an input of the shape and type that a golden's tensor has.
void ask_for(BuildRequest& request, const std::string& name, const TensorView& view) {
  request.input_shapes[name] = view.shape;
  request.input_dtypes[name] = view.dtype;
}

// Whether an input of forward decides the graph's shapes, so that its values are bound when it is built.
bool is_constant(const Json& config, const std::string& name) {
  return is_in(find_architecture(config["model_type"])->constants, name);
}

// Gives the graph a golden's tensor: as a constant, or as an input.
Status give(BuildRequest& request, const std::string& name, const TensorView& view) {
  if (is_constant(request.config, name)) {
    ASSAY_TRY(request.constants[name], Tensor::copy_of(view));
  } else {
    ask_for(request, name, view);
  }
  return {};
}

// The inputs that the graph was asked to have, filled from `file`.
std::vector<InputRecipe> recipes_of(const BuildRequest& request, const fs::path& file) {
  std::vector<InputRecipe> recipes;
  recipes.reserve(request.input_shapes.size());
  for (const auto& [name, shape] : request.input_shapes)
    recipes.push_back({name, request.input_dtypes.at(name), shape, Fill::kFile, 0.0, 1.0, file});
  return recipes;
}

constexpr std::string_view kStep = "step_";
constexpr std::string_view kPrefillOutputs = "prefill_";

// The decode's inputs under the graph's names: those of the step, and of the prefill's what the graph still takes (an
// encoder's mask). Written as a file of their own, for a recipe reads a tensor by the input's name.
Result<std::vector<InputRecipe>> decode_inputs(const SafetensorsFile& inputs, const BuiltModel& decode,
                                               const fs::path& file) {
  std::vector<NamedView> tensors;
  std::vector<InputRecipe> recipes;
  for (const std::string& name : decode.inputs) {
    const bool is_state = std::any_of(decode.states.begin(), decode.states.end(),
                                      [&](const StateTensor& state) { return state.input == name; });
    if (is_state) continue;
    const std::string step = std::string(kStep) + name;
    ASSAY_TRY(const TensorView view, inputs.tensor(inputs.contains(step) ? step : name));
    tensors.push_back({name, view});
    recipes.push_back({name, view.dtype, view.shape, Fill::kFile, 0.0, 1.0, file});
  }
  ASSAY_CHECK_OK(write_safetensors(file, tensors, {}, Persistence::kScratch));
  return recipes;
}

// past/: the same model as a prefill and as a decode.
Status ask_for_past(const fs::path& folder, GoldenRequests& requests) {
  ASSAY_TRY(const SafetensorsFile inputs, SafetensorsFile::open(folder / "inputs.safetensors"));
  const auto same_model = [&](Part part) {
    BuildRequest request;
    request.config = requests.whole.config;
    request.model_class = requests.whole.model_class;
    request.weights = requests.whole.weights;
    request.part = part;
    return request;
  };
  BuildRequest& prefill = requests.prefill.emplace(same_model(Part::kPrefill));
  BuildRequest& decode = requests.decode.emplace(same_model(Part::kDecode));
  for (const std::string& tensor : inputs.names()) {
    ASSAY_TRY(const TensorView view, inputs.tensor(tensor));
    // The sequence is as long as what went before and the step.
    if (tensor.ends_with("input_ids") && view.shape.size() == 2) decode.longest += view.shape[1];
    if (tensor.starts_with(kStep)) {
      ask_for(decode, tensor.substr(kStep.size()), view);
      continue;
    }
    ASSAY_CHECK_OK(give(prefill, tensor, view));
    if (inputs.contains(std::string(kStep) + tensor) || is_constant(prefill.config, tensor)) continue;
    ask_for(decode, tensor, view);
    decode.spare_inputs.insert(tensor);
  }
  return {};
}

Result<GoldenPast> prepare_past(const fs::path& folder, const GoldenRequests& requests, const fs::path& work,
                                const std::string& name) {
  GoldenPast past;
  const fs::path file = folder / "inputs.safetensors";
  ASSAY_TRY(const SafetensorsFile inputs, SafetensorsFile::open(file));
  past.prefill_inputs = recipes_of(*requests.prefill, file);
  ASSAY_TRY(past.prefill, build(*requests.prefill, work / (name + ".prefill.onnx")));
  ASSAY_TRY(past.decode, build(*requests.decode, work / (name + ".decode.onnx")));
  ASSAY_TRY(past.decode_inputs, decode_inputs(inputs, past.decode, work / (name + ".step.safetensors")));
  const fs::path outputs = folder / "outputs.safetensors";
  ASSAY_TRY(past.prefill_expected, expected_outputs(outputs, std::string(kPrefillOutputs), past.prefill,
                                                    work / (name + ".prefill.expected.safetensors")));
  ASSAY_TRY(past.decode_expected,
            expected_outputs(outputs, std::string(kStep), past.decode, work / (name + ".step.expected.safetensors")));
  return past;
}

}  // namespace

Result<std::vector<fs::path>> find_goldens(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    return fail(ErrorCode::kNotFound, fmt::format("'{}' is not a folder", directory.string()), "check the path");
  }
  if (fs::is_regular_file(directory / "meta.json", error)) return std::vector{directory};
  std::set<fs::path> found;
  for (fs::directory_iterator entry(directory, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    std::error_code ignored;
    if (fs::is_regular_file(entry->path() / "meta.json", ignored)) found.insert(entry->path());
  }
  if (error) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("cannot read '{}': {}", directory.string(), error.message()));
  }
  if (found.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' has no golden: no folder in it has a meta.json", directory.string()));
  }
  return std::vector(found.begin(), found.end());
}

Result<GoldenRequests> golden_requests(const fs::path& folder) {
  ASSAY_TRY(const Json meta, read_json(folder / "meta.json"));
  if (!meta.is_object()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is not a JSON object", (folder / "meta.json").string()));
  }
  ASSAY_TRY(const Json config, read_json(folder / "config.json"));
  ASSAY_CHECK_OK(check_known(config, meta));
  ASSAY_CHECK_OK(check_fixed_arguments(meta));

  GoldenRequests requests;
  requests.whole.config = config;
  ASSAY_TRY(requests.whole.model_class, text_of(meta, "class"));
  requests.whole.weights = folder;
  const fs::path inputs_file = folder / "inputs.safetensors";
  ASSAY_TRY(const SafetensorsFile inputs, SafetensorsFile::open(inputs_file));
  if (inputs.names().empty()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' has no input", inputs_file.string()));
  }
  for (const std::string& name : inputs.names()) {
    ASSAY_TRY(const TensorView view, inputs.tensor(name));
    ASSAY_CHECK_OK(give(requests.whole, name, view));
  }
  std::error_code ignored;
  if (fs::exists(folder / "past", ignored))
    ASSAY_CHECK_OK(with_context(ask_for_past(folder / "past", requests), "in past/"));
  return requests;
}

Result<GoldenCase> prepare_golden(const fs::path& folder, const fs::path& work) {
  ASSAY_TRY(const GoldenRequests requests, golden_requests(folder));
  ASSAY_TRY(const Json meta, read_json(folder / "meta.json"));
  GoldenCase golden;
  golden.folder = folder;
  golden.name = fs::absolute(folder).lexically_normal().filename().string();
  if (golden.name.empty()) golden.name = fs::absolute(folder).lexically_normal().parent_path().filename().string();
  ASSAY_TRY(golden.tolerance.absolute, tolerance_of(meta, "tolerance_atol"));
  ASSAY_TRY(golden.tolerance.relative, tolerance_of(meta, "tolerance_rtol"));
  golden.inputs = recipes_of(requests.whole, folder / "inputs.safetensors");
  ASSAY_TRY(golden.model, build(requests.whole, work / (golden.name + ".onnx")));
  ASSAY_TRY(golden.expected, expected_outputs(folder / "outputs.safetensors", "", golden.model, {}));
  if (requests.prefill) {
    Result<GoldenPast> past = prepare_past(folder / "past", requests, work, golden.name);
    if (past) {
      golden.past = std::move(*past);
    } else if (past.error().code == ErrorCode::kUnsupported || past.error().code == ErrorCode::kNotFound) {
      golden.refused_part = past.error().message;
    } else {
      return with_context(Result<GoldenCase>(tl::unexpected<Error>(past.error())), "in past/");
    }
  }
  return golden;
}

}  // namespace assay::zoo
