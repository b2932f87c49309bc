// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "bench/measure/machine_mark.hpp"
#include "bench/run/launch.hpp"
#include "bench/run/local_task.hpp"
#include "core/base/json.hpp"

namespace assay {

/// Adds to the row of a launch what it says about the launches of its cell before it: whether outputs differ, the notes
/// of the task, and what limited the number of launches.
void describe_launch(const LocalTask& local, Launch& launch);

/// Which other processes measured on this machine during a launch: some only at its beginning or at its end. `others`
/// is called when the object is made and by describe().
class OthersMeanwhile {
 public:
  using Others = std::function<std::vector<MeasuringProcess>()>;
  explicit OthersMeanwhile(const Others& others) : others_(others), before_(others()) {}
  /// Adds to the row, if it has a time, that there were some, and to the environment of its bundle which ones
  /// ("other_measurements").
  void describe(Launch& launch, Json& environment) const;

 private:
  const Others& others_;
  std::vector<MeasuringProcess> before_;
};

}  // namespace assay
