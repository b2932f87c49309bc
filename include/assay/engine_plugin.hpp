// SPDX-License-Identifier: Apache-2.0
#pragma once

/// For authors of engine plug-ins: derive from Engine, Program and Context, then write
/// `ASSAY_EXPORT_ENGINE(MyEngine);` in one source file. Everything of engine_abi.h is generated from that.
/// Virtual functions may throw. At the boundary std::bad_alloc becomes an Error of code `out_of_memory`, any other
/// exception one of code `internal`.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <assay/engine_abi.h>
#include <assay/result.hpp>

namespace assay::plugin {

struct Device {
  std::string id;        ///< identifier for load()
  std::string hardware;  ///< "cpu", "cuda", "openvino", …
  std::string name;      ///< name given by the vendor
  std::uint64_t memory_bytes = 0;
  std::int32_t score = 0;
  std::uint32_t flags = 0;  ///< ASSAY_DEVICE_…
};

struct ValueInfo {
  std::string name;
  assay_dtype dtype = 0;
  bool has_rank = true;
  std::vector<std::int64_t> dims;    ///< -1 if unknown until bound
  std::vector<std::string> symbols;  ///< empty, or one per extent
  std::int64_t index_limit = 0;      ///< number of rows of the table that the integers select from; 0 if unknown
};

struct OptionInfo {
  std::string name, type, default_value, help;
};

using KeyValues = std::vector<std::pair<std::string, std::string>>;

struct LoadArgs {
  std::string model_path;
  std::string device_id;
  std::string precision;  ///< "as_is", "float32", "float16", "bfloat16" or "runtime"
  int threads = 0;        ///< 0: the runtime's choice
  int streams = 1;
  KeyValues options;
};

struct TensorShape {
  assay_dtype dtype;
  std::vector<std::int64_t> dims;  ///< -1 if each set_input defines it
};

/// Bound shapes, buffers and state: one request in flight. engine_abi.h has the contract of each function; the names
/// are the same there.
class Context {
 public:
  virtual ~Context() = default;
  [[nodiscard]] virtual Status set_input(std::size_t set, std::size_t index, const assay_tensor& tensor) = 0;
  [[nodiscard]] virtual Status run(std::size_t set) = 0;
  /// Fills `out` with a view (dims may point into this object; valid until the next run).
  [[nodiscard]] virtual Status get_output(std::size_t index, assay_tensor& out) = 0;

  /// Times n runs with the engine's own clock. By default has_run_timed() is false, and the host times run().
  [[nodiscard]] virtual bool has_run_timed() const { return false; }
  [[nodiscard]] virtual Status run_timed([[maybe_unused]] std::size_t n, [[maybe_unused]] std::size_t first_set,
                                         [[maybe_unused]] std::size_t sets, [[maybe_unused]] assay_samples& samples) {
    return fail(ErrorCode::kUnsupported, "this engine does not time its own bursts");
  }
  [[nodiscard]] virtual Status alias_output_to_input([[maybe_unused]] std::size_t output,
                                                     [[maybe_unused]] std::size_t input) {
    return fail(ErrorCode::kUnsupported, "this engine cannot use an output as an input of the next run");
  }
  [[nodiscard]] virtual Status reset_state() { return {}; }
  [[nodiscard]] virtual Status share_output_with_input([[maybe_unused]] std::size_t output,
                                                       [[maybe_unused]] std::size_t input) {
    return fail(ErrorCode::kUnsupported, "this engine cannot put an output in the memory of an input");
  }
};

/// A loaded model, immutable, shared by its contexts.
class Program {
 public:
  virtual ~Program() = default;
  [[nodiscard]] virtual const std::vector<ValueInfo>& inputs() const = 0;
  [[nodiscard]] virtual const std::vector<ValueInfo>& outputs() const = 0;
  /// What the runtime really uses, read back: at least "precision", "threads" and "device". For the latest context if
  /// there is one.
  [[nodiscard]] virtual Result<KeyValues> effective() = 0;
  /// Optional. Does work that create_context() needs but that is not compilation. It is called before create_context()
  /// and is not timed.
  [[nodiscard]] virtual Status prepare_context([[maybe_unused]] std::span<const TensorShape> shapes) { return {}; }
  [[nodiscard]] virtual Result<std::unique_ptr<Context>> create_context(std::span<const TensorShape> shapes) = 0;
};

/// A loaded runtime. A derived class has
///   `static constexpr const char* kName;`
///   `static constexpr bool kCompilesShapes, kConcurrentContexts, kTimesItself;`
///   `static Result<std::unique_ptr<Engine>> create(const std::string& home, const assay_host_api& host);`
///   `static std::vector<OptionInfo> option_infos();`
/// and, if it has extensions (engine_abi.h), `static const void* extension(std::string_view name);`.
/// `static constexpr bool kSharesMemory = true;` if contexts implement share_output_with_input().
/// kCompilesShapes: create_context() compiles for new shapes, and its time is the compilation time of a cell.
/// kConcurrentContexts: several contexts of one program may run at the same time.
/// kTimesItself: has_run_timed() is true for at least some contexts.
class Engine {
 public:
  virtual ~Engine() = default;
  [[nodiscard]] virtual std::string version() const = 0;
  /// The devices that can be used now, best first. An empty list is not an error.
  [[nodiscard]] virtual Result<std::vector<Device>> devices() = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<Program>> load(const LoadArgs& args) = 0;
};

}  // namespace assay::plugin

#include <assay/engine_trampolines.hpp>  // ASSAY_EXPORT_ENGINE
