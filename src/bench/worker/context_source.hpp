// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "bench/engine/loader.hpp"
#include "bench/measure/runner.hpp"
#include "core/base/clock.hpp"

namespace assay {

/// A context for the runner: bursts over `sets` bound input sets, timed by the engine if it times itself.
/// Allocates, locks and logs nothing unless the engine fails.
class ContextSource final : public BurstSource {
 public:
  ContextSource(LoadedContext& context, std::size_t sets) : context_(context), sets_(sets) {}

  Status run_timed(std::size_t n, std::size_t first_set, SampleColumns& out) override {
    if (context_.times_itself()) {
      assay_samples samples{sizeof samples, 0, out.capacity, 0, out.start_ns, out.duration_ns, out.kind};
      Status status = context_.run_timed(n, first_set, sets_, samples);
      // It wrote beyond the columns, or the count is wrong: the samples are not reliable.
      if (samples.count > out.capacity) {
        out.count = 0;
        return fail(ErrorCode::kInternal, "the engine returned more samples than there was space for");
      }
      out.count = samples.count;
      return status;
    }
    Status failure;
    out.count = 0;
    timed_loop(SteadyClock(), n, first_set, sets_, out, [&](std::size_t set) {
      Status status = context_.run(set);
      if (status) return true;
      failure = std::move(status);
      return false;
    });
    return failure;
  }

 private:
  LoadedContext& context_;
  std::size_t sets_;
};

}  // namespace assay
