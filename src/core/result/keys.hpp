// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/result/record.hpp"

/// Keys identify results of the same work. The *task key* hashes every field that may change a number and is known
/// before the cell runs. `--benchmark-only` uses it to find an earlier verdict of the same work. `--resume` compares it
/// together with the names of the model (resume_key() in bench/run/local_executor.hpp), so that one model under two
/// names has two rows. The *series key* is the same without versions and graph hash: one history across upgrades.
///
/// A field is hashed only if its value differs from its *hash default*: what rows meant before the field existed, for
/// each engine. It never changes, even if an option's default does. An absent value means the default. So a new field
/// changes no existing key (docs/decisions/0005-keys.md).
namespace assay {

/// The version of the scheme, in each manifest. Development versions before the first release had 1 and 2.
inline constexpr std::int64_t kKeyVersion = 3;

/// The version of the meaning of measurements, in both keys: raise it if new numbers of a cell are not comparable with
/// older ones (another timed interval, another statistic with the same name). Name the change in the CHANGELOG.
inline constexpr std::int64_t kMethodVersion = 2;

enum class KeyKind { kTask, kSeries };

/// The fields that the key of `record` hashes, sorted by name, so that no order in a table matters.
[[nodiscard]] std::vector<const Field*> hashed_fields(const Record& record, KeyKind kind,
                                                      std::span<const Field> fields = result_fields());

/// The text that the key hashes: one line `name=value` for each hashed field, the value as JSON.
[[nodiscard]] std::string key_text(const Record& record, KeyKind kind, std::span<const Field> fields = result_fields());

/// The SHA-256 of key_text(), 64 hexadecimal digits.
[[nodiscard]] std::string task_key(const Record& record);
[[nodiscard]] std::string series_key(const Record& record);

}  // namespace assay
