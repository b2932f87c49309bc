// SPDX-License-Identifier: Apache-2.0
// A bare loop around OpenVINO's C API (bare_loop.hpp), with the model reshaped to its inputs, like OpenVINO's own
// benchmark.

#include <openvino/c/openvino.h>

#include "bare_loop.hpp"

namespace {

void must(ov_status_e status) {
  if (status != OK) bare::die(ov_get_last_err_msg());
}

ov_element_type_e element_type(int onnx_type) {
  switch (onnx_type) {
    case 1:
      return F32;
    case 6:
      return I32;
    case 7:
      return I64;
    default:
      bare::die("this benchmark does not support this input type");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bare::Arguments arguments = bare::parse(argc, argv);
  ov_core_t* core = nullptr;
  must(ov_core_create(&core));
  ov_model_t* model = nullptr;
  must(ov_core_read_model(core, arguments.model.c_str(), nullptr, &model));

  // The loop has its inputs by position; the file lists them by name.
  std::map<std::string, std::size_t> position;
  std::size_t input_count = 0;
  must(ov_model_inputs_size(model, &input_count));
  for (std::size_t i = 0; i < input_count; ++i) {
    ov_output_const_port_t* port = nullptr;
    must(ov_model_const_input_by_index(model, i, &port));
    char* name = nullptr;
    must(ov_port_get_any_name(port, &name));
    position[name] = i;
  }
  std::vector<std::size_t> indexes;
  std::vector<ov_partial_shape_t> shapes(input_count);
  for (std::size_t i = 0; i < input_count; ++i) {
    const bare::Input& input = arguments.sets[0].at(i);
    indexes.push_back(position.at(input.name));
    must(ov_partial_shape_create_static(static_cast<std::int64_t>(input.dims.size()), input.dims.data(), &shapes[i]));
  }
  must(ov_model_reshape_by_port_indexes(model, indexes.data(), shapes.data(), input_count));
  const std::string threads = std::to_string(arguments.threads);
  ov_compiled_model_t* compiled = nullptr;
  must(ov_core_compile_model(core, model, "CPU", 10, &compiled, "PERFORMANCE_HINT", "LATENCY", "INFERENCE_NUM_THREADS",
                             threads.c_str(), "INFERENCE_PRECISION_HINT", "f32", "KV_CACHE_PRECISION", "f32",
                             "DYNAMIC_QUANTIZATION_GROUP_SIZE", "0"));
  ov_infer_request_t* request = nullptr;
  must(ov_compiled_model_create_infer_request(compiled, &request));

  struct Bound {
    std::size_t index;
    ov_tensor_t* tensor;
  };
  std::vector<std::vector<Bound>> sets;
  for (const auto& set : arguments.sets) {
    sets.emplace_back();
    for (const bare::Input& input : set) {
      ov_shape_t shape{};
      must(ov_shape_create(static_cast<std::int64_t>(input.dims.size()), input.dims.data(), &shape));
      ov_tensor_t* tensor = nullptr;
      must(ov_tensor_create_from_host_ptr(element_type(input.type), shape, input.data, &tensor));
      sets.back().push_back({position.at(input.name), tensor});
    }
  }
  bare::loop(
      arguments,
      [&](std::size_t set) {
        for (const Bound& bound : sets[set])
          must(ov_infer_request_set_input_tensor_by_index(request, bound.index, bound.tensor));
      },
      [&](std::size_t) { must(ov_infer_request_infer(request)); });
}
