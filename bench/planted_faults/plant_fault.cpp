// SPDX-License-Identifier: Apache-2.0

// plant_fault MODEL.onnx OUTPUT.onnx NAME[:WHERE][@STRENGTH]: writes a copy of a model with a fault. Exit status: 0
// planted, 1 an error, 3 the model has no place for the fault (no file is written). The copy contains all data.
// plant_fault --factors: prints the limits of verification over the honest error, as JSON.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <assay/result.hpp>

#include "bench/verify/verify.hpp"
#include "faults.hpp"
#include "models/onnx/graph_check.hpp"
#include "models/onnx/onnx_file.hpp"
#include "models/onnx/onnx_tensor.hpp"

namespace assay::faults {
namespace {

Result<bool> copy_with_fault(const std::filesystem::path& from, const std::filesystem::path& to,
                             const std::string& text) {
  ASSAY_TRY(const Fault fault, Fault::parse(text));
  ASSAY_TRY(const OnnxFile file, OnnxFile::open(from));
  ASSAY_TRY(const CheckedGraph checked, check_graph(file, std::uint64_t{1} << 40));
  onnx::ModelProto model;
  {
    std::ifstream stream(from, std::ios::binary);
    if (!model.ParseFromIstream(&stream)) return fail(ErrorCode::kInvalidArgument, "cannot read " + from.string());
  }
  // External data become a part of the copy.
  TensorReader reader(file);
  for (std::size_t i = 0; i < checked.initializers.size(); ++i) {
    const CheckedTensor& tensor = checked.initializers[i];
    if (!tensor.external) continue;
    ASSAY_TRY(const Bytes bytes, reader.bytes(tensor));
    onnx::TensorProto& own = *model.mutable_graph()->mutable_initializer(static_cast<int>(i));
    own.clear_external_data();
    own.clear_data_location();
    own.set_raw_data(bytes.data(), bytes.size());
  }
  ASSAY_TRY(const bool planted, plant(model, fault));
  if (!planted) return false;
  std::ofstream stream(to, std::ios::binary);
  if (!model.SerializeToOstream(&stream) || !stream.flush())
    return fail(ErrorCode::kInternal, "cannot write " + to.string());
  return true;
}

}  // namespace
}  // namespace assay::faults

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--factors") {
    std::printf("{\"rms\": %g, \"row\": %g, \"element\": %g}\n", assay::kHonestFactor, assay::kHonestRowFactor,
                assay::kHonestElementFactor);
    return 0;
  }
  if (argc != 4) {
    std::fprintf(
        stderr,
        "usage: plant_fault MODEL.onnx OUTPUT.onnx NAME[:WHERE][@STRENGTH]\n       plant_fault --factors\n\nfaults:\n");
    for (const assay::faults::Kind& kind : assay::faults::kinds())
      std::fprintf(stderr, "  %-20s %s (default: %s, strength %g)\n", std::string(kind.name).c_str(),
                   std::string(kind.meaning).c_str(), std::string(kind.where).c_str(), kind.strength);
    return 1;
  }
  const assay::Result<bool> planted = assay::faults::copy_with_fault(argv[1], argv[2], argv[3]);
  if (!planted) {
    std::fprintf(stderr, "%s\n", assay::to_string(planted.error()).c_str());
    return 1;
  }
  return *planted ? 0 : 3;
}
