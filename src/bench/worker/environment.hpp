// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

/// Whether a variable may be a secret, by the words of its name (…_TOKEN, …_KEY, …PASSWORD…, AWS_…) or because its
/// value has a URL with a user in it. Runtimes read variables that nobody can list (OMP_…, ORT_…, XLA_…), so a worker
/// gets everything else. docs/engines.md has the rule for users.
[[nodiscard]] bool may_be_secret(std::string_view name, std::string_view value);

/// "NAME=value" for a worker: those of `inherited` (as environ has them) that are not secret, with `changes`, sorted.
[[nodiscard]] std::vector<std::string> worker_environment(
    char** inherited, const std::vector<std::pair<std::string, std::string>>& changes);

}  // namespace assay
