// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <thread>

#include "core/base/files.hpp"
#include "core/base/text.hpp"
#include "zoo_graphs.hpp"

// Compares every graph that the zoo can build with the recorded fingerprints (docs/zoo-authors.md).
namespace assay::testing {
namespace {
namespace fs = std::filesystem;

const char* const kUsage = R"(usage: assay_graph_fingerprints COMMAND
  check [MODEL]        build every graph, or those of one model, and compare them with tests/graphs/fingerprints.txt
  record               write tests/graphs/fingerprints.txt anew; needs all goldens (ASSAY_GOLDENS_DIR)
  text MODEL VARIANT   print the canonical text of one graph: that is what its fingerprint is the SHA-256 of
)";

const fs::path kSource = ASSAY_SOURCE_DIR;
const fs::path kRecorded = kSource / "tests/graphs/fingerprints.txt";

using Key = std::pair<std::string, std::string>;  ///< model, variant

// The committed goldens and those of the collection that pass. `missing`: those that are not on this machine.
std::vector<fs::path> golden_folders(std::set<std::string>& missing) {
  std::set<std::string> names;
  const fs::path committed = kSource / "tests/goldens";
  for (const fs::directory_entry& entry : fs::directory_iterator(committed))
    if (fs::exists(entry.path() / "config.json")) names.insert(entry.path().filename().string());
  for (const std::string& line : split(read_file(committed / "passing.txt").value_or(""), '\n'))
    if (!line.empty() && line.front() != '#') names.insert(line);
  const char* collection = std::getenv("ASSAY_GOLDENS_DIR");
  std::vector<fs::path> folders;
  for (const std::string& name : names) {
    fs::path folder = committed / name;
    if (collection != nullptr && !fs::exists(folder)) folder = fs::path(collection) / name;
    if (fs::exists(folder)) {
      folders.push_back(folder);
    } else {
      missing.insert(name);
    }
  }
  return folders;
}

Result<std::vector<ZooGraph>> all_graphs(std::set<std::string>& missing) {
  std::vector<ZooGraph> graphs = published_graphs();
  for (const fs::path& folder : golden_folders(missing)) {
    ASSAY_TRY(std::vector<ZooGraph> more, with_context(golden_graphs(folder), "reading " + folder.string()));
    std::move(more.begin(), more.end(), std::back_inserter(graphs));
  }
  return graphs;
}

// "NODES SHA256", or "- CODE" of a graph that the zoo refuses.
std::string fingerprint(ZooGraph& graph, const fs::path& folder) {
  const Result<CanonicalGraph> canonical = build_canonical(graph, folder);
  if (!canonical) return fmt::format("- {}", to_string(canonical.error().code));
  return fmt::format("{} {}", canonical->nodes, canonical->sha256());
}

Result<std::map<Key, std::string>> fingerprints(std::vector<ZooGraph>& graphs) {
  ASSAY_TRY(const TemporaryDirectory folder, TemporaryDirectory::create("assay-graphs-"));
  std::vector<std::string> found(graphs.size());
  std::atomic<std::size_t> next = 0;
  {
    std::vector<std::jthread> threads;
    for (unsigned thread = 0; thread < std::max(1U, std::thread::hardware_concurrency()); ++thread) {
      threads.emplace_back([&, own = folder.path() / std::to_string(thread)] {
        for (std::size_t i = next++; i < graphs.size(); i = next++) found[i] = fingerprint(graphs[i], own);
      });
    }
  }
  std::map<Key, std::string> all;
  for (std::size_t i = 0; i < graphs.size(); ++i) all[{graphs[i].model, graphs[i].variant}] = found[i];
  return all;
}

Result<std::map<Key, std::string>> recorded() {
  ASSAY_TRY(const std::string text, read_file(kRecorded));
  std::map<Key, std::string> all;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    if (words.size() == 4) all[{words[0], words[1]}] = words[2] + " " + words[3];
  }
  return all;
}

// Prints each graph that differs; the result is their number.
std::size_t compare(const std::map<Key, std::string>& before, const std::map<Key, std::string>& now) {
  std::set<Key> keys;
  for (const auto& [key, value] : before) keys.insert(key);
  for (const auto& [key, value] : now) keys.insert(key);
  std::size_t differing = 0;
  for (const Key& key : keys) {
    const auto old = before.find(key);
    const auto built = now.find(key);
    const std::string was = old == before.end() ? "not recorded" : old->second;
    const std::string is = built == now.end() ? "not built any more" : built->second;
    if (was == is) continue;
    ++differing;
    fmt::print("{} {}: recorded (nodes, SHA-256): {}; built: {}\n", key.first, key.second, was, is);
  }
  return differing;
}

Result<int> check(const std::string& program, const std::string& model) {
  std::set<std::string> missing;
  ASSAY_TRY(std::vector<ZooGraph> graphs, all_graphs(missing));
  ASSAY_TRY(auto before, recorded());
  const auto left_out = [&](const std::string& name) { return !model.empty() && name != model; };
  std::erase_if(graphs, [&](const ZooGraph& graph) { return left_out(graph.model); });
  std::erase_if(before,
                [&](const auto& line) { return left_out(line.first.first) || missing.contains(line.first.first); });
  if (graphs.empty()) return fail(ErrorCode::kNotFound, fmt::format("no model '{}'", model));
  ASSAY_TRY(const auto now, fingerprints(graphs));
  const std::size_t differing = compare(before, now);
  fmt::print("{} graphs built, {} differ\n", now.size(), differing);
  if (!missing.empty() && model.empty())
    fmt::print("{} goldens are not on this machine, their graphs were not built; set ASSAY_GOLDENS_DIR\n",
               missing.size());
  if (differing == 0) return 0;
  fmt::print(
      "To see what changed in a graph, run this here and in a build of the older version, and compare the two files:\n"
      "  {0} text MODEL VARIANT > FILE\n"
      "If the change is intended: list it in tests/graphs/EXCEPTIONS.md, verify the model again (`assay zoo check`), "
      "then\n  {0} record\n",
      program);
  return 1;
}

Result<int> record() {
  std::set<std::string> missing;
  ASSAY_TRY(std::vector<ZooGraph> graphs, all_graphs(missing));
  if (!missing.empty())
    return fail(ErrorCode::kNotFound,
                fmt::format("{} goldens were not found: {}", missing.size(), fmt::join(missing, ", ")),
                "set ASSAY_GOLDENS_DIR to the folder of all goldens");
  ASSAY_TRY(const auto now, fingerprints(graphs));
  std::string text;
  for (const auto& [key, value] : now) text += fmt::format("{} {} {}\n", key.first, key.second, value);
  ASSAY_CHECK_OK(write_file_atomically(kRecorded, text));
  fmt::print("{} graphs recorded in {}\n", now.size(), kRecorded.string());
  return 0;
}

Result<int> print_text(const std::string& model, const std::string& variant) {
  std::set<std::string> missing;
  ASSAY_TRY(std::vector<ZooGraph> graphs, all_graphs(missing));
  const auto found = std::find_if(graphs.begin(), graphs.end(), [&](const ZooGraph& graph) {
    return graph.model == model && graph.variant == variant;
  });
  if (found == graphs.end())
    return fail(ErrorCode::kNotFound, fmt::format("no graph '{}' of a model '{}'", variant, model),
                "fingerprints.txt lists them");
  ASSAY_TRY(const TemporaryDirectory folder, TemporaryDirectory::create("assay-graphs-"));
  ASSAY_TRY(const CanonicalGraph canonical, build_canonical(*found, folder.path()));
  fmt::print("{}", canonical.text);
  return 0;
}

Result<int> run(const std::vector<std::string>& words) {
  const std::string command = words.size() > 1 ? words[1] : "";
  if (command == "check" && words.size() <= 3) return check(words[0], words.size() == 3 ? words[2] : "");
  if (command == "record" && words.size() == 2) return record();
  if (command == "text" && words.size() == 4) return print_text(words[2], words[3]);
  fmt::print(stderr, "{}", kUsage);
  return 2;
}

}  // namespace
}  // namespace assay::testing

int main(int argc, char** argv) {
  const assay::Result<int> status = assay::testing::run({argv, argv + argc});
  if (status) return *status;
  fmt::print(stderr, "{}\n", assay::to_string(status.error()));
  return 1;
}
