// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Generates the C table of engine_abi.h from classes derived from engine_plugin.hpp's. Included by engine_plugin.hpp;
/// authors use ASSAY_EXPORT_ENGINE only. Needs no library of assay: a plug-in compiles with include/ and tl/expected.

#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <assay/engine_plugin.hpp>

// The opaque types of engine_abi.h, as every plug-in written with these classes defines them.
struct assay_error {
  std::int32_t code;
  std::string message, hint;
};
struct assay_engine {
  std::unique_ptr<assay::plugin::Engine> object;
  std::string version;
};
struct assay_program {
  std::unique_ptr<assay::plugin::Program> object;
};
struct assay_context {
  std::unique_ptr<assay::plugin::Context> object;
};

namespace assay::plugin::detail {

/// The host's services; set once by the entry point, before anything else is called.
inline const assay_host_api* host = nullptr;

inline std::string_view view(assay_string s) {
  return s.size == 0 ? std::string_view() : std::string_view(s.data, s.size);
}
inline std::string text(assay_string s) { return std::string(view(s)); }
inline assay_string c_string(std::string_view s) noexcept { return {s.data(), s.size()}; }

/// Reported if there is no memory left to describe an error; error_free does not free it.
inline assay_error* out_of_memory_error() noexcept {
  static assay_error error{ASSAY_OUT_OF_MEMORY, "no host memory", {}};  // fits the small string: allocates nothing
  return &error;
}

inline assay_error* make_error(std::int32_t code, std::string_view message, std::string_view hint = {}) noexcept {
  try {
    return new assay_error{code, std::string(message), std::string(hint)};
  } catch (...) {
    return out_of_memory_error();
  }
}

inline assay_error* make_error(const Error& error) noexcept {
  try {
    std::string message = error.message;
    for (const auto& line : error.context) message += ", " + line;
    return make_error(static_cast<std::int32_t>(error.code), message, error.hint);
  } catch (...) {
    return out_of_memory_error();
  }
}

/// Runs `body` (returning Status) and converts its result or exception to an assay_error*.
template <class Body>
assay_error* guard(Body&& body) noexcept {
  try {
    const Status status = body();
    return status ? nullptr : make_error(status.error());
  } catch (const std::bad_alloc&) {
    return out_of_memory_error();
  } catch (const std::exception& exception) {
    return make_error(ASSAY_INTERNAL, exception.what());
  } catch (...) {
    return make_error(ASSAY_INTERNAL, "the plug-in threw an exception that is not a std::exception");
  }
}

/// Wraps a new object in its handle.
template <class Handle, class Object>
Status hand_over(Result<std::unique_ptr<Object>> made, Handle** out) {
  if (!made) return tl::unexpected<Error>(std::move(made).error());
  if (!*made) return fail(ErrorCode::kInternal, "the plug-in created no object and reported no error");
  auto handle = std::make_unique<Handle>();
  handle->object = std::move(*made);
  *out = handle.release();
  return {};
}

inline void send(const std::vector<ValueInfo>& values, const assay_value_sink& sink) {
  for (const ValueInfo& value : values) {
    std::vector<assay_string> symbols;
    symbols.reserve(value.symbols.size());
    for (const auto& symbol : value.symbols) symbols.push_back(c_string(symbol));
    const bool named = value.has_rank && symbols.size() == value.dims.size();
    const assay_value_info info{sizeof info,
                                value.dtype,
                                c_string(value.name),
                                value.dims.data(),
                                named ? symbols.data() : nullptr,
                                value.has_rank ? value.dims.size() : SIZE_MAX,
                                value.index_limit};
    sink.add(sink.user, &info);
  }
}

/// n runs timed with the host's clock, for contexts that do not time themselves.
inline Status time_runs(Context& context, std::size_t n, std::size_t first_set, std::size_t sets, assay_samples& to) {
  to.count = 0;
  std::size_t set = sets == 0 ? 0 : first_set % sets;
  for (std::size_t i = 0; i < n && i < to.capacity; ++i) {
    const std::int64_t start = host->now_ns();
    Status status = context.run(set);
    const std::int64_t end = host->now_ns();
    if (!status) return status;
    if (to.start_ns != nullptr) to.start_ns[i] = start;
    if (to.duration_ns != nullptr) to.duration_ns[i] = end - start;
    if (to.kind != nullptr) to.kind[i] = ASSAY_SAMPLE_RUN;
    to.count = i + 1;
    if (++set >= sets) set = 0;
  }
  return {};
}

/// The slots that depend on the engine's class.
template <class E>
struct Slots {
  static assay_error* create(const assay_engine_config* config, assay_engine** out) noexcept {
    return guard([&]() -> Status {
      Result<std::unique_ptr<Engine>> made = E::create(text(config->home), *host);
      if (!made || !*made) return hand_over(std::move(made), out);
      std::string version = (*made)->version();
      Status status = hand_over(std::move(made), out);
      if (status) (*out)->version = std::move(version);
      return status;
    });
  }
  static assay_error* options(assay_engine*, const assay_option_sink* sink) noexcept {
    return guard([&]() -> Status {
      for (const OptionInfo& o : E::option_infos()) {
        const assay_option_info info{sizeof info, c_string(o.name), c_string(o.type), c_string(o.default_value),
                                     c_string(o.help)};
        sink->add(sink->user, &info);
      }
      return {};
    });
  }
  static const void* extension(assay_string name) noexcept {
    if constexpr (requires { static_cast<const void*>(E::extension(std::string_view())); }) {
      return E::extension(view(name));
    } else {
      return nullptr;
    }
  }
};

inline assay_error* devices(assay_engine* engine, const assay_device_sink* sink) noexcept {
  return guard([&]() -> Status {
    ASSAY_TRY(const auto found, engine->object->devices());
    for (const Device& d : found) {
      const assay_device device{sizeof device,    d.flags,        c_string(d.id), c_string(d.hardware),
                                c_string(d.name), d.memory_bytes, d.score};
      sink->add(sink->user, &device);
    }
    return {};
  });
}

inline assay_error* load(assay_engine* engine, const assay_load_args* args, assay_program** out) noexcept {
  return guard([&]() -> Status {
    LoadArgs a{text(args->model_path), text(args->device_id), text(args->precision), args->threads, args->streams, {}};
    for (std::size_t i = 0; i < args->option_count; ++i)
      a.options.emplace_back(text(args->options[i]->key), text(args->options[i]->value));
    return hand_over(engine->object->load(a), out);
  });
}

inline assay_error* inputs(assay_program* program, const assay_value_sink* sink) noexcept {
  return guard([&]() -> Status { return send(program->object->inputs(), *sink), Status(); });
}

inline assay_error* outputs(assay_program* program, const assay_value_sink* sink) noexcept {
  return guard([&]() -> Status { return send(program->object->outputs(), *sink), Status(); });
}

inline assay_error* effective(assay_program* program, const assay_key_value_sink* sink) noexcept {
  return guard([&]() -> Status {
    ASSAY_TRY(const KeyValues pairs, program->object->effective());
    for (const auto& [key, value] : pairs) {
      const assay_key_value pair{sizeof pair, c_string(key), c_string(value)};
      sink->add(sink->user, &pair);
    }
    return {};
  });
}

inline std::vector<TensorShape> shape_list(const assay_tensor* const* shapes, std::size_t count) {
  std::vector<TensorShape> list;
  list.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    list.push_back({shapes[i]->dtype, {shapes[i]->dims, shapes[i]->dims + shapes[i]->rank}});
  return list;
}

inline assay_error* prepare_context(assay_program* program, const assay_tensor* const* shapes,
                                    std::size_t count) noexcept {
  return guard([&] { return program->object->prepare_context(shape_list(shapes, count)); });
}

inline assay_error* create_context(assay_program* program, const assay_tensor* const* shapes, std::size_t count,
                                   assay_context** out) noexcept {
  return guard([&]() -> Status { return hand_over(program->object->create_context(shape_list(shapes, count)), out); });
}

inline assay_error* get_output(assay_context* context, std::size_t index, assay_tensor* out) noexcept {
  return guard([&]() -> Status {
    assay_tensor tensor{};
    ASSAY_CHECK_OK(context->object->get_output(index, tensor));
    // The host may know fewer fields than we do, or more.
    const std::uint32_t known = out->struct_size < sizeof tensor ? out->struct_size : sizeof tensor;
    tensor.struct_size = known;
    std::memcpy(out, &tensor, known);
    return {};
  });
}

inline assay_error* run_timed(assay_context* context, std::size_t n, std::size_t first_set, std::size_t sets,
                              assay_samples* samples) noexcept {
  return guard([&]() -> Status {
    Context& object = *context->object;
    return object.has_run_timed() ? object.run_timed(n, first_set, sets, *samples)
                                  : time_runs(object, n, first_set, sets, *samples);
  });
}

template <class E>
const assay_engine_table& table() noexcept {
  static const assay_engine_table t = [] {
    assay_engine_table made{};
    made.struct_size = sizeof made;
    made.abi_major = ASSAY_ABI_MAJOR;
    made.abi_minor = ASSAY_ABI_MINOR;
    made.name = c_string(E::kName);
    made.error_code = [](const assay_error* e) noexcept { return e->code; };
    made.error_message = [](const assay_error* e) noexcept { return c_string(e->message); };
    made.error_free = [](assay_error* e) noexcept {
      if (e != out_of_memory_error()) delete e;
    };
    made.engine_create = &Slots<E>::create;
    made.engine_free = [](assay_engine* e) noexcept { delete e; };
    made.engine_version = [](assay_engine* e) noexcept { return c_string(e->version); };
    made.engine_devices = &devices;
    made.engine_options = &Slots<E>::options;
    made.program_load = &load;
    made.program_free = [](assay_program* p) noexcept { delete p; };
    made.program_inputs = &inputs;
    made.program_outputs = &outputs;
    made.program_effective = &effective;
    made.context_create = &create_context;
    made.context_free = [](assay_context* c) noexcept { delete c; };
    made.set_input = [](assay_context* c, std::size_t set, std::size_t index, const assay_tensor* tensor) noexcept {
      return guard([&] { return c->object->set_input(set, index, *tensor); });
    };
    made.run = [](assay_context* c, std::size_t set) noexcept { return guard([&] { return c->object->run(set); }); };
    made.get_output = &get_output;
    made.run_timed = E::kTimesItself ? &run_timed : nullptr;
    made.alias_output_to_input = [](assay_context* c, std::size_t output, std::size_t input) noexcept {
      return guard([&] { return c->object->alias_output_to_input(output, input); });
    };
    made.reset_state = [](assay_context* c) noexcept { return guard([&] { return c->object->reset_state(); }); };
    made.get_extension = &Slots<E>::extension;
    made.compiles_shapes = E::kCompilesShapes ? 1 : 0;
    made.concurrent_contexts = E::kConcurrentContexts ? 1 : 0;
    made.error_hint = [](const assay_error* e) noexcept { return c_string(e->hint); };
    made.context_prepare = &prepare_context;
    if constexpr (requires { requires E::kSharesMemory; }) {
      made.share_output_with_input = [](assay_context* c, std::size_t output, std::size_t input) noexcept {
        return guard([&] { return c->object->share_output_with_input(output, input); });
      };
    }
    return made;
  }();
  return t;
}

}  // namespace assay::plugin::detail

/// The entry point's name. Define it to another one when linking plug-ins statically into one program.
#ifndef ASSAY_ENGINE_ENTRY_SYMBOL
#define ASSAY_ENGINE_ENTRY_SYMBOL assay_engine_get
#endif

/// Exports class E (engine_plugin.hpp) as this plug-in's engine. Once per plug-in, at file scope.
#define ASSAY_EXPORT_ENGINE(E)                                                                        \
  extern "C" ASSAY_EXPORT const assay_engine_table* ASSAY_ENGINE_ENTRY_SYMBOL(const assay_host_api*); \
  extern "C" const assay_engine_table* ASSAY_ENGINE_ENTRY_SYMBOL(const assay_host_api* host_api) {    \
    ::assay::plugin::detail::host = host_api;                                                         \
    return &::assay::plugin::detail::table<E>();                                                      \
  }                                                                                                   \
  static_assert(true, "for the semicolon after the macro")
