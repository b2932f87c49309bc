// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "core/base/text.hpp"
#include "models/inputs/converted.hpp"
#include "models/inputs/input_data.hpp"
#include "models/onnx/tensor_pb.hpp"

namespace assay {
namespace fs = std::filesystem;

Result<std::optional<GivenData>> find_given_data(const ModelInfo& model, const fs::path& cache) {
  const fs::path set = model.path.parent_path() / "test_data_set_0";
  std::error_code error;
  if (model.outputs.empty() || !fs::is_regular_file(set / "output_0.pb", error)) return std::nullopt;
  std::vector<NamedTensor> outputs;
  for (std::size_t i = 0; i < model.outputs.size(); ++i) {
    const ModelValue& output = model.outputs[i];
    const fs::path file = set / fmt::format("output_{}.pb", i);
    ASSAY_TRY(NamedTensor given, with_context(read_tensor_pb(file), "while reading the outputs given with the model"));
    if (output.dtype != DType::kUndefined && output.dtype != given.tensor.dtype()) {
      return fail(ErrorCode::kMismatch,
                  fmt::format("output {} is {}, but {} has {}", shown(output.name), to_string(output.dtype),
                              shown_path(file), to_string(given.tensor.dtype())));
    }
    given.name = output.name;
    outputs.push_back(std::move(given));
  }
  std::vector<NamedView> views;
  views.reserve(outputs.size());
  for (const NamedTensor& output : outputs) views.push_back({output.name, output.tensor.view()});
  GivenData given;
  given.folder = set;
  ASSAY_TRY(given.inputs, read_input_data(model, {.data = set, .cache = cache}));
  ASSAY_TRY(given.outputs, write_converted(cache, views));
  return given;
}

}  // namespace assay
