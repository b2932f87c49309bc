// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace assay::zoo {

/// The text of each zoo/NAME.json by NAME, as it was when the program was built.
[[nodiscard]] const std::map<std::string, std::string_view>& embedded_files();

}  // namespace assay::zoo
