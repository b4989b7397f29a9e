// /proc/cpuinfo rather than cpuid: it says what the kernel lets programs use, on every
// architecture.
#include "gantry/Runtime/CPUFeatures.h"

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>

namespace gantry::runtime {

std::string_view machineTarget() {
#if defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#else
#error "add this architecture's name"
#endif
}

std::vector<std::string> parseCPUFeatures(std::string_view cpuinfo) {
  std::vector<std::string> features;
  // "flags\t\t: fpu vme ..." on x86, "Features\t: fp asimd ..." on Arm; one line per processor.
  for (std::string_view key : {"flags", "Features"}) {
    size_t at = cpuinfo.starts_with(key) ? 0 : cpuinfo.find("\n" + std::string(key));
    if (at == std::string_view::npos)
      continue;
    std::string_view line = cpuinfo.substr(at + (at == 0 ? 0 : 1));
    line = line.substr(0, line.find('\n'));
    line.remove_prefix(std::min(line.size(), line.find(':')));
    while (!line.empty()) {
      line.remove_prefix(1);
      size_t end = std::min(line.size(), line.find(' '));
      if (end != 0)
        features.emplace_back(line.substr(0, end));
      line.remove_prefix(end);
    }
    break;
  }
  std::sort(features.begin(), features.end());
  return features;
}

std::vector<std::string> machineFeatures() {
  // The first processor's stanza is enough; the whole file is slow to make on large machines.
  std::string text(16384, '\0');
  size_t length = 0;
  int file = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return {};
  for (ssize_t n;
       length < text.size() && (n = read(file, text.data() + length, text.size() - length)) > 0;)
    length += static_cast<size_t>(n);
  close(file);
  return parseCPUFeatures(std::string_view(text).substr(0, length));
}

Status checkCPUFeatures(const std::vector<std::string> &required,
                        const std::vector<std::string> &available) {
  std::string missing;
  for (const std::string &feature : required)
    if (!std::binary_search(available.begin(), available.end(), feature))
      missing += (missing.empty() ? "" : ", ") + feature;
  if (missing.empty())
    return {};
  return Status::unsupported("this machine's CPU lacks " + missing +
                             "; compile the graph here, or for an older CPU with --target-cpu");
}

} // namespace gantry::runtime
