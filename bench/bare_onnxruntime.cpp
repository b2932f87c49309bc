// SPDX-License-Identifier: Apache-2.0
// A bare loop around ONNX Runtime's C API (bare_loop.hpp).

#include <dlfcn.h>
#include <onnxruntime_c_api.h>

#include "bare_loop.hpp"

namespace {

const OrtApi* api = nullptr;

void must(OrtStatus* status) {
  if (status != nullptr) bare::die(api->GetErrorMessage(status));
}

}  // namespace

int main(int argc, char** argv) {
  const bare::Arguments arguments = bare::parse(argc, argv);
  setenv("ORT_DISABLE_TELEMETRY", "1", 0);  // an uploader in the background would disturb the times
  void* library = dlopen(arguments.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) bare::die(dlerror());
  api = reinterpret_cast<decltype(&OrtGetApiBase)>(dlsym(library, "OrtGetApiBase"))()->GetApi(ORT_API_VERSION);

  OrtEnv* env = nullptr;
  must(api->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "bare", &env));
  OrtSessionOptions* options = nullptr;
  must(api->CreateSessionOptions(&options));
  must(api->SetIntraOpNumThreads(options, arguments.threads));
  must(api->SetInterOpNumThreads(options, 1));
  must(api->SetSessionGraphOptimizationLevel(options, ORT_ENABLE_ALL));
  OrtSession* session = nullptr;
  must(api->CreateSession(env, arguments.model.c_str(), options, &session));
  OrtMemoryInfo* memory = nullptr;
  must(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory));
  OrtAllocator* allocator = nullptr;
  must(api->GetAllocatorWithDefaultOptions(&allocator));
  std::size_t output_count = 0;
  must(api->SessionGetOutputCount(session, &output_count));

  // One binding per input set; all write to the output buffers that the first run allocates.
  std::vector<OrtIoBinding*> bindings;
  OrtValue** outputs = nullptr;
  for (const auto& set : arguments.sets) {
    OrtIoBinding* binding = nullptr;
    must(api->CreateIoBinding(session, &binding));
    for (const bare::Input& input : set) {
      OrtValue* value = nullptr;
      must(api->CreateTensorWithDataAsOrtValue(memory, input.data, input.bytes, input.dims.data(), input.dims.size(),
                                               static_cast<ONNXTensorElementDataType>(input.type), &value));
      must(api->BindInput(binding, input.name.c_str(), value));
    }
    for (std::size_t i = 0; i < output_count; ++i) {
      char* name = nullptr;
      must(api->SessionGetOutputName(session, i, allocator, &name));
      must(outputs == nullptr ? api->BindOutputToDevice(binding, name, memory)
                              : api->BindOutput(binding, name, outputs[i]));
    }
    if (outputs == nullptr) {
      must(api->RunWithBinding(session, nullptr, binding));
      std::size_t count = 0;
      must(api->GetBoundOutputValues(binding, allocator, &outputs, &count));
    }
    bindings.push_back(binding);
  }
  bare::loop(
      arguments, [](std::size_t) {},
      [&](std::size_t set) { must(api->RunWithBinding(session, nullptr, bindings[set])); });
}
