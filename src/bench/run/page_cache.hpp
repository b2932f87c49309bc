// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include <assay/result.hpp>

namespace assay {

/// The share of a file's pages that are in the page cache, from 0 to 1; 0 for an empty file. Errors: those of opening.
[[nodiscard]] Result<double> cached_share(const std::filesystem::path& file);

/// Removes the files of a folder from the page cache (posix_fadvise), and only those, so that the next reader gets
/// them from the disk. Writes them to the disk first, because a page that was changed is kept. Only for folders of
/// assay. False: pages are still cached, as those of a file system in memory. Errors: those of sync_file and opening.
[[nodiscard]] Result<bool> drop_from_page_cache(const std::filesystem::path& folder);

}  // namespace assay
