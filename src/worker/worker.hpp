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

#include "engine/engine_types.hpp"
#include "engine/registry.hpp"
#include "measure/measurement.hpp"
#include "tensor/recipe.hpp"

namespace assay {

/// How a generative model gives one token after another (docs/metrics.md, "Generative models"). The prompt's graph
/// runs once; then the step's graph runs for each further token, on the likeliest token of the run before and on the
/// states that this one left.
struct Generation {
  /// What a run hands on to the next.
  struct State {
    std::string prompt_output;  ///< after the prompt's run
    std::string step_input;
    std::string step_output;  ///< "": a step leaves it as it is (the keys and values of an encoder)
  };
  std::int64_t output_tokens = 0;    ///< of each sequence, the first included
  std::int64_t prompt_tokens = 0;    ///< that the states hold after the prompt's run
  std::string tokens = "input_ids";  ///< the step's input of the latest token, integers [B, 1]
  std::string mask{};                ///< the step's input of ones for every token so far [B, T]; "": there is none
  std::string logits = "logits";     ///< output of both, float32 or of 16 bits, [B, 1, vocabulary]
  std::vector<State> states{};
  /// Tokens that the states have room for, and keep; one graph runs prompt and steps then. 0: states that grow.
  std::int64_t cache_tokens = 0;
  std::string positions{};  ///< input of where the run's tokens stand in the states, int64 [S]; "": there is none

  /// Whether nobody gives values for an input: the worker makes them.
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
  /// Of generative models: the graph of the further tokens; empty: `model` is that too, begun with an empty past.
  std::filesystem::path step_model{};
};

struct LoadReply {
  double runtime_load_ms = 0;
  double model_load_s = 0;
  std::string engine_version;
  std::vector<ValueSignature> inputs, outputs;
  EngineOptions effective;                   ///< read back: "precision", "threads", "device", …
  std::uint64_t rss_before_model_bytes = 0;  ///< what the worker had before the model
  std::uint64_t rss_after_load_bytes = 0;
  std::uint64_t peak_load_bytes = 0;  ///< peak resident set while loading
};

struct BindRequest {
  std::vector<InputRecipe> inputs;  ///< matched to the program's inputs by name
  std::uint64_t seed = 0;
  std::size_t sets = 1;  ///< the rotating set
  int streams = 1;       ///< contexts made
  /// Runs are generations: infer() gives the logits of the prompt's last position and of kTaughtTokens further ones
  /// whose tokens are told by the seed, so that runtimes can be compared; measure() generates greedily.
  std::optional<Generation> generation{};
};

/// Tokens after the prompt that infer() of a generative model runs, of a generation of so many.
inline constexpr std::int64_t kTaughtTokens = 4;
[[nodiscard]] constexpr std::int64_t taught_tokens(std::int64_t output_tokens) {
  return std::min(kTaughtTokens, output_tokens - 1);
}

struct BindReply {
  std::optional<double> compilation_ms;  ///< where the engine compiles shapes
  EngineOptions effective;               ///< as in LoadReply, for these shapes
};

/// Runs one input set once, outside of any measurement, and writes the outputs as safetensors.
struct InferRequest {
  std::size_t set = 0;
  std::filesystem::path outputs;
};

struct InferReply {
  double run_ms = 0;  ///< of this run, a prompt's alone; the first one after a bind is first_inference_ms
};

struct MeasureRequest {
  MeasurePlan plan;
  std::filesystem::path samples;  ///< written as measure/samples_file.hpp says, flushed while sampling
};

struct MeasureReply {
  Measurement measurement;           ///< its samples are in the file, not here
  std::uint64_t peak_rss_bytes = 0;  ///< of the steady phase
  std::uint64_t mean_rss_bytes = 0;
  Json environment = Json::object();  ///< {before, after, noise} as measure/environment.hpp
                                      ///< writes them; their fields are null when no window began
};

/// One runtime in one process (assay-worker), driven over a socket. A crash, a hang and an out-of-memory kill
/// become an Error here and nothing else.
///
/// Errors of every call, beside the engine's own: worker_died (with the signal or exit status and the last lines of
/// its log), timeout (the worker was killed), out_of_memory (killed by the kernel or by its own limit), cancelled.
/// After any of these the object is only good for destruction; alive() tells. An engine's own error leaves it usable.
/// Thread: one at a time. Destruction ends the process.
class Worker {
 public:
  struct StartOptions {
    std::filesystem::path executable{};  ///< assay-worker; empty: beside the running program
    std::filesystem::path log{};         ///< its stderr and the runtime's messages; empty: dropped
    std::optional<std::uint64_t> memory_limit_bytes{};
    std::vector<std::pair<std::string, std::string>> environment{};
    /// Asked a few times a second while waiting; true asks the worker to stop. What it answers within two seconds is
    /// the call's result (a measurement that ended early); else the call ends with `cancelled`, and the worker with it.
    std::function<bool()> cancelled{};
  };

  [[nodiscard]] static Result<std::unique_ptr<Worker>> start(const EngineLocation& location, StartOptions options);
  virtual ~Worker() = default;

  [[nodiscard]] virtual bool alive() const = 0;
  [[nodiscard]] virtual int pid() const = 0;
  [[nodiscard]] virtual Result<LoadReply> load(const LoadRequest& request, std::chrono::nanoseconds timeout) = 0;
  [[nodiscard]] virtual Result<BindReply> bind(const BindRequest& request, std::chrono::nanoseconds timeout) = 0;
  [[nodiscard]] virtual Result<InferReply> infer(const InferRequest& request, std::chrono::nanoseconds timeout) = 0;
  [[nodiscard]] virtual Result<MeasureReply> measure(const MeasureRequest& request,
                                                     std::chrono::nanoseconds timeout) = 0;
};

}  // namespace assay
