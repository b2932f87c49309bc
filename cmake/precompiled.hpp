// SPDX-License-Identifier: Apache-2.0
// Headers of nearly every source, parsed once per build folder. Sources still include what they use:
// the tidy preset compiles without this header.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>
