// SPDX-License-Identifier: Apache-2.0
#include "torch_program.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/csrc/jit/passes/freeze_module.h>

#include <assay/support/plugin_support.hpp>
#include "torch_context.hpp"
#include "torch_file.hpp"
#include "torch_options.hpp"
#include "torch_settings.hpp"
#include "torch_values.hpp"

namespace assay::plugin {
namespace fs = std::filesystem;
namespace {

// A lowered model, in the language of docs/lowering.md; other files are PyTorch's own.
bool is_lowered_text(const fs::path& file) {
  if (file.extension() == ".torchscript") {
    char begin[2] = {};
    std::ifstream(file, std::ios::binary).read(begin, sizeof begin);
    return begin[0] != 'P' || begin[1] != 'K';
  }
  constexpr std::string_view kBegin = "def forward(";
  std::string begin(kBegin.size(), '\0');
  std::ifstream(file, std::ios::binary).read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin == kBegin;
}

}  // namespace

Result<std::unique_ptr<Program>> TorchProgram::load(const assay_host_api& host, const LoadArgs& args) {
  ASSAY_TRY(const Options options, Options::parse(args.options, torch_options()));
  ASSAY_CHECK_OK(check_only_cpu(args.device_id, {"cuda", "rocm", "mps"}));
  const fs::path path = args.model_path;
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored))
    return fail(ErrorCode::kNotFound, fmt::format("there is no file '{}'", args.model_path));
  const int streams = std::max(args.streams, 1);
  set_threads(args.threads > 0 ? std::max(args.threads / streams, 1) : 0);
  const bool foreign = !is_lowered_text(path);
  ASSAY_TRY(LoadedModule loaded, foreign ? load_foreign(path, options.text(kSignature)) : load_lowered(path));
  ASSAY_CHECK_OK(check_precision(args.precision, loaded.signature.inputs, loaded.signature.outputs));
  auto model = std::make_shared<TorchModel>();
  ASSAY_TRY(model->code, compile(loaded.module, options.text(kOptimize)));
  model->inputs = loaded.signature.inputs;
  model->outputs = loaded.signature.outputs;
  model->foreign = foreign;
  model->host = &host;
  loaded.weights.release();
  std::unique_ptr<TorchProgram> program(new TorchProgram(std::move(loaded), std::move(model)));
  program->streams_ = streams;
  program->options_ = options.all();
  return program;
}

Result<KeyValues> TorchProgram::effective() {
  std::string precision = model_precision(inputs(), outputs());
  if (precision == "float32") precision = measured_float32();
  KeyValues found{{"precision", std::move(precision)},
                  {"threads", fmt::format("{}", threads() * streams_)},
                  {"interop_threads", fmt::format("{}", at::get_num_interop_threads())},
                  {"device", "cpu"},
                  {"denormals", measured_denormals()}};
  found.insert(found.end(), options_.begin(), options_.end());
  return found;
}

Result<std::unique_ptr<Context>> TorchProgram::create_context(std::span<const TensorShape> shapes) {
  ASSAY_CHECK_OK(check_shapes(inputs(), shapes));
  return std::make_unique<TorchContext>(model_, shapes);
}

Status TorchProgram::save(const std::string& path, bool frozen) const {
  const torch::jit::ExtraFilesMap extra{{kSignatureFile, signature_text(inputs(), outputs())}};
  try {
    const torch::jit::Module& module = loaded_.module;
    (frozen ? torch::jit::freeze_module(module) : module).save(path, extra);
  } catch (const std::exception& thrown) {
    return torch_error(thrown, ErrorCode::kInternal, fmt::format("libtorch cannot write '{}'", path));
  }
  return {};
}

}  // namespace assay::plugin
