// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>

#include <assay/result.hpp>

#include "bench/engine/registry.hpp"
#include "bench/settings/settings.hpp"
#include "bench/worker/probe.hpp"
#include "bench/worker/worker.hpp"
#include "core/base/cancel.hpp"
#include "models/inputs/inputs.hpp"

namespace assay {

/// Inputs and outputs of a model, and what they mean for its cells.
struct Signature {
  ModelInfo info;
  bool uses_sequence = false;                    ///< some input has a sequence axis
  std::optional<std::int64_t> fixed_batch{};     ///< the only batch it runs at
  std::optional<std::int64_t> fixed_sequence{};  ///< the only sequence length: of the given shapes
  std::string given_shapes{};                    ///< Record::given_shapes of its cells
  EngineOptions options{};  ///< options that state the signature to an engine that cannot find it in the model file
};

/// The data and the shapes that the user gave. `folder`: for converted input files. Batch and sequence are set by the
/// caller.
[[nodiscard]] InputAxes input_axes(const RunSettings& settings, const std::filesystem::path& folder);

/// `generates`: the inputs are those of a prompt. `axes`: the source of data; its batch and sequence are not used.
[[nodiscard]] Signature signature_of(ModelInfo info, bool generates, const InputAxes& axes);

/// Inputs and outputs as an engine reports them after it loaded a model: for formats that assay does not read, and for
/// engines that compute no model. Errors: those of Worker::start and load; invalid_argument: a file without
/// outputs.
[[nodiscard]] Result<ModelInfo> ask_signature(const EngineRegistry& registry, const EngineLocation& location,
                                              const LoadRequest& load, std::optional<std::uint64_t> memory_limit_bytes,
                                              const Cancelled& cancelled, std::chrono::nanoseconds timeout);

/// Whether the model can have the shapes that are given for it, and whether those of options agree with other options.
/// Errors: invalid_argument: those of check_input_shape; a batch or a sequence length that is fixed, and another one
/// that is requested; an extent of a generative model that is neither.
[[nodiscard]] Status check_given(const ModelInfo& info, bool generates, const ModelChoice& choice,
                                 const RunSettings& of_all);

/// The option "signature" of an engine that reads files without one (docs/engines.md), for the arrays in `axes.data`,
/// else for the shapes that are given by name, which it writes as JSON into `folder`. Empty: the engine has no such
/// option, or nothing is given.
/// Errors: those of values_in_data; internal (disk full).
[[nodiscard]] Result<EngineOptions> signature_option(const FoundEngine& engine, const InputAxes& axes,
                                                     const std::filesystem::path& folder);

/// Adds the options "inputs" and "outputs" for an engine that imitates a model without computing it.
void add_signature(EngineOptions& options, const ModelInfo& info);

}  // namespace assay
