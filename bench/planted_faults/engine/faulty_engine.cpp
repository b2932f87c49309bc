// SPDX-License-Identifier: Apache-2.0

// An engine that has a fault on purpose: it passes everything to the plug-in of a real runtime, but loads a copy of the
// model with a fault (../plant_fault.cpp), or disturbs inputs or outputs. Compiled once for each real engine, with
//   ASSAY_FAULTY_NAME     its own name
//   ASSAY_FAULTY_PLUGIN   the file of the real plug-in
//   ASSAY_PLANT_FAULT     the program that writes the copy

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <assay/engine_plugin.hpp>
#include <assay/support/plugin_support.hpp>

#include "bench/engine/loader.hpp"
#include "bench/verify/verify.hpp"
#include "core/base/files.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/random.hpp"
#include "core/tensor/tensor.hpp"
#include "core/tensor/ulp.hpp"

extern char** environ;

namespace {

using namespace assay;
using namespace assay::plugin;
namespace fs = std::filesystem;

/// Faults of a run, by name; all others are of the graph.
enum class Disturbance { kNone, kZeros, kStaleInputs, kNoise, kScaled };

struct Plan {
  std::string fault = "none";
  Disturbance disturbance = Disturbance::kNone;
  double strength = 1.0;
  std::string effects;  ///< the file that gets the effects of the fault, a line of JSON for each output; "": none

  static Plan of(const Options& options) {
    Plan plan;
    plan.fault = options.text("fault");
    plan.effects = options.text("effects");
    const std::string name = plan.fault.substr(0, plan.fault.find('@'));
    const std::map<std::string, Disturbance> known{{"zeros", Disturbance::kZeros},
                                                   {"stale_inputs", Disturbance::kStaleInputs},
                                                   {"noise", Disturbance::kNoise},
                                                   {"scaled", Disturbance::kScaled}};
    if (const auto found = known.find(name); found != known.end()) plan.disturbance = found->second;
    if (name.size() < plan.fault.size()) plan.strength = std::strtod(plan.fault.c_str() + name.size() + 1, nullptr);
    return plan;
  }
  [[nodiscard]] bool of_graph() const { return fault != "none" && disturbance == Disturbance::kNone; }
  void report(const std::string& line) const {
    if (!effects.empty()) std::ofstream(effects, std::ios::app) << line << '\n';
  }
};

/// The copy with the fault; nullopt if the model has no place for it.
Result<std::optional<fs::path>> planted_copy(const std::string& model, const Plan& plan, const fs::path& folder) {
  fs::path copy = folder / "model.onnx";
  const std::vector<std::string> words{ASSAY_PLANT_FAULT, model, copy.string(), plan.fault};
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  // The runtime's folder is searched before the system's here; the program needs only the system's libraries.
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (std::strncmp(*variable, "LD_LIBRARY_PATH=", 16) != 0) variables.push_back(*variable);
  variables.push_back(nullptr);
  pid_t child = 0;
  int status = 0;
  if (const int error = ::posix_spawn(&child, ASSAY_PLANT_FAULT, nullptr, nullptr, arguments.data(), variables.data()))
    return fail(ErrorCode::kInternal, fmt::format("cannot start {}: {}", ASSAY_PLANT_FAULT, std::strerror(error)));
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 3) return std::nullopt;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("cannot plant the fault '{}': see the log, and {}", plan.fault, ASSAY_PLANT_FAULT));
  return copy;
}

std::vector<ValueInfo> infos(const std::vector<ValueSignature>& values) {
  std::vector<ValueInfo> list;
  list.reserve(values.size());
  for (const ValueSignature& value : values)
    list.push_back({value.name, static_cast<assay_dtype>(value.dtype), value.has_rank, value.shape, value.symbols});
  return list;
}

std::vector<TensorView> views(std::span<const TensorShape> shapes) {
  std::vector<TensorView> list;
  for (const TensorShape& shape : shapes) list.push_back({static_cast<DType>(shape.dtype), shape.dims, {}});
  return list;
}

/// The elements of a tensor as float64; empty if it has none that are real numbers.
std::vector<double> numbers(const TensorView& view) {
  std::vector<double> values;
  const auto copy = [&]<class T>(T) {
    std::vector<T> elements(view.bytes.size() / sizeof(T));
    if (!elements.empty()) std::memcpy(elements.data(), view.bytes.data(), view.bytes.size());
    values.assign(elements.begin(), elements.end());
  };
  switch (view.dtype) {
    case DType::kFloat32:
      copy(float{});
      break;
    case DType::kFloat64:
      copy(double{});
      break;
    case DType::kInt64:
      copy(std::int64_t{});
      break;
    case DType::kInt32:
      copy(std::int32_t{});
      break;
    case DType::kBool:
      copy(std::uint8_t{});
      break;
    case DType::kFloat16:
    case DType::kBFloat16: {
      std::vector<float> wide(view.bytes.size() / 2);
      widen(view.dtype, view.bytes, wide);
      values.assign(wide.begin(), wide.end());
      break;
    }
    default:
      break;
  }
  return values;
}

/// A loaded model: with the fault, and as it should be if effects are measured.
struct Model {
  Plan plan;
  std::optional<TemporaryDirectory> folder;
  std::optional<LoadedProgram> faulty, right;
  std::vector<ValueInfo> inputs, outputs;
};

class FaultyContext final : public Context {
 public:
  static Result<std::unique_ptr<Context>> create(std::shared_ptr<const Model> model,
                                                 std::span<const TensorShape> shapes) {
    ASSAY_TRY(LoadedContext faulty, model->faulty->create_context(views(shapes)));
    auto made = std::make_unique<FaultyContext>(std::move(model), std::move(faulty));
    if (made->model_->right) {
      ASSAY_TRY(made->right_, made->model_->right->create_context(views(shapes)));
    }
    return made;
  }
  FaultyContext(std::shared_ptr<const Model> model, LoadedContext faulty)
      : model_(std::move(model)), faulty_(std::move(faulty)) {}

  Status set_input(std::size_t set, std::size_t index, const assay_tensor& tensor) override {
    TensorView view{static_cast<DType>(tensor.dtype),
                    Shape(tensor.dims, tensor.dims + tensor.rank),
                    {static_cast<const std::byte*>(tensor.data), tensor.byte_size}};
    if (sets_.size() <= set) sets_.resize(set + 1);
    if (sets_[set].size() <= index) sets_[set].resize(model_->inputs.size());
    sets_[set][index] = view;
    if (right_) ASSAY_CHECK_OK(right_->set_input(set, index, view));
    if (model_->plan.disturbance == Disturbance::kStaleInputs && set > 0 && index < sets_[0].size()) {
      const TensorView& first = sets_[0][index];
      if (first.dtype == view.dtype && first.shape == view.shape) view = first;
    }
    return faulty_.set_input(set, index, view);
  }

  Status run(std::size_t set) override {
    set_ = set;
    ++run_;
    disturbed_.clear();
    if (right_) ASSAY_CHECK_OK(right_->run(set));
    return faulty_.run(set);
  }

  Status get_output(std::size_t index, assay_tensor& out) override {
    ASSAY_TRY(TensorView view, faulty_.output(index));
    Shown& shown = disturbed_[index];
    ASSAY_CHECK_OK(disturb(view, shown.changed));
    if (right_) {
      ASSAY_TRY(const TensorView right, right_->output(index));
      report(index, view, right);
    }
    shown.dims = view.shape;
    out.struct_size = sizeof(assay_tensor);
    out.dtype = static_cast<assay_dtype>(view.dtype);
    out.memory_kind = ASSAY_MEMORY_HOST;
    out.dims = shown.dims.data();
    out.rank = shown.dims.size();
    out.data = const_cast<std::byte*>(view.bytes.data());
    out.byte_size = view.bytes.size();
    return {};
  }

  Status alias_output_to_input(std::size_t output, std::size_t input) override {
    if (right_) ASSAY_CHECK_OK(right_->alias_output_to_input(output, input));
    return faulty_.alias_output_to_input(output, input);
  }
  Status reset_state() override {
    if (right_) ASSAY_CHECK_OK(right_->reset_state());
    return faulty_.reset_state();
  }
  Status share_output_with_input(std::size_t output, std::size_t input) override {
    if (right_) ASSAY_CHECK_OK(right_->share_output_with_input(output, input));
    return faulty_.share_output_with_input(output, input);
  }

 private:
  struct Shown {
    Shape dims;
    Tensor changed;
  };
  std::shared_ptr<const Model> model_;
  LoadedContext faulty_;
  std::optional<LoadedContext> right_;
  std::vector<std::vector<TensorView>> sets_;  ///< the bound inputs
  std::map<std::size_t, Shown> disturbed_;     ///< outputs of the latest run
  std::size_t set_ = 0, run_ = 0;

  /// Replaces a float output by one of its own memory with the disturbance.
  Status disturb(TensorView& view, Tensor& changed) const {
    const Disturbance kind = model_->plan.disturbance;
    if (kind == Disturbance::kNone || kind == Disturbance::kStaleInputs) return {};
    ASSAY_TRY(changed, Tensor::copy_of(view));
    if (kind == Disturbance::kZeros) {
      std::ranges::fill(changed.bytes(), std::byte{0});
    } else if (is_floating(view.dtype)) {
      std::vector<double> values = numbers(view);
      double squares = 0;
      for (const double value : values) squares += value * value;
      const double rms = values.empty() ? 0 : std::sqrt(squares / static_cast<double>(values.size()));
      const CounterRandom random(run_, "noise");
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double sign = (random.bits(i) & 1) != 0 ? 1.0 : -1.0;
        values[i] += model_->plan.strength * (kind == Disturbance::kNoise ? sign * rms : values[i]);
      }
      put(values, changed);
    }
    view.bytes = changed.view().bytes;
    return {};
  }

  static void put(const std::vector<double>& values, Tensor& to) {
    if (to.dtype() == DType::kFloat32) {
      std::ranges::transform(values, to.as<float>().begin(), [](double v) { return static_cast<float>(v); });
    } else if (to.dtype() == DType::kFloat64) {
      std::ranges::copy(values, to.as<double>().begin());
    } else if (bit_width(to.dtype()) == 16) {
      std::ranges::transform(values, to.as<std::uint16_t>().begin(), [&](double v) {
        const auto single = static_cast<float>(v);
        return to.dtype() == DType::kFloat16 ? float_to_half(single) : float_to_bfloat16(single);
      });
    }
  }

  /// A line with the sums that an effect is computed from. Masked positions do not count, as in the verdict.
  void report(std::size_t index, const TensorView& faulty, const TensorView& right) const {
    const std::vector<double> wrong = numbers(faulty), good = numbers(right);
    const std::string& name = model_->outputs[index].name;
    if (good.empty() || wrong.size() != good.size()) return;
    std::vector<NamedShape> named;
    for (std::size_t i = 0; i < model_->inputs.size() && set_ < sets_.size(); ++i)
      named.push_back({model_->inputs[i].name, i < sets_[set_].size() ? sets_[set_][i].shape : Shape{}});
    std::vector<double> mask;
    if (const auto place = mask_for(name, right.shape, named)) mask = numbers(sets_[set_][*place]);
    const std::size_t each = mask.empty() ? good.size() : good.size() / mask.size();
    double difference = 0, size = 0, largest = 0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < good.size(); ++i) {
      if (!mask.empty() && mask[i / each] == 0) continue;
      const double error = wrong[i] - good[i];
      difference += error * error;
      size += good[i] * good[i];
      largest = std::max(largest, std::abs(error));
      ++count;
    }
    model_->plan.report(fmt::format(R"({{"output": "{}", "set": {}, "run": {}, "count": {}, "difference": {}, )"
                                    R"("size": {}, "largest": {}}})",
                                    name, set_, run_, count, std::isfinite(difference) ? difference : 1e300, size,
                                    std::isfinite(largest) ? largest : 1e150));
  }
};

class FaultyProgram final : public Program {
 public:
  explicit FaultyProgram(std::shared_ptr<const Model> model) : model_(std::move(model)) {}
  const std::vector<ValueInfo>& inputs() const override { return model_->inputs; }
  const std::vector<ValueInfo>& outputs() const override { return model_->outputs; }
  Result<KeyValues> effective() override { return model_->faulty->effective(); }
  Status prepare_context(std::span<const TensorShape> shapes) override {
    if (model_->right) ASSAY_CHECK_OK(model_->right->prepare_context(views(shapes)));
    return model_->faulty->prepare_context(views(shapes));
  }
  Result<std::unique_ptr<Context>> create_context(std::span<const TensorShape> shapes) override {
    return FaultyContext::create(model_, shapes);
  }

 private:
  std::shared_ptr<const Model> model_;
};

class FaultyEngine final : public Engine {
 public:
  static constexpr const char* kName = ASSAY_FAULTY_NAME;
  static constexpr bool kCompilesShapes = false, kConcurrentContexts = false, kTimesItself = false;

  static std::vector<OptionInfo> option_infos() {
    return {{"fault", "string", "none",
             "the fault, as NAME[:WHERE][@STRENGTH]; `plant_fault` lists those of the graph; "
             "also zeros, stale_inputs, noise@S and scaled@S"},
            {"effects", "string", "", "file that gets whether the fault was planted, and its effect on each output"},
            {"measure", "bool", "true", "measure effects: the model is loaded and run without the fault, too"},
            {"free_dimensions", "string", "", "passed to the real engine, if it is not empty"}};
  }
  static Result<std::unique_ptr<Engine>> create(const std::string& home, const assay_host_api&) {
    ASSAY_TRY(const EnginePlugin plugin, EnginePlugin::open(ASSAY_FAULTY_PLUGIN));
    ASSAY_TRY(LoadedEngine engine, LoadedEngine::create(plugin, home));
    return std::unique_ptr<Engine>(new FaultyEngine(std::move(engine)));
  }

  std::string version() const override { return engine_.version(); }
  Result<std::vector<Device>> devices() override {
    ASSAY_TRY(const std::vector<EngineDevice> found, engine_.devices());
    std::vector<Device> list;
    for (const EngineDevice& device : found)
      if (device.hardware == "cpu")
        list.push_back({device.id, device.hardware, device.name, device.memory_bytes, device.score, 0});
    return list;
  }
  Result<std::unique_ptr<Program>> load(const LoadArgs& args) override {
    ASSAY_TRY(const Options options, Options::parse(args.options, option_infos()));
    auto model = std::make_shared<Model>();
    model->plan = Plan::of(options);
    const Plan& plan = model->plan;
    LoadProgramArgs given{args.model_path, args.device_id, args.precision, args.threads, args.streams, {}};
    if (const std::string& extents = options.text("free_dimensions"); !extents.empty())
      given.options.emplace_back("free_dimensions", extents);
    if (!plan.effects.empty() && options.flag("measure")) {
      ASSAY_TRY(model->right, engine_.load(given));
    }
    bool planted = plan.fault != "none";
    if (plan.of_graph()) {
      ASSAY_TRY(model->folder, TemporaryDirectory::create("assay-fault-"));
      ASSAY_TRY(const std::optional<fs::path> copy, planted_copy(args.model_path, plan, model->folder->path()));
      if (copy) given.model = *copy;
      planted = copy.has_value();
    }
    plan.report(planted ? R"({"planted": true})" : R"({"planted": false})");
    ASSAY_TRY(model->faulty, engine_.load(given));
    model->inputs = infos(model->faulty->inputs());
    model->outputs = infos(model->faulty->outputs());
    return std::make_unique<FaultyProgram>(std::move(model));
  }

 private:
  explicit FaultyEngine(LoadedEngine engine) : engine_(std::move(engine)) {}
  LoadedEngine engine_;
};

}  // namespace

ASSAY_EXPORT_ENGINE(FaultyEngine);
