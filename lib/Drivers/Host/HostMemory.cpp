// MemAvailable rather than MemFree: page cache is memory that the system gives back when asked.
#include "gantry/Drivers/HostDriver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace gantry::runtime {

namespace {

/// The beginning of a small file of /proc or /sys as text; empty when it cannot be read.
template <size_t N>
const char *readSmallFile(const char *path, char (&text)[N]) {
  text[0] = 0;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return text;
  ssize_t length = read(file, text, N - 1);
  close(file);
  text[std::max<ssize_t>(length, 0)] = 0;
  return text;
}

/// The number after `key` in kilobytes, in bytes; 0 when there is none.
uint64_t meminfoField(const char *text, const char *key) {
  const char *at = std::strstr(text, key);
  return at ? std::strtoull(at + std::strlen(key), nullptr, 10) * 1024 : 0;
}

/// What is left of the container's limit. Inside a container the cgroup's own files are at the root
/// of the hierarchy; elsewhere they are absent there, or say "max".
void applyContainerLimit(MemoryInfo &info) {
  char text[64];
  const char *limitText = readSmallFile("/sys/fs/cgroup/memory.max", text);
  if (limitText[0] < '0' || limitText[0] > '9')
    return;
  uint64_t limit = std::strtoull(limitText, nullptr, 10);
  uint64_t used = std::strtoull(readSmallFile("/sys/fs/cgroup/memory.current", text), nullptr, 10);
  info.total = std::min(info.total, limit);
  info.free = std::min(info.free, limit > used ? limit - used : 0);
}

} // namespace

/// From /proc/meminfo (MemTotal, MemAvailable), lowered to what the cgroup of the process allows.
Expected<MemoryInfo> readHostMemory() {
  char text[2048];
  readSmallFile("/proc/meminfo", text);
  MemoryInfo info{meminfoField(text, "MemTotal:"), meminfoField(text, "MemAvailable:")};
  if (info.total == 0)
    return Status::unavailable("/proc/meminfo does not say how much memory the machine has");
  applyContainerLimit(info);
  return info;
}

} // namespace gantry::runtime
