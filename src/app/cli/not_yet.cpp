// SPDX-License-Identifier: Apache-2.0
#include "app/cli/not_yet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include <assay/error.hpp>

#include "core/result/status.hpp"

namespace assay::cli {
namespace {

constexpr std::array kNotYet{
    NotYet{"variants", "assay variants", "`assay variants`",
           "comparing compressed variants of a model is not part of this version of assay",
           "`assay bench --model A,B` measures several files"},
    NotYet{"profile", "assay profile", "`assay profile`",
           "flame graphs and operator times are not part of this version of assay",
           "on Linux `perf record -g assay bench --model NAME` samples the worker, too"},
    NotYet{"profile-detailed", "assay coverage --profile-detailed", "--profile-detailed",
           "flame graphs and operator times are not part of this version of assay",
           "`assay coverage --model NAME` measures a model on all hardware"},
    NotYet{"compare", "assay compare", "`assay compare`",
           "comparing two configurations by interleaved pairs is not part of this version of assay",
           "one `assay run` with several --hardware or --engines compares them in the same rounds"},
    NotYet{"schedule", "assay schedule, assay coverage --schedule-benchmarks, --frequency", "",
           "schedules are not part of this version of assay",
           "cron or a systemd timer can call `assay suite` or `assay coverage`"},
    NotYet{"distributed", "assay suite --executor slurm", "--executor slurm",
           "running on a cluster is not part of this version of assay", "`assay suite` runs on this machine"},
};

}  // namespace

std::span<const NotYet> not_yet_features() { return kNotYet; }

Failure not_yet(std::string_view feature) {
  const auto found = std::ranges::find(kNotYet, feature, &NotYet::feature);
  ASSAY_CHECK(found != kNotYet.end(), "the feature is in the table");
  const std::string subject = found->subject.empty() ? "" : fmt::format("{}: ", found->subject);
  return {std::string(to_string(Reason::kNotBuilt)), subject + std::string(found->what), std::string(found->hint)};
}

ExitCode answer_not_yet(std::string_view feature, const Context& context) {
  print_failure(not_yet(feature), context.json);
  return ExitCode::kUsage;
}

}  // namespace assay::cli
