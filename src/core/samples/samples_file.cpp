// SPDX-License-Identifier: Apache-2.0
#include "core/samples/samples_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/files.hpp"
#include "core/base/json.hpp"

namespace assay {
namespace {

static_assert(std::endian::native == std::endian::little, "columns are written in their memory layout");

constexpr std::string_view kMagic = "ASSAYSMP";
constexpr std::string_view kBlockMagic = "BLCK";
constexpr int kSchemaVersion = 1;
constexpr std::size_t kMaxBlockRows = std::size_t{1} << 24;
constexpr std::string_view kHint = "the file is damaged or was not written by assay; measure again";

std::uint32_t checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
void put_column(std::string& out, std::span<const T> values) {
  out.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

template <class T>
T take(std::string_view bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <class T>
void take_column(std::vector<T>& out, std::string_view bytes, std::size_t offset, std::size_t rows) {
  const std::size_t before = out.size();
  out.resize(before + rows);
  if (rows > 0) std::memcpy(out.data() + before, bytes.data() + offset, rows * sizeof(T));
}

std::string header() {
  const Json columns = Json::array({{{"name", "kind"}, {"dtype", "uint8"}},
                                    {{"name", "stream"}, {"dtype", "uint32"}},
                                    {{"name", "start_ns"}, {"dtype", "int64"}},
                                    {{"name", "duration_ns"}, {"dtype", "int64"}}});
  std::string json = Json{{"schema_version", kSchemaVersion}, {"columns", columns}}.dump();
  json.resize((json.size() + 7) / 8 * 8, ' ');
  std::string out(kMagic);
  put(out, static_cast<std::uint32_t>(json.size()));
  out += json;
  put(out, checksum(json));
  return out;
}

/// The offsets of the four columns in a block, as multiples of its rows.
struct Layout {
  std::size_t row_bytes = 0;
  std::size_t kind = 0, stream = 0, start_ns = 0, duration_ns = 0;
};

std::optional<std::size_t> width(std::string_view dtype) {
  if (dtype == "uint8" || dtype == "int8" || dtype == "bool") return 1;
  if (dtype == "uint16" || dtype == "int16" || dtype == "float16") return 2;
  if (dtype == "uint32" || dtype == "int32" || dtype == "float32") return 4;
  if (dtype == "uint64" || dtype == "int64" || dtype == "float64") return 8;
  return std::nullopt;
}

Result<Layout> layout_of(const Json& json, const std::filesystem::path& path) {
  const auto refuse = [&](const std::string& what) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("samples file '{}': {}", path.string(), what),
                std::string(kHint));
  };
  if (!json.is_object() || !json.contains("columns") || !json["columns"].is_array())
    return refuse("its header has no list \"columns\"");
  struct Wanted {
    std::string_view name, dtype;
    std::size_t Layout::*offset;
    bool found = false;
  };
  Wanted wanted[] = {{"kind", "uint8", &Layout::kind},
                     {"stream", "uint32", &Layout::stream},
                     {"start_ns", "int64", &Layout::start_ns},
                     {"duration_ns", "int64", &Layout::duration_ns}};
  Layout layout;
  for (const Json& column : json["columns"]) {
    if (!column.is_object() || !column.contains("name") || !column["name"].is_string() || !column.contains("dtype") ||
        !column["dtype"].is_string())
      return refuse("a column without the strings \"name\" and \"dtype\"");
    const auto name = column["name"].get<std::string>();
    const auto dtype = column["dtype"].get<std::string>();
    const auto bytes = width(dtype);
    if (!bytes) return refuse(fmt::format("column '{}' has the unknown dtype '{}'", name, dtype));
    for (Wanted& w : wanted) {
      if (w.name != name) continue;
      if (w.found) return refuse(fmt::format("column '{}' occurs twice", name));
      if (w.dtype != dtype) return refuse(fmt::format("column '{}' is {}, not {}", name, dtype, w.dtype));
      w.found = true;
      layout.*w.offset = layout.row_bytes;
    }
    layout.row_bytes += *bytes;
  }
  for (const Wanted& w : wanted) {
    if (!w.found) return refuse(fmt::format("column '{}' is missing", w.name));
  }
  return layout;
}

}  // namespace

SamplesWriter::SamplesWriter(SamplesWriter&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      size_(other.size_),
      failed_(other.failed_) {}

SamplesWriter& SamplesWriter::operator=(SamplesWriter&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  std::swap(size_, other.size_);
  std::swap(failed_, other.failed_);
  return *this;
}

SamplesWriter::~SamplesWriter() {
  if (file_ >= 0) ::close(file_);
}

Result<SamplesWriter> SamplesWriter::create(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) {
    const auto code = errno == ENOSPC || errno == EIO ? ErrorCode::kInternal : ErrorCode::kInvalidArgument;
    return fail(
        code, fmt::format("cannot write samples file '{}': {}", path.string(), std::generic_category().message(errno)));
  }
  SamplesWriter writer(path, file);
  ASSAY_CHECK_OK(writer.write(header()));
  return writer;
}

Status SamplesWriter::write(const std::string& bytes) {
  if (failed_ || file_ < 0)
    return fail(ErrorCode::kInternal,
                fmt::format("samples file '{}' cannot be extended after an error", path_.string()));
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t n = ::write(file_, bytes.data() + written, bytes.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const std::string reason = std::generic_category().message(n < 0 ? errno : ENOSPC);
      failed_ = true;
      // Best effort: a reader stops at the last complete block anyway.
      if (::ftruncate(file_, static_cast<off_t>(size_)) == 0) ::lseek(file_, static_cast<off_t>(size_), SEEK_SET);
      return fail(ErrorCode::kInternal,
                  fmt::format("cannot write {} bytes to samples file '{}' after {} bytes: {}", bytes.size(),
                              path_.string(), size_, reason),
                  "free disk space; earlier samples are kept");
    }
    written += static_cast<std::size_t>(n);
  }
  size_ += bytes.size();
  return {};
}

Status SamplesWriter::append(const Samples& samples, std::size_t first) {
  for (; first < samples.size(); first += kMaxBlockRows) {
    const std::size_t rows = std::min(kMaxBlockRows, samples.size() - first);
    std::string block(kBlockMagic);
    put(block, static_cast<std::uint32_t>(rows));
    put_column(block, std::span(samples.kind).subspan(first, rows));
    put_column(block, std::span(samples.stream).subspan(first, rows));
    put_column(block, std::span(samples.start_ns).subspan(first, rows));
    put_column(block, std::span(samples.duration_ns).subspan(first, rows));
    put(block, checksum(std::string_view(block).substr(kBlockMagic.size())));
    ASSAY_CHECK_OK(write(block));
  }
  return {};
}

Status SamplesWriter::close() {
  if (file_ < 0) return {};
  const int synced = ::fsync(file_);
  const int sync_error = errno;
  const int closed = ::close(std::exchange(file_, -1));
  if (synced == 0 && closed == 0) return {};
  return fail(ErrorCode::kInternal, fmt::format("cannot flush samples file '{}': {}", path_.string(),
                                                std::generic_category().message(synced != 0 ? sync_error : errno)));
}

Result<SamplesFile> read_samples(const std::filesystem::path& path) {
  return read_file(path).and_then([&](const std::string& bytes) { return parse_samples(bytes, path); });
}

Result<SamplesFile> parse_samples(std::string_view bytes, const std::filesystem::path& path) {
  const auto refuse = [&](std::string_view what) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("samples file '{}': {}", path.string(), what),
                std::string(kHint));
  };
  if (bytes.substr(0, kMagic.size()) != kMagic) return refuse("it does not begin with ASSAYSMP");
  std::size_t at = kMagic.size() + 4;
  if (bytes.size() < at) return refuse("its header is incomplete");
  const std::size_t length = take<std::uint32_t>(bytes, kMagic.size());
  if (length > bytes.size() - at || bytes.size() - at - length < 4) return refuse("its header is incomplete");
  const std::string_view json = bytes.substr(at, length);
  at += length;
  if (take<std::uint32_t>(bytes, at) != checksum(json)) return refuse("its header's checksum is wrong");
  at += 4;
  ASSAY_TRY(const Json parsed, parse_json(json, path.string()));
  if (!parsed.is_object() || !parsed.contains("schema_version") || parsed["schema_version"] != kSchemaVersion)
    return refuse(fmt::format("its schema_version is not {}", kSchemaVersion));
  ASSAY_TRY(const Layout layout, layout_of(parsed, path));

  SamplesFile file;
  const auto torn = [&](std::string_view what) {
    file.truncated = true;
    file.why = fmt::format("{} at byte {} of {}", what, at, bytes.size());
    return file;
  };
  while (at < bytes.size()) {
    const std::size_t left = bytes.size() - at;
    constexpr std::size_t kFrame = 12;  // magic, rows, checksum
    if (left < kFrame) return torn("an incomplete block");
    if (bytes.substr(at, kBlockMagic.size()) != kBlockMagic) return torn("not a block");
    const std::size_t rows = take<std::uint32_t>(bytes, at + 4);
    if (rows > (left - kFrame) / layout.row_bytes) return torn("an incomplete block");
    const std::size_t payload = at + 8;
    const std::size_t size = rows * layout.row_bytes;
    if (take<std::uint32_t>(bytes, payload + size) != checksum(bytes.substr(at + 4, 4 + size)))
      return torn("a block with a wrong checksum");
    const std::size_t first = file.samples.size();
    take_column(file.samples.kind, bytes, payload + layout.kind * rows, rows);
    take_column(file.samples.stream, bytes, payload + layout.stream * rows, rows);
    take_column(file.samples.start_ns, bytes, payload + layout.start_ns * rows, rows);
    take_column(file.samples.duration_ns, bytes, payload + layout.duration_ns * rows, rows);
    for (std::size_t row = first; row < file.samples.size(); ++row) {
      constexpr auto kLast = static_cast<std::uint8_t>(SampleKind::kToken);
      if (file.samples.kind[row] > kLast)
        return refuse(fmt::format("sample {} has kind {}; valid: 0 to {}", row, file.samples.kind[row], kLast));
      if (file.samples.duration_ns[row] < 0)
        return refuse(fmt::format("sample {} took {} ns", row, file.samples.duration_ns[row]));
    }
    at += kFrame + size;
  }
  return file;
}

}  // namespace assay
