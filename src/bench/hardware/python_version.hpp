// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "core/base/cancel.hpp"
#include "core/base/descriptor.hpp"

namespace assay {

/// Finds the version of the `python3` that a shell would start, while the caller does other work: a python3 that is a
/// script of a version manager takes 100 ms and more. Construction starts the process, destruction kills it, so an
/// early return does not wait.
class PythonVersion {
 public:
  PythonVersion();
  PythonVersion(const PythonVersion&) = delete;
  PythonVersion& operator=(const PythonVersion&) = delete;
  ~PythonVersion();

  /// The version, such as "3.11.2"; "" if there is no python3, if it does not answer within `limit`, or if `cancelled`.
  [[nodiscard]] std::string wait(std::chrono::milliseconds limit, const Cancelled& cancelled = {});

 private:
  Descriptor output_;
  pid_t pid_ = -1;
};

}  // namespace assay
