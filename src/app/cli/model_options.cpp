// SPDX-License-Identifier: Apache-2.0
#include "app/cli/model_options.hpp"

#include <filesystem>
#include <system_error>

#include "app/cli/help.hpp"
#include "app/cli/measuring_options.hpp"
#include "core/base/text.hpp"

namespace assay::cli {
namespace {

constexpr const char* kManyNames = "MODEL,--model,--models,--model-id";
constexpr const char* kOneName = "MODEL,--model,--model-id";

}  // namespace

CLI::Option* add_models(CLI::App& command, std::vector<std::string>& words, const std::string& help) {
  return show_as(command.add_option(kManyNames, words, help), kModel, "MODEL…");
}

CLI::Option* add_model(CLI::App& command, std::string& word, const std::string& help) {
  return show_as(command.add_option(kOneName, word, help), kModel, "MODEL")->required();
}

std::vector<std::string> model_names(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words) {
    std::error_code ignored;
    if (word.find(',') == std::string::npos || std::filesystem::exists(word, ignored)) {
      names.push_back(word);
      continue;
    }
    for (std::string& name : split(word, ',')) names.push_back(std::move(name));
  }
  return names;
}

Result<std::vector<ModelChoice>> named_models(const std::vector<std::string>& names) {
  std::vector<ModelChoice> models;
  for (const std::string& name : names) {
    ASSAY_CHECK_OK(check_named(name));
    ModelChoice& choice = models.emplace_back();
    choice.name = choice.reference = name;
  }
  return models;
}

}  // namespace assay::cli
