// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <set>
#include <string>
#include <system_error>

#include "core/base/files.hpp"
#include "core/base/log.hpp"
#include "history/store/lock.hpp"
#include "history/store/replace.hpp"
#include "history/store/schema.hpp"
#include "history/store/snapshot.hpp"
#include "history/store/store.hpp"

namespace assay {
namespace fs = std::filesystem;
using duckdb::Access;
using duckdb::Database;
using duckdb::Rows;
namespace {

// The name under which the copy is attached; no file of a user is called so.
constexpr const char* kCopy = "assay_copy_in_the_making";

Status check_space(const fs::path& database, std::uint64_t needed) {
  std::error_code error;
  const fs::space_info space = fs::space(fs::absolute(database).parent_path(), error);
  if (error || space.available >= needed) return {};
  return fail(ErrorCode::kInternal,
              fmt::format("the disk of '{}' has {} MB free, and a copy of the database needs up to {} MB",
                          database.string(), space.available / 1'000'000, needed / 1'000'000 + 1),
              "free some disk space; the database is unchanged");
}

Status copy_database(Database& database, const fs::path& to) {
  ASSAY_TRY(const Rows name, database.query("SELECT current_database()"));
  const std::string own = duckdb::quoted_name(name.rows.at(0).at(0).get<std::string>());
  ASSAY_TRY(const duckdb::TableSizes sizes, duckdb::table_sizes(database));
  ASSAY_CHECK_OK(database.execute(fmt::format("ATTACH {} AS {}", duckdb::quoted(to.string()), kCopy)));
  Status filled = database.execute(fmt::format("COPY FROM DATABASE {} TO {}", own, kCopy));
  if (filled) filled = database.execute(fmt::format("CHECKPOINT {}", kCopy));
  const Status detached = database.execute(fmt::format("DETACH {}", kCopy));
  if (filled) filled = detached;
  return filled ? duckdb::check_closed(to, sizes) : filled;
}

}  // namespace

Result<Store::Compacted> Store::compact(const fs::path& path) {
  ASSAY_CHECK_OK(check_replaceable(path));
  ASSAY_TRY(const FileLock lock, FileLock::acquire(path, FileLock::Kind::kExclusive, {}));
  std::error_code error;
  if (!fs::exists(path, error))
    return fail(ErrorCode::kNotFound, fmt::format("there is no database '{}'", path.string()),
                "name one with --db-path");
  const fs::path fresh = path.string() + ".tmp-compact";
  duckdb::remove_database(fresh);  // of a process that was killed
  Compacted sizes;
  {
    ASSAY_TRY(Database database, duckdb::open_database(path, Access::kReadWrite));
    ASSAY_CHECK_OK(database.execute("CHECKPOINT"));
    sizes.before = fs::file_size(path, error);
    ASSAY_CHECK_OK(check_space(path, sizes.before));
    Status copied = copy_database(database, fresh);
    if (!copied) {
      duckdb::remove_database(fresh);
      return tl::unexpected<Error>(with_context(std::move(copied), "while compacting the database").error());
    }
  }
  sizes.after = fs::file_size(fresh, error);
  if (Status placed = duckdb::put_in_place(fresh, path); !placed) {
    duckdb::remove_database(fresh);
    return tl::unexpected<Error>(std::move(placed).error());
  }
  ASSAY_TRY(Database made, duckdb::open_database(path, Access::kReadWrite));
  if (const auto published = write_snapshot(made, path); !published)
    log_warning("the snapshot for readers is missing: {}", published.error().message);
  return sizes;
}

}  // namespace assay
