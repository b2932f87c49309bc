// SPDX-License-Identifier: Apache-2.0
// docs/zoo-table.md: what the zoo builds, from its catalogue.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <string_view>

#include "core/base/files.hpp"
#include "core/base/text.hpp"
#include "models/zoo/catalogue/architecture.hpp"

namespace assay::testing {
namespace {

const std::filesystem::path kTable = std::filesystem::path(ASSAY_SOURCE_DIR) / "docs/zoo-table.md";

std::string row(const zoo::Architecture& architecture) {
  std::vector<std::string> classes, names;
  for (const auto& [name, spec] : architecture.classes) classes.push_back(name);
  for (const zoo::CheckpointSpec& checkpoint : architecture.checkpoints) names.push_back(checkpoint.id);
  return fmt::format("| {} | `{}` | {} | {} |\n", architecture.name, architecture.skeleton, join(classes, ", "),
                     join(names, ", "));
}

std::string table() {
  std::map<std::string, std::string> by_category;
  std::size_t classes = 0;
  for (const zoo::Architecture& architecture : zoo::architectures()) {
    by_category[architecture.category] += row(architecture);
    classes += architecture.classes.size();
  }
  std::string text = fmt::format(
      "# What the zoo builds\n\n"
      "{} architectures, {} classes. Written by `assay_zoo_table record` from `zoo/*.json`.\n",
      zoo::architectures().size(), classes);
  for (const auto& [category, rows] : by_category)
    text += fmt::format(
        "\n## {}\n\n| model_type | skeleton | classes | published checkpoints |\n| --- | --- | --- | --- |\n{}",
        category, rows);
  return text;
}

Result<int> run(std::string_view command) {
  if (command == "record") {
    ASSAY_CHECK_OK(write_file_atomically(kTable, table()));
    return 0;
  }
  if (command != "check") {
    fmt::print(stderr, "usage: assay_zoo_table check|record\n");
    return 2;
  }
  ASSAY_TRY(const std::string recorded, read_file(kTable));
  if (recorded == table()) return 0;
  fmt::print(stderr, "{} is not that of zoo/*.json; run: assay_zoo_table record\n", kTable.string());
  return 1;
}

}  // namespace
}  // namespace assay::testing

int main(int argc, char** argv) {
  const assay::Result<int> status = assay::testing::run(argc == 2 ? argv[1] : "");
  if (status) return *status;
  fmt::print(stderr, "{}\n", assay::to_string(status.error()));
  return 1;
}
