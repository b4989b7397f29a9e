#include "LiveMemory.h"

#include "gantry/Show/Text.h"

#include "gantry/Show/Reports.h"
#include "gantry/Support/Bytes.h"

#include <algorithm>

namespace gantry::show {

namespace {

using namespace plan;

bool isIn(const fb::Value &value, uint32_t arena) {
  return value.buffer() && value.buffer()->space() == fb::Space::arena &&
         value.buffer()->index() == arena;
}

} // namespace

LiveMemory liveMemoryOf(const fb::Function &function, uint32_t arena, size_t numCommands) {
  LiveMemory memory;
  memory.live.resize(numCommands);
  for (const auto *value : listOf(function.values()))
    if (isIn(*value, arena))
      for (size_t i = value->first(); i <= value->last() && i < numCommands; ++i)
        memory.live[i] += value->buffer()->size();
  for (size_t i = 0; i < numCommands; ++i)
    if (memory.live[i] > memory.peak) {
      memory.peak = memory.live[i];
      memory.peakCommand = i;
    }
  return memory;
}

std::vector<const fb::Value *> liveAt(const fb::Function &function, uint32_t arena,
                                      size_t command) {
  std::vector<const fb::Value *> values;
  for (const auto *value : listOf(function.values()))
    if (isIn(*value, arena) && value->first() <= command && command <= value->last())
      values.push_back(value);
  std::sort(values.begin(), values.end(), [](const fb::Value *a, const fb::Value *b) {
    return std::pair(b->buffer()->size(), a->buffer()->offset()) <
           std::pair(a->buffer()->size(), b->buffer()->offset());
  });
  return values;
}

std::vector<const fb::Value *> valuesOf(const fb::Function &function, uint32_t arena) {
  std::vector<const fb::Value *> values;
  for (const auto *value : listOf(function.values()))
    if (isIn(*value, arena))
      values.push_back(value);
  std::sort(values.begin(), values.end(), [](const fb::Value *a, const fb::Value *b) {
    return std::pair(a->first(), a->buffer()->offset()) <
           std::pair(b->first(), b->buffer()->offset());
  });
  return values;
}

std::string drawLiveMemory(const LiveMemory &memory, size_t width, size_t height) {
  static const char *eighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const size_t count = memory.live.size();
  if (count == 0 || memory.peak == 0)
    return "";
  const size_t columns = std::min(width, count);
  std::vector<uint64_t> bars(columns); // in eighths of a line
  for (size_t c = 0; c < columns; ++c) {
    const auto begin = memory.live.begin() + static_cast<std::ptrdiff_t>(c * count / columns);
    const auto end = memory.live.begin() + static_cast<std::ptrdiff_t>((c + 1) * count / columns);
    const double share =
        static_cast<double>(*std::max_element(begin, end)) / static_cast<double>(memory.peak);
    bars[c] = static_cast<uint64_t>(share * static_cast<double>(8 * height) + 0.5);
  }
  const std::string top = formatBytes(memory.peak);
  std::string out;
  for (size_t line = height; line-- > 0;) {
    const bool first = line + 1 == height;
    out += "  " + (first ? top : std::string(displayWidth(top), ' ')) + " │";
    for (uint64_t bar : bars)
      out += eighths[bar <= 8 * line ? 0 : std::min<uint64_t>(bar - 8 * line, 8)];
    out.erase(out.find_last_not_of(' ') + 1);
    out += "\n";
  }
  out += "  " + std::string(displayWidth(top) - 1, ' ') + "0 └";
  for (size_t c = 0; c < columns; ++c)
    out += "─";
  return out + " " + std::to_string(count) + " commands\n";
}

} // namespace gantry::show
