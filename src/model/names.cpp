// SPDX-License-Identifier: Apache-2.0
#include "model/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/files.hpp"
#include "base/shell.hpp"
#include "base/text.hpp"
#include "model/ways.hpp"
#include "model/zip_names.hpp"
#include "onnx/looks_like.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

using Kind = ModelReference::Kind;

std::string valid_models() { return "valid: " + std::string(ways_to_name_a_model()); }

bool has(const fs::path& folder, const char* name) {
  std::error_code error;
  return fs::is_regular_file(folder / name, error);
}

// A path as a word of a command.
std::string word_of(const fs::path& path) { return shell_quoted(sanitise(path.string())); }

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// What a zip archive of PyTorch contains. Its entries are in a folder, except in old files of torch.export.
enum class TorchArchive { kProgram, kPickle, kUnknown };

TorchArchive torch_archive(const std::vector<std::string_view>& names) {
  const auto any = [&](auto&& test) {
    return std::ranges::any_of(names, [&](std::string_view name) { return test(name.substr(name.find('/') + 1)); });
  };
  // TorchScript, torch.export with or without machine code: the runtime says which of them it runs.
  if (any([](std::string_view name) {
        return name == "constants.pkl" || name.starts_with("code/") || name == "archive_format" ||
               name.starts_with("models/") || name.starts_with("data/aotinductor/") ||
               name.starts_with("serialized_exported_program");
      }))
    return TorchArchive::kProgram;
  return any([](std::string_view name) { return name == "data.pkl"; }) ? TorchArchive::kPickle : TorchArchive::kUnknown;
}

Result<ModelReference> identify_torch(const fs::path& path, Bytes bytes) {
  bool is_pickle = !bytes.empty() && bytes[0] == std::byte{0x80};
  if (text_of(bytes).starts_with("PK")) {
    const auto names = zip_names(bytes);
    if (!names)
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("{} is not whole: it begins as an archive and has no directory at its end", shown_path(path)),
          "copy or download it again");
    const TorchArchive kind = torch_archive(*names);
    if (kind == TorchArchive::kProgram) return ModelReference{.kind = Kind::kRuntimeFile, .path = path, .format = "pt"};
    is_pickle = kind == TorchArchive::kPickle;
  }
  if (!is_pickle) {
    const std::string_view kind = looks_like(bytes);
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} is not a TorchScript model: it is {}", shown_path(path),
                                                         bytes.empty()  ? "empty"
                                                         : kind.empty() ? "of an unknown kind"
                                                                        : kind));
  }
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("{} is a Python pickle (torch.save), not TorchScript: it cannot be run without the code of its model",
                  shown_path(path)),
      fmt::format(
          "convert it where that code is installed: python3 -c \"import sys, torch; m = torch.load(sys.argv[1], "
          "weights_only=False).eval(); torch.jit.script(m).save(sys.argv[2])\" {} {}",
          word_of(path), word_of(fs::path(path).replace_extension(".script.pt"))));
}

Result<ModelReference> identify_file(const fs::path& path, const std::vector<std::string>& runtime_formats) {
  const std::string extension = lower(path.extension().string());
  if (path.filename() == "config.json")
    return identify_model(path.has_parent_path() ? path.parent_path().string() : ".");
  if (extension == ".onnx") return ModelReference{.kind = Kind::kOnnxFile, .path = path};
  ASSAY_TRY(const MappedFile file, MappedFile::open(path));
  const Bytes bytes = file.bytes();
  if (extension == ".pt") return identify_torch(path, bytes);
  if (extension == ".xml") {
    if (text_of(bytes.first(std::min<std::size_t>(bytes.size(), 4096))).find("<net") != std::string_view::npos) {
      return ModelReference{.kind = Kind::kRuntimeFile, .path = path, .format = "xml"};
    }
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is not an OpenVINO IR: it has no <net> element", shown_path(path)));
  }
  for (const std::string& format : runtime_formats)
    if (extension == "." + format) return ModelReference{.kind = Kind::kRuntimeFile, .path = path, .format = format};
  if (is_any(extension, {".pth", ".ckpt", ".bin", ".torchscript"})) return identify_torch(path, bytes);
  const std::string_view kind = looks_like(bytes);
  if (bytes.empty() || !kind.empty()) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} is not a model that assay reads: it is {}", shown_path(path), bytes.empty() ? "empty" : kind),
        valid_models());
  }
  return ModelReference{.kind = Kind::kOnnxFile,
                        .path = path};  // a name without a known extension, as in Hugging Face's cache
}

std::optional<fs::path> weights_in(const fs::path& folder) {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json"}) {
    if (has(folder, name)) return folder / name;
  }
  return std::nullopt;
}

Result<ModelReference> identify_folder(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> entries;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path().filename().string());
  }
  if (error) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("cannot read the folder {}: {}", shown_path(folder), error.message()),
                "check its permissions");
  }
  if (has(folder, "model.onnx")) return ModelReference{.kind = Kind::kOnnxFile, .path = folder / "model.onnx"};
  if (has(folder, "config.json")) {
    for (const std::string& entry : entries) {
      if (!entry.ends_with(".safetensors") && !entry.ends_with(".safetensors.index.json")) continue;
      if (has(folder, entry.c_str())) continue;
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} is not a file that can be read", shown_path(folder / entry)),
                  "is it a link to a missing file? Remove it to use random weights");
    }
    ModelReference found{.kind = Kind::kConfigFolder, .path = folder, .weights = weights_in(folder)};
    const bool has_pickle = has(folder, "pytorch_model.bin") || has(folder, "pytorch_model.bin.index.json");
    if (!found.weights && has_pickle) {
      return fail(
          ErrorCode::kUnsupported,
          fmt::format("the weights in {} are only pytorch_model.bin, a Python pickle", shown_path(folder)),
          fmt::format("convert them: cd {} && python3 -c \"import torch, safetensors.torch as s; s.save_file({{k: "
                      "v.clone() for "
                      "k, v in torch.load('pytorch_model.bin', weights_only=True).items()}}, 'model.safetensors')\"",
                      word_of(folder)));
    }
    return found;
  }
  std::sort(entries.begin(), entries.end());
  std::vector<std::string> models;
  for (const std::string& entry : entries) {
    if (is_any(lower(fs::path(entry).extension().string()), {".onnx", ".xml", ".pt"}))
      models.push_back(sanitise((folder / entry).string()));
  }
  if (has(folder, "onnx/model.onnx")) models.push_back(sanitise((folder / "onnx/model.onnx").string()));
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("the folder {} has neither model.onnx nor config.json{}", shown_path(folder),
                          entries.empty() ? ": it is empty" : ""),
              models.empty() ? "" : "did you mean " + join(models, " or ") + "?");
}

// Whether a word that names nothing on this disk was meant as a path.
bool is_path_like(const std::string& argument) {
  return argument.starts_with('/') || argument.starts_with("./") || argument.starts_with("../") ||
         argument.starts_with('~') || argument.ends_with('/') ||
         is_any(lower(fs::path(argument).extension().string()),
                {".onnx", ".pt", ".pth", ".xml", ".json", ".safetensors", ".bin"});
}

}  // namespace

Result<ModelReference> identify_model(const std::string& argument, const std::vector<std::string>& runtime_formats) {
  if (trim(argument).empty()) return fail(ErrorCode::kInvalidArgument, "the model's name is empty", valid_models());
  if (argument.find('\0') != std::string::npos)
    return fail(ErrorCode::kInvalidArgument, "the model's name has a zero byte in it");
  if (argument.starts_with("zoo:"))
    return ModelReference{.kind = Kind::kName, .name = argument.substr(4), .zoo_only = true};
  std::error_code error;
  const fs::file_status status = fs::status(argument, error);
  switch (status.type()) {
    case fs::file_type::directory:
      return identify_folder(argument);
    case fs::file_type::regular:
      return identify_file(argument, runtime_formats);
    case fs::file_type::not_found:
      break;
    case fs::file_type::none:
      // A name that is too long for a path is not a path.
      if (error == std::errc::filename_too_long) break;
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("cannot read {}: {}", shown_path(argument), error.message()));
    default:
      return fail(ErrorCode::kInvalidArgument, fmt::format("{} is neither a file nor a folder", shown_path(argument)));
  }
  if (is_path_like(argument)) {
    return fail(ErrorCode::kNotFound, fmt::format("no file or folder {}", shown_path(argument)), "check the path");
  }
  return ModelReference{.kind = Kind::kName, .name = argument};
}

}  // namespace assay
