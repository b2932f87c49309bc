// SPDX-License-Identifier: Apache-2.0
#include <assay/engine_plugin.hpp>

namespace {

using namespace assay;

class OutsideEngine final : public plugin::Engine {
 public:
  static constexpr const char *kName = "outside", *kFormats = "onnx";
  static constexpr bool kCompilesShapes = false, kConcurrentContexts = false, kTimesItself = false;
  static Result<std::unique_ptr<Engine>> create(const std::string&, const assay_host_api&) {
    return std::make_unique<OutsideEngine>();
  }
  static std::vector<plugin::OptionInfo> option_infos() { return {}; }

  std::string version() const override { return "1"; }
  Result<std::vector<plugin::Device>> devices() override { return std::vector<plugin::Device>{}; }
  Result<std::unique_ptr<plugin::Program>> load(const plugin::LoadArgs& args) override {
    return fail(ErrorCode::kUnsupported, "outside runs nothing, not even " + args.model_path);
  }
};

}  // namespace

ASSAY_EXPORT_ENGINE(OutsideEngine);
