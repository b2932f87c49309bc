// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/launch.hpp"
#include "run/local_task.hpp"

namespace assay {

/// Adds to the row of a launch what it says about the launches of its cell before it: whether outputs differ, the notes
/// of the task, and what limited the number of launches.
void describe_launch(const LocalTask& local, Launch& launch);

}  // namespace assay
