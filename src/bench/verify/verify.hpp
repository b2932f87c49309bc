// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Whether numbers count as equal: a pure judgement over files of outputs. The rules and why they are so:
/// docs/statistics.md, "When numbers count as equal". Out of scope: running anything, and storing verdicts.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <assay/error.hpp>
#include <assay/result.hpp>

#include "bench/verify/honest.hpp"
#include "core/result/status.hpp"
#include "core/tensor/compare.hpp"
#include "core/tensor/safetensors.hpp"
#include "core/tensor/tensor.hpp"

namespace assay {

/// The least limits for one kind of arithmetic, relative to the root mean square of the reference's output.
struct Floor {
  DType precision;
  double rms;      ///< limit of the error's root mean square
  double element;  ///< limit of the largest error
};
/// Every precision that can be judged; kInt8 stands for quantised models.
[[nodiscard]] std::span<const Floor> floors();

/// The limits are this many times the honest error (docs/statistics.md, "The factors").
inline constexpr double kHonestFactor = 3.0;
/// The same for the worst row and for the largest element.
inline constexpr double kHonestRowFactor = 3.0;
inline constexpr double kHonestElementFactor = 5.0;
/// An honest error beyond this share of the output's deviation: the model is ill-conditioned.
inline constexpr double kIllConditioned = 0.1;
/// If the honest error is not known: every limit is this many times the element's floor. In 16 bits, and for quantised
/// models (this share of the output), that is the root mean square's; the others follow by kUnknownRow and
/// kHonestElementFactor.
inline constexpr double kUnknownHonest = 10.0, kUnknownQuantised = 0.5, kUnknownRow = 2.0;
/// The same for integers: the share that may differ.
inline constexpr double kUnknownIntegers = 0.5;
/// Where honest runs correlate with each other above the first, a candidate must correlate above the second.
inline constexpr double kHonestCorrelation = 0.9, kLeastCorrelation = 0.5;
/// Integers that may differ: this share, and one of at least so many.
inline constexpr double kIntegersMayDiffer = 0.001;
inline constexpr std::int64_t kIntegersForOne = 20;

/// The result for one output, over all input sets that were compared.
struct OutputVerdict {
  std::string name;
  Verification verification = Verification::kUnverified;
  Comparison comparison;            ///< result for the worst set; all zero if shape or dtype differ
  std::optional<double> rms_error;  ///< root mean square of the error / that of the reference's sets
  std::optional<double> rms_limit;  ///< limit of rms_error
  std::optional<double> honest;     ///< rms_error of honest arithmetic, if it is known
  /// Error of the worst row, and the largest error; relative as rms_error is.
  std::optional<double> row_error, element_error;
  std::optional<double> top1;  ///< share of largest elements along the last axis at the same place, of logits
  double error = 0.0;          ///< the largest absolute error, or the share of integers that differ
  double limit = 0.0;          ///< limit of `error`; with a given tolerance: absolute + relative * |expected|
  bool limit_decides = true;   ///< beyond `limit` it would be wrong, not undecided
  std::size_t set = 0;  ///< the set of the element with the largest error (over its limit), as in VerifyOptions::sets
  std::int64_t element = -1;  ///< its index; -1: none
  double ratio = 0.0;         ///< error / limit of the worst criterion: <= 1 passes
  bool uncorrelated = false;  ///< wrong, whatever the limits are: honest runs correlate with the reference
  bool undecided = false;     ///< unverified because the honest error is not known: neither right nor wrong is shown
  std::string message;        ///< why it is not verified; "" when it is
};

struct Verdict {
  Verification verification = Verification::kUnverified;
  std::string reference;  ///< same as VerifyOptions::reference
  /// The output with the cell's verdict that has the largest ratio; the numbers below and the message are its own.
  std::string worst_output;
  std::string worst_element;               ///< its element with the largest error: "57 of set 0"; "": none
  std::optional<std::size_t> worst_set{};  ///< the set of that element
  bool limit_decides = true;  ///< beyond error_limit it would be wrong; false: the honest error is not known
  std::optional<double> max_abs_error, max_rel_error, cosine, error_limit, ratio;
  std::optional<double> rms_error, rms_limit, honest_error;
  std::optional<double> top1_agreement;  ///< least of the outputs that are logits
  std::string message;                   ///< one sentence; "" when there is nothing to say
  std::optional<ErrorCode> reason;       ///< mismatch, when wrong
  std::vector<OutputVerdict> outputs;    ///< same order as in the reference
};

/// Files of outputs (safetensors, named as the model names them), one per input set.
struct OutputFiles {
  std::vector<std::filesystem::path> reference;
  std::vector<std::filesystem::path> candidate;
  /// The reference's of sets that the candidate did not compute: the size of an output is that over all sets, as that
  /// of the honest error, and whether the output proves anything. Errors, shares and correlation are not.
  std::vector<std::filesystem::path> others{};
};

struct VerifyOptions {
  DType precision = DType::kFloat32;  ///< the actual precision of the candidate's arithmetic
  bool quantised = false;             ///< the graph has quantised operators, whatever the types of its values
  /// The expected outputs came with the model. Who computed them is not known: in float32 and float64 the limits are at
  /// least those without an honest error.
  bool given = false;
  std::string reference = "given";  ///< golden | given | a reference engine's name, as in "onnxruntime-noopt"
  /// Per input set, those of OutputFiles::others after the compared ones, the inputs that masks are chosen from: at
  /// least those that matters_to_masks(). Empty: no masks.
  std::vector<std::vector<NamedView>> inputs{};
  std::vector<std::size_t> sets{};       ///< numbers of the sets, for messages; empty: 0, 1, …
  std::optional<HonestErrors> honest{};  ///< honest errors of the model in this precision, at any batch
};

/// Judges in this order: shape, dtype, NaN -> degenerate -> beyond a limit, or uncorrelated: wrong -> ill_conditioned
/// -> verified.
///
/// An output is degenerate when all its elements count as equal, or when those of the first two sets do;
/// ill_conditioned when the honest error exceeds a tenth of its standard deviation (of its magnitude, if it has one
/// element); unverified when it is a single integer, or when one of fewer than kIntegersForOne integers differs and no
/// output has the logits that they come from. In 16 bits, and for quantised models, an output is undecided when the
/// honest error is not known, or is not that of rounded or quantised runs, and the error is neither below the limits
/// that are known nor beyond kUnknownHonest; if it is below them, they are its limits. The cell is wrong when an output
/// is; else ill_conditioned when one is; else unverified when one is undecided; else verified when one is; else
/// degenerate or unverified. Errors: those of SafetensorsFile::open; invalid_argument (numbers of files differ, no
/// file); unsupported (a precision without a floor, complex outputs).
[[nodiscard]] Result<Verdict> judge(const OutputFiles& files, const VerifyOptions& options);

/// The errors of one output beside those of honest arithmetic, for the log; bench/honest_error reads it.
[[nodiscard]] std::string error_text(const OutputVerdict& output, const std::optional<HonestErrors>& honest);

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
