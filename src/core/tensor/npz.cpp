// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/npz.hpp"

#include <fmt/format.h>
#include <zip.h>

#include <array>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/files.hpp"
#include "core/tensor/npy.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

// Deflate makes at most 1032 bytes of one (RFC 1951: 258 bytes from two bits), so a larger claim is false.
constexpr std::uint64_t kMaxRatio = 1032;

struct CloseArchive {
  void operator()(zip_t* archive) const noexcept { zip_discard(archive); }
};
struct CloseEntry {
  void operator()(zip_file_t* file) const noexcept { zip_fclose(file); }
};

std::string zip_message(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

Result<Tensor> read_entry(zip_t* archive, zip_uint64_t index, const zip_stat_t& entry, const std::string& where) {
  const auto wrong = [&](std::string_view what) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", where, what));
  };
  if (entry.comp_method != ZIP_CM_STORE && entry.comp_method != ZIP_CM_DEFLATE)
    return fail(ErrorCode::kUnsupported, fmt::format("{}: compression method {}", where, entry.comp_method),
                "save it with numpy.savez or numpy.savez_compressed");
  if (entry.size / kMaxRatio > entry.comp_size)
    return wrong(fmt::format("{} bytes cannot come out of {}", entry.size, entry.comp_size));
  const std::unique_ptr<zip_file_t, CloseEntry> file(zip_fopen_index(archive, index, 0));
  if (file == nullptr) return wrong(zip_strerror(archive));
  std::string content;  // grows with what is really there, not with what the archive claims
  std::array<char, 1 << 16> buffer;
  zip_int64_t got = 0;
  while ((got = zip_fread(file.get(), buffer.data(), buffer.size())) > 0)
    content.append(buffer.data(), static_cast<std::size_t>(got));
  if (got < 0 || content.size() != entry.size) return wrong("its data are damaged or cut off");
  return parse_npy(std::as_bytes(std::span(content)), where);
}

}  // namespace

Result<std::vector<NamedTensor>> read_npz(const fs::path& path) {
  ASSAY_TRY(const MappedFile file, MappedFile::open(path));  // so that a missing file is not reported as damaged
  int code = 0;
  const std::unique_ptr<zip_t, CloseArchive> archive(zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code));
  if (archive == nullptr)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: not an .npz archive: {}", path.string(), zip_message(code)));
  std::vector<NamedTensor> tensors;
  std::set<std::string> names;
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_uint64_t i = 0; std::cmp_less(i, count); ++i) {
    zip_stat_t entry;
    if (zip_stat_index(archive.get(), i, 0, &entry) != 0 || entry.comp_size > file.bytes().size())
      return fail(ErrorCode::kInvalidArgument, fmt::format("{}: entry {} is damaged", path.string(), i));
    std::string name = entry.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    const std::string where = fmt::format("{}: array '{}'", path.string(), name);
    if (!names.insert(name).second) return fail(ErrorCode::kInvalidArgument, fmt::format("{} is in it twice", where));
    ASSAY_TRY(Tensor tensor, read_entry(archive.get(), i, entry, where));
    tensors.push_back({std::move(name), std::move(tensor)});
  }
  return tensors;
}

}  // namespace assay
