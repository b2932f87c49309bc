// SPDX-License-Identifier: Apache-2.0
#include "models/model/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/base/files.hpp"
#include "core/base/shell.hpp"
#include "core/base/text.hpp"
#include "models/model/file_kind.hpp"
#include "models/model/ways.hpp"

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

// The extensions that people give to files of PyTorch, of whatever kind.
bool has_torch_name(const fs::path& path) {
  return is_any(lower(path.extension().string()),
                {".pt", ".pth", ".pt2", ".jit", ".ptl", ".ts", ".torchscript", ".ckpt", ".bin"});
}

tl::unexpected<Error> torch_pickle(const fs::path& path) {
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("{} is a Python pickle (torch.save), not TorchScript: it cannot be run without the code of its model",
                  shown_path(path)),
      fmt::format(
          "convert it where that code is installed: python3 -c \"import sys, torch; m = torch.load(sys.argv[1], "
          "weights_only=False).eval(); torch.jit.script(m).save(sys.argv[2])\" {} {}",
          word_of(path), word_of(fs::path(path).replace_extension(".script.pt"))));
}

// For a file that is not a model.
tl::unexpected<Error> refuse_content(const fs::path& path, const std::string& what) {
  const std::string found = what.empty() ? "of an unknown kind" : what;
  if (lower(path.extension().string()) == ".xml")
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is not an OpenVINO IR: it has no <net> element", shown_path(path)), valid_models());
  const bool torch = has_torch_name(path) && lower(path.extension().string()) != ".bin";
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} is not a {}: it is {}", shown_path(path),
                          torch ? "TorchScript model" : "model that assay reads", found),
              valid_models());
}

bool has_format(const std::vector<std::string>& formats, const std::string& extension) {
  return extension.size() > 1 && std::ranges::find(formats, extension.substr(1)) != formats.end();
}

// The content decides. The name decides only where the content says nothing: formats that only their runtimes know, and
// broken files.
Result<ModelReference> identify_file(const fs::path& path, const std::vector<std::string>& runtime_formats) {
  const std::string extension = lower(path.extension().string());
  if (path.filename() == "config.json")
    return identify_model(path.has_parent_path() ? path.parent_path().string() : ".");
  ASSAY_TRY(const MappedFile file, MappedFile::open(path));
  const FileContent content = content_of(file.bytes());
  // A format may have two names, of which an engine knows one.
  const auto runtime_file = [&](const char* format, const char* other = "") {
    const bool is_other = extension == std::string(".") + other && has_format(runtime_formats, extension);
    return ModelReference{.kind = Kind::kRuntimeFile, .path = path, .format = is_other ? other : format};
  };
  switch (content.kind) {
    case FileKind::kOnnx:
      return ModelReference{.kind = Kind::kOnnxFile, .path = path};
    case FileKind::kTorchArchive:
      return runtime_file("pt", "pt2");
    case FileKind::kOpenvinoIr:
      return runtime_file("xml");
    case FileKind::kStableHlo:
      return runtime_file("stablehlo", "mlir");
    case FileKind::kTorchText:
      return runtime_file("torchscript");
    case FileKind::kTorchPickle:
      return torch_pickle(path);
    case FileKind::kPickle:
      if (has_torch_name(path)) return torch_pickle(path);
      return refuse_content(path, "a Python pickle, which only the program that wrote it can use");
    case FileKind::kTornArchive:
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("{} is not whole: it begins as an archive and has no directory at its end", shown_path(path)),
          "copy or download it again");
    case FileKind::kEmpty:
      return refuse_content(path, "empty");
    case FileKind::kOther:
      break;
  }
  if (extension == ".onnx") return ModelReference{.kind = Kind::kOnnxFile, .path = path};  // its error says more
  const bool known = is_any(extension, {".xml", ".pt", ".pt2", ".torchscript"});
  if (!known && has_format(runtime_formats, extension)) return runtime_file(extension.c_str() + 1);
  return refuse_content(path, content.what);
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
    if (is_any(lower(fs::path(entry).extension().string()),
               {".onnx", ".xml", ".pt", ".jit", ".torchscript", ".stablehlo", ".mlir"}))
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
                {".onnx", ".pt", ".pth", ".pt2", ".jit", ".torchscript", ".stablehlo", ".mlir", ".xml", ".json",
                 ".safetensors", ".gguf", ".bin"});
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
