// SPDX-License-Identifier: Apache-2.0
#include "support/runtime_suite.hpp"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace assay::plugin::test {
namespace {

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}
std::string field(int number, const std::string& bytes) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string field(int number, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(number) << 3) + varint(value);
}

std::string encode(const Value& value) {
  std::string shape;
  for (const auto& dim : value.dims) {
    const bool fixed = std::isdigit(static_cast<unsigned char>(dim.front())) != 0;
    shape += field(1, fixed ? field(1, std::stoull(dim)) : field(2, dim));
  }
  return field(1, value.name) + field(2, field(1, field(1, static_cast<std::uint64_t>(value.dtype)) + field(2, shape)));
}

std::string encode(const Node& node) {
  std::string bytes;
  for (const auto& input : node.inputs) bytes += field(1, input);
  for (const auto& name : node.outputs) bytes += field(2, name);
  return bytes + field(4, node.op) + (node.domain.empty() ? "" : field(7, node.domain));
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::string encode(const Model& model) {
  std::string graph;
  for (const auto& node : model.nodes) graph += field(1, encode(node));
  graph += field(2, std::string("g"));
  for (const auto& [name, values] : model.initializers) {
    const std::string raw(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    graph += field(5, field(1, values.size()) + field(2, 1) + field(8, name) + field(9, raw));
  }
  for (const auto& value : model.inputs) graph += field(11, encode(value));
  for (const auto& value : model.outputs) graph += field(12, encode(value));
  std::string bytes = field(1, 8) + field(7, graph) + field(8, field(2, static_cast<std::uint64_t>(model.opset)));
  for (const auto& domain : model.more_domains) bytes += field(8, field(1, domain) + field(2, 1));
  return bytes;
}

const assay_host_api& host() {
  static const assay_host_api api{sizeof api, ASSAY_ABI_MAJOR, ASSAY_ABI_MINOR, &now_ns,
                                  [](std::int32_t, assay_string) {}};
  return api;
}

Engine* engine(std::string& why) {
  static Result<std::unique_ptr<Engine>> opened = open_engine();
  if (!opened) why = opened.error().message;
  return opened ? opened->get() : nullptr;
}

namespace {

std::filesystem::path own_folder() {
  return std::filesystem::temp_directory_path() / ("assay_runtime_test." + std::to_string(getpid()));
}

struct RemoveOwnFolder : ::testing::Environment {
  void TearDown() override { std::filesystem::remove_all(own_folder()); }
};
[[maybe_unused]] const ::testing::Environment* const kCleanup =
    ::testing::AddGlobalTestEnvironment(new RemoveOwnFolder);

}  // namespace

std::string write_bytes(std::string_view bytes, const std::string& name) {
  const auto folder = own_folder();
  std::filesystem::create_directories(folder);
  const auto path = folder / name;
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path.string();
}

std::string write(const Model& model, const std::string& name) { return write_bytes(encode(model), name); }

Result<Output> output(Context& context, std::size_t index) {
  assay_tensor tensor{};
  ASSAY_CHECK_OK(context.get_output(index, tensor));
  Output result{{tensor.dims, tensor.dims + tensor.rank}, {}, tensor.data};
  if (tensor.dtype == 1) {
    result.values.resize(tensor.byte_size / sizeof(float));
    if (!result.values.empty()) std::memcpy(result.values.data(), tensor.data, tensor.byte_size);
  }
  return result;
}

}  // namespace assay::plugin::test
