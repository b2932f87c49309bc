// SPDX-License-Identifier: Apache-2.0
#include "models/onnx/external_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/base/text.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

struct Entries {
  std::optional<std::string> location;
  std::optional<std::uint64_t> offset, length;
};

Result<Entries> read_entries(const onnx::TensorProto& tensor, const std::string& what) {
  Entries entries;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") {
      if (entries.location) return fail(ErrorCode::kInvalidArgument, what + " has two locations of external data");
      entries.location = entry.value();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      const auto number = parse_number<std::uint64_t>(entry.value());
      if (!number) {
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("{}: the {} of its external data is {}, not a number of bytes", what, entry.key(),
                                shown(entry.value())));
      }
      (entry.key() == "offset" ? entries.offset : entries.length) = number;
    }
  }
  if (!entries.location || entries.location->empty()) {
    return fail(ErrorCode::kInvalidArgument, what + " is marked as external data but names no location");
  }
  return entries;
}

bool is_inside(const fs::path& file, const fs::path& folder) {
  const auto [end, unused] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return end == folder.end();
}

}  // namespace

Result<ExternalRange> find_external(const onnx::TensorProto& tensor, const fs::path& model, std::uint64_t bytes,
                                    const std::string& what) {
  ASSAY_TRY(const Entries entries, read_entries(tensor, what));
  const fs::path location(*entries.location);
  const auto outside = [&](std::string_view why) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: its external data {} {}", what, shown(*entries.location), why),
                "external data must be in the model's own folder");
  };
  if (entries.location->find('\0') != std::string::npos) return outside("has a zero byte in its name");
  if (location.is_absolute()) return outside("is an absolute path");
  if (std::find(location.begin(), location.end(), "..") != location.end()) return outside("leaves the model's folder");
  // ONNX Runtime's own mark for weights at an address in memory: never meaningful in a file.
  if (entries.location->find("_ORT_MEM_ADDR_") != std::string::npos) return outside("is an address, not a file");

  std::error_code error;
  const fs::path folder = model.has_parent_path() ? model.parent_path() : fs::path(".");
  const fs::path file = folder / location;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found) {
    return fail(ErrorCode::kNotFound, fmt::format("{}: its external data file {} is missing", what, shown_path(file)),
                "keep the model and its data files together");
  }
  if (status.type() != fs::file_type::regular) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: its external data {} is not a regular file{}", what,
                                                         shown_path(file), error ? ": " + error.message() : ""));
  }
  const fs::path real = fs::canonical(file, error);
  const fs::path link_folder = fs::canonical(folder, error);
  const fs::path real_folder = fs::canonical(model, error).parent_path();
  if (error || !(is_inside(real, link_folder) || is_inside(real, real_folder))) {
    return outside("is a link that leaves the model's folder");
  }
  const std::uint64_t size = fs::file_size(real, error);
  if (error)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: cannot read {}: {}", what, shown_path(file), error.message()));
  if (entries.length && *entries.length != bytes) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} needs {} bytes, its external data has length {}", what, bytes, *entries.length));
  }
  const std::uint64_t offset = entries.offset.value_or(0);
  if (offset > size || bytes > size - offset) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} needs {} bytes from offset {} of {}, which has only {}", what, bytes, offset,
                            shown_path(file), size),
                "the data file is truncated, or belongs to another model");
  }
  return ExternalRange{file, location, offset};
}

}  // namespace assay
