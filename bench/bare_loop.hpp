// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The common code of the two bare loops: their command line, their inputs, the loop itself. They use no code of assay,
/// so that each program can be read from top to bottom.
///
///   bare_RUNTIME LIBRARY MODEL INPUTS THREADS
///
/// For each number N on a line of its standard input it runs N times and prints N durations in nanoseconds, one per
/// line. INPUTS is a text file, one line per input and set: SET NAME ONNX_TYPE RANK DIM… FILE_WITH_THE_BYTES

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <new>
#include <sstream>
#include <string>
#include <vector>

namespace bare {

struct Input {
  std::string name;
  int type = 0;
  std::vector<std::int64_t> dims;
  void* data = nullptr;  ///< 64-byte aligned, valid until the process ends
  std::size_t bytes = 0;
};

struct Arguments {
  std::string library, model;
  std::vector<std::vector<Input>> sets;
  int threads = 1;
};

[[noreturn]] inline void die(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

inline Arguments parse(int argc, char** argv) {
  if (argc != 5) die("usage: LIBRARY MODEL INPUTS THREADS");
  Arguments arguments;
  arguments.library = argv[1];
  arguments.model = argv[2];
  if (!(std::istringstream(argv[4]) >> arguments.threads)) die("THREADS must be a number");
  std::ifstream list(argv[3]);
  for (std::string line; std::getline(list, line);) {
    std::istringstream fields(line);
    std::size_t set = 0, rank = 0;
    Input input;
    fields >> set >> input.name >> input.type >> rank;
    input.dims.resize(rank);
    for (auto& dim : input.dims) fields >> dim;
    std::string file;
    fields >> file;
    std::ifstream bytes(file, std::ios::binary | std::ios::ate);
    if (!fields || !bytes) die("bad line: " + line);
    input.bytes = static_cast<std::size_t>(bytes.tellg());
    input.data = ::operator new(input.bytes, std::align_val_t{64});
    bytes.seekg(0).read(static_cast<char*>(input.data), static_cast<std::streamsize>(input.bytes));
    if (set >= arguments.sets.size()) arguments.sets.resize(set + 1);
    arguments.sets[set].push_back(std::move(input));
  }
  if (arguments.sets.empty()) die("no inputs");
  return arguments;
}

/// `choose(set)` is not timed, `run(set)` is. Each burst begins with the first set.
template <class Choose, class Run>
void loop(const Arguments& arguments, Choose choose, Run run) {
  for (int iterations = 0; std::scanf("%d", &iterations) == 1;) {
    std::vector<std::int64_t> durations;
    durations.reserve(static_cast<std::size_t>(iterations));
    for (int i = 0; i < iterations; ++i) {
      const std::size_t set = static_cast<std::size_t>(i) % arguments.sets.size();
      choose(set);
      const auto start = std::chrono::steady_clock::now();
      run(set);
      const auto end = std::chrono::steady_clock::now();
      durations.push_back((end - start) / std::chrono::nanoseconds(1));
    }
    for (const std::int64_t duration : durations) std::printf("%lld\n", static_cast<long long>(duration));
    std::fflush(stdout);
  }
}

}  // namespace bare
