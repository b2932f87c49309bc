// SPDX-License-Identifier: Apache-2.0

// A process of its own for tests: run_task FOLDER < TASK: runs one task, a line of JSON, and prints its row.

#include <cstdio>
#include <iostream>
#include <string>

#include "bench/run/run_testing.hpp"

using namespace assay;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::string line;
  std::getline(std::cin, line);
  const Result<Json> json = parse_json(line, "the task");
  const Result<Task> task = json ? task_from_json(*json) : tl::unexpected<Error>(json.error());
  if (!task) {
    std::fprintf(stderr, "%s\n", to_string(task.error()).c_str());
    return 2;
  }
  const EngineRegistry registry(testing::build_places());
  const std::vector<Record> rows = testing::run_tasks({*task}, testing::services_in(argv[1], registry));
  std::printf("%s\n", json_text(to_json(rows.at(0))).c_str());
  return 0;
}
