// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <assay/engine_plugin.hpp>

#include "script.hpp"

namespace assay::null_engine {
namespace {

constexpr double kMegabyte = 1e6;

void sleep_ms(std::int64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// Touched, so that it is resident.
std::unique_ptr<char[]> take_memory(double megabytes) {
  const auto size = static_cast<std::size_t>(megabytes * kMegabyte);
  std::unique_ptr<char[]> memory(new char[size]);
  std::memset(memory.get(), 1, size);
  return memory;
}

double element(const assay_tensor& tensor, std::size_t index) {
  const auto at = [&]<class T>(T) { return static_cast<double>(static_cast<const T*>(tensor.data)[index]); };
  switch (tensor.dtype) {
    case 1:
      return at(float{});
    case 2:
    case 9:
      return at(std::uint8_t{});
    case 3:
      return at(std::int8_t{});
    case 6:
      return at(std::int32_t{});
    case 7:
      return at(std::int64_t{});
    default:
      return at(double{});
  }
}

struct Output {
  assay_dtype dtype;
  std::vector<std::int64_t> dims;
  std::size_t elements;
  std::vector<std::uint64_t> storage;  ///< of 64-bit words, so that every dtype is aligned
};

class NullContext final : public plugin::Context {
 public:
  NullContext(const Script& script, const assay_host_api& host, std::vector<plugin::TensorShape> shapes,
              std::vector<Output> outputs)
      : script_(script),
        host_(host),
        shapes_(std::move(shapes)),
        outputs_(std::move(outputs)),
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
    const plugin::TensorShape& shape = shapes_[index];
    if (tensor.dtype != shape.dtype || !std::ranges::equal(shape.dims, std::span(tensor.dims, tensor.rank)))
      return fail(ErrorCode::kMismatch,
                  "input " + std::to_string(index) + " has not the dtype and shape it was bound with");
    if (set == sets_.size()) sets_.emplace_back(shapes_.size());
    sets_[set][index] = tensor;
    sets_[set][index].dims = shape.dims.data();
    return {};
  }

  Status run(std::size_t set) override {
    if (set >= sets_.size() && !(set == 0 && shapes_.empty()))
      return fail(ErrorCode::kInvalidArgument, "input set " + std::to_string(set) + " was never bound");
    ++runs_;
    latest_set_ = set;
    if (has_fault_) ASSAY_CHECK_OK(strike());
    if (plain_ && script_.cost_ns == 0) return {};
    const std::int64_t start = host_.now_ns();
    const std::int64_t cost = plain_ ? script_.cost_ns : this_cost();
    if (script_.growing_memory > 0) kept_.push_back(take_memory(script_.growing_memory));
    while (host_.now_ns() - start < cost) {
    }
    return {};
  }

  // The values are made here and not in run(), whose duration belongs to the script alone.
  Status get_output(std::size_t index, assay_tensor& out) override {
    if (index >= outputs_.size() || runs_ == 0)
      return fail(ErrorCode::kInvalidArgument, "there is no output " + std::to_string(index) + " to give");
    Output& output = outputs_[index];
    compute(output);
    out.dtype = output.dtype;
    out.memory_kind = ASSAY_MEMORY_HOST;
    out.dims = output.dims.data();
    out.rank = output.dims.size();
    out.data = output.storage.data();
    out.byte_size = output.elements * element_size(output.dtype);
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
        case Fault::kCrash:
          std::signal(SIGSEGV, SIG_DFL);  // whoever else handles it: this is to be a real crash
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
          return fail(ErrorCode::kDeviceLost, "the null engine was told to fail at run " + std::to_string(runs_));
      }
    }
    return {};
  }

  /// Element i is the sum over the inputs of running_sum(input)[i mod its elements], which starts anew in each row.
  void compute(Output& output) {
    std::vector<double> values(output.elements, 0.0);
    for (std::size_t k = 0; k < shapes_.size() && output.elements > 0; ++k) {
      const assay_tensor& input = sets_[latest_set_][k];
      if (input.data == nullptr) continue;
      const std::size_t elements = input.byte_size / element_size(input.dtype);
      const std::size_t row =
          input.rank == 0 ? 1 : static_cast<std::size_t>(std::max<std::int64_t>(input.dims[input.rank - 1], 1));
      double sum = 0;
      for (std::size_t i = 0; i < output.elements && elements > 0; ++i) {
        const std::size_t at = i % elements;
        sum = (at % row == 0 ? 0 : sum) + element(input, at);
        values[i] += sum;
      }
    }
    const auto store = [&]<class T>(T) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const T value = static_cast<T>(values[i] + (std::is_floating_point_v<T> ? script_.wrong : 0));
        std::memcpy(reinterpret_cast<char*>(output.storage.data()) + i * sizeof(T), &value, sizeof(T));
      }
      const T nan = std::numeric_limits<T>::quiet_NaN();
      if (std::is_floating_point_v<T> && script_.nan && !values.empty())
        std::memcpy(output.storage.data(), &nan, sizeof nan);
    };
    switch (output.dtype) {
      case 1:
        return store(float{});
      case 2:
        return store(std::uint8_t{});
      case 3:
        return store(std::int8_t{});
      case 6:
        return store(std::int32_t{});
      case 7:
        return store(std::int64_t{});
      case 9:
        for (double& v : values) v = v != 0;
        return store(std::uint8_t{});
      default:
        return store(double{});
    }
  }

  Script script_;
  const assay_host_api& host_;
  std::vector<plugin::TensorShape> shapes_;
  std::vector<Output> outputs_;
  std::vector<std::vector<assay_tensor>> sets_;
  std::vector<std::unique_ptr<char[]>> kept_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::int64_t runs_ = 0;
  std::size_t latest_set_ = 0;
  bool has_fault_ = false, plain_ = false;
};

class NullProgram final : public plugin::Program {
 public:
  NullProgram(Script script, const assay_host_api& host, std::vector<plugin::ValueInfo> inputs,
              std::vector<plugin::ValueInfo> outputs, plugin::KeyValues effective)
      : script_(std::move(script)),
        host_(host),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        effective_(std::move(effective)),
        memory_(take_memory(script_.model_memory)) {}

  const std::vector<plugin::ValueInfo>& inputs() const override { return inputs_; }
  const std::vector<plugin::ValueInfo>& outputs() const override { return outputs_; }
  Result<plugin::KeyValues> effective() override { return effective_; }

  Result<std::unique_ptr<plugin::Context>> create_context(std::span<const plugin::TensorShape> shapes) override {
    if (shapes.size() != inputs_.size())
      return fail(ErrorCode::kMismatch,
                  std::to_string(shapes.size()) + " shapes given for " + std::to_string(inputs_.size()) + " inputs");
    std::map<std::string, std::int64_t> extents;
    for (std::size_t i = 0; i < shapes.size(); ++i) ASSAY_CHECK_OK(match(inputs_[i], shapes[i], extents));
    std::vector<Output> outputs;
    for (const plugin::ValueInfo& info : outputs_) {
      ASSAY_TRY(auto output, allocate(info, extents));
      outputs.push_back(std::move(output));
    }
    sleep_ms(script_.compile_ms);
    return std::make_unique<NullContext>(script_, host_, std::vector(shapes.begin(), shapes.end()), std::move(outputs));
  }

 private:
  static Status match(const plugin::ValueInfo& input, const plugin::TensorShape& shape,
                      std::map<std::string, std::int64_t>& extents) {
    if (shape.dtype != input.dtype)
      return fail(ErrorCode::kMismatch, "input '" + input.name + "' has element type " + std::to_string(input.dtype) +
                                            " (ONNX number), given " + std::to_string(shape.dtype));
    bool fits = shape.dims.size() == input.dims.size();
    for (std::size_t d = 0; fits && d < shape.dims.size(); ++d) {
      fits = shape.dims[d] >= 0 && (input.dims[d] < 0 || input.dims[d] == shape.dims[d]);
      if (fits && !input.symbols[d].empty())
        fits = extents.emplace(input.symbols[d], shape.dims[d]).first->second == shape.dims[d];
    }
    if (!fits) return fail(ErrorCode::kMismatch, "the shape given for input '" + input.name + "' is none it can take");
    return {};
  }

  static Result<Output> allocate(const plugin::ValueInfo& info, const std::map<std::string, std::int64_t>& extents) {
    constexpr std::uint64_t kMostElements = std::uint64_t{1} << 32;
    Output output{info.dtype, info.dims, 1, {}};
    std::uint64_t elements = 1;
    for (std::size_t d = 0; d < info.dims.size(); ++d) {
      if (info.dims[d] < 0) {
        const auto extent = extents.find(info.symbols[d]);
        if (extent == extents.end())
          return fail(ErrorCode::kInvalidArgument,
                      "extent " + std::to_string(d) + " of output '" + info.name + "' is named by no input");
        output.dims[d] = extent->second;
      }
      elements *= static_cast<std::uint64_t>(std::min<std::int64_t>(output.dims[d], kMostElements));
      if (elements > kMostElements)
        return fail(ErrorCode::kOutOfMemory, "output '" + info.name + "' would have more than 2^32 elements");
    }
    output.elements = elements;
    output.storage.resize((elements * element_size(info.dtype) + 7) / 8);
    return output;
  }

  Script script_;
  const assay_host_api& host_;
  std::vector<plugin::ValueInfo> inputs_, outputs_;
  plugin::KeyValues effective_;
  std::unique_ptr<char[]> memory_;
};

class NullEngine final : public plugin::Engine {
 public:
  static constexpr const char* kName = "null";
  static constexpr const char* kFormats = "null,onnx";
  static constexpr bool kCompilesShapes = true, kConcurrentContexts = true, kTimesItself = false;

  explicit NullEngine(const assay_host_api& host) : host_(host) {}
  static Result<std::unique_ptr<Engine>> create(const std::string&, const assay_host_api& host) {
    return std::make_unique<NullEngine>(host);
  }
  static std::vector<plugin::OptionInfo> option_infos() { return null_engine::option_infos(); }
  std::string version() const override { return "1.0"; }

  Result<std::vector<plugin::Device>> devices() override {
    // "id=hardware:flag,…": so that tests of what lists and chooses devices need no hardware.
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
    ASSAY_TRY(auto inputs, parse_signature(script.inputs));
    ASSAY_TRY(auto outputs, parse_signature(script.outputs));
    sleep_ms(script.load_ms);
    plugin::KeyValues effective{
        {"precision", script.effective_precision.empty() ? "float32" : script.effective_precision},
        {"threads", std::to_string(std::max(args.threads, 1))},
        {"device", device->id},
        {"computes", args.model_path.empty() ? "running sums" : "nothing"}};
    effective.insert(effective.end(), args.options.begin(), args.options.end());
    return std::make_unique<NullProgram>(script, host_, std::move(inputs), std::move(outputs), std::move(effective));
  }

 private:
  const assay_host_api& host_;
};

}  // namespace
}  // namespace assay::null_engine

ASSAY_EXPORT_ENGINE(assay::null_engine::NullEngine);
