// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <assay/engine_plugin.hpp>

#include "script.hpp"
#include "values.hpp"

namespace assay::null_engine {
namespace {

constexpr double kMegabyte = 1e6;

void sleep_ms(std::int64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// Written, so that it is resident.
std::unique_ptr<char[]> take_memory(double megabytes) {
  const auto size = static_cast<std::size_t>(megabytes * kMegabyte);
  std::unique_ptr<char[]> memory(new char[size]);
  std::memset(memory.get(), 1, size);
  return memory;
}

/// A process that outlives its parents, unless somebody ends it.
void start_daemon() {
  const pid_t child = ::fork();
  if (child > 0) ::waitpid(child, nullptr, 0);
  if (child != 0) return;
  ::setsid();
  if (::fork() != 0) ::_exit(0);
  ::setsid();
  while (true) ::pause();
}

/// Shared by the contexts of a program.
struct Signature {
  std::vector<plugin::ValueInfo> inputs, outputs;
};

class NullContext final : public plugin::Context {
 public:
  /// `outputs` are empty if an extent is open: each run creates them.
  NullContext(const Script& script, const assay_host_api& host, const Signature& signature,
              std::vector<plugin::TensorShape> shapes, std::vector<Output> outputs)
      : script_(script),
        host_(host),
        signature_(signature),
        shapes_(std::move(shapes)),
        outputs_(std::move(outputs)),
        varies_(outputs_.size() != signature.outputs.size()),
        random_(static_cast<std::uint64_t>(script.seed)) {
    const std::int64_t batch = shapes_.empty() || shapes_[0].dims.empty() ? 1 : shapes_[0].dims[0];
    const bool struck = script_.only_batch == 0 || script_.only_batch == batch;
    if (!struck) script_.fault_at_run.fill(0);
    for (const std::int64_t run : script_.fault_at_run) has_fault_ = has_fault_ || run != 0;
    plain_ = script_.distribution == Distribution::kConstant && script_.stall_every == 0 && script_.growing_memory == 0;
  }

  Status set_input(std::size_t set, std::size_t index, const assay_tensor& tensor) override {
    if (index >= shapes_.size() || set > sets_.size())
      return fail(ErrorCode::kInvalidArgument, "input " + std::to_string(index) + " of set " + std::to_string(set) +
                                                   " does not follow the inputs bound before");
    if (!fits(tensor, shapes_[index]))
      return fail(ErrorCode::kMismatch,
                  "input " + std::to_string(index) + " does not have the dtype and shape that it was bound with");
    if (set == sets_.size()) sets_.emplace_back(shapes_.size());
    Bound& bound = sets_[set][index];
    bound.dims.assign(tensor.dims, tensor.dims + tensor.rank);
    bound.tensor = tensor;
    bound.tensor.dims = bound.dims.data();
    bound.is_bound = true;
    return {};
  }

  Status run(std::size_t set) override {
    if (set >= sets_.size() && !(set == 0 && shapes_.empty()))
      return fail(ErrorCode::kInvalidArgument, "input set " + std::to_string(set) + " was never bound");
    ++runs_;
    ++runs_since_reset_;
    latest_set_ = static_cast<std::int64_t>(set) == script_.stale_set ? 0 : set;
    if (has_fault_) ASSAY_CHECK_OK(strike());
    const bool made_now = varies_ || !aliases_.empty();
    if (plain_ && script_.cost_ns == 0 && !made_now) return {};
    const std::int64_t start = host_.now_ns();
    const std::int64_t cost = plain_ ? script_.cost_ns : this_cost();
    if (made_now) ASSAY_CHECK_OK(make_outputs());
    if (script_.growing_memory > 0) kept_.push_back(take_memory(script_.growing_memory));
    while (host_.now_ns() - start < cost) {
    }
    return {};
  }

  // If no later run needs the values, they are computed here and not in run(), whose duration depends only on the
  // script.
  Status get_output(std::size_t index, assay_tensor& out) override {
    if (index >= outputs_.size() || runs_ == 0)
      return fail(ErrorCode::kInvalidArgument, "there is no output " + std::to_string(index));
    if (!varies_ && aliases_.empty()) compute(outputs_[index], used_inputs(), error(), script_.nan);
    out = outputs_[index].view();
    return {};
  }

  Status alias_output_to_input(std::size_t output, std::size_t input) override {
    if (output >= signature_.outputs.size() || input >= shapes_.size())
      return fail(ErrorCode::kInvalidArgument,
                  "output " + std::to_string(output) + " cannot become input " + std::to_string(input));
    const plugin::ValueInfo& from = signature_.outputs[output];
    const plugin::TensorShape& to = shapes_[input];
    const bool fit = from.dtype == to.dtype && std::ranges::equal(from.dims, to.dims, [](auto made, auto bound) {
                       return made < 0 || bound < 0 || made == bound;
                     });
    if (!fit)
      return fail(ErrorCode::kMismatch,
                  "output '" + from.name + "' cannot become input '" + signature_.inputs[input].name + "'");
    aliases_[input] = output;
    return reset_state();
  }

  Status reset_state() override {
    state_.clear();
    runs_since_reset_ = 0;
    return {};
  }

 private:
  std::int64_t this_cost() {
    const auto mean = static_cast<double>(script_.cost_ns);
    double cost = mean;
    if (script_.distribution == Distribution::kNormal) cost = mean + mean * script_.spread * normal_(random_);
    // Parameters of the underlying normal for a given mean and relative deviation.
    if (script_.distribution == Distribution::kLognormal) {
      const double variance = std::log1p(script_.spread * script_.spread);
      cost = mean * std::exp(std::sqrt(variance) * normal_(random_) - variance / 2);
    }
    const bool stalls = script_.stall_every > 0 && runs_ % script_.stall_every == 0;
    return static_cast<std::int64_t>(cost) + (stalls ? script_.stall_ns : 0);
  }

  Status strike() {
    for (std::size_t i = 0; i < kFaults; ++i) {
      if (runs_ != script_.fault_at_run[i]) continue;
      switch (static_cast<Fault>(i)) {
        case Fault::kCloseSocket:
          ::close(3);
          break;
        case Fault::kCrash:
          std::signal(SIGSEGV, SIG_DFL);  // removes any other handler: this must be a real crash
          std::raise(SIGSEGV);
          break;
        case Fault::kAbort:
          std::signal(SIGABRT, SIG_DFL);
          std::abort();
        case Fault::kExit:
          ::_exit(3);
        case Fault::kHang:
          while (true) sleep_ms(1000);
        case Fault::kOutOfMemory:
          while (true) kept_.push_back(take_memory(64));
        case Fault::kError:
          return fail(ErrorCode::kDeviceLost,
                      "the option fail_at_run lets the null engine fail at run " + std::to_string(runs_));
      }
    }
    return {};
  }

  struct Bound {
    assay_tensor tensor{};
    std::vector<std::int64_t> dims;
    bool is_bound = false;
  };

  /// The inputs of the latest run: outputs of the previous run, else the bound buffers.
  std::vector<assay_tensor> latest_inputs() {
    std::vector<assay_tensor> inputs;
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      const auto left = state_.find(i);
      inputs.push_back(left == state_.end() ? sets_[latest_set_][i].tensor : left->second.view());
    }
    return inputs;
  }

  /// The same, without the data of the input that the script ignores.
  std::vector<assay_tensor> used_inputs() {
    std::vector<assay_tensor> inputs = latest_inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (signature_.inputs[i].name == script_.ignored_input) inputs[i].data = nullptr;
    return inputs;
  }

  /// What is added to floating outputs of the latest run.
  double error() const {
    const bool late = script_.wrong_after_run > 0 && runs_ > script_.wrong_after_run;
    const bool last = script_.wrong_at_token > 0 && runs_since_reset_ == script_.wrong_at_token;
    return script_.wrong + (late || last ? 1e30 : 0);  // more than any sum
  }

  /// Creates all outputs with the extents of this run, and keeps those that are inputs of the next run.
  Status make_outputs() {
    Extents extents;
    const std::vector<assay_tensor> inputs = latest_inputs();
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      if (!state_.contains(i) && !sets_[latest_set_][i].is_bound)
        return fail(ErrorCode::kInvalidArgument, "input '" + signature_.inputs[i].name + "' was never bound");
      ASSAY_CHECK_OK(match(signature_.inputs[i], inputs[i].dtype, std::span(inputs[i].dims, inputs[i].rank), extents));
    }
    std::vector<Output> made;
    const std::vector<assay_tensor> values = used_inputs();
    for (const plugin::ValueInfo& info : signature_.outputs) {
      ASSAY_TRY(Output output, allocate(info, extents));
      compute(output, values, error(), script_.nan);
      made.push_back(std::move(output));
    }
    for (const auto& [to, from] : aliases_) {
      if (!fits(made[from].view(), shapes_[to]))
        return fail(ErrorCode::kMismatch, "output '" + signature_.outputs[from].name + "' has become too large for '" +
                                              signature_.inputs[to].name + "'");
    }
    outputs_ = std::move(made);
    for (const auto& [to, from] : aliases_) state_.insert_or_assign(to, outputs_[from]);
    return {};
  }

  Script script_;
  const assay_host_api& host_;
  Signature signature_;
  std::vector<plugin::TensorShape> shapes_;
  std::vector<Output> outputs_;
  bool varies_;
  std::vector<std::vector<Bound>> sets_;
  std::map<std::size_t, std::size_t> aliases_;  ///< output by input
  std::map<std::size_t, Output> state_;         ///< outputs of the latest run that are inputs, by input
  std::vector<std::unique_ptr<char[]>> kept_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::int64_t runs_ = 0, runs_since_reset_ = 0;
  std::size_t latest_set_ = 0;
  bool has_fault_ = false, plain_ = false;
};

class NullProgram final : public plugin::Program {
 public:
  NullProgram(Script script, const assay_host_api& host, Signature signature, plugin::KeyValues effective)
      : script_(std::move(script)),
        host_(host),
        signature_(std::move(signature)),
        effective_(std::move(effective)),
        memory_(take_memory(script_.model_memory)) {}

  const std::vector<plugin::ValueInfo>& inputs() const override { return signature_.inputs; }
  const std::vector<plugin::ValueInfo>& outputs() const override { return signature_.outputs; }
  Result<plugin::KeyValues> effective() override { return effective_; }

  Result<std::unique_ptr<plugin::Context>> create_context(std::span<const plugin::TensorShape> shapes) override {
    if (shapes.size() != inputs().size())
      return fail(ErrorCode::kMismatch,
                  std::to_string(shapes.size()) + " shapes given for " + std::to_string(inputs().size()) + " inputs");
    Extents extents;
    bool open = false;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      ASSAY_CHECK_OK(match(inputs()[i], shapes[i].dtype, shapes[i].dims, extents));
      open = open || std::ranges::count(shapes[i].dims, -1) > 0;
    }
    std::vector<Output> made;
    for (std::size_t i = 0; !open && i < outputs().size(); ++i) {
      ASSAY_TRY(auto output, allocate(outputs()[i], extents));
      made.push_back(std::move(output));
    }
    sleep_ms(script_.compile_ms);
    return std::make_unique<NullContext>(script_, host_, signature_, std::vector(shapes.begin(), shapes.end()),
                                         std::move(made));
  }

 private:
  Script script_;
  const assay_host_api& host_;
  Signature signature_;
  plugin::KeyValues effective_;
  std::unique_ptr<char[]> memory_;
};

class NullEngine final : public plugin::Engine {
 public:
  static constexpr const char* kName = "null";
  static constexpr bool kCompilesShapes = true, kConcurrentContexts = true, kTimesItself = false;
  static constexpr bool kSharesMemory = true;  // but its contexts return unsupported, which any engine may do

  explicit NullEngine(const assay_host_api& host) : host_(host) {}
  static Result<std::unique_ptr<Engine>> create(const std::string&, const assay_host_api& host) {
    return std::make_unique<NullEngine>(host);
  }
  static std::vector<plugin::OptionInfo> option_infos() { return null_engine::option_infos(); }
  std::string version() const override { return "1.0"; }

  Result<std::vector<plugin::Device>> devices() override {
    // "id=hardware:flag,…": tests of listing and choosing devices need no hardware then.
    const char* listed = std::getenv("ASSAY_NULL_DEVICES");
    std::vector<plugin::Device> devices;
    std::string_view rest = listed == nullptr ? "cpu=cpu" : listed;
    while (!rest.empty()) {
      const std::string_view one = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), one.size() + 1));
      const auto equals = std::min(one.find('='), one.size());
      const std::string_view after = one.substr(std::min(equals + 1, one.size()));
      const std::string_view hardware = after.substr(0, after.find(':'));
      plugin::Device device{std::string(one.substr(0, equals)), std::string(hardware), "no device at all", 0, 0, 0};
      if (after.ends_with(":simulated")) device.flags = ASSAY_DEVICE_SIMULATED;
      if (after.ends_with(":software")) device.flags = ASSAY_DEVICE_SOFTWARE;
      device.score = -static_cast<std::int32_t>(devices.size());
      devices.push_back(std::move(device));
    }
    return devices;
  }

  Result<std::unique_ptr<plugin::Program>> load(const plugin::LoadArgs& args) override {
    ASSAY_TRY(const Script script, parse_script(args.options));
    if (!script.chatter.empty()) {
      std::fprintf(stdout, "%s\n", script.chatter.c_str());
      std::fprintf(stderr, "%s\n", script.chatter.c_str());
    }
    ASSAY_TRY(const auto found, devices());
    const auto device = std::ranges::find_if(
        found, [&](const plugin::Device& d) { return args.device_id.empty() || d.id == args.device_id; });
    if (device == found.end())
      return fail(ErrorCode::kNotFound, "the null engine has no device '" + args.device_id + "'");
    if (!args.model_path.empty() && !std::filesystem::exists(args.model_path))
      return fail(ErrorCode::kNotFound, "there is no model file '" + args.model_path + "'");
    if (!script.unsupported.empty())
      return fail(ErrorCode::kUnsupported, "no kernel for operator '" + script.unsupported + "'");
    if (args.precision == "float16" || args.precision == "bfloat16")
      return fail(ErrorCode::kUnsupported, "the null engine computes in float32 only, not in " + args.precision);
    Signature signature;
    ASSAY_TRY(signature.inputs, parse_signature(script.inputs));
    ASSAY_TRY(signature.outputs, parse_signature(script.outputs));
    for (std::int64_t i = 0; i < script.daemons; ++i) start_daemon();
    sleep_ms(script.load_ms);
    plugin::KeyValues effective{
        {"precision", script.effective_precision.empty() ? "float32" : script.effective_precision},
        {"threads", std::to_string(std::max(args.threads, 1))},
        {"device", device->id},
        {"computes", args.model_path.empty() ? "running sums" : "nothing"}};
    effective.insert(effective.end(), args.options.begin(), args.options.end());
    return std::make_unique<NullProgram>(script, host_, std::move(signature), std::move(effective));
  }

 private:
  const assay_host_api& host_;
};

}  // namespace
}  // namespace assay::null_engine

ASSAY_EXPORT_ENGINE(assay::null_engine::NullEngine);
