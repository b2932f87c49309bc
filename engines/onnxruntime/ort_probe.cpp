// SPDX-License-Identifier: Apache-2.0
#include "ort_probe.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

namespace assay::plugin {
namespace {

constexpr std::int64_t kSide = 64;
constexpr std::size_t kElements = kSide * kSide;

/// Fields of protobuf messages: `tag` is the number of the field and its kind in one byte.
std::string bytes_field(char tag, const std::string& content) {
  return std::string{tag, static_cast<char>(content.size())} + content;  // all of them are shorter than 128 bytes
}
std::string number_field(char tag, std::int64_t value) { return {tag, static_cast<char>(value)}; }

std::string value_info(const char* name, ONNXTensorElementDataType element) {
  const std::string extent = bytes_field(0x0a, number_field(0x08, kSide));
  const std::string tensor = number_field(0x08, element) + bytes_field(0x12, extent + extent);
  return bytes_field(0x0a, name) + bytes_field(0x12, bytes_field(0x0a, tensor));
}

/// The first element of `x OPERATOR w`; nullopt if the runtime cannot compute it.
template <class Bits>
std::optional<Bits> first_of(const OrtRuntime& runtime, const OrtSessionOptions* options, const char* op,
                             ONNXTensorElementDataType element, std::vector<Bits>& x, std::vector<Bits>& w) {
  const std::string model = ort_binary_model(op, element);
  const auto compute = [&]() -> Result<Bits> {
    ASSAY_TRY(const OrtSessionPtr session, ort_make<OrtSessionPtr>(runtime, &OrtApi::CreateSessionFromArray,
                                                                   runtime.env(), model.data(), model.size(), options));
    ASSAY_TRY(const OrtMemoryInfoPtr memory,
              ort_make<OrtMemoryInfoPtr>(runtime, &OrtApi::CreateCpuMemoryInfo, OrtDeviceAllocator, OrtMemTypeDefault));
    const std::array<std::int64_t, 2> shape{kSide, kSide};
    const auto tensor = [&](std::vector<Bits>& values) {
      return ort_make<OrtValuePtr>(runtime, &OrtApi::CreateTensorWithDataAsOrtValue, memory.get(), values.data(),
                                   values.size() * sizeof(Bits), shape.data(), shape.size(), element);
    };
    ASSAY_TRY(const OrtValuePtr left, tensor(x));
    ASSAY_TRY(const OrtValuePtr right, tensor(w));
    const std::array<const char*, 2> inputs{"x", "w"};
    const std::array<const OrtValue*, 2> given{left.get(), right.get()};
    const char* const output = "y";
    OrtValue* made = nullptr;
    ASSAY_CHECK_OK(runtime.check(
        runtime.api().Run(session.get(), nullptr, inputs.data(), given.data(), given.size(), &output, 1, &made)));
    const OrtValuePtr owned(made, {&runtime.api()});
    void* data = nullptr;
    ASSAY_CHECK_OK(runtime.check(runtime.api().GetTensorMutableData(made, &data)));
    return *static_cast<const Bits*>(data);
  };
  const Result<Bits> first = compute();
  return first ? std::optional(*first) : std::nullopt;
}

/// x[0][0] = first, the rest of row 0 is `rest`; column 0 of w is ones.
template <class Bits>
std::optional<Bits> product(const OrtRuntime& runtime, const OrtSessionOptions* options,
                            ONNXTensorElementDataType element, Bits one, Bits first, Bits rest) {
  std::vector<Bits> x(kElements, Bits{}), w(kElements, Bits{});
  x[0] = first;
  for (std::size_t i = 1; i < kSide; ++i) x[i] = rest;
  for (std::size_t i = 0; i < kSide; ++i) w[i * kSide] = one;
  return first_of(runtime, options, "MatMul", element, x, w);
}

std::string precision_of(const OrtRuntime& runtime, const OrtSessionOptions* options, const std::string& element) {
  constexpr const char* kUnknown = "unknown";
  if (element == "float64") {
    constexpr double kFine = 1 + 0x1p-40;
    const auto y = product<double>(runtime, options, ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, 1, kFine, 0);
    return !y ? kUnknown : *y == kFine ? "float64" : "float32";
  }
  if (element == "float32") {
    constexpr float kFine = 1 + 0x1p-12F, kCoarse = 1 + 0x1p-9F;
    const auto fine = product<float>(runtime, options, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, 1, kFine, 0);
    const auto coarse = product<float>(runtime, options, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, 1, kCoarse, 0);
    return !fine || !coarse ? kUnknown : *fine == kFine ? "float32" : *coarse == kCoarse ? "float16" : "bfloat16";
  }
  struct SixteenBits {
    ONNXTensorElementDataType element;
    std::uint16_t one, large, sum;  ///< sum: large + 63, rounded once
  };
  constexpr SixteenBits kFloat16{ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, 0x3C00, 0x6800, 0x6820};    // 2048, 2112
  constexpr SixteenBits kBfloat16{ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, 0x3F80, 0x4380, 0x43A0};  // 256, 320
  if (element != "float16" && element != "bfloat16") return kUnknown;
  const SixteenBits& bits = element == "float16" ? kFloat16 : kBfloat16;
  const auto y = product<std::uint16_t>(runtime, options, bits.element, bits.one, bits.large, bits.one);
  return !y ? kUnknown : *y == bits.sum ? "float32" : element;
}

std::string denormals_of(const OrtRuntime& runtime, const OrtSessionOptions* options) {
  constexpr float kDenormal = 1e-40F;
  std::vector<float> x(kElements, kDenormal), w(kElements, kDenormal);
  const auto y = first_of(runtime, options, "Add", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, x, w);
  return !y ? "unknown" : *y == 0.0F ? "flushed" : "kept";
}

}  // namespace

std::string ort_binary_model(const std::string& op, ONNXTensorElementDataType element) {
  const std::string node =
      bytes_field(0x0a, "x") + bytes_field(0x0a, "w") + bytes_field(0x12, "y") + bytes_field(0x22, op);
  const std::string graph = bytes_field(0x0a, node) + bytes_field(0x12, "probe") +
                            bytes_field(0x5a, value_info("x", element)) + bytes_field(0x5a, value_info("w", element)) +
                            bytes_field(0x62, value_info("y", element));
  constexpr std::int64_t kIrVersion = 8, kOpset = 13;
  return number_field(0x08, kIrVersion) + bytes_field(0x3a, graph) + bytes_field(0x42, number_field(0x10, kOpset));
}

OrtArithmetic ort_measure_arithmetic(const OrtRuntime& runtime, const OrtSessionOptions* options,
                                     const std::string& element) {
  return {precision_of(runtime, options, element), denormals_of(runtime, options)};
}

}  // namespace assay::plugin
