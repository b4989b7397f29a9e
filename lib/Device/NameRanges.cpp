#include "gantry/Device/NameRanges.h"

#include "gantry/Device/Task.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace gantry {

namespace {
struct Range {
  size_t begin = 0, end = 0; ///< in the text, braces included
  uint32_t first = 0, last = 0;
};

Status wrong(std::string_view text, size_t at, const std::string &why) {
  return Status::invalidArgument("'" + std::string(text) + "', column " + std::to_string(at + 1) +
                                 ": " + why);
}

/// Reads a text that is a number and nothing else; false where it is not.
bool readNumber(std::string_view text, uint32_t &number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

Expected<std::vector<Range>> findRanges(std::string_view text) {
  std::vector<Range> ranges;
  for (size_t begin = text.find('{'); begin != text.npos;
       begin = text.find('{', ranges.back().end)) {
    const size_t end = text.find('}', begin), dots = text.find("..", begin);
    Range range{begin, end + 1, 0, 0};
    if (end == text.npos || dots == text.npos || dots > end ||
        !readNumber(text.substr(begin + 1, dots - begin - 1), range.first) ||
        !readNumber(text.substr(dots + 2, end - dots - 2), range.last))
      return wrong(text, begin, "expected a range like {0..63}");
    if (range.last < range.first)
      return wrong(text, begin, "the range ends before it begins");
    ranges.push_back(range);
  }
  return ranges;
}
} // namespace

Expected<std::vector<std::string>> expandRanges(std::string_view text) {
  Expected<std::vector<Range>> ranges = findRanges(text);
  if (!ranges)
    return ranges.status();
  std::vector<std::string> names = {""};
  size_t at = 0;
  for (const Range &range : *ranges) {
    const uint64_t count = uint64_t(range.last) - range.first + 1;
    if (count > mostNames / names.size())
      return wrong(text, range.begin,
                   "these are more than " + std::to_string(mostNames) + " names");
    std::vector<std::string> longer;
    for (const std::string &name : names)
      for (uint64_t number = range.first; number <= range.last; ++number)
        longer.push_back(name + std::string(text.substr(at, range.begin - at)) +
                         std::to_string(number));
    names = std::move(longer);
    at = range.end;
  }
  for (std::string &name : names)
    name += text.substr(at);
  return names;
}

std::string rangeText(uint32_t first, uint32_t last) {
  const std::string from = std::to_string(first);
  return first == last ? from : "{" + from + ".." + std::to_string(last) + "}";
}

Expected<std::vector<DeviceName>> expandDevices(std::string_view text) {
  Expected<std::vector<std::string>> names = expandRanges(text);
  if (!names)
    return names.status();
  std::vector<DeviceName> devices;
  for (const std::string &name : *names) {
    Expected<DeviceName> device = DeviceName::parse(name);
    if (!device)
      return device.status();
    devices.push_back(device.take());
  }
  return devices;
}

namespace {
/// "GPU:{0..7}", "CPU:0": devices of one task, in order, each range by itself.
std::vector<std::string> foldIds(const std::vector<DeviceName> &devices) {
  std::vector<std::string> names;
  for (size_t first = 0; first < devices.size();) {
    size_t last = first;
    while (last + 1 < devices.size() && devices[last + 1].type == devices[first].type &&
           *devices[last + 1].id == *devices[last].id + 1)
      ++last;
    names.push_back(std::string(deviceTypeName(*devices[first].type)) + ":" +
                    rangeText(*devices[first].id, *devices[last].id));
    first = last + 1;
  }
  return names;
}
} // namespace

std::string foldDevices(std::vector<DeviceName> devices) {
  std::sort(devices.begin(), devices.end());
  std::map<TaskName, std::vector<DeviceName>> byTask;
  for (const DeviceName &device : devices)
    byTask[taskOf(device)].push_back(device);
  std::map<std::vector<std::string>, std::vector<TaskName>> alike;
  for (const auto &[task, own] : byTask)
    alike[foldIds(own)].push_back(task);
  std::string text;
  for (const auto &[names, tasks] : alike)
    for (const std::string &name : names) {
      if (tasks.size() == 1 && tasks.front() == TaskName())
        text += (text.empty() ? "" : ", ") + name;
      else
        for (const std::string &each : foldedTasks(tasks))
          text += (text.empty() ? "" : ", ") + each + "/" + name;
    }
  return text;
}

} // namespace gantry
