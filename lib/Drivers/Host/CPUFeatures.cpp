// /proc/cpuinfo rather than cpuid: it says what the kernel lets programs use, on every
// architecture.
#include "gantry/Drivers/CPUFeatures.h"

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

Unmet unmetByCPU(std::span<const std::string_view> required,
                 const std::vector<std::string> &available) {
  std::string missing;
  for (std::string_view feature : required)
    if (!std::binary_search(available.begin(), available.end(), feature))
      missing += (missing.empty() ? "" : ", ") + std::string(feature);
  if (missing.empty())
    return {};
  return {"this machine's CPU lacks " + missing,
          "compile the graph here, or for an older CPU with --target-cpu"};
}

Unmet unmetByHost(const VariantNeeds &needs) {
  if (needs.source == VariantNeeds::Source::library)
    return {"the library '" + std::string(needs.library) + "' is not used on CPUs", ""};
  if (!needs.target.empty() && needs.target != machineTarget())
    return {"the plan's code is for " + std::string(needs.target) + ", this machine is " +
                std::string(machineTarget()),
            ""};
  if (needs.archMin != 0 || needs.archMax != 0)
    return {"CPUs have features, not the architecture numbers of GPUs", ""};
  if (needs.features.empty())
    return {};
  static const std::vector<std::string> available = machineFeatures();
  return unmetByCPU(needs.features, available);
}

} // namespace gantry::runtime
