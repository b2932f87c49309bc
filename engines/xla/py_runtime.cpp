// SPDX-License-Identifier: Apache-2.0
#include "py_runtime.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>

#include <fmt/format.h>

#include <assay/support/plugin_support.hpp>

namespace assay::embedded {
// The .py files of this folder.
std::string_view xla_library();
std::string_view xla_device();
std::string_view xla_mlir();
std::string_view xla_custom_calls();
std::string_view xla_signature();
std::string_view xla_model();
std::string_view xla_compiled();
std::string_view xla_plugins();
std::string_view xla_support();
}  // namespace assay::embedded

namespace assay::plugin {
namespace {

namespace fs = std::filesystem;

#define ASSAY_TEXT_OF(x) #x
#define ASSAY_VERSION_TEXT(major, minor) ASSAY_TEXT_OF(major) "." ASSAY_TEXT_OF(minor)
constexpr const char* kPythonVersion = ASSAY_VERSION_TEXT(PY_MAJOR_VERSION, PY_MINOR_VERSION);

PyApi functions;

// A thread's state while the lock is not held; null: the thread has none yet.
struct ThreadState {
  PyThreadState* saved = nullptr;
  int depth = 0;
  bool made_here = false;  // by PyGILState_Ensure, not by the interpreter's start
  PyGILState_STATE ensured{};
  ~ThreadState() {
    if (saved == nullptr || !made_here) return;
    functions.PyEval_RestoreThread(saved);
    functions.PyGILState_Release(ensured);
  }
};
thread_local ThreadState own_state;

Result<void*> open_python(const std::string& prefix) {
  const std::string name = fmt::format("libpython{}.so.1.0", kPythonVersion);
  std::string path = name;
  if (!prefix.empty() && fs::exists(fs::path(prefix) / "lib" / name)) path = fs::path(prefix) / "lib" / name;
  // Extension modules expect the interpreter's symbols in the process.
  if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL)) return library;
  const char* reason = dlerror();
  return fail(
      ErrorCode::kNotFound, fmt::format("cannot open {}: {}", path, reason != nullptr ? reason : "no reason given"),
      fmt::format("install Python {} with its shared library (Debian: libpython{})", kPythonVersion, kPythonVersion));
}

Status start_interpreter(const std::string& prefix) {
  PyPreConfig encoding;
  functions.PyPreConfig_InitIsolatedConfig(&encoding);
  encoding.utf8_mode = 1;  // names of files are UTF-8, whatever the locale is
  PyStatus status = functions.Py_PreInitialize(&encoding);
  PyConfig config;
  functions.PyConfig_InitIsolatedConfig(&config);
  config.site_import = 0;  // no packages of the system
  config.write_bytecode = 0;
  config.install_signal_handlers = 0;
  if (functions.PyStatus_Exception(status) == 0 && !prefix.empty())
    status = functions.PyConfig_SetBytesString(&config, &config.home, prefix.c_str());
  if (functions.PyStatus_Exception(status) == 0) status = functions.Py_InitializeFromConfig(&config);
  const bool failed = functions.PyStatus_Exception(status) != 0;
  const std::string why = failed && status.err_msg != nullptr ? status.err_msg : "";
  functions.PyConfig_Clear(&config);
  if (!failed) {
    own_state.saved = functions.PyEval_SaveThread();
    return {};
  }
  return fail(
      ErrorCode::kIncompatiblePlugin,
      fmt::format("the interpreter of Python {} does not start{}{}{}", kPythonVersion,
                  prefix.empty() ? "" : fmt::format(" with the prefix '{}'", prefix), why.empty() ? "" : ": ", why),
      "ASSAY_XLA_PYTHON is the prefix of a complete Python; without it the system's is used");
}

/// The codes of Refusals in the .py files.
ErrorCode code_from(std::string_view name) {
  constexpr std::pair<std::string_view, ErrorCode> kCodes[] = {{"invalid_argument", ErrorCode::kInvalidArgument},
                                                               {"not_found", ErrorCode::kNotFound},
                                                               {"unsupported", ErrorCode::kUnsupported},
                                                               {"out_of_memory", ErrorCode::kOutOfMemory},
                                                               {"incompatible_plugin", ErrorCode::kIncompatiblePlugin}};
  for (const auto& [known, code] : kCodes)
    if (name == known) return code;
  return ErrorCode::kInternal;
}

/// XLA begins its messages with a code, whatever failed: a compilation, a copy to the device or a run.
constexpr std::pair<std::string_view, ErrorCode> kXlaCodes[] = {
    {"INVALID_ARGUMENT: ", ErrorCode::kInvalidArgument},
    {"UNIMPLEMENTED: ", ErrorCode::kUnsupported},
    {"RESOURCE_EXHAUSTED: ", ErrorCode::kOutOfMemory},
    {"NOT_FOUND: ", ErrorCode::kUnsupported}};  // the implementation of a custom call

struct Source {
  const char* name;
  std::string_view (*text)();
};
/// Each one imports some of those before it. The first one looks for jaxlib, which the others import; the last one has
/// what the plug-in calls.
constexpr Source kSources[] = {
    {"xla_library", embedded::xla_library},     {"xla_device", embedded::xla_device},
    {"xla_mlir", embedded::xla_mlir},           {"xla_custom_calls", embedded::xla_custom_calls},
    {"xla_signature", embedded::xla_signature}, {"xla_model", embedded::xla_model},
    {"xla_compiled", embedded::xla_compiled},   {"xla_plugins", embedded::xla_plugins},
    {"xla_support", embedded::xla_support}};

Result<PyRef> load_module(const Source& source) {
  const std::string text(source.text()), file = fmt::format("{}.py", source.name);
  const PyRef code(functions.Py_CompileStringExFlags(text.c_str(), file.c_str(), Py_file_input, nullptr, -1));
  if (!code) return python_error();
  PyRef module(functions.PyImport_ExecCodeModule(source.name, code.get()));
  if (!module) return python_error();
  return module;
}

}  // namespace

const PyApi& py() { return functions; }

PyLock::PyLock() {
  ThreadState& state = own_state;
  if (state.depth++ > 0) return;
  if (state.saved != nullptr) {
    functions.PyEval_RestoreThread(state.saved);
  } else {
    state.ensured = functions.PyGILState_Ensure();
    state.made_here = true;
  }
}

PyLock::~PyLock() {
  ThreadState& state = own_state;
  if (--state.depth == 0) state.saved = functions.PyEval_SaveThread();
}

void PyRef::reset() {
  if (object_ == nullptr) return;
  const PyLock lock;
  functions.Py_DecRef(std::exchange(object_, nullptr));
}

PyObject* PyRef::share() const {
  functions.Py_IncRef(object_);
  return object_;
}

std::string text_of(PyObject* object) {
  Py_ssize_t size = 0;
  const char* text = object == nullptr ? nullptr : functions.PyUnicode_AsUTF8AndSize(object, &size);
  if (text == nullptr) functions.PyErr_Clear();
  return text == nullptr ? "" : std::string(text, static_cast<std::size_t>(size));
}

tl::unexpected<Error> python_error() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  functions.PyErr_Fetch(&type, &value, &trace);
  functions.PyErr_NormalizeException(&type, &value, &trace);
  const PyRef kept_type(type), kept_value(value), kept_trace(trace);
  if (!kept_value) return fail(ErrorCode::kInternal, "the interpreter reports an error without an exception");
  const auto attribute = [](PyObject* object, const char* name) {
    const PyRef found(functions.PyObject_GetAttrString(object, name));
    if (!found) functions.PyErr_Clear();
    return text_of(found.get());
  };
  const PyRef shown(functions.PyObject_Str(value));
  if (!shown) functions.PyErr_Clear();
  const std::string text = text_of(shown.get()), code = attribute(value, "code"), name = attribute(type, "__name__");
  if (!code.empty()) return fail(code_from(code), text, attribute(value, "hint"));
  const std::string message = first_line(text);
  for (const auto& [prefix, known] : kXlaCodes)
    if (message.starts_with(prefix)) return fail(known, "XLA: " + message.substr(prefix.size()));
  // NumPy has a class of its own for memory that ran out.
  const bool no_memory = functions.PyErr_GivenExceptionMatches(type, *functions.PyExc_MemoryError) != 0;
  return fail(no_memory ? ErrorCode::kOutOfMemory : ErrorCode::kInternal,
              message.empty() ? name : fmt::format("{}: {}", name, message));
}

Result<PyRef> PyRuntime::call_with(PyObject* object, const char* name, const PyRef& arguments) {
  if (!arguments) return python_error();
  ASSAY_TRY(const PyRef function, attribute(object, name));
  PyRef made(functions.PyObject_CallObject(function.get(), arguments.get()));
  if (!made) return python_error();
  return made;
}

Result<PyRef> PyRuntime::library(const char* name) const {
  ASSAY_TRY(const PyRef module, attribute(module_.get(), "jl"));
  return attribute(module.get(), name);
}

Result<PyRef> PyRuntime::attribute(PyObject* object, const char* name) {
  PyRef found(functions.PyObject_GetAttrString(object, name));
  if (!found) return python_error();
  return found;
}

Result<std::shared_ptr<const PyRuntime>> PyRuntime::start(const std::string& home) {
  // Never freed: threads of the runtime may outlive static objects.
  static auto& started = *new std::shared_ptr<const PyRuntime>;
  static auto& failure = *new std::optional<std::pair<std::string, Error>>;
  std::error_code ignored;
  const fs::path folder = fs::absolute(home.empty() ? fs::path("jaxlib") : fs::path(home), ignored).lexically_normal();
  const fs::path site = (folder.has_filename() ? folder : folder.parent_path()).parent_path();
  if (home.empty() || !fs::exists(folder / "libjax_common.so", ignored))
    return fail(ErrorCode::kNotFound, fmt::format("there is no libjax_common.so in '{}'", folder.string()));
  ASSAY_CHECK_OK(check_whole_library(folder / "libjax_common.so", "install jaxlib again"));
  if (started && started->site_ == site.string()) return started;
  if (failure && failure->first == site.string()) return tl::unexpected<Error>(failure->second);
  if (started || failure)
    return fail(
        ErrorCode::kIncompatiblePlugin,
        fmt::format("the interpreter of this process uses the packages in '{}'; those in '{}' need a new process",
                    started ? started->site_ : failure->first, site.string()));
  Result<std::shared_ptr<const PyRuntime>> opened = open(site.string());
  if (opened)
    started = *opened;
  else
    failure.emplace(site.string(), opened.error());
  return opened;
}

Result<std::shared_ptr<const PyRuntime>> PyRuntime::open(const std::string& site) {
  const char* given = std::getenv("ASSAY_XLA_PYTHON");
  const std::string prefix = given != nullptr ? given : "";
  ASSAY_TRY(void* const library, open_python(prefix));
#define ASSAY_PYTHON_FIND(name)                                          \
  {                                                                      \
    ASSAY_TRY(void* const symbol, find_symbol(library, #name));          \
    functions.name = reinterpret_cast<decltype(functions.name)>(symbol); \
  }
  ASSAY_PYTHON_FUNCTIONS(ASSAY_PYTHON_FIND)
#undef ASSAY_PYTHON_FIND
  ASSAY_CHECK_OK(start_interpreter(prefix));
  const PyLock lock;
  std::shared_ptr<PyRuntime> runtime(new PyRuntime);
  ASSAY_TRY(runtime->module_, load_module(kSources[0]));
  ASSAY_TRY(const PyRef version, runtime->call("start", "(y)", site.c_str()));
  for (const Source& source : std::span(kSources).subspan(1)) {
    ASSAY_TRY(runtime->module_, load_module(source));
  }
  runtime->version_ = text_of(version.get());
  runtime->site_ = site;
  return std::shared_ptr<const PyRuntime>(std::move(runtime));
}

}  // namespace assay::plugin
