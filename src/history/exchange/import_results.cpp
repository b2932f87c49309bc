// SPDX-License-Identifier: Apache-2.0
#include "history/exchange/import_results.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "core/samples/launches.hpp"
#include "core/samples/samples_file.hpp"
#include "history/exchange/readers.hpp"
#include "history/store/bundle.hpp"

namespace assay::exchange {
namespace fs = std::filesystem;
namespace {

RunContext context_of(const ResultsFile& file) {
  RunContext context;
  context.started = file.run.started;
  context.command = file.run.command;
  context.hardware = file.run.system.is_object() ? file.run.system : Json::object();
  context.environment = {{"imported_from",
                          {{"file", file.path.filename().string()},
                           {"sha256", file.sha256},
                           {"format", std::string(name_of(file.format))}}}};
  if (!file.run.doctor.is_null()) context.environment["doctor"] = file.run.doctor;
  return context;
}

Status write_bundle(const ReadRow& row, const Record& record, const RunContext& context, const fs::path& spool) {
  ASSAY_TRY(BundleWriter bundle, BundleWriter::begin(spool, record, context));
  const auto write = [&]() -> Status {
    if (row.samples.size() > 0) {
      ASSAY_TRY(SamplesWriter samples, SamplesWriter::create(bundle.samples_path()));
      ASSAY_CHECK_OK(samples.append(row.samples));
      ASSAY_CHECK_OK(samples.close());
    }
    return bundle.finish(record, context.environment, Json()).map([](const fs::path&) {});
  };
  Status written = write();
  if (!written) bundle.discard();  // nothing ran: there is nothing to keep
  return written;
}

}  // namespace

Result<Imported> write_bundles(const ResultsFile& file, const fs::path& spool, const KnownRow& known) {
  Imported imported;
  const RunContext context = context_of(file);
  for (std::size_t i = 0; i < file.rows.size(); ++i) {
    Record record = file.rows[i].record;
    if (known(record)) {
      ++imported.known;
      continue;
    }
    record.attempt_id = uuid_of_row(file.sha256, i);
    record.flags.add(Flag::kImported);
    ++imported.added;
    // A bundle that an earlier import wrote and that no database has yet.
    if (std::error_code ignored; fs::exists(spool / record.task_key / record.attempt_id, ignored)) continue;
    ASSAY_CHECK_OK(with_context(write_bundle(file.rows[i], record, context, spool),
                                fmt::format("while importing '{}'", file.path.string())));
  }
  return imported;
}

Imported plan_import(const ResultsFile& file, const KnownRow& known) {
  Imported imported;
  for (const ReadRow& row : file.rows) ++(known(row.record) ? imported.known : imported.added);
  return imported;
}

}  // namespace assay::exchange
