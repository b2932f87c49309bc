// SPDX-License-Identifier: Apache-2.0
#include "xla_program.hpp"

#include <sched.h>

#include <algorithm>

#include <fmt/format.h>

#include "xla_context.hpp"

namespace assay::plugin {
namespace {

std::int64_t number_at(PyObject* sequence, Py_ssize_t i) {
  const PyRef item(py().PySequence_GetItem(sequence, i));
  const long long number = item ? py().PyLong_AsLongLong(item.get()) : -1;
  if (!item || number == -1) py().PyErr_Clear();
  return number;
}

/// The list of (name, element type, extents) in an attribute of a Model.
Result<std::vector<ValueInfo>> values_of(PyObject* model, const char* name) {
  ASSAY_TRY(const PyRef list, PyRuntime::attribute(model, name));
  std::vector<ValueInfo> values;
  for (Py_ssize_t i = 0; i < py().PySequence_Size(list.get()); ++i) {
    const PyRef item(py().PySequence_GetItem(list.get(), i));
    const PyRef text(py().PySequence_GetItem(item.get(), 0)), shape(py().PySequence_GetItem(item.get(), 2));
    ValueInfo value{text_of(text.get()), static_cast<assay_dtype>(number_at(item.get(), 1)), true, {}, {}};
    for (Py_ssize_t axis = 0; axis < py().PySequence_Size(shape.get()); ++axis)
      value.dims.push_back(number_at(shape.get(), axis));
    value.symbols.resize(value.dims.size());
    values.push_back(std::move(value));
  }
  return values;
}

Status add_index_limits(PyObject* model, std::vector<ValueInfo>& inputs) {
  ASSAY_TRY(const PyRef limits, PyRuntime::attribute(model, "index_limits"));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    inputs[i].index_limit = number_at(limits.get(), static_cast<Py_ssize_t>(i));
  return {};
}

/// The refusal of another device says whether jax has a plug-in for it here.
Status check_device(const PyRuntime& runtime, const std::string& device) {
  Status only_cpu = check_only_cpu(device, {"cuda", "tpu"});
  if (only_cpu || only_cpu.error().code != ErrorCode::kUnsupported) return only_cpu;
  const std::string hardware = device.substr(0, device.find(':'));
  const PyLock lock;
  ASSAY_TRY(const PyRef note, runtime.call("note_for", "(ys)", runtime.site().c_str(), hardware.c_str()));
  if (const std::string text = text_of(note.get()); !text.empty()) only_cpu.error().message += "; " + text;
  return only_cpu;
}

/// Limits this thread, and those that it starts, to `count` of the processors that it may use. XLA's client gives its
/// work to as many threads as are requested, but the calling thread computes, too.
void use_processors(int count) {
  // The whole set is kept: a worker may load a program with more threads later.
  static const cpu_set_t allowed = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    return set;
  }();
  cpu_set_t chosen;
  CPU_ZERO(&chosen);
  int left = count > 0 ? count : CPU_SETSIZE;
  for (int i = 0; i < CPU_SETSIZE && left > 0; ++i) {
    if (!CPU_ISSET(i, &allowed)) continue;
    CPU_SET(i, &chosen);
    --left;
  }
  sched_setaffinity(0, sizeof chosen, &chosen);
}

int processors_in_use() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

}  // namespace

Result<std::unique_ptr<Program>> XlaProgram::load(const std::shared_ptr<const PyRuntime>& runtime,
                                                  const assay_host_api& host, const LoadArgs& args) {
  ASSAY_TRY([[maybe_unused]] const Options options, Options::parse(args.options, {}));
  ASSAY_CHECK_OK(check_device(*runtime, args.device_id));
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(args.model_path, ignored))
    return fail(ErrorCode::kNotFound, fmt::format("no model file '{}'", args.model_path));
  std::unique_ptr<XlaProgram> program(new XlaProgram);
  program->runtime_ = runtime;
  program->host_ = &host;
  program->strict_ = args.precision != "runtime";
  use_processors(args.threads);
  const PyLock lock;
  ASSAY_TRY(program->client_, runtime->call("client_of", "(i)", args.threads));
  ASSAY_TRY(program->model_, runtime->call("Model", "(Oy)", program->client_.get(), args.model_path.c_str()));
  ASSAY_TRY(program->inputs_, values_of(program->model_.get(), "inputs"));
  ASSAY_CHECK_OK(add_index_limits(program->model_.get(), program->inputs_));
  ASSAY_TRY(program->outputs_, values_of(program->model_.get(), "outputs"));
  ASSAY_CHECK_OK(check_precision(args.precision, program->inputs_, program->outputs_));
  ASSAY_TRY(program->overrides_, runtime->call("overrides", "(i)", program->strict_ ? 1 : 0));
  ASSAY_TRY(const PyRef pool, PyRuntime::attribute(program->client_.get(), "pool"));
  program->threads_ =
      std::clamp(static_cast<int>(py().PyLong_AsLongLong(pool.get())), 1, std::max(processors_in_use(), 1));
  return std::unique_ptr<Program>(std::move(program));
}

Status XlaProgram::compile() {
  auto compiled = std::make_shared<XlaCompiled>();
  const PyLock lock;
  compiled->runtime = runtime_;
  compiled->host = host_;
  ASSAY_TRY(compiled->compiled, runtime_->call("Compiled", "(OO)", model_.get(), overrides_.get()));
  PyObject* const made = compiled->compiled.get();
  ASSAY_TRY(compiled->client, PyRuntime::attribute(made, "client"));
  ASSAY_TRY(compiled->execute, PyRuntime::attribute(made, "execute"));
  ASSAY_TRY(compiled->handlers, PyRuntime::attribute(made, "handlers"));
  ASSAY_TRY(const PyRef weights, PyRuntime::attribute(made, "weights"));
  for (Py_ssize_t i = 0; i < py().PySequence_Size(weights.get()); ++i)
    compiled->weights.emplace_back(py().PySequence_GetItem(weights.get(), i));
  ASSAY_TRY(const PyRef spare, PyRuntime::attribute(made, "spare"));
  for (Py_ssize_t i = 0; i < py().PySequence_Size(spare.get()); ++i)
    compiled->spare.push_back(static_cast<std::size_t>(number_at(spare.get(), i)));
  ASSAY_TRY(const PyRef donated, PyRuntime::attribute(made, "donated"));
  for (Py_ssize_t i = 0; i < py().PySequence_Size(donated.get()); ++i) {
    const PyRef pair(py().PySequence_GetItem(donated.get(), i));
    compiled->donated.emplace_back(number_at(pair.get(), 0), number_at(pair.get(), 1));
  }
  compiled_ = std::move(compiled);
  return {};
}

Result<std::unique_ptr<Context>> XlaProgram::create_context(std::span<const TensorShape> shapes) {
  ASSAY_CHECK_OK(check_shapes(inputs_, shapes));
  if (!compiled_) ASSAY_CHECK_OK(compile());
  return XlaContext::create(compiled_, inputs_, outputs_, shapes);
}

Result<KeyValues> XlaProgram::effective() {
  if (measured_.empty()) {
    const PyLock lock;
    ASSAY_TRY(const PyRef found, runtime_->call("measure", "(OO)", client_.get(), overrides_.get()));
    const auto word = [&](Py_ssize_t i) {
      const PyRef item(py().PySequence_GetItem(found.get(), i));
      return text_of(item.get());
    };
    const std::string own = model_precision(inputs_, outputs_);
    if (strict_ && (word(0) != "float32" || word(2) != "exact")) {
      return fail(ErrorCode::kUnsupported, fmt::format("XLA's products of float32 numbers are not as exact as {}", own),
                  "use --precision runtime");
    }
    measured_ = {{"device", "cpu"},
                 {"precision", own == "float32" ? word(0) : own},
                 {"threads", std::to_string(threads_)},
                 {"denormals", word(1)}};
  }
  return measured_;
}

}  // namespace assay::plugin
