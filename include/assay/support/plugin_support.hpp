// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Common code of plug-ins that open a runtime's shared library. Compiled into each plug-in.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <assay/engine_plugin.hpp>

namespace assay::plugin {

/// Opens `stem` or its newest version ("libonnxruntime.so" finds libonnxruntime.so.1.31.1) in `home` or one of its
/// `subfolders`; with an empty home, the system's loader searches for it. The library is never closed, because threads
/// and static objects of runtimes still need it. Errors: not_found, with the searched folders and the loader's reason.
[[nodiscard]] Result<void*> open_library(const std::string& home, std::string_view stem,
                                         std::span<const std::string_view> subfolders);

/// Whether a shared library is as long as its header says: opening one that was cut short ends the process.
/// Errors, with `hint`: not_found: there is no such file, or it is not whole.
[[nodiscard]] Status check_whole_library(const std::filesystem::path& file, const std::string& hint);

/// The address of `name` in an opened library. Errors: incompatible_plugin, if the library lacks it.
[[nodiscard]] Result<void*> find_symbol(void* library, const char* name);

/// The options of one load, checked against the engine's descriptions and completed with its defaults.
class Options {
 public:
  /// Errors: invalid_argument, for a name that is not in `infos` (the message lists them) or a value with the wrong
  /// type.
  [[nodiscard]] static Result<Options> parse(const KeyValues& given, const std::vector<OptionInfo>& infos);
  /// `name` must be one of the described ones.
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const { return text(name) == "true"; }
  [[nodiscard]] const KeyValues& all() const { return values_; }

 private:
  KeyValues values_;
};

/// Checks the device of an engine that computes on the processor only: "" or "cpu". Errors: unsupported, for a device
/// NAME or NAME:NUMBER of `others`, which the runtime has, but where this engine has not been run; not_found, for any
/// other word.
[[nodiscard]] Status check_only_cpu(std::string_view device, std::initializer_list<std::string_view> others);

/// Checks the shapes for a context against the program's inputs: count, element type, rank, fixed extents, and that
/// equal symbols have equal extents. Open extents of the program may stay open (-1). Errors: invalid_argument, naming
/// the input.
[[nodiscard]] Status check_shapes(const std::vector<ValueInfo>& inputs, std::span<const TensorShape> shapes);

/// Checks a buffer given as input `index` against the context's shapes: element type, extents and data.
[[nodiscard]] Status check_input(const std::vector<ValueInfo>& inputs, std::span<const TensorShape> shapes,
                                 std::size_t index, const assay_tensor& tensor);

/// Checks that `output` can become the input `name` bound as `bound`, as far as both are known before a run.
/// Errors: mismatch, naming both.
[[nodiscard]] Status check_alias(const ValueInfo& output, const std::string& name, const TensorShape& bound);

/// Whether a tensor of these extents may replace `bound`: -1 there accepts any extent.
[[nodiscard]] bool fits_bound(std::span<const std::int64_t> dims, const TensorShape& bound);

/// Checks the arguments of run_timed: the rotation uses existing sets, and the samples fit.
[[nodiscard]] Status check_burst(std::size_t runs, std::size_t sets, std::size_t known_sets,
                                 const assay_samples& samples);

/// Appends one sample of kind `run`.
inline void add_sample(assay_samples& samples, std::int64_t start_ns, std::int64_t end_ns) {
  if (samples.start_ns) samples.start_ns[samples.count] = start_ns;
  if (samples.duration_ns) samples.duration_ns[samples.count] = end_ns - start_ns;
  if (samples.kind) samples.kind[samples.count] = ASSAY_SAMPLE_RUN;
  ++samples.count;
}

/// "float32", …, as in results; "type 99" for an unknown number.
[[nodiscard]] std::string dtype_name(assay_dtype dtype);

/// Checks that a model with these values computes in the requested float precision. A model with other types is
/// unsupported: a file keeps its own types, and only the model builder casts. Errors: unsupported, naming the value;
/// invalid_argument, for an unknown precision.
[[nodiscard]] Status check_precision(const std::string& precision, const std::vector<ValueInfo>& inputs,
                                     const std::vector<ValueInfo>& outputs);

/// The name of the model's own floating type: the least exact one of its inputs and outputs, because a type may be
/// converted to a more exact one at the end; "float32" if they have none.
[[nodiscard]] std::string model_precision(const std::vector<ValueInfo>& inputs, const std::vector<ValueInfo>& outputs);

/// The name of the processor as its vendor writes it, and the machine's memory.
[[nodiscard]] std::string processor_name();
[[nodiscard]] std::uint64_t machine_memory_bytes();

/// Threads of this process, from the kernel.
[[nodiscard]] int thread_count();

/// The text up to the first line break, without the blanks around it.
[[nodiscard]] std::string first_line(std::string_view text);
/// The text between `before` and `after` in `text`; empty if there is none.
[[nodiscard]] std::string between(std::string_view text, std::string_view before, std::string_view after);

/// Host memory for an output, aligned for any vector load.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : bytes_(bytes), data_(::operator new(bytes > 0 ? bytes : 1, kAlignment)) {}
  [[nodiscard]] void* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return bytes_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(void* data) const { ::operator delete(data, kAlignment); }
  };
  std::size_t bytes_;
  std::unique_ptr<void, Free> data_;
};

}  // namespace assay::plugin
