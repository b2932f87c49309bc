// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/base/files.hpp"

namespace assay {

/// The names of the entries of a zip archive, in the order of its directory, which is at its end (APPNOTE.TXT, 4.3.12
/// to 4.3.16, ZIP64 included). They refer to `file`. Archives inside of the archive do not count. nullopt: there is no
/// whole directory: the file is torn, or not an archive.
[[nodiscard]] std::optional<std::vector<std::string_view>> zip_names(Bytes file);

}  // namespace assay
