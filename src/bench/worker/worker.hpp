// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "bench/engine/registry.hpp"
#include "core/samples/measurement.hpp"
#include "core/tensor/recipe.hpp"
#include "core/traits/engine_types.hpp"

namespace assay {

/// How a generative model generates tokens (docs/metrics.md, "Generative models"). The prompt's graph runs once; then
/// the step's graph runs for each further token, on the most likely token of the previous run and on its output states.
struct Generation {
  /// A state that a run passes to the next.
  struct State {
    std::string prompt_output;  ///< the state after the prompt's run
    std::string step_input;
    std::string step_output;  ///< "": a step does not change it (the keys and values of an encoder)
  };
  std::int64_t output_tokens = 0;    ///< tokens of each sequence, including the first one
  std::int64_t prompt_tokens = 0;    ///< tokens in the states after the prompt's run
  std::string tokens = "input_ids";  ///< the step's input of the latest token, integers [B, 1]
  std::string mask{};                ///< the step's input of ones for every token so far [B, T]; "": there is none
  std::string logits = "logits";     ///< output of both, float32 or 16 bits, [B, 1, vocabulary]
  std::vector<State> states{};
  /// The length of static KV caches. The prompt's graph then has them too, or leaves shorter states, which become the
  /// beginning of the caches. 0: the caches grow.
  std::int64_t cache_tokens = 0;
  std::string positions{};  ///< input of the tokens' positions in the states, int64 [S]; "": there is none

  /// Whether prompts may have padding. A runtime's own cache operator is given lengths instead of a mask: its padding
  /// would be overwritten by the further tokens.
  [[nodiscard]] bool takes_padding() const { return cache_tokens == 0 || !positions.empty(); }

  /// Whether the worker creates the values of an input.
  [[nodiscard]] bool makes(const std::string& input) const {
    if (cache_tokens == 0) return false;
    return input == positions || std::ranges::find(states, input, &State::step_input) != states.end();
  }
};

struct LoadRequest {
  std::filesystem::path model;
  std::string device_id{};
  std::string precision = "as_is";
  int threads = 0;
  int streams = 1;
  EngineOptions options{};
  /// For generative models: the graph of the further tokens; empty: `model` runs them too, first with an empty past.
  std::filesystem::path step_model{};
  EngineOptions step_options{};   ///< options of `step_model`; empty: they are `options`
  EngineOptions shape_options{};  ///< more options, for one shape: for another one a warm worker loads the model again
};

struct LoadReply {
  double runtime_load_ms = 0;
  double model_load_s = 0;
  std::string engine_version;
  std::vector<ValueSignature> inputs, outputs;
  EngineOptions effective;                   ///< read back: "precision", "threads", "device", …
  std::uint64_t rss_before_model_bytes = 0;  ///< memory of the worker before the model was loaded
  std::uint64_t rss_after_load_bytes = 0;
  std::uint64_t peak_load_bytes = 0;  ///< peak resident set while loading
};

struct BindRequest {
  std::vector<InputRecipe> inputs;  ///< matched to the program's inputs by name
  std::uint64_t seed = 0;
  std::size_t sets = 1;  ///< the rotating set
  int streams = 1;       ///< number of contexts
  /// Runs are generations: infer() runs teacher-forced on tokens that are generated from the seed, so that runtimes can
  /// be compared, and returns the logits after compared_tokens(); measure() generates greedily.
  std::optional<Generation> generation{};
};

/// How many tokens follow the prompt where infer() of a generative model returns logits: none, half and all but one of
/// the output tokens; the cache is then as full as it gets.
[[nodiscard]] inline std::vector<std::int64_t> compared_tokens(std::int64_t output_tokens) {
  const std::int64_t last = output_tokens - 1;
  std::vector<std::int64_t> after{0, (last + 1) / 2, last};
  after.erase(std::unique(after.begin(), after.end()), after.end());
  return after;
}

/// How many of the largest logits InferRequest::largest has for each token.
inline constexpr std::size_t kLargestLogits = 16;

struct BindReply {
  std::optional<double> compilation_ms;  ///< present if the engine compiles shapes
  EngineOptions effective;               ///< same as in LoadReply, for these shapes
};

/// Runs one input set once, outside of any measurement, and writes the outputs as safetensors.
struct InferRequest {
  std::size_t set = 0;
  std::filesystem::path outputs;
  /// For a generative model: if not empty, it also generates greedily and writes the kLargestLogits largest logits of
  /// each token, largest first: `ids` int64 and `logits` float32, [batch, output tokens, n].
  std::filesystem::path largest{};
  /// With `largest`: a file with `ids` int64 [batch, output tokens]. Instead of everything above, these tokens are
  /// generated, and `largest` also has their logits: `forced` float32 [batch, output tokens].
  std::filesystem::path forced{};
  int stream = 0;  ///< number of the context that runs
};

struct InferReply {
  /// Time of this run; for a generation, of its prompt only. The first one after a bind is first_inference_ms.
  double run_ms = 0;
};

struct MeasureRequest {
  MeasurePlan plan;
  std::filesystem::path samples;  ///< Has the format of core/samples/samples_file.hpp, is flushed while sampling.
  /// For a generative model: if not empty, the token ids of the generations, warm-up included, are written here:
  /// safetensors "SET/STREAM/N", int64 [batch, output tokens], only those that differ (TimedTokens).
  std::filesystem::path tokens{};
};

struct MeasureReply {
  Measurement measurement;           ///< its samples are in the file, not here
  std::uint64_t peak_rss_bytes = 0;  ///< peak in the steady phase
  std::uint64_t mean_rss_bytes = 0;
  Json environment = Json::object();  ///< {before, after, noise} as in bench/measure/environment.hpp
                                      ///< their fields are null if no window began
  std::int64_t generations = 0;  ///< number of generations whose token ids were compared; 0: the model generates none
};

/// Writes the loaded model in the runtime's own format. Errors: unsupported, if the engine cannot.
struct SaveRequest {
  std::filesystem::path file;
};

/// One runtime in one process (assay-worker), controlled over a socket. A crash, a hang or an out-of-memory kill only
/// becomes an Error.
///
/// Errors of every call, besides the engine's own: worker_died (with the signal or exit status, or what was invalid in
/// its message, and the last lines of its log), timeout (the worker was killed), out_of_memory (killed by the kernel or
/// by its own limit), cancelled. After any of these alive() is false and the object can only be destroyed. After an
/// engine's own error it is usable. alive() also checks the process, so that one that was killed between two calls is
/// not used again. Thread: one at a time. Destruction ends the process.
class Worker {
 public:
  /// For an interrupted measurement to write its samples.
  static constexpr std::chrono::seconds kTimeToStop{10};

  struct StartOptions {
    std::filesystem::path executable{};  ///< assay-worker; empty: beside the running program
    std::filesystem::path log{};         ///< its stderr and the runtime's messages; empty: discarded
    std::optional<std::uint64_t> memory_limit_bytes{};
    std::vector<std::pair<std::string, std::string>> environment{};
    /// Called a few times per second while waiting; true requests the worker to stop. Its reply within kTimeToStop is
    /// the result of the call (a measurement that ended early); else the call fails with `cancelled` and the worker
    /// ends.
    std::function<bool()> cancelled{};
  };

  [[nodiscard]] static Result<std::unique_ptr<Worker>> start(const EngineLocation& location, StartOptions options);
  virtual ~Worker() = default;

  [[nodiscard]] virtual bool alive() = 0;
  [[nodiscard]] virtual int pid() const = 0;
  [[nodiscard]] virtual Result<LoadReply> load(const LoadRequest& request, std::chrono::nanoseconds timeout) = 0;
  [[nodiscard]] virtual Result<BindReply> bind(const BindRequest& request, std::chrono::nanoseconds timeout) = 0;
  [[nodiscard]] virtual Result<InferReply> infer(const InferRequest& request, std::chrono::nanoseconds timeout) = 0;
  [[nodiscard]] virtual Result<MeasureReply> measure(const MeasureRequest& request,
                                                     std::chrono::nanoseconds timeout) = 0;
  [[nodiscard]] virtual Status save(const SaveRequest&, std::chrono::nanoseconds) {
    return fail(ErrorCode::kUnsupported, "this worker cannot save a model");
  }
};

}  // namespace assay
