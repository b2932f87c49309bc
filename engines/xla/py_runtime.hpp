// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <assay/engine_plugin.hpp>

namespace assay::plugin {

/// The functions of libpython that are used, by name. The library is opened at run time; nothing here links it, so that
/// macros and inline functions of Python.h that need its symbols (Py_DECREF, Py_None) are not used.
// clang-format off
#define ASSAY_PYTHON_FUNCTIONS(X)                                                                                     \
  X(PyConfig_InitIsolatedConfig) X(PyConfig_SetBytesString) X(PyConfig_Clear) X(PyStatus_Exception)                   \
  X(Py_InitializeFromConfig) X(PyEval_SaveThread) X(PyEval_RestoreThread) X(PyGILState_Ensure)    \
  X(PyGILState_Release) X(Py_CompileStringExFlags) X(PyImport_ExecCodeModule) X(PyObject_GetAttrString)                \
  X(PyObject_Vectorcall) X(PyObject_CallObject) X(Py_BuildValue) X(PyList_New) X(PyList_GetItem)       \
  X(PyList_SetItem) X(PySequence_GetItem) X(PySequence_Size) X(PyLong_AsLongLong) X(PyLong_AsUnsignedLongLong)        \
  X(PyUnicode_AsUTF8AndSize) X(PyObject_Str) X(PyErr_Fetch) X(PyErr_NormalizeException)            \
  X(PyErr_Clear) X(PyMemoryView_FromMemory) X(Py_IncRef) X(Py_DecRef) X(PyTuple_New) X(PyTuple_SetItem)              \
  X(PyLong_FromLongLong) X(PyObject_VectorcallMethod) X(PyUnicode_InternFromString) X(PyErr_GivenExceptionMatches)      \
  X(PyExc_MemoryError) X(PyPreConfig_InitIsolatedConfig) X(Py_PreInitialize)
// clang-format on

struct PyApi {
  // NOLINTBEGIN(readability-identifier-naming): names of libpython
#define ASSAY_PYTHON_MEMBER(name) decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses)
  ASSAY_PYTHON_FUNCTIONS(ASSAY_PYTHON_MEMBER)
#undef ASSAY_PYTHON_MEMBER
  // NOLINTEND(readability-identifier-naming)
};

/// The functions of the interpreter that was started; only valid after PyRuntime::start().
[[nodiscard]] const PyApi& py();

/// Holds the interpreter's lock while it lives. May be nested. A thread that takes it for the first time gets a state
/// of its own, which it keeps until it ends: making one takes longer than a small inference.
class PyLock {
 public:
  PyLock();
  ~PyLock();
  PyLock(const PyLock&) = delete;
  PyLock& operator=(const PyLock&) = delete;
};

/// Owns a reference to an object. It is moved, not copied; only giving the reference up (reset, destructor) takes the
/// lock.
class PyRef {
 public:
  PyRef() = default;
  explicit PyRef(PyObject* owned) : object_(owned) {}
  PyRef(PyRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  PyRef& operator=(PyRef&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~PyRef() { reset(); }
  void reset();
  [[nodiscard]] PyObject* get() const { return object_; }
  /// A further reference for a function that takes one over. Needs the lock.
  [[nodiscard]] PyObject* share() const;
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

/// The Error of the exception that is set, which is cleared. A Refusal of the .py files has a code of its own; XLA
/// begins its messages with one; memory of the interpreter that ran out is `out_of_memory`; any other exception is
/// `internal`. Needs the lock.
[[nodiscard]] tl::unexpected<Error> python_error();

/// The interpreter of this process: libpython, started once and never ended. Runs the .py files of this folder.
class PyRuntime {
 public:
  /// Opens libpython, starts the interpreter and imports jaxlib from `home` (the folder `jaxlib` in a folder of
  /// packages). ASSAY_XLA_PYTHON is the prefix of another installation of the same Python version.
  /// Errors: not_found: no libpython, or no jaxlib in `home`, or its library was cut short; incompatible_plugin: the
  /// interpreter does not start, jaxlib is not complete, of another version than tested or for another Python, or the
  /// process uses another one already.
  [[nodiscard]] static Result<std::shared_ptr<const PyRuntime>> start(const std::string& home);

  [[nodiscard]] const std::string& version() const { return version_; }
  [[nodiscard]] const std::string& site() const { return site_; }  ///< the folder of packages that has jaxlib

  /// Calls a function of xla_support.py, or a class. `format` is Py_BuildValue's, in parentheses. Needs the lock.
  template <class... Args>
  [[nodiscard]] Result<PyRef> call(const char* function, const char* format, Args... args) const {
    return call_with(module_.get(), function, PyRef(py().Py_BuildValue(format, args...)));
  }
  /// The same for a method of an object.
  template <class... Args>
  [[nodiscard]] static Result<PyRef> method(PyObject* object, const char* name, const char* format, Args... args) {
    return call_with(object, name, PyRef(py().Py_BuildValue(format, args...)));
  }
  /// A function of jaxlib.
  [[nodiscard]] Result<PyRef> library(const char* name) const;
  /// Errors: internal: the object has no such attribute.
  [[nodiscard]] static Result<PyRef> attribute(PyObject* object, const char* name);

 private:
  PyRuntime() = default;
  [[nodiscard]] static Result<std::shared_ptr<const PyRuntime>> open(const std::string& site);
  [[nodiscard]] static Result<PyRef> call_with(PyObject* object, const char* name, const PyRef& arguments);

  PyRef module_;
  std::string site_, version_;
};

/// The text of a Python str; "" for another type. Needs the lock.
[[nodiscard]] std::string text_of(PyObject* object);

}  // namespace assay::plugin
