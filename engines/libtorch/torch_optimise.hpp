// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <assay/result.hpp>

namespace assay::plugin {

/// An input whose memory an output takes: the code writes the output over it.
struct Donation {
  std::size_t input, output;
};

/// A module, ready to run: what its interpreter executes, the object that is the first argument, and the values of the
/// arguments behind the inputs, which are their defaults.
struct TorchCode {
  torch::jit::Code code;
  c10::IValue self;
  std::vector<c10::IValue> defaults{};
  std::vector<Donation> donated{};
};

/// `how` is a value of the option `optimize`. With "inference" the weights of linear layers and convolutions are packed
/// for oneDNN, and a ReLU that follows becomes a part of them. Unless it is "none", caches are written in place.
/// Errors: those of torch_error.
[[nodiscard]] Result<TorchCode> compile(const torch::jit::Module& module, const std::string& how);

/// Replaces linear layers with constant weights by those of oneDNN with packed weights, each with the ReLU that
/// follows. `graph` is frozen.
void pack_linear_layers(const std::shared_ptr<torch::jit::Graph>& graph);

/// Makes a scatter write into its first input, if that is an input of `graph` which nothing else reads, and its result
/// is an output: a cache, of which only the places of new tokens change. `graph` is inlined; its first input is the
/// module, and the next `count` are the model's.
[[nodiscard]] std::vector<Donation> scatter_in_place(torch::jit::Graph& graph, std::size_t count);

}  // namespace assay::plugin
