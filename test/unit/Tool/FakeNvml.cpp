// Stands in for NVIDIA's management library: two cards, the second one busier.
#include <cstdio>
#include <cstring>

extern "C" {
using Handle = const unsigned *;
static const unsigned indices[] = {0, 1};

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) {
  return std::snprintf(text, size, "570.86") < 0;
}
int nvmlDeviceGetCount_v2(unsigned *count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle *handle) {
  *handle = &indices[index];
  return 0;
}
int nvmlDeviceGetName(Handle, char *text, unsigned size) {
  return std::snprintf(text, size, "Fake H100") < 0;
}
int nvmlDeviceGetUUID(Handle handle, char *text, unsigned size) {
  return std::snprintf(text, size, "GPU-%u000-fake", *handle + 1) < 0;
}
int nvmlDeviceGetMemoryInfo(Handle handle, unsigned long long *totalFreeUsed) {
  totalFreeUsed[0] = 2ull << 30;
  totalFreeUsed[1] = (2ull - *handle) << 30;
  totalFreeUsed[2] = static_cast<unsigned long long>(*handle) << 30;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(Handle, int kind, unsigned *megahertz) {
  *megahertz = kind == 2 ? 1000 : 2000;
  return 0;
}
int nvmlDeviceGetMemoryBusWidth(Handle, unsigned *bits) {
  *bits = 4000;
  return 0;
}
int nvmlDeviceGetCudaComputeCapability(Handle, int *major, int *minor) {
  *major = 9, *minor = 0;
  return 0;
}
/// 0: reads, 1: writes, 2: by NVLink, 3: atomics, which only the first card has.
int nvmlDeviceGetP2PStatus(Handle device, Handle, int what, int *status) {
  *status = what == 3 && *device != 0;
  return 0;
}
int nvmlDeviceGetNumGpuCores(Handle, unsigned *cores) {
  *cores = 10000;
  return 0;
}
}
