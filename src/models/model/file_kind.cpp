// SPDX-License-Identifier: Apache-2.0
#include "models/model/file_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/text.hpp"
#include "models/model/zip_names.hpp"
#include "models/onnx/looks_like.hpp"
#include "models/onnx/wire.hpp"

namespace assay {
namespace {

constexpr unsigned char kLastPickleProtocol = 5;
constexpr std::size_t kBeginning =
    std::size_t{64} * 1024;  // a StableHLO text may begin with a long comment or resources

// The number that PyTorch writes first in a pickle of its old format, and the beginning of a pickle with it.
constexpr std::string_view kOldTorch{"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 14};
constexpr std::string_view kMlirBytecode = "ML\xEFR";

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// The field numbers of ModelProto and their types (onnx.proto).
bool is_model_field(const wire::Field& field) {
  switch (field.number) {
    case 1:  // ir_version
    case 5:  // model_version
      return field.type == wire::Field::kVarint;
    case 2:   // producer_name
    case 3:   // producer_version
    case 4:   // domain
    case 6:   // doc_string
    case 7:   // graph
    case 8:   // opset_import
    case 14:  // metadata_props
    case 20:  // training_info
    case 25:  // functions
    case 26:  // configuration
      return field.type == wire::Field::kBytes;
    default:
      return false;
  }
}

// A message with a graph; of a torn file, one that begins with a version as ONNX has them. A text may look like fields,
// but not like these: the first byte of a version is 8.
bool is_onnx(Bytes file) {
  constexpr std::uint64_t kMostVersion = 1000;
  constexpr std::uint32_t kVersion = 1, kGraph = 7;
  wire::FieldReader fields(file);
  bool has_graph = false, has_version = false;
  for (;;) {
    const Result<std::optional<wire::Field>> field = fields.next();
    if (!field) return has_version;
    if (!*field) return has_graph;
    if (!is_model_field(**field)) return false;
    has_graph = has_graph || (*field)->number == kGraph;
    has_version =
        has_version || ((*field)->number == kVersion && (*field)->value > 0 && (*field)->value < kMostVersion);
  }
}

template <class Test>
bool any_entry(const std::vector<std::string_view>& names, Test&& test) {
  // Entries are in a folder, except in old files of torch.export.
  return std::ranges::any_of(names, [&](std::string_view name) { return test(name.substr(name.find('/') + 1)); });
}

FileContent archive_content(Bytes file) {
  const auto names = zip_names(file);
  if (!names) return {FileKind::kTornArchive};
  if (any_entry(*names, [](std::string_view name) {
        return name == "constants.pkl" || name.starts_with("code/") || name == "archive_format" ||
               name.starts_with("models/") || name.starts_with("data/aotinductor/") ||
               name.starts_with("serialized_exported_program");
      }))
    return {FileKind::kTorchArchive};
  if (any_entry(*names, [](std::string_view name) { return name == "data.pkl"; })) return {FileKind::kTorchPickle};
  if (any_entry(*names, [](std::string_view name) { return name == "model.weights.h5"; }))
    return {FileKind::kOther, "a Keras model"};
  constexpr std::size_t kShown = 3;
  std::vector<std::string> first;
  for (const std::string_view name : *names) {
    if (first.size() == kShown) break;
    first.push_back(shown(name));
  }
  if (first.empty()) return {FileKind::kOther, "an empty zip archive"};
  return {FileKind::kOther,
          fmt::format("a zip archive of {}{}", join(first, ", "),
                      names->size() > kShown ? fmt::format(" and {} more", names->size() - kShown) : std::string())};
}

bool is_stablehlo(std::string_view text) {
  return text.starts_with(kMlirBytecode) ||
         (text.find("stablehlo.") != std::string_view::npos && text.find("func") != std::string_view::npos &&
          text.find("module") != std::string_view::npos);
}

}  // namespace

FileContent content_of(Bytes file) {
  const std::string_view all = text_of(file), begin = all.substr(0, std::min(all.size(), kBeginning));
  if (all.empty()) return {FileKind::kEmpty};
  if (all.starts_with("PK\x03\x04") || all.starts_with("PK\x05\x06")) return archive_content(file);
  if (all.starts_with(kOldTorch)) return {FileKind::kTorchPickle};
  if (all.front() == '\x80' && all.size() > 1 && static_cast<unsigned char>(all[1]) <= kLastPickleProtocol)
    return {FileKind::kPickle};
  if (is_onnx(file)) return {FileKind::kOnnx};
  const std::string_view text = trim(begin);
  if ((text.starts_with('<') || text.starts_with("\xEF\xBB\xBF<")) && text.find("<net") != std::string_view::npos)
    return {FileKind::kOpenvinoIr};
  if (is_stablehlo(begin)) return {FileKind::kStableHlo};
  if (text.starts_with("def forward(")) return {FileKind::kTorchText};
  return {FileKind::kOther, std::string(looks_like(file))};
}

}  // namespace assay
