// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <assay/engine_plugin.hpp>
#include <assay/support/plugin_support.hpp>
#include <assay/support/runtime_context.hpp>

#include "models/evaluate/evaluation.hpp"

namespace assay::plugin {
namespace {

using evaluate::Evaluator;
using evaluate::Value;

/// Shared by a program and its contexts.
struct EvaluatorModel {
  Evaluator evaluator;
  std::vector<ValueInfo> inputs, outputs;
  const assay_host_api* host;
  int threads;
};

ValueInfo described(const graph::ValueInfo& value) {
  ValueInfo info;
  info.name = value.name;
  info.dtype = static_cast<assay_dtype>(value.dtype);
  info.has_rank = value.shape.has_value();
  if (!value.shape) return info;
  for (const graph::Dimension& extent : *value.shape) {
    info.dims.push_back(extent.extent.value_or(-1));
    info.symbols.emplace_back(extent.symbol);
  }
  return info;
}

class EvaluatorContext final : public RuntimeContext {
 public:
  EvaluatorContext(std::shared_ptr<const EvaluatorModel> model, std::span<const TensorShape> shapes)
      : RuntimeContext(model->inputs, model->outputs, shapes), model_(std::move(model)) {}

 private:
  Status do_set_input(std::size_t set, std::size_t index, const assay_tensor& tensor) override {
    if (set == sets_.size()) sets_.emplace_back(inputs().size());
    sets_[set][index] = {static_cast<DType>(tensor.dtype),
                         Shape(tensor.dims, tensor.dims + tensor.rank),
                         {static_cast<const std::byte*>(tensor.data), tensor.byte_size}};
    return {};
  }

  Status do_run(std::size_t set, Interval& took) override {
    took.start_ns = model_->host->now_ns();
    std::vector<Value> given(inputs().size());
    const auto is_state = [&](std::size_t input) { return state_begun() && is_aliased(input); };
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (is_state(i)) continue;
      ASSAY_TRY(given[i], Value::from(sets_[set][i]));
    }
    for (const Alias& alias : aliases())
      if (state_begun()) given[alias.input] = latest_results_[alias.output];
    ASSAY_TRY(latest_results_, model_->evaluator.run(std::move(given), model_->threads));
    for (const Alias& alias : aliases())
      if (!fits_bound(latest_results_[alias.output].shape(), shapes()[alias.input]))
        return fail(ErrorCode::kMismatch,
                    "output '" + outputs()[alias.output].name + "' does not fit the next run's input");
    packed_.clear();
    for (const Value& result : latest_results_) {
      ASSAY_TRY(Tensor tensor, result.to_tensor());
      packed_.push_back(std::move(tensor));
    }
    took.end_ns = model_->host->now_ns();
    return {};
  }

  Status do_get_output(std::size_t index, assay_tensor& out) override {
    Tensor& tensor = packed_[index];
    out.dtype = static_cast<assay_dtype>(tensor.dtype());
    out.dims = tensor.shape().data();
    out.rank = tensor.shape().size();
    out.data = tensor.bytes().data();
    out.byte_size = tensor.bytes().size();
    return {};
  }
  Status do_alias(const Alias&) override { return {}; }

  std::shared_ptr<const EvaluatorModel> model_;
  std::vector<std::vector<TensorView>> sets_;  ///< bound buffers
  std::vector<Value> latest_results_;          ///< a state of a cache is taken from here
  std::vector<Tensor> packed_;                 ///< the same, for the caller
};

class EvaluatorProgram final : public Program {
 public:
  explicit EvaluatorProgram(std::shared_ptr<const EvaluatorModel> model) : model_(std::move(model)) {}
  const std::vector<ValueInfo>& inputs() const override { return model_->inputs; }
  const std::vector<ValueInfo>& outputs() const override { return model_->outputs; }
  Result<KeyValues> effective() override {
    return KeyValues{{"precision", "float64"}, {"threads", std::to_string(model_->threads)}, {"device", "cpu"}};
  }
  Result<std::unique_ptr<Context>> create_context(std::span<const TensorShape> shapes) override {
    ASSAY_CHECK_OK(check_shapes(inputs(), shapes));
    return std::make_unique<EvaluatorContext>(model_, shapes);
  }

 private:
  std::shared_ptr<const EvaluatorModel> model_;
};

class EvaluatorEngine final : public Engine {
 public:
  static constexpr const char* kName = "evaluator";
  static constexpr bool kCompilesShapes = false;
  static constexpr bool kConcurrentContexts = true;
  static constexpr bool kTimesItself = true;

  explicit EvaluatorEngine(const assay_host_api& host) : host_(host) {}
  static Result<std::unique_ptr<Engine>> create(const std::string& /*home*/, const assay_host_api& host) {
    return std::make_unique<EvaluatorEngine>(host);
  }
  static std::vector<OptionInfo> option_infos() { return {}; }

  std::string version() const override { return evaluate::kVersion; }
  Result<std::vector<Device>> devices() override {
    return std::vector<Device>{{"cpu", "cpu", processor_name(), machine_memory_bytes(), 0, 0}};
  }
  Result<std::unique_ptr<Program>> load(const LoadArgs& args) override {
    ASSAY_CHECK_OK(check_only_cpu(args.device_id, {}));
    ASSAY_TRY([[maybe_unused]] const Options options, Options::parse(args.options, option_infos()));
    ASSAY_TRY(Evaluator evaluator, Evaluator::open(args.model_path));
    std::vector<ValueInfo> inputs, outputs;
    for (const graph::ValueInfo* input : evaluator.inputs()) inputs.push_back(described(*input));
    for (const graph::ValueInfo& output : evaluator.outputs()) outputs.push_back(described(output));
    ASSAY_CHECK_OK(check_precision(args.precision, inputs, outputs));
    const int threads = args.threads > 0 ? std::max(1, args.threads / std::max(args.streams, 1))
                                         : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    return std::make_unique<EvaluatorProgram>(std::make_shared<const EvaluatorModel>(
        EvaluatorModel{std::move(evaluator), std::move(inputs), std::move(outputs), &host_, threads}));
  }

 private:
  const assay_host_api& host_;
};

}  // namespace
}  // namespace assay::plugin

ASSAY_EXPORT_ENGINE(assay::plugin::EvaluatorEngine);
