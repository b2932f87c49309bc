// SPDX-License-Identifier: Apache-2.0
#include "torch_file.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/jit/serialization/import.h>

#include <assay/support/plugin_support.hpp>
#include "torch_values.hpp"

namespace assay::plugin {
namespace fs = std::filesystem;
namespace {

/// What the records of an archive are.
enum class Archive { kTorchScript, kPickle, kExported, kCompiled, kUnknown };

// Records are below a folder of the archive, which the reader leaves out.
Archive kind_of(const std::vector<std::string>& records) {
  const auto any = [&](auto&& test) { return std::ranges::any_of(records, test); };
  if (any([](const std::string& name) { return name == "constants.pkl" || name.starts_with("code/"); }))
    return Archive::kTorchScript;
  if (any([](const std::string& name) { return name.starts_with("data/aotinductor/"); })) return Archive::kCompiled;
  if (any([](const std::string& name) {
        return name.starts_with("models/") || name.starts_with("serialized_exported_program");
      }))
    return Archive::kExported;
  return any([](const std::string& name) { return name == "data.pkl"; }) ? Archive::kPickle : Archive::kUnknown;
}

/// Why an archive of another kind cannot be run, and what converts it. assay itself says more of a pickle: it refuses
/// one before a worker starts.
Error refusal(const fs::path& file, Archive kind) {
  const std::string name = file.string();
  switch (kind) {
    case Archive::kPickle:
      return {ErrorCode::kInvalidArgument,
              fmt::format("'{}' is a pickle of Python objects (torch.save), not TorchScript", name)};
    case Archive::kExported:
      return {ErrorCode::kUnsupported,
              fmt::format("'{}' is a program of torch.export, which PyTorch runs in Python only", name),
              {},
              // A traced module has no keyword arguments, and an exported one keeps its own.
              "convert it: python3 -c \"import sys, torch; m = torch.export.load(sys.argv[1]); a, k = "
              "m.example_inputs; n = "
              "type('Model', (torch.nn.Module,), {'forward': lambda s, *t: s.m(*t[:len(a)], **dict(zip(k, "
              "t[len(a):])))})(); n.m = m.module(); torch.jit.trace(n, (*a, *k.values())).save(sys.argv[2])\" FILE.pt2 "
              "FILE.script.pt"};
    case Archive::kCompiled:
      return {ErrorCode::kUnsupported,
              fmt::format("'{}' is a package of AOTInductor: machine code of one processor, not a model", name),
              {},
              "give the TorchScript or ONNX file of the model"};
    default:
      return {ErrorCode::kInvalidArgument, fmt::format("'{}' is an archive, but not of PyTorch", name)};
  }
}

Status check_archive(const fs::path& file) {
  char begin[2] = {};
  std::ifstream(file, std::ios::binary).read(begin, sizeof begin);
  if (begin[0] == '\x80') return tl::unexpected<Error>(refusal(file, Archive::kPickle));
  if (begin[0] != 'P' || begin[1] != 'K')
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is not a file of PyTorch", file.string()));
  try {
    const Archive kind = kind_of(caffe2::serialize::PyTorchStreamReader(file.string()).getAllRecords());
    if (kind == Archive::kTorchScript) return {};
    return tl::unexpected<Error>(refusal(file, kind));
  } catch (const std::exception& thrown) {
    return torch_error(thrown, ErrorCode::kInvalidArgument, fmt::format("cannot read '{}'", file.string()));
  }
}

/// The arguments of a module's method without defaults: names, in order.
Result<std::vector<std::string>> arguments_of(const torch::jit::Module& module, const fs::path& file) {
  const auto forward = module.find_method("forward");
  if (!forward) return fail(ErrorCode::kUnsupported, fmt::format("'{}' has no method forward", file.string()));
  std::vector<std::string> names;
  const auto& arguments = forward->function().getSchema().arguments();
  for (std::size_t i = 1; i < arguments.size(); ++i) {  // the first one is the module
    if (arguments[i].default_value()) continue;
    if (!arguments[i].type()->isSubtypeOf(*c10::TensorType::get()))
      return fail(ErrorCode::kUnsupported, fmt::format("'{}': the argument '{}' of forward is a {}, not a tensor",
                                                       file.string(), arguments[i].name(), arguments[i].type()->str()));
    names.push_back(arguments[i].name());
  }
  return names;
}

Result<std::optional<Signature>> signature_in(const fs::path& json) {
  using Found = std::optional<Signature>;
  std::ifstream stream(json, std::ios::binary);
  if (!stream) return Found();
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  ASSAY_TRY(Signature signature, parse_signature(text, json.string(), json.parent_path()));
  return Found(std::move(signature));
}

/// The signature of a file: beside it, inside it, or where the option says.
Result<Signature> find_signature(const fs::path& file, const std::string& inside, const std::string& option,
                                 const std::vector<std::string>& arguments) {
  ASSAY_TRY(auto beside, signature_in(file.string() + ".json"));
  if (beside) return std::move(*beside);
  if (!inside.empty()) return parse_signature(inside, fmt::format("{} in '{}'", kSignatureFile, file.string()), {});
  if (!option.empty()) {
    ASSAY_TRY(auto given, signature_in(option));
    if (given) return std::move(*given);
    return fail(ErrorCode::kNotFound, fmt::format("the signature file '{}' does not exist", option));
  }
  std::vector<std::string> shapes, inputs;
  for (const std::string& name : arguments) {
    shapes.push_back(fmt::format("--shape {}:Bx3x224x224", name));
    inputs.push_back(fmt::format(R"({{"name": "{}", "dtype": "float32", "shape": ["batch", 3, 224, 224]}})", name));
  }
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("'{0}' does not have the types and shapes of its inputs ({1}); give shapes with --shape, "
                  "values with --data ({2}.npy), or write '{0}.json': {{\"format_version\": 1, \"inputs\": [{3}]}}",
                  file.string(), fmt::join(arguments, ", "), fmt::join(arguments, ".npy, "), fmt::join(inputs, ", ")),
      fmt::format("for example {} (float32; B is the batch), or of ids: --shape {}:BxS:int64", fmt::join(shapes, " "),
                  arguments.empty() ? "x" : arguments.front()));
}

/// Each argument has a shape, and each shape an argument.
Status check_names(const std::vector<ValueInfo>& inputs, const std::vector<std::string>& arguments,
                   const fs::path& file) {
  const std::string of_forward =
      fmt::format("forward of '{}' has the arguments {}", file.string(), fmt::join(arguments, ", "));
  for (const ValueInfo& input : inputs)
    if (std::ranges::find(arguments, input.name) == arguments.end())
      return fail(ErrorCode::kInvalidArgument, fmt::format("--shape {}: {}", input.name, of_forward));
  for (const std::string& argument : arguments)
    if (std::ranges::find(inputs, argument, &ValueInfo::name) == inputs.end())
      return fail(ErrorCode::kInvalidArgument, fmt::format("{}; '{}' has no --shape", of_forward, argument));
  return {};
}

/// Inputs in the order of the arguments, if they have the arguments' names.
Status order_inputs(std::vector<ValueInfo>& inputs, const std::vector<std::string>& arguments, const fs::path& file) {
  if (inputs.size() != arguments.size()) {
    std::vector<std::string> names;
    for (const ValueInfo& input : inputs) names.push_back(input.name);
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}': the signature has {} inputs ({}), forward has {} ({})", file.string(), names.size(),
                            fmt::join(names, ", "), arguments.size(), fmt::join(arguments, ", ")));
  }
  std::vector<ValueInfo> ordered;
  for (const std::string& argument : arguments)
    if (const auto found = std::ranges::find(inputs, argument, &ValueInfo::name); found != inputs.end())
      ordered.push_back(*found);
  if (ordered.size() == inputs.size()) inputs = std::move(ordered);
  return {};
}

/// The module's results for inputs of zeros, whose open extents are `open`.
Result<std::vector<at::Tensor>> results_for(torch::jit::Module& module, const std::vector<ValueInfo>& inputs,
                                            std::int64_t open) {
  std::vector<c10::IValue> given;
  for (const ValueInfo& input : inputs) {
    const auto type = scalar_type_of(input.dtype);
    if (!type)
      return fail(ErrorCode::kUnsupported,
                  fmt::format("input '{}' is {}, which libtorch does not have", input.name, dtype_name(input.dtype)));
    std::vector<std::int64_t> extents = input.dims;
    std::ranges::replace(extents, -1, open);
    given.emplace_back(at::zeros(extents, at::TensorOptions().dtype(type)));
  }
  std::vector<at::Tensor> results;
  ASSAY_CHECK_OK(append_tensors(module.forward(std::move(given)), results));
  return results;
}

/// Outputs as two runs show them, with different values for the open extents. An extent that follows an open one is
/// open.
Result<std::vector<ValueInfo>> outputs_of(const std::vector<at::Tensor>& first, const std::vector<at::Tensor>& second,
                                          const fs::path& file) {
  const auto changes = [&](const std::string& what, std::int64_t one, std::int64_t other) {
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("'{}': the {} depends on the inputs' open extents: {} or {}", file.string(), what, one, other),
        "write fixed extents in the signature");
  };
  if (first.empty()) return fail(ErrorCode::kUnsupported, fmt::format("'{}' returns no tensor", file.string()));
  const auto count = [](const std::vector<at::Tensor>& results) { return static_cast<std::int64_t>(results.size()); };
  if (count(first) != count(second)) return changes("number of outputs", count(first), count(second));
  std::vector<ValueInfo> outputs;
  for (std::size_t i = 0; i < first.size(); ++i) {
    ValueInfo output;
    output.name = first.size() == 1 ? "output" : fmt::format("output_{}", i);
    output.dtype = dtype_of(first[i].scalar_type());
    if (first[i].dim() != second[i].dim()) return changes("rank of " + output.name, first[i].dim(), second[i].dim());
    for (std::int64_t axis = 0; axis < first[i].dim(); ++axis)
      output.dims.push_back(first[i].size(axis) == second[i].size(axis) ? first[i].size(axis) : -1);
    output.symbols.resize(output.dims.size());
    outputs.push_back(std::move(output));
  }
  return outputs;
}

Status learn_outputs(torch::jit::Module& module, Signature& signature, const fs::path& file) try {
  const c10::InferenceMode inference;
  constexpr std::int64_t kFirst = 2, kSecond = 3;
  ASSAY_TRY(const auto first, results_for(module, signature.inputs, kFirst));
  const bool open = std::ranges::any_of(signature.inputs,
                                        [](const ValueInfo& input) { return std::ranges::count(input.dims, -1) > 0; });
  std::vector<at::Tensor> second = first;
  if (open) {
    ASSAY_TRY(second, results_for(module, signature.inputs, kSecond));
  }
  ASSAY_TRY(signature.outputs, outputs_of(first, second, file));
  return {};
} catch (const std::exception& thrown) {
  return torch_error(thrown, ErrorCode::kInvalidArgument,
                     fmt::format("'{}' does not run with inputs of these types and shapes", file.string()));
}

}  // namespace

Result<LoadedModule> load_foreign(const fs::path& file, const std::string& signature) {
  ASSAY_CHECK_OK(check_archive(file));
  torch::jit::ExtraFilesMap extra{{kSignatureFile, ""}};
  std::optional<torch::jit::Module> module;
  try {
    module = torch::jit::load(file.string(), c10::kCPU, extra);
    module->eval();
  } catch (const std::exception& thrown) {
    return torch_error(thrown, ErrorCode::kInvalidArgument, fmt::format("libtorch cannot read '{}'", file.string()));
  }
  ASSAY_TRY(const std::vector<std::string> arguments, arguments_of(*module, file));
  ASSAY_TRY(Signature found, find_signature(file, extra[kSignatureFile], signature, arguments));
  if (found.names_of_arguments) ASSAY_CHECK_OK(check_names(found.inputs, arguments, file));
  ASSAY_CHECK_OK(order_inputs(found.inputs, arguments, file));
  if (found.outputs.empty()) ASSAY_CHECK_OK(learn_outputs(*module, found, file));
  return LoadedModule{std::move(*module), std::move(found), {}};
}

}  // namespace assay::plugin
