// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "bench/prepare/zoo_source.hpp"
#include "models/zoo/zoo.hpp"

namespace assay::testing {

/// The model of the zoo with this name or id, which must exist.
inline ZooSource source_of(const std::string& name) { return zoo_source(zoo::find_known(name).value()); }

}  // namespace assay::testing
