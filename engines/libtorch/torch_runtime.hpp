// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <assay/engine_plugin.hpp>

/// What the two libraries of this engine know of each other. The plug-in (libtorch_engine.cpp) links no libtorch: it
/// finds one, checks it, opens it, and then opens the second library (torch_engine.cpp), which needs it.
namespace assay::plugin {

/// The version of libtorch whose headers both libraries were compiled with: "2.15.0".
[[nodiscard]] std::string built_for_version();

/// A program that can be written as a file of PyTorch's own (docs/lowering.md).
class SavableProgram : public Program {
 public:
  /// Writes the module to `path`; `frozen`: with its weights as constants of the code. Errors: internal, if the file
  /// cannot be written.
  [[nodiscard]] virtual Status save(const std::string& path, bool frozen) const = 0;
};

inline constexpr const char* kTorchLibrary = "libassay_libtorch.so";
inline constexpr const char* kCreateTorchEngine = "assay_create_torch_engine";
/// `version`: of the libtorch that was opened.
using CreateTorchEngine = void(const assay_host_api& host, const std::string& version,
                               Result<std::unique_ptr<Engine>>& made);

}  // namespace assay::plugin
