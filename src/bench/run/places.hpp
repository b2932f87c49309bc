// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include <assay/result.hpp>

#include "bench/run/session.hpp"

namespace assay {

/// Whether results can be put into a database: it, or its folder, can be written, and it is a database of this assay or
/// an older one. The database is not changed; its file for locks (`<database>.lock`) may be created.
/// Errors: invalid_argument; store_busy: another process has it open now, which may end before something is saved;
/// internal: it is damaged; unsupported: a newer assay wrote it.
[[nodiscard]] Status check_database(const std::filesystem::path& database);

/// Whether files of results can be written into a folder, or it can be created.
/// Errors: invalid_argument; the hint names --output-dir.
[[nodiscard]] Status check_results_folder(const std::filesystem::path& folder);

/// Whether a run can write what it leaves: the bundles, the files in its output folder and, if it is saved, its
/// results in the database. Called before anything is measured. Nothing is changed or created but the file for locks,
/// as by check_database(). A database that is busy, damaged or of a newer assay is a warning, because the bundles have
/// everything. Errors: invalid_argument; the message names the path and the reason, the hint the option that names
/// another one.
[[nodiscard]] Status check_places(const SessionRequest& request);

}  // namespace assay
