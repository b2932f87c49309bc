// SPDX-License-Identifier: Apache-2.0
// A management library with two GPUs, for tests.
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

// NOLINTBEGIN(readability-identifier-naming): NVML's names
EXPORT int nvmlInit_v2() { return 0; }
EXPORT int nvmlShutdown() { return 0; }
EXPORT int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  static int devices[2] = {0, 1};
  *device = &devices[index];
  return 0;
}
EXPORT int nvmlDeviceGetName(void* device, char* out, unsigned size) {
  std::strncpy(out, *static_cast<int*>(device) == 0 ? "Test GPU A" : "Test GPU B", size);
  return 0;
}
EXPORT int nvmlDeviceGetUUID(void*, char*, unsigned) { return 3; }
EXPORT int nvmlDeviceGetMemoryInfo(void*, unsigned long long* memory) {
  memory[0] = 150'000'000'000ULL;
  return 0;
}
EXPORT int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return 0;
}
EXPORT int nvmlSystemGetDriverVersion(char* out, unsigned size) {
  std::strncpy(out, "570.86.15", size);
  return 0;
}
EXPORT int nvmlSystemGetCudaDriverVersion(int* version) {
  *version = 12080;
  return 0;
}
// NOLINTEND(readability-identifier-naming)
