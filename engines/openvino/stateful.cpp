// SPDX-License-Identifier: Apache-2.0
// assay-openvino-stateful MODEL.onnx OUT.xml IDS PAST=PRESENT...
//
// Writes the model with its caches as OpenVINO's variables, which are empty at first, instead of the inputs PAST and
// the outputs PRESENT. OpenVINO's users run generative models this way. The batch is that of the input IDS. The C API
// that the plug-in uses has no passes, so this is a separate program, for the release of OpenVINO that it was built
// with; it contains no code of assay. Its last line, "fused N of M", states how many of the attentions OpenVINO's
// processor plug-in executes as one operator with the cache: read from a compilation, not from what was written. It is
// compiled with the properties of a strict precision; if that fails, the line is absent.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <openvino/op/broadcast.hpp>
#include <openvino/op/concat.hpp>
#include <openvino/op/constant.hpp>
#include <openvino/op/convert.hpp>
#include <openvino/op/gather.hpp>
#include <openvino/op/range.hpp>
#include <openvino/op/shape_of.hpp>
#include <openvino/op/util/read_value_base.hpp>
#include <openvino/openvino.hpp>
#include <openvino/pass/make_stateful.hpp>
#include <openvino/pass/manager.hpp>
#include <string>

#include "stateful_patterns.hpp"

namespace {

std::shared_ptr<ov::Node> integers(const std::vector<std::int64_t>& values, const ov::Shape& shape) {
  return ov::op::v0::Constant::create(ov::element::i64, shape, values);
}

// The batch of the input `ids`, of this shape: {} or {1}.
std::shared_ptr<ov::Node> batch_of(ov::Model& model, const std::string& ids, const ov::Shape& shape) {
  const auto extents = std::make_shared<ov::op::v3::ShapeOf>(model.input(ids), ov::element::i64);
  return std::make_shared<ov::op::v8::Gather>(extents, integers({0}, shape), integers({0}, {}));
}

// A variable is read before it was written: its initial value has length 0 along the open axes, except the batch.
void begin_empty(ov::Model& model, const std::string& ids) {
  const auto batch = batch_of(model, ids, {1});
  for (const auto& node : model.get_ordered_ops()) {
    const auto read = std::dynamic_pointer_cast<ov::op::util::ReadValueBase>(node);
    if (!read) continue;
    const ov::PartialShape shape = read->get_output_partial_shape(0);
    ov::OutputVector dims;
    for (std::int64_t axis = 0; axis < shape.rank().get_length(); ++axis) {
      const ov::Dimension& dim = shape[axis];
      if (dim.is_dynamic() && axis == 0)
        dims.emplace_back(batch);
      else
        dims.emplace_back(integers({dim.is_dynamic() ? 0 : dim.get_length()}, {1}));
    }
    const auto zero = ov::op::v0::Constant::create(read->get_output_element_type(0), {}, {0.0F});
    const auto empty = std::make_shared<ov::op::v3::Broadcast>(zero, std::make_shared<ov::op::v0::Concat>(dims, 0));
    read->set_arguments(ov::OutputVector{empty});
  }
}

// OpenVINO fuses an attention with its cache only if the cache is reordered by beams first. There are none here: each
// sequence goes on from itself.
void add_beams(ov::Model& model, const std::string& ids) {
  const auto each = std::make_shared<ov::op::v4::Range>(integers({0}, {}), batch_of(model, ids, {}), integers({1}, {}),
                                                        ov::element::i32);
  stateful::reorder_by_beam(model, each);
}

// What the plug-in requests for a strict precision (engines/openvino/README.md, "Precision"), for a model of this type.
ov::AnyMap strict(ov::Core& core, const ov::element::Type& own) {
  const auto capabilities = core.get_property("CPU", ov::device::capabilities);
  const auto has = [&](const char* name) {
    return std::find(capabilities.begin(), capabilities.end(), name) != capabilities.end();
  };
  const bool narrow = (own == ov::element::f16 && has("FP16")) || (own == ov::element::bf16 && has("BF16"));
  const ov::element::Type type = narrow ? own : ov::element::f32;
  return {ov::hint::inference_precision(type), ov::hint::kv_cache_precision(type),
          ov::hint::dynamic_quantization_group_size(0)};
}

// The type of the caches, which is that of the model.
ov::element::Type own_type(const ov::Model& model) {
  for (const auto& node : model.get_ordered_ops())
    if (std::dynamic_pointer_cast<ov::op::util::ReadValueBase>(node)) return node->get_output_element_type(0);
  return ov::element::f32;
}

// The file is written: without this number it is as good as with it.
void print_fused(ov::Core& core, const std::shared_ptr<ov::Model>& model, std::size_t attentions) {
  try {
    const ov::CompiledModel compiled = core.compile_model(model, "CPU", strict(core, own_type(*model)));
    std::printf("fused %zu of %zu\n", stateful::fused_with_cache(compiled), attentions);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "not counted: %s\n", error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: %s MODEL.onnx OUT.xml IDS PAST=PRESENT...\n", argv[0]);
    return 2;
  }
  try {
    std::map<std::string, std::string> pairs;
    for (int i = 4; i < argc; ++i) {
      const std::string pair = argv[i];
      const auto at = pair.find('=');
      if (at == std::string::npos) {
        std::fprintf(stderr, "'%s' is not PAST=PRESENT\n", argv[i]);
        return 2;
      }
      pairs.emplace(pair.substr(0, at), pair.substr(at + 1));
    }
    ov::Core core;
    const std::shared_ptr<ov::Model> model = core.read_model(argv[1]);
    ov::pass::Manager manager;
    manager.register_pass<ov::pass::MakeStateful>(pairs);
    manager.run_passes(model);
    begin_empty(*model, argv[3]);
    const std::size_t attentions = stateful::attentions_with_cache(*model);
    stateful::fuse_attention(*model);
    stateful::normalise_rotary(*model);
    add_beams(*model, argv[3]);
    model->validate_nodes_and_infer_types();
    ov::serialize(model, argv[2]);
    print_fused(core, model, attentions);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
