// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Whether numbers count as equal: a pure judgement over files of outputs. The rules and why they are so:
/// docs/statistics.md, "When numbers count as equal". Out of scope: running anything, and storing verdicts.

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <assay/error.hpp>
#include <assay/result.hpp>

#include "result/status.hpp"
#include "tensor/compare.hpp"
#include "tensor/safetensors.hpp"
#include "tensor/tensor.hpp"

namespace assay {

/// What counts as equal for one kind of arithmetic, whatever the model.
struct Floor {
  DType precision;
  double relative;      ///< largest error / root mean square of the reference's output
  double disagreement;  ///< share of integer outputs that may differ
};
/// Every precision that can be judged; kInt8 stands for quantised models.
[[nodiscard]] std::span<const Floor> floors();

/// The limit is 20 times the reference's own movement; beyond a tenth of the output's deviation it means nothing.
inline constexpr double kMovementFactor = 20.0;
inline constexpr double kIllConditioned = 0.1;
/// If there is no perturbed run to measure the movement, the floor is multiplied by this.
inline constexpr double kUnknownMovement = 10.0;

/// The result for one output, over all input sets.
struct OutputVerdict {
  std::string name;
  Verification verification = Verification::kUnverified;
  Comparison comparison;  ///< of the worse set; all zero when shape or dtype differ
  double movement = 0.0;  ///< of the reference under perturbation: largest change, or share of integers changed
  double error = 0.0;     ///< what is held against the limit: largest absolute error, or share of integers that differ
  double limit = 0.0;     ///< with a given tolerance: absolute + relative * |expected| at the worst element
  double ratio = 0.0;     ///< error / limit: <= 1 passes
  std::string message;    ///< why it is not verified; "" when it is
};

struct Verdict {
  Verification verification = Verification::kUnverified;
  std::string reference;     ///< as in VerifyOptions
  std::string worst_output;  ///< the output with the largest ratio; the numbers below are its own
  std::optional<double> max_abs_error, max_rel_error, cosine, error_limit, ratio;
  std::string message;                 ///< one sentence; "" when there is nothing to say
  std::optional<ErrorCode> reason;     ///< mismatch, when wrong
  std::vector<OutputVerdict> outputs;  ///< in the reference's order
};

/// Files of outputs (safetensors, named as the model names them), one per input set.
struct OutputFiles {
  std::vector<std::filesystem::path> reference;
  std::vector<std::filesystem::path> perturbed;  ///< of the reference with inputs and weights perturbed by one unit in
                                                 ///< the last place of the candidate's precision; or empty
  std::vector<std::filesystem::path> candidate;
};

struct VerifyOptions {
  DType precision = DType::kFloat32;     ///< of the candidate's arithmetic, as it really is
  std::string reference = "given";       ///< golden | given | a reference engine's name, as in "onnxruntime-noopt"
  std::optional<Tolerance> tolerance{};  ///< given with the expected outputs: replaces the limit
  /// Per input set, the inputs that masks are chosen from: at least those that matters_to_masks(). Empty: no masks.
  std::vector<std::vector<NamedView>> inputs{};
};

/// Judges in this order: shape, dtype, NaN -> degenerate -> ill_conditioned -> the limit.
///
/// An output is degenerate when all its elements count as equal, or when those of the first two sets do;
/// ill_conditioned when the movement exceeds a tenth of its standard deviation (of its magnitude, where it has one
/// element). The cell is wrong when an output is; else ill_conditioned when one is; else degenerate when no output
/// proves anything; else verified, naming the outputs that prove nothing. Errors: those of SafetensorsFile::open;
/// invalid_argument (numbers of files differ, no file); unsupported (a precision without a floor, complex outputs).
[[nodiscard]] Result<Verdict> judge(const OutputFiles& files, const VerifyOptions& options);

/// Golden comparison: verified when every expected output is there with shape and dtype and within
/// absolute + relative * |expected|, masked positions not counted; else wrong. Nothing compared is wrong too.
/// `inputs`: those of the golden, for the masks.
[[nodiscard]] Result<Verdict> check_golden(const std::filesystem::path& expected, const std::filesystem::path& actual,
                                           const Tolerance& tolerance, std::span<const NamedView> inputs);

struct NamedShape {
  std::string name;
  Shape shape;
};

/// Which input is the mask of an output [B, S, …]: an index into `inputs`, or nullopt.
///
/// A mask [B, S] excludes positions only along its own token axis. `attention_mask` speaks of the model's tokens: of
/// the encoder's outputs where the model has decoder inputs too, else of all outputs but those of another modality
/// (image_…, vision_…, …). `decoder_attention_mask` speaks of a decoder's outputs, `X_attention_mask` of the outputs
/// X_…. Shapes must agree. An output of rank 2 is per token only where its name says so (start_logits, end_logits): a
/// pooled [B, H] may have the mask's shape by chance. Unsuitable names (global_attention_mask, …) mask nothing.
[[nodiscard]] std::optional<std::size_t> mask_for(std::string_view output, const Shape& shape,
                                                  std::span<const NamedShape> inputs);

/// Whether mask_for() uses an input of this name: masks, and the inputs of a decoder.
[[nodiscard]] bool matters_to_masks(std::string_view input);

}  // namespace assay
