// SPDX-License-Identifier: Apache-2.0
#pragma once

/// CLI11's class of a command, declared without its large header.
namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}
