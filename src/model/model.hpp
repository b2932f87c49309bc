// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "base/cancel.hpp"
#include "tensor/recipe.hpp"

namespace assay {

/// One input or output of a model file. Extents of -1 are dynamic; `symbols` has their names ("batch"; "" for none).
struct ModelValue {
  std::string name{};
  DType dtype = DType::kUndefined;  ///< kUndefined: an output whose type is left to the runtime to infer
  Shape shape{};
  std::vector<std::string> symbols{};
  bool has_rank = true;                       ///< false: nothing is known of the shape, not even its rank
  std::optional<std::int64_t> index_limit{};  ///< inputs that select rows of constant tables: the smallest one's rows
  std::string made_by{};                      ///< outputs: the operator that gives it
};

/// Where a prompt has its image: so many tokens of one id.
struct ImagePlaces {
  std::int64_t token = 0;
  std::int64_t count = 0;
};

/// What checking a model file told, without any runtime. ONNX files only; other formats know less.
struct ModelInfo {
  std::filesystem::path path;
  std::string format;              ///< "onnx", "pt", "xml"
  std::vector<ModelValue> inputs;  ///< initialisers that older files list as inputs are left out
  std::vector<ModelValue> outputs;
  std::int64_t opset = 0;  ///< of the default domain; 0 when the model does not import it
  std::string producer;
  std::int64_t parameter_count = 0;  ///< what a file built by the zoo says (assay.parameter_count); else elements of
                                     ///< initialisers of rank 1 and more that are floating, or integers of 8 bits and
                                     ///< fewer (quantised weights)
  std::uint64_t weight_bytes = 0;    ///< initialisers, external ones included
  std::uint64_t file_bytes = 0;      ///< the file and its external data
  std::string graph_hash;    ///< SHA-256 of the graph with tensors replaced by their shapes, without documentation
  std::string weights_hash;  ///< SHA-256 of all tensors' packed bytes, initialisers first, in file order; the same
                             ///< wherever they are stored (raw_data, float_data, external data)
  std::vector<std::pair<std::string, std::string>> operators;  ///< (domain, op_type), unique, sorted
  std::string metadata_family;                 ///< the metadata property assay.family, which the zoo writes
  std::optional<std::int64_t> max_sequence{};  ///< likewise assay.max_sequence: tokens that its position tables serve
  std::optional<ImagePlaces> image{};          ///< likewise assay.image_token and assay.image_tokens, of each prompt
  std::string metadata_category{}, metadata_task{};  ///< likewise assay.category, assay.task
};

/// Opens and checks an ONNX file before any runtime sees it (docs/metrics.md, "What is refused").
/// Errors: not_found; invalid_argument (empty, truncated, not ONNX, cyclic, no outputs, an extent below -1, sizes that
/// overflow or exceed this machine's memory, external data too short or outside the folder: each names what and where);
/// not_found also for a missing external data file; unsupported (string, sequence, map, optional and other non-tensor
/// inputs and outputs, by name). Never crashes, whatever the bytes.
/// cancelled.
/// Cost: reads the weights once, for their hash; memory for the graph only.
[[nodiscard]] Result<ModelInfo> inspect_model(const std::filesystem::path& path, const Cancelled& cancelled = {});
/// The same without reading the weights: weights_hash stays empty.
[[nodiscard]] Result<ModelInfo> inspect_graph(const std::filesystem::path& path);

/// What the recipes of an input depend on.
struct InputAxes {
  std::int64_t batch = 1;
  std::int64_t sequence = 128;    ///< needed (above 0) only by models with a sequence axis
  std::filesystem::path data{};   ///< --data: a folder or file of .npy/.npz/.pb/.safetensors with inputs by name
  std::filesystem::path cache{};  ///< folder for converted .npz and .pb; needed where they are converted
  std::map<std::string, std::int64_t> extents{};  ///< of symbols that are known otherwise ("past": 0), in lower case
};

struct ModelInputs {
  std::vector<InputRecipe> recipes;  ///< in the model's order
  bool uses_batch = false;           ///< some extent follows the batch
  bool uses_sequence = false;        ///< some extent follows the sequence length
};

/// How to make realistic inputs for these shapes: ids in range of the embedding they index (else below 1000), masks
/// with padding, token types, positions, N(0,1) pixels and waves, small integers. Dynamic extents are told by their
/// symbol or place (model/input_axes.hpp); one that nothing tells is refused by name, with the way to give it.
///
/// With `data`, inputs come from files: NAME.npy or NAME.pb ('/' and ':' in the name as '_'), input_0.npy or input_0.pb
/// in the model's order, all arrays of an .npz or .safetensors by name; a folder's test_data_set_0 is looked into. An
/// array that no input takes, or that shares an input with another, is refused; files of other kinds and output_* are
/// passed over.
///
/// Errors: unsupported with a message that begins "fixed_shape: " when another batch was asked for than the file or the
/// data has; unsupported, by name: an element type of which assay makes no values; mismatch: data of another type or
/// shape; not_found: data for an input; invalid_argument: data for what is no input, among others.
[[nodiscard]] Result<ModelInputs> make_inputs(const ModelInfo& model, const InputAxes& axes);

/// The only batch that a model runs at: that of the data, where data is given; else the first extent that all inputs
/// have in common, when it is fixed. nullopt: dynamic, or no batch axis (then only batch 1 is accepted).
[[nodiscard]] Result<std::optional<std::int64_t>> fixed_batch(const ModelInfo& model, const InputAxes& axes = {});

/// Inputs with known outputs, as the ONNX model zoo keeps them beside a model: test_data_set_0/{input,output}_N.pb.
struct GivenData {
  std::vector<InputRecipe> inputs;
  std::filesystem::path outputs;  ///< .safetensors, by output name
  std::filesystem::path folder;   ///< where they lie
};
/// nullopt when there are none. `cache` is where both are converted to. Errors: invalid_argument, mismatch (files that
/// do not fit the model).
[[nodiscard]] Result<std::optional<GivenData>> find_given_data(const ModelInfo& model,
                                                               const std::filesystem::path& cache);

/// The file with every weight moved by one unit in the last place of the coarser of `dtype` and its own type, up or
/// down by a seeded bit: for judging how well conditioned a model is. Written to `to`, external data beside it.
/// A tensor that is not rounded to `dtype` moves by its own type's: among rounded weights it is a table, such as the
/// frequencies of a rotation, that every candidate keeps whole.
///
/// Weights are the initialisers of type float64, float32, float16 and bfloat16. Left as they are: zeros, infinities,
/// NaN, single elements (an epsilon), the scales and regions of Resize (they decide shapes), tensors inside nodes.
/// Errors: those of inspect_model; invalid_argument when `to` lies in the model's own folder; internal (disk full);
/// cancelled: part of the copy is left.
[[nodiscard]] Status write_perturbed(const std::filesystem::path& from, DType dtype, std::uint64_t seed,
                                     const std::filesystem::path& to, const Cancelled& cancelled = {});

/// The file with every weight rounded to `dtype`, ties to even, but kept in its own type; what would become infinite
/// stays. Which the weights are, where it is written and the errors: as of write_perturbed().
[[nodiscard]] Status write_rounded(const std::filesystem::path& from, DType dtype, const std::filesystem::path& to,
                                   const Cancelled& cancelled = {});

}  // namespace assay
