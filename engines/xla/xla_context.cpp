// SPDX-License-Identifier: Apache-2.0
#include "xla_context.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace assay::plugin {
namespace {

constexpr std::uintptr_t kXlaAlignment = 64;  // ALIGNMENT of xla_device.py

bool is_aligned(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % kXlaAlignment == 0; }

/// Bytes of an element of a type of TYPES in xla_device.py.
std::uint64_t element_bytes(assay_dtype dtype) {
  switch (dtype) {
    case 1:   // float32
    case 6:   // int32
    case 12:  // uint32
      return 4;
    case 7:   // int64
    case 11:  // float64
    case 13:  // uint64
    case 14:  // complex64
      return 8;
    case 4:   // uint16
    case 5:   // int16
    case 10:  // float16
    case 16:  // bfloat16
      return 2;
    case 15:  // complex128
      return 16;
    default:
      return 1;
  }
}

PyObject* shape_tuple(const std::vector<std::int64_t>& dims) {
  PyObject* const shape = py().PyTuple_New(static_cast<Py_ssize_t>(dims.size()));
  for (std::size_t i = 0; i < dims.size(); ++i)
    py().PyTuple_SetItem(shape, static_cast<Py_ssize_t>(i), py().PyLong_FromLongLong(dims[i]));
  return shape;
}

}  // namespace

Result<std::unique_ptr<Context>> XlaContext::create(std::shared_ptr<const XlaCompiled> compiled,
                                                    const std::vector<ValueInfo>& inputs,
                                                    const std::vector<ValueInfo>& outputs,
                                                    std::span<const TensorShape> shapes) {
  std::unique_ptr<XlaContext> context(new XlaContext(std::move(compiled), inputs, outputs, shapes));
  const PyLock lock;
  ASSAY_CHECK_OK(context->prepare());
  return std::unique_ptr<Context>(std::move(context));
}

XlaContext::~XlaContext() {
  const PyLock lock;  // taken once, not for each reference
  sets_.clear();
  latest_.clear();
  spare_.clear();
  arguments_.reset();
}

Status XlaContext::prepare() {
  arguments_ = PyRef(
      py().PyList_New(static_cast<Py_ssize_t>(inputs().size() + compiled_->weights.size() + compiled_->spare.size())));
  if (!arguments_) return python_error();
  for (std::size_t i = 0; i < inputs().size(); ++i) set_argument(i, PyRef(py().Py_BuildValue("")));
  for (std::size_t i = 0; i < compiled_->weights.size(); ++i) set_argument(inputs().size() + i, compiled_->weights[i]);
  spare_.resize(compiled_->spare.size());
  latest_.resize(outputs().size());
  for (std::size_t i = 0; i < spare_.size(); ++i) ASSAY_CHECK_OK(renew_memory(i));
  consume_ = PyRef(py().PyUnicode_InternFromString("consume_with_handlers"));
  ASSAY_TRY(block_, compiled_->runtime->library("batched_block_until_ready"));
  if (inputs().empty()) sets_.emplace_back();  // set_input is never called
  return {};
}

void XlaContext::set_argument(std::size_t place, const PyRef& array) {
  py().PyList_SetItem(arguments_.get(), static_cast<Py_ssize_t>(place), array.share());
}

void XlaContext::give_memory(std::size_t place, PyRef memory) {
  spare_[place] = std::move(memory);
  set_argument(inputs().size() + compiled_->weights.size() + place, spare_[place]);
}

Status XlaContext::renew_memory(std::size_t place) {
  ASSAY_TRY(PyRef memory, PyRuntime::method(compiled_->compiled.get(), "memory", "(n)",
                                            static_cast<Py_ssize_t>(compiled_->spare[place])));
  give_memory(place, std::move(memory));
  return {};
}

Result<PyRef> XlaContext::array_over(const Bound& bound, std::size_t index) const {
  auto* const data = static_cast<char*>(bound.aligned ? bound.aligned->data() : const_cast<void*>(bound.data));
  const PyRef view(bound.bytes == 0
                       ? py().Py_BuildValue("")
                       : py().PyMemoryView_FromMemory(data, static_cast<Py_ssize_t>(bound.bytes), PyBUF_READ));
  const PyRef shape(shape_tuple(shapes()[index].dims));
  if (!view || !shape) return python_error();
  return compiled_->runtime->call("bind", "(OOiO)", compiled_->client.get(), view.get(), bound.dtype, shape.get());
}

Status XlaContext::do_set_input(std::size_t set, std::size_t index, const assay_tensor& tensor) {
  const PyLock lock;
  Bound bound{.data = tensor.data, .bytes = tensor.byte_size, .dtype = tensor.dtype};
  if (!is_aligned(tensor.data)) bound.aligned = std::make_unique<Buffer>(tensor.byte_size);
  ASSAY_TRY(bound.array, array_over(bound, index));
  if (set == sets_.size()) sets_.emplace_back().inputs.resize(inputs().size());
  Set& changed = sets_[set];
  changed.inputs[index] = std::move(bound);
  changed.copies = std::ranges::any_of(changed.inputs, [](const Bound& input) { return input.aligned != nullptr; });
  if (selected_ == set) selected_ = kNone;
  return {};
}

Status XlaContext::select(std::size_t set) {
  if (selected_ == set && aliases().empty() && compiled_->donated.empty()) return {};
  for (std::size_t i = 0; i < inputs().size(); ++i) {
    const auto alias = std::ranges::find(aliases(), i, &Alias::input);
    if (state_begun() && alias != aliases().end()) {
      set_argument(i, latest_[alias->output]);
      continue;
    }
    Bound& bound = sets_[set].inputs[i];
    if (!bound.array) {
      ASSAY_TRY(bound.array, array_over(bound, i));
    }
    set_argument(i, bound.array);
  }
  selected_ = set;
  return {};
}

Status XlaContext::do_run(std::size_t set, Interval& took) {
  const PyLock lock;
  for (std::size_t i = 0; renew_ && i < spare_.size(); ++i) ASSAY_CHECK_OK(renew_memory(i));
  renew_ = false;
  ASSAY_CHECK_OK(select(set));
  took.start_ns = compiled_->host->now_ns();
  if (sets_[set].copies)
    for (const Bound& input : sets_[set].inputs)
      if (input.aligned) std::memcpy(input.aligned->data(), input.data, input.bytes);
  PyObject* const given[] = {arguments_.get()};
  const PyRef run(py().PyObject_Vectorcall(compiled_->execute.get(), given, 1, nullptr));
  if (!run) return execution_error(set);
  PyObject* const with[] = {run.get(), compiled_->handlers.get()};
  PyRef results(py().PyObject_VectorcallMethod(consume_.get(), with, 2, nullptr));
  if (!results) return execution_error(set);
  PyObject* const waited[] = {results.get()};
  const PyRef done(py().PyObject_Vectorcall(block_.get(), waited, 1, nullptr));
  if (!done) return execution_error(set);
  took.end_ns = compiled_->host->now_ns();
  return keep_results(set, results.get());
}

tl::unexpected<Error> XlaContext::execution_error(std::size_t set) {
  Error error = python_error().value();
  error.message = "the run failed: " + error.message;
  forget_consumed(set);
  renew_ = true;
  return tl::unexpected<Error>(std::move(error));
}

void XlaContext::forget_consumed(std::size_t set) {
  for (const auto& donation : compiled_->donated)
    if (!(state_begun() && is_aliased(donation.first))) sets_[set].inputs[donation.first].array.reset();
}

Status XlaContext::keep_results(std::size_t set, PyObject* results) {
  // Arrays that the run consumed are freed here, outside of the timed interval.
  forget_consumed(set);
  for (std::size_t i = 0; i < latest_.size(); ++i) {
    PyRef made(py().PyList_GetItem(results, static_cast<Py_ssize_t>(i)));  // borrowed
    py().Py_IncRef(made.get());
    std::swap(latest_[i], made);
    const auto found = std::ranges::find(compiled_->spare, i);
    if (found == compiled_->spare.end()) continue;
    const auto place = static_cast<std::size_t>(found - compiled_->spare.begin());
    if (std::ranges::find(aliases(), i, &Alias::output) == aliases().end())
      give_memory(place, PyRef(latest_[i].share()));
    else if (made)
      give_memory(place, std::move(made));  // the next run reads the latest one
    else
      ASSAY_CHECK_OK(renew_memory(place));
  }
  return {};
}

Status XlaContext::do_get_output(std::size_t index, assay_tensor& out) {
  const PyLock lock;
  ASSAY_TRY(const PyRef address, PyRuntime::method(latest_[index].get(), "unsafe_buffer_pointer", "()"));
  const ValueInfo& info = outputs()[index];
  std::uint64_t bytes = element_bytes(info.dtype);
  for (const std::int64_t extent : info.dims) bytes *= static_cast<std::uint64_t>(extent);
  out.dtype = info.dtype;
  out.dims = info.dims.data();
  out.rank = info.dims.size();
  // NOLINTNEXTLINE(performance-no-int-to-ptr): Python gives the address as a number
  out.data = reinterpret_cast<void*>(py().PyLong_AsUnsignedLongLong(address.get()));
  out.byte_size = bytes;
  return {};
}

Status XlaContext::do_alias(const Alias& alias) {
  selected_ = kNone;
  // After a run the next one would be given the memory of this output; now it reads it.
  const auto place = std::ranges::find(compiled_->spare, alias.output);
  if (place == compiled_->spare.end() || !latest_[alias.output]) return {};
  const PyLock lock;
  return renew_memory(static_cast<std::size_t>(place - compiled_->spare.begin()));
}

}  // namespace assay::plugin
