// SPDX-License-Identifier: Apache-2.0
#include "bench/worker/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/base/text.hpp"

namespace assay {
namespace {

// All in upper case.
constexpr std::array<std::string_view, 9> kPrefixes{"AWS_",      "AZURE_",   "GOOGLE_", "GCP_",   "GCLOUD_",
                                                    "CLOUDSDK_", "ALIBABA_", "VAULT_",  "CI_JOB_"};
constexpr std::array<std::string_view, 6> kParts{"PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "CREDENTIAL", "APIKEY"};
constexpr std::array<std::string_view, 10> kWords{"TOKEN", "TOKENS", "KEY",    "KEYS",   "PAT",
                                                  "AUTH",  "JWT",    "COOKIE", "BEARER", "PWD"};
constexpr std::array<std::string_view, 4> kNames{"SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSHPASS", "KUBECONFIG"};

// PWD and OLDPWD are the shell's folders; MYSQL_PWD is a password.
bool is_secret_word(const std::string& name, const std::string& word) {
  if (word == "PWD" && name == word) return false;
  return std::ranges::find(kWords, word) != kWords.end() || word.ends_with("TOKEN");
}

// "https://user:password@host", "https://token@host"
bool names_user(std::string_view value) {
  for (std::size_t at = value.find("://"); at != value.npos; at = value.find("://", at + 3)) {
    const std::string_view place = value.substr(at + 3, value.find_first_of("/?# \t\n", at + 3) - at - 3);
    if (place.find('@') != place.npos) return true;
  }
  return false;
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return result;
}

}  // namespace

bool may_be_secret(std::string_view name, std::string_view value) {
  const std::string plain = upper(name);
  if (std::ranges::find(kNames, plain) != kNames.end()) return true;
  for (const std::string_view prefix : kPrefixes)
    if (plain.starts_with(prefix)) return true;
  for (const std::string_view part : kParts)
    if (plain.find(part) != plain.npos) return true;
  for (const std::string& word : split(plain, '_'))
    if (is_secret_word(plain, word)) return true;
  return names_user(value);
}

std::vector<std::string> worker_environment(char** inherited,
                                            const std::vector<std::pair<std::string, std::string>>& changes) {
  std::map<std::string, std::string> variables;
  for (char** entry = inherited; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals == text.npos) continue;
    const std::string_view name = text.substr(0, equals);
    const std::string_view value = text.substr(equals + 1);
    if (!may_be_secret(name, value)) variables[std::string(name)] = value;
  }
  for (const auto& [name, value] : changes) variables[name] = value;
  std::vector<std::string> list;
  list.reserve(variables.size());
  for (const auto& [name, value] : variables) list.push_back(fmt::format("{}={}", name, value));
  return list;
}

}  // namespace assay
