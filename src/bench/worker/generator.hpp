// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/engine/loader.hpp"
#include "bench/measure/runner.hpp"
#include "bench/worker/timed_tokens.hpp"
#include "bench/worker/worker.hpp"
#include "core/tensor/tensor.hpp"

namespace assay {

/// One stream of a generative model: a prompt's run, then greedy tokens. The states stay in the engine: they go from
/// step to step by alias_output_to_input, and from a prompt's graph to a separate graph for the steps as views. Static
/// KV caches (Generation::cache_tokens) stay in place by share_output_with_input; for an engine without it, the same
/// graph is used twice, with static shapes for the prompt and for the steps, or two programs of it, if each has one set
/// of shapes. Thread: one at a time.
class Generator final : public BurstSource {
 public:
  /// `step`: the program of the further tokens, the same as `prompt` if that begins with an empty past and accepts any
  /// number of tokens. `sets`: the
  /// prompt's inputs, [set][input] in the order of prompt.inputs(); they outlive the generator. Errors: mismatch, if a
  /// program lacks an input or output; those of the engine.
  [[nodiscard]] static Result<Generator> create(const LoadedProgram& prompt, const LoadedProgram& step,
                                                const Generation& generation,
                                                const std::vector<std::vector<Tensor>>& sets);
  /// Only the first `timed` sets are timed.
  void limit_timed_sets(std::size_t timed) { timed_sets_ = timed; }
  /// From now on run_teacher_forced() runs all tokens between two logits at once, if one graph runs prompt and steps
  /// and its cache grows: the same numbers in fewer runs, for a reference.
  void run_forced_at_once() { at_once_ = !step_ && generation_.cache_tokens == 0; }

  /// Generates n times. Samples of one generation: `run`, from the prompt's start to the last token; `first_token`, the
  /// prompt's run until its token is chosen; a `token` for each further one, from id to id.
  Status run_timed(std::size_t n, std::size_t first_set, SampleColumns& out) override;
  [[nodiscard]] std::size_t samples_per_run() const override {
    return 1 + static_cast<std::size_t>(generation_.output_tokens);
  }

  [[nodiscard]] std::int64_t output_tokens() const { return generation_.output_tokens; }
  /// The time to create contexts for these shapes.
  [[nodiscard]] std::int64_t compilation_ns() const { return compilation_ns_; }

  /// The logits of a set after compared_tokens(), float32 [B, n, vocabulary]. All further tokens are run; they are
  /// generated from `seed`, not chosen by the logits. prompt_ms: the time of the prompt's run.
  [[nodiscard]] Result<Tensor> run_teacher_forced(std::size_t set, std::uint64_t seed, double& prompt_ms);

  /// Generates greedily and returns the largest logits of each token: `ids` and `logits` of InferRequest::largest. If
  /// the set's prompt ran last, and another program runs the steps, it does not run again.
  struct Largest {
    Tensor ids, logits;
    Tensor forced;  ///< the logits of forced tokens [batch, output tokens], float32; else empty
  };
  [[nodiscard]] Result<Largest> run_greedy(std::size_t set) { return run_largest(set, std::nullopt); }

  /// The same for the tokens `ids`, int64 [batch, output tokens], instead of the greedy ones. Errors: mismatch (another
  /// type or shape, an id outside of the vocabulary); those of the engine.
  [[nodiscard]] Result<Largest> run_forced(std::size_t set, const TensorView& ids) { return run_largest(set, ids); }

  /// For all timed generations.
  [[nodiscard]] const TimedTokens& timed_tokens() const { return timed_tokens_; }

 private:
  struct State {
    std::size_t prompt_output;
    std::size_t step_input;
    std::optional<std::size_t> step_output;
    Tensor cache{};  ///< a static cache that begins with the prompt's state, which is shorter; empty: there is none
  };
  /// An input of a step that is not token, mask, position or state: it has the value of the prompt's input.
  struct Carried {
    std::size_t step_input, prompt_input;
  };
  Generator(Generation generation, LoadedContext prompt, const std::vector<std::vector<Tensor>>& sets)
      : generation_(std::move(generation)), prompt_(std::move(prompt)), sets_(&sets), timed_sets_(sets.size()) {}
  Status find(const LoadedProgram& prompt, const LoadedProgram& step);
  /// `shares`: use share_output_with_input; false afterwards if the engine does not support it. Else use two contexts.
  [[nodiscard]] static Result<Generator> create_with_caches(const LoadedProgram& prompt, const LoadedProgram& step,
                                                            const Generation& generation,
                                                            const std::vector<std::vector<Tensor>>& sets, bool& shares);
  [[nodiscard]] static Result<std::size_t> index_of(const std::vector<ValueSignature>& values, const std::string& name,
                                                    const char* what);
  Status make_tokens(const LoadedProgram& prompt, const LoadedProgram& step);
  Status make_masks(const LoadedProgram& prompt, const LoadedProgram& step);
  Status keep_caches(const std::vector<TensorView>& shapes, bool& shares);
  Status bind_others(const LoadedProgram& prompt);
  /// Gives a step's static cache the state that the prompt left.
  Status hand_over(State& state);
  Status bind_steps(const LoadedProgram& step, const std::vector<ValueSignature>& prompt_inputs);
  [[nodiscard]] LoadedContext& steps() { return step_ ? *step_ : prompt_; }
  [[nodiscard]] Result<Largest> run_largest(std::size_t set, const std::optional<TensorView>& forced);
  /// Discards all tokens; the next prompt is that of `set`.
  Status reset(std::size_t set);
  /// Runs the prompt.
  Status begin();
  /// The same, for `set`, if the outputs of its prompt are not there.
  Status begin_again(std::size_t set);
  /// Runs one step on the tokens in tokens_.
  Status next();
  /// Runs `tokens` [B, n] at once.
  Status next(const Tensor& tokens);
  /// The mask of the next step: that of the prompt, then ones.
  Status bind_mask();
  /// The logits of the latest run, of the prompt or of a step.
  [[nodiscard]] Result<TensorView> logits();
  /// The same as logits_. Allocates nothing from the second token on: it is part of a token's time.
  Status read_logits();
  /// Writes a token's id into a tensor of int64 or int32.
  static void put(Tensor& tokens, std::size_t row, std::int64_t id);
  /// Chooses the most likely token of each sequence, the one at `place` of its generation.
  Status choose(std::size_t place);

  Generation generation_;
  LoadedContext prompt_;
  std::optional<LoadedContext> step_;  ///< absent: prompt_ runs the steps too
  const std::vector<std::vector<Tensor>>* sets_;
  std::size_t timed_sets_;
  std::size_t set_ = 0;                    ///< the set of the current generation
  std::optional<std::size_t> prompt_set_;  ///< the set whose prompt ran last
  std::size_t bound_set_ = 0;              ///< the steps' inputs carried_ are those of this set
  std::int64_t compilation_ns_ = 0;
  std::size_t step_set_ = 0;
  std::size_t prompt_logits_ = 0, step_logits_ = 0, tokens_input_ = 0;
  std::optional<std::size_t> mask_input_;
  std::vector<State> states_;
  Tensor tokens_;                                   ///< [B, 1]
  Tensor ones_;                                     ///< ones, as many as the longest mask has
  Tensor padded_;                                   ///< the same, for masks with padding; empty: no set has any
  TensorView mask_;                                 ///< the next step's mask, a view of ones_ or padded_
  std::vector<std::optional<TensorView>> padding_;  ///< each set's prompt mask, if it has padding
  std::vector<Carried> carried_;
  TimedTokens timed_tokens_;
  TensorView logits_;         ///< result of the latest read_logits()
  std::int64_t further_ = 0;  ///< tokens since the prompt
  bool at_once_ = false;
  // For static KV caches.
  std::vector<Tensor> caches_;  ///< zeros, if the engine does not keep them itself
  std::optional<std::size_t> positions_input_;
  Tensor prompt_places_, step_place_;
};

}  // namespace assay
