// SPDX-License-Identifier: Apache-2.0
#include "bench/run/cell_files.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "bench/plan/row.hpp"
#include "bench/run/resumed.hpp"

namespace assay {
namespace {

std::uint64_t file_bytes(const Artefact& artefact) {
  std::error_code ignored;
  const std::uintmax_t bytes = std::filesystem::file_size(artefact.model, ignored);
  return ignored ? 0 : bytes;
}

}  // namespace

void set_artefact_failure(Record& row, const Error& error) {
  set_failure(row, error);
  if (error.code == ErrorCode::kOutOfMemory)
    set_refusal(row, {CellStatus::kSkipped, Reason::kTooLarge, error.message, error.hint});
}

Status CellFiles::make(LocalTask& local) {
  if (local.artefact) return {};
  Task& task = local.task;
  ASSAY_TRY(Artefact artefact, artefacts_.make(task.artefact, task.row.model));
  if (task.artefact.zoo) task.row.model_size_mb = static_cast<double>(artefact.bytes) / 1e6;
  if (!artefact.graph_hash.empty() && artefact.graph_hash != task.row.graph_hash) {
    task.row.graph_hash = artefact.graph_hash;
    set_keys(local, resumed_);
  }
  if (!artefact.note.empty() && std::ranges::find(task.notes, artefact.note) == task.notes.end())
    task.notes.push_back(artefact.note);
  local.artefact = std::move(artefact);
  return {};
}

void CellFiles::release(LocalTask& local) {
  local.artefact.reset();
  if (std::exchange(local.expects_artefact, false)) artefacts_.done(local.task.artefact);
  kept_bytes_ -= std::exchange(local.kept_bytes, std::nullopt).value_or(0);
}

void CellFiles::keep(LocalTask& local) {
  const bool own = !local.task.artefact.shapes.empty() && local.expects_artefact && local.artefact;
  if (!own || local.kept_bytes) return;
  const std::uint64_t bytes = file_bytes(*local.artefact);
  if (kept_bytes_ + bytes <= kept_bytes_limit_) {
    kept_bytes_ += bytes;
    local.kept_bytes = bytes;
    return;
  }
  local.artefact.reset();
  const ArtefactSpec open = local.task.artefact.with_open_shapes();
  artefacts_.expect(open);  // the model with open shapes stays
  artefacts_.done(local.task.artefact);
  artefacts_.expect(local.task.artefact);
  artefacts_.done(open);
}

}  // namespace assay
