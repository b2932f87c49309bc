// SPDX-License-Identifier: Apache-2.0
#include "xla_engine.hpp"

namespace assay::plugin {
namespace {

assay_error* send_notes(assay_engine* engine, const assay_key_value_sink* sink) noexcept {
  return detail::guard([&]() -> Status {
    const auto* own = dynamic_cast<const XlaEngine*>(engine->object.get());
    if (own == nullptr) return fail(ErrorCode::kInternal, "the notes of another engine were requested");
    ASSAY_TRY(const KeyValues notes, own->notes());
    for (const auto& [hardware, note] : notes) {
      const assay_key_value pair{sizeof pair, detail::c_string(hardware), detail::c_string(note)};
      sink->add(sink->user, &pair);
    }
    return {};
  });
}

}  // namespace

const void* XlaEngine::extension(std::string_view name) {
  static const assay_notes_extension table{sizeof table, 1, &send_notes};
  return name == "notes" ? &table : nullptr;
}

Result<KeyValues> XlaEngine::notes() const {
  const PyLock lock;
  ASSAY_TRY(const PyRef list, runtime_->call("notes", "(y)", runtime_->site().c_str()));
  KeyValues notes;
  for (Py_ssize_t i = 0; i < py().PySequence_Size(list.get()); ++i) {
    const PyRef pair(py().PySequence_GetItem(list.get(), i));
    const PyRef hardware(py().PySequence_GetItem(pair.get(), 0)), note(py().PySequence_GetItem(pair.get(), 1));
    notes.emplace_back(text_of(hardware.get()), text_of(note.get()));
  }
  return notes;
}

Result<std::unique_ptr<Engine>> XlaEngine::create(const std::string& home, const assay_host_api& host) {
  ASSAY_TRY(auto runtime, PyRuntime::start(home));
  return std::unique_ptr<Engine>(new XlaEngine(std::move(runtime), host));
}

Result<std::vector<Device>> XlaEngine::devices() {
  return std::vector<Device>{{"cpu", "cpu", processor_name(), machine_memory_bytes(), 0, 0}};
}

}  // namespace assay::plugin
ASSAY_EXPORT_ENGINE(assay::plugin::XlaEngine);
