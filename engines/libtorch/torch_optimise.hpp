// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <assay/result.hpp>

namespace assay::plugin {

/// A module, ready to run: what its interpreter executes, the object that is the first argument, and the values of the
/// arguments behind the inputs, which are their defaults.
struct TorchCode {
  torch::jit::Code code;
  c10::IValue self;
  std::vector<c10::IValue> defaults{};
};

/// `how` is a value of the option `optimize`. With "inference" the weights of linear layers and convolutions are packed
/// for oneDNN, and a ReLU that follows becomes a part of them.
/// Errors: those of torch_error.
[[nodiscard]] Result<TorchCode> compile(const torch::jit::Module& module, const std::string& how);

/// Replaces linear layers with constant weights by those of oneDNN with packed weights, each with the ReLU that
/// follows. `graph` is frozen.
void pack_linear_layers(const std::shared_ptr<torch::jit::Graph>& graph);

}  // namespace assay::plugin
