// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/loader.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"

namespace assay {
namespace {

std::int64_t now_ns() { return SteadyClock().now_ns(); }

std::string_view view(assay_string s) {
  return s.data == nullptr ? std::string_view() : std::string_view(s.data, s.size);
}
std::string text(assay_string s) { return sanitise(view(s)); }
assay_string c_string(std::string_view s) { return {s.data(), s.size()}; }

void log_from_plugin(std::int32_t level, assay_string message) {
  const int known = level < 0 ? 0 : level > 3 ? 3 : level;
  log_line(static_cast<LogLevel>(known), text(message));
}

/// Takes over `error` (which must not be null).
Error convert(const assay_engine_table& table, assay_error* error) {
  const std::int32_t code = table.error_code(error);
  Error made;
  made.code = code < 0 || code > ASSAY_INTERNAL ? ErrorCode::kInternal : static_cast<ErrorCode>(code);
  made.message = text(table.error_message(error));
  if (table.error_hint != nullptr) made.hint = text(table.error_hint(error));
  table.error_free(error);
  if (made.message.empty()) made.message = fmt::format("{} failed without a message", view(table.name));
  return made;
}

Status check(const assay_engine_table& table, assay_error* error) {
  if (error == nullptr) return {};
  return tl::unexpected<Error>(convert(table, error));
}

/// A sink of the C ABI that appends what `convert` makes of each element to a vector.
template <class Sink, class Item, class T>
struct Collector {
  std::vector<T> items;
  T (*convert)(const Item&);
  Sink sink() {
    return {sizeof(Sink), this, [](void* user, const Item* item) {
              auto* self = static_cast<Collector*>(user);
              self->items.push_back(self->convert(*item));
            }};
  }
};

// A value's name is its identity: exact, unless JSON cannot represent it. Callers that print it sanitise it.
std::string exact(assay_string s) { return is_utf8(view(s)) ? std::string(view(s)) : text(s); }

ValueSignature to_signature(const assay_value_info& info) {
  ValueSignature value;
  value.name = exact(info.name);
  value.dtype = static_cast<DType>(info.dtype);
  value.has_rank = info.rank != SIZE_MAX;
  constexpr std::size_t kWithLimit = offsetof(assay_value_info, index_limit) + sizeof info.index_limit;
  if (info.struct_size >= kWithLimit && info.index_limit > 0) value.index_limit = info.index_limit;
  if (!value.has_rank) return value;
  for (std::size_t i = 0; i < info.rank; ++i) {
    value.shape.push_back(info.dims[i] < 0 ? -1 : info.dims[i]);
    if (info.symbols != nullptr) value.symbols.push_back(text(info.symbols[i]));
  }
  return value;
}

Result<std::vector<ValueSignature>> signature(const assay_engine_table& table, assay_program* program,
                                              assay_error* (*list)(assay_program*, const assay_value_sink*)) {
  Collector<assay_value_sink, assay_value_info, ValueSignature> found{{}, &to_signature};
  const auto sink = found.sink();
  ASSAY_CHECK_OK(check(table, list(program, &sink)));
  return std::move(found.items);
}

// The pairs that a function of an engine or a program adds to a sink.
template <class Object>
Result<EngineOptions> pairs_of(const assay_engine_table& table,
                               assay_error* (*list)(Object*, const assay_key_value_sink*), Object* object) {
  Collector<assay_key_value_sink, assay_key_value, std::pair<std::string, std::string>> found{
      {}, [](const assay_key_value& pair) { return std::pair(text(pair.key), text(pair.value)); }};
  const auto sink = found.sink();
  ASSAY_CHECK_OK(check(table, list(object, &sink)));
  return std::move(found.items);
}

template <class Extension>
const Extension* extension_of(const assay_engine_table& table, std::string_view name) {
  return table.get_extension == nullptr ? nullptr : static_cast<const Extension*>(table.get_extension(c_string(name)));
}

EngineDevice to_device(const assay_device& d) {
  return {text(d.id),
          text(d.hardware),
          text(d.name),
          d.memory_bytes,
          d.score,
          (d.flags & ASSAY_DEVICE_SIMULATED) != 0,
          (d.flags & ASSAY_DEVICE_SOFTWARE) != 0};
}

assay_tensor to_tensor(const TensorView& view) {
  assay_tensor tensor{};
  tensor.struct_size = sizeof tensor;
  tensor.dtype = static_cast<assay_dtype>(view.dtype);
  tensor.memory_kind = ASSAY_MEMORY_HOST;
  tensor.dims = view.shape.data();
  tensor.rank = view.shape.size();
  tensor.data = const_cast<std::byte*>(view.bytes.data());  // C has one tensor struct for inputs and outputs
  tensor.byte_size = view.bytes.size();
  return tensor;
}

/// A list of tensors for the C ABI.
struct ShapeList {
  std::vector<assay_tensor> tensors;
  std::vector<const assay_tensor*> pointers;
  explicit ShapeList(std::span<const TensorView> views) {
    for (const TensorView& view : views) tensors.push_back(to_tensor(view));
    for (const assay_tensor& tensor : tensors) pointers.push_back(&tensor);
  }
};

bool lacks_a_required_slot(const assay_engine_table& t) {
  return t.error_code == nullptr || t.error_message == nullptr || t.error_free == nullptr ||
         t.engine_create == nullptr || t.engine_free == nullptr || t.engine_version == nullptr ||
         t.engine_devices == nullptr || t.engine_options == nullptr || t.program_load == nullptr ||
         t.program_free == nullptr || t.program_inputs == nullptr || t.program_outputs == nullptr ||
         t.program_effective == nullptr || t.context_create == nullptr || t.context_free == nullptr ||
         t.set_input == nullptr || t.run == nullptr || t.get_output == nullptr;
}

}  // namespace

const assay_host_api& host_api() {
  static const assay_host_api api{sizeof api, ASSAY_ABI_MAJOR, ASSAY_ABI_MINOR, &now_ns, &log_from_plugin};
  return api;
}

Result<EnginePlugin> EnginePlugin::open(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored))
    return fail(ErrorCode::kNotFound, fmt::format("there is no engine plug-in '{}'", file.string()));
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return fail(ErrorCode::kIncompatiblePlugin,
                fmt::format("cannot load the engine plug-in: {}", sanitise(::dlerror())));
  return from_entry(reinterpret_cast<assay_engine_get_fn>(::dlsym(library, ASSAY_ENGINE_ENTRY)), file);
}

Result<EnginePlugin> EnginePlugin::from_entry(assay_engine_get_fn entry, const std::filesystem::path& file) {
  if (entry == nullptr)
    return fail(ErrorCode::kIncompatiblePlugin,
                fmt::format("'{}' is not an engine plug-in: it does not export {}", file.string(), ASSAY_ENGINE_ENTRY));
  const assay_engine_table* given = entry(&host_api());
  if (given == nullptr)
    return fail(
        ErrorCode::kIncompatiblePlugin,
        fmt::format("the engine plug-in '{}' does not support this version of assay: its entry returns no functions",
                    file.string()));
  if (given->abi_major != ASSAY_ABI_MAJOR)
    return fail(ErrorCode::kIncompatiblePlugin,
                fmt::format("the engine plug-in '{}' was built for engine ABI {}.{}, this assay has {}.{}",
                            file.string(), given->abi_major, given->abi_minor, ASSAY_ABI_MAJOR, ASSAY_ABI_MINOR),
                "build the plug-in against this assay's include/ folder, or install the plug-in of the same release");
  assay_engine_table table{};
  std::memcpy(&table, given, std::min<std::size_t>(given->struct_size, sizeof table));
  if (lacks_a_required_slot(table))
    return fail(ErrorCode::kIncompatiblePlugin,
                fmt::format("the engine plug-in '{}' (ABI {}.{}, table of {} bytes) lacks required functions",
                            file.string(), given->abi_major, given->abi_minor, given->struct_size));
  return EnginePlugin(table);
}

std::string EnginePlugin::name() const { return text(table_->name); }

Status LoadedContext::set_input(std::size_t set, std::size_t index, const TensorView& view) {
  const assay_tensor tensor = to_tensor(view);
  return check(table(), table().set_input(object_.get(), set, index, &tensor));
}

Status LoadedContext::run(std::size_t set) { return check(table(), table().run(object_.get(), set)); }

Status LoadedContext::run_timed(std::size_t n, std::size_t first_set, std::size_t sets, assay_samples& samples) {
  samples.count = 0;
  return check(table(), table().run_timed(object_.get(), n, first_set, sets, &samples));
}

Result<TensorView> LoadedContext::output(std::size_t index) const {
  TensorView view;
  ASSAY_CHECK_OK(output(index, view));
  return view;
}

Status LoadedContext::output(std::size_t index, TensorView& view) const {
  assay_tensor tensor{};
  tensor.struct_size = sizeof tensor;
  ASSAY_CHECK_OK(check(table(), table().get_output(object_.get(), index, &tensor)));
  view.dtype = static_cast<DType>(tensor.dtype);
  view.shape.assign(tensor.dims, tensor.dims + tensor.rank);
  view.bytes = {};
  const auto wrong = [&](std::string_view what) {
    return fail(ErrorCode::kInternal, fmt::format("{} returns output {} as {} {} with {}", text(table().name), index,
                                                  to_string(view.dtype), to_string(view.shape), what));
  };
  if (tensor.memory_kind != ASSAY_MEMORY_HOST) return wrong("data that is not in host memory");
  const auto expected = byte_size(view.dtype, view.shape);
  if (!expected || *expected != tensor.byte_size) return wrong(fmt::format("{} bytes", tensor.byte_size));
  if (tensor.data == nullptr && tensor.byte_size > 0) return wrong("no data");
  view.bytes = {static_cast<const std::byte*>(tensor.data), tensor.byte_size};
  return {};
}

Status LoadedContext::alias_output_to_input(std::size_t output, std::size_t input) {
  if (table().alias_output_to_input == nullptr)
    return fail(ErrorCode::kUnsupported, fmt::format("{} cannot keep outputs on the device", text(table().name)));
  return check(table(), table().alias_output_to_input(object_.get(), output, input));
}

Status LoadedContext::share_output_with_input(std::size_t output, std::size_t input) {
  if (table().share_output_with_input == nullptr)
    return fail(ErrorCode::kUnsupported, fmt::format("{} cannot write outputs over inputs", text(table().name)));
  return check(table(), table().share_output_with_input(object_.get(), output, input));
}

Status LoadedContext::reset_state() {
  if (table().reset_state == nullptr) return {};
  return check(table(), table().reset_state(object_.get()));
}

Result<EngineOptions> LoadedProgram::effective() const {
  return pairs_of(plugin_.table(), plugin_.table().program_effective, object_.get());
}

Result<EngineOptions> LoadedEngine::notes() const {
  const auto* extension = extension_of<assay_notes_extension>(plugin_.table(), "notes");
  if (extension == nullptr || extension->notes == nullptr) return EngineOptions{};
  return pairs_of(plugin_.table(), extension->notes, object_.get());
}

Status LoadedProgram::save(const std::filesystem::path& file) const {
  const assay_engine_table& table = plugin_.table();
  const auto* extension = extension_of<assay_save_extension>(table, "save");
  if (extension == nullptr || extension->save == nullptr)
    return fail(ErrorCode::kUnsupported, fmt::format("{} cannot save a program", plugin_.name()));
  const std::string path = file.string();
  const assay_save_args args{sizeof args, c_string(path), 0};
  return check(table, extension->save(object_.get(), &args));
}

Status LoadedProgram::prepare_context(std::span<const TensorView> inputs) const {
  const assay_engine_table& table = plugin_.table();
  if (table.context_prepare == nullptr) return {};
  const ShapeList shapes(inputs);
  return check(table, table.context_prepare(object_.get(), shapes.pointers.data(), shapes.pointers.size()));
}

Result<LoadedContext> LoadedProgram::create_context(std::span<const TensorView> inputs) const {
  const ShapeList shapes(inputs);
  assay_context* made = nullptr;
  const assay_engine_table& table = plugin_.table();
  ASSAY_CHECK_OK(
      check(table, table.context_create(object_.get(), shapes.pointers.data(), shapes.pointers.size(), &made)));
  return LoadedContext({made, LoadedContext::Free{plugin_, object_}});
}

Result<LoadedEngine> LoadedEngine::create(const EnginePlugin& plugin, const std::filesystem::path& home) {
  const std::string folder = home.string();
  const assay_engine_config config{sizeof config, c_string(folder)};
  assay_engine* made = nullptr;
  ASSAY_CHECK_OK(check(plugin.table(), plugin.table().engine_create(&config, &made)));
  return LoadedEngine(plugin, {made, [plugin](assay_engine* e) { plugin.table().engine_free(e); }});
}

std::string LoadedEngine::version() const { return text(plugin_.table().engine_version(object_.get())); }

Result<std::vector<EngineDevice>> LoadedEngine::devices() const {
  Collector<assay_device_sink, assay_device, EngineDevice> found{{}, &to_device};
  const auto sink = found.sink();
  ASSAY_CHECK_OK(check(plugin_.table(), plugin_.table().engine_devices(object_.get(), &sink)));
  return std::move(found.items);
}

Result<std::vector<EngineOptionInfo>> LoadedEngine::options() const {
  Collector<assay_option_sink, assay_option_info, EngineOptionInfo> found{
      {}, [](const assay_option_info& o) -> EngineOptionInfo {
        return {text(o.name), text(o.type), text(o.default_value), text(o.help)};
      }};
  const auto sink = found.sink();
  ASSAY_CHECK_OK(check(plugin_.table(), plugin_.table().engine_options(object_.get(), &sink)));
  return std::move(found.items);
}

Result<LoadedProgram> LoadedEngine::load(const LoadProgramArgs& args) const {
  const std::string model = args.model.string();
  std::vector<assay_key_value> pairs;
  std::vector<const assay_key_value*> pointers;
  pairs.reserve(args.options.size());
  pointers.reserve(args.options.size());
  for (const auto& [key, value] : args.options)
    pairs.push_back({sizeof(assay_key_value), c_string(key), c_string(value)});
  for (const assay_key_value& pair : pairs) pointers.push_back(&pair);
  const assay_load_args c_args{sizeof c_args, c_string(model), c_string(args.device_id), c_string(args.precision),
                               args.threads,  args.streams,    pointers.data(),          pointers.size()};
  const assay_engine_table& table = plugin_.table();
  assay_program* made = nullptr;
  ASSAY_CHECK_OK(check(table, table.program_load(object_.get(), &c_args, &made)));
  // The program keeps its engine alive through its deleter.
  LoadedProgram program(
      plugin_, {made, [plugin = plugin_, engine = object_](assay_program* p) { plugin.table().program_free(p); }});
  ASSAY_TRY(program.inputs_, signature(table, made, table.program_inputs));
  ASSAY_TRY(program.outputs_, signature(table, made, table.program_outputs));
  return program;
}

}  // namespace assay
