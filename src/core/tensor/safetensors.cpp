// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/json.hpp"
#include "core/base/text.hpp"

namespace assay {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;
constexpr const char* kMetadata = "__metadata__";

constexpr std::array<std::pair<std::string_view, DType>, 20> kNames{{{"F32", DType::kFloat32},
                                                                     {"F16", DType::kFloat16},
                                                                     {"BF16", DType::kBFloat16},
                                                                     {"F64", DType::kFloat64},
                                                                     {"I64", DType::kInt64},
                                                                     {"I32", DType::kInt32},
                                                                     {"I16", DType::kInt16},
                                                                     {"I8", DType::kInt8},
                                                                     {"U64", DType::kUInt64},
                                                                     {"U32", DType::kUInt32},
                                                                     {"U16", DType::kUInt16},
                                                                     {"U8", DType::kUInt8},
                                                                     {"BOOL", DType::kBool},
                                                                     {"F8_E4M3", DType::kFloat8E4M3FN},
                                                                     {"F8_E5M2", DType::kFloat8E5M2},
                                                                     {"F8_E4M3FNUZ", DType::kFloat8E4M3FNUZ},
                                                                     {"F8_E5M2FNUZ", DType::kFloat8E5M2FNUZ},
                                                                     {"F8_E8M0", DType::kFloat8E8M0},
                                                                     {"F4", DType::kFloat4E2M1},
                                                                     {"C64", DType::kComplex64}}};

std::uint64_t load_length(std::span<const std::byte> bytes) {
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) length = length << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return length;
}

struct Entry {
  std::string name;
  std::uint64_t begin = 0, end = 0;
};

// Refusals of one file: "x.safetensors: tensor 'w': …".
class Complaint {
 public:
  explicit Complaint(std::string_view file) : file_(file) {}
  [[nodiscard]] tl::unexpected<Error> operator()(std::string_view what) const {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", file_, what),
                "the file is damaged or not safetensors");
  }
  [[nodiscard]] tl::unexpected<Error> operator()(const std::string& tensor, std::string_view what) const {
    return (*this)(fmt::format("tensor '{}': {}", sanitise(tensor), what));
  }

 private:
  std::string_view file_;
};

bool is_list_of_counts(const Json& json) {
  return json.is_array() && std::all_of(json.begin(), json.end(), [](const Json& x) { return x.is_number_unsigned(); });
}

Result<TensorView> read_entry(const std::string& name, const Json& json, std::span<const std::byte> data,
                              const Complaint& wrong, Entry& entry) {
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets"))
    return wrong(name, "needs exactly \"dtype\", \"shape\" and \"data_offsets\"");
  const Json& dtype = json["dtype"];
  const auto known = std::find_if(kNames.begin(), kNames.end(), [&](const auto& row) { return dtype == row.first; });
  if (known == kNames.end()) return wrong(name, fmt::format("unknown dtype {}", dtype.dump()));
  const Json& extents = json["shape"];
  if (!is_list_of_counts(extents)) return wrong(name, "its shape is not a list of whole numbers from 0");
  TensorView view{known->second, {}, {}};
  for (const Json& extent : extents) {
    if (extent.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))
      return wrong(name, fmt::format("the extent {} is beyond 2^63", extent.get<std::uint64_t>()));
    view.shape.push_back(extent.get<std::int64_t>());
  }
  const Json& offsets = json["data_offsets"];
  if (!is_list_of_counts(offsets) || offsets.size() != 2)
    return wrong(name, "its data_offsets are not two whole numbers from 0");
  entry = {name, offsets[0].get<std::uint64_t>(), offsets[1].get<std::uint64_t>()};
  if (entry.begin > entry.end || entry.end > data.size())
    return wrong(name, fmt::format("its bytes {} to {} are not inside the {} bytes of data", entry.begin, entry.end,
                                   data.size()));
  const auto size = byte_size(view.dtype, view.shape);
  if (!size) return wrong(name, size.error().message);
  if (*size != entry.end - entry.begin)
    return wrong(name, fmt::format("{} of shape {} has {} bytes, its data_offsets have {}", to_string(view.dtype),
                                   to_string(view.shape), *size, entry.end - entry.begin));
  view.bytes = data.subspan(static_cast<std::size_t>(entry.begin), static_cast<std::size_t>(*size));
  return view;
}

}  // namespace

Result<SafetensorsContent> parse_safetensors(std::span<const std::byte> bytes, std::string_view name) {
  const Complaint wrong(name);
  if (bytes.size() < kLengthBytes) return wrong(fmt::format("{} bytes are not a safetensors file", bytes.size()));
  const std::uint64_t length = load_length(bytes);
  if (length > kMaxSafetensorsHeader || length > bytes.size() - kLengthBytes)
    return wrong(fmt::format("a header of {} bytes does not fit a file of {} bytes (and {} at most)", length,
                             bytes.size(), kMaxSafetensorsHeader));
  const auto split = static_cast<std::size_t>(kLengthBytes + length);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes,
                              static_cast<std::size_t>(length));
  const std::span<const std::byte> data = bytes.subspan(split);
  if (!text.starts_with('{')) return wrong("its header does not begin with '{'");
  if (!is_utf8(text)) return wrong("its header is not valid UTF-8");
  ASSAY_TRY(const Json header, parse_json(text, fmt::format("the header of {}", name)));

  SafetensorsContent content;
  std::vector<Entry> entries;
  for (const auto& [key, value] : header.items()) {
    if (key == kMetadata) {
      if (!value.is_object()) return wrong("its __metadata__ is not an object");
      for (const auto& [word, meaning] : value.items()) {
        if (!meaning.is_string()) return wrong(fmt::format("its metadata '{}' is not a string", sanitise(word)));
        content.metadata.emplace(word, meaning.get<std::string>());
      }
      continue;
    }
    ASSAY_TRY(TensorView view, read_entry(key, value, data, wrong, entries.emplace_back()));
    content.tensors.emplace(key, std::move(view));
  }

  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t expected = 0;
  for (const Entry& entry : entries) {
    if (entry.begin < expected) return wrong(entry.name, "its bytes overlap those of another tensor");
    if (entry.begin > expected)
      return wrong(entry.name, fmt::format("{} bytes before it belong to no tensor", entry.begin - expected));
    expected = entry.end;
    content.names.push_back(entry.name);
  }
  if (expected != data.size())
    return wrong(fmt::format("{} bytes at its end belong to no tensor", data.size() - expected));
  return content;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  ASSAY_TRY(MappedFile file, MappedFile::open(path));
  ASSAY_TRY(SafetensorsContent content, parse_safetensors(file.bytes(), path.string()));
  return SafetensorsFile(path, std::move(file), std::move(content));
}

Result<TensorView> SafetensorsFile::tensor(const std::string& name) const {
  if (const auto found = content_.tensors.find(name); found != content_.tensors.end()) return found->second;
  const std::vector<std::string> near = closest(name, content_.names);
  return fail(ErrorCode::kNotFound,
              fmt::format("{} has no tensor '{}' among its {}", path_.string(), name, content_.names.size()),
              near.empty() ? "" : fmt::format("the closest names are {}", join(near, ", ")));
}

Status write_safetensors(const std::filesystem::path& path, std::span<const NamedView> tensors,
                         const std::map<std::string, std::string>& metadata, Persistence persistence) {
  const auto refuse = [&](ErrorCode code, const std::string& name, std::string_view what) {
    return fail(code, fmt::format("cannot write {}: tensor '{}': {}", path.string(), sanitise(name), what));
  };
  Json header = Json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  std::vector<std::string_view> parts(1);
  std::uint64_t offset = 0;
  for (const auto& [name, view] : tensors) {
    if (name == kMetadata || !is_utf8(name)) return refuse(ErrorCode::kInvalidArgument, name, "not a name");
    if (header.contains(name)) return refuse(ErrorCode::kInvalidArgument, name, "given twice");
    const auto known =
        std::find_if(kNames.begin(), kNames.end(), [&](const auto& row) { return row.second == view.dtype; });
    if (known == kNames.end())
      return refuse(ErrorCode::kUnsupported, name, fmt::format("safetensors has no {}", to_string(view.dtype)));
    ASSAY_TRY(const std::uint64_t size, byte_size(view.dtype, view.shape));
    if (size != view.bytes.size())
      return refuse(ErrorCode::kInvalidArgument, name,
                    fmt::format("{} of shape {} has {} bytes, not {}", to_string(view.dtype), to_string(view.shape),
                                size, view.bytes.size()));
    header[name] = {{"dtype", known->first}, {"shape", view.shape}, {"data_offsets", {offset, offset + size}}};
    offset += size;
    parts.emplace_back(reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size());
  }
  std::string head;
  try {
    head = header.dump();
  } catch (const Json::exception&) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("cannot write {}: its metadata is not UTF-8", path.string()));
  }
  head.append((8 - head.size() % 8) % 8, ' ');
  std::string length(kLengthBytes, '\0');
  for (std::size_t i = 0; i < kLengthBytes; ++i) length[i] = static_cast<char>(head.size() >> (8 * i) & 0xFF);
  head.insert(0, length);
  parts.front() = head;
  return write_file_atomically(path, parts, persistence);
}

}  // namespace assay
