// Writing and reading of placement locks.
#include "gantry/Placement/Lock.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace gantry::placement {

static constexpr std::string_view header = "# gantry placement lock 1";

/// What stands for a character in a lock, after a backslash.
static constexpr std::pair<char, char> escapes[] = {
    {'\n', 'n'}, {'\r', 'r'}, {'\\', '\\'}, {' ', 's'}};

static std::string escape(std::string_view text, bool spaces) {
  std::string out;
  for (char c : text) {
    auto found = std::ranges::find(escapes, c, &std::pair<char, char>::first);
    if (found == std::end(escapes) || (c == ' ' && !spaces))
      out += c;
    else
      (out += '\\') += found->second;
  }
  return out;
}

static std::optional<std::string> unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size())
      return std::nullopt;
    auto found = std::ranges::find(escapes, text[i], &std::pair<char, char>::second);
    if (found == std::end(escapes))
      return std::nullopt;
    out += found->first;
  }
  return out;
}

std::string formatLock(std::vector<LockEntry> entries) {
  std::vector<std::string> lines;
  for (const LockEntry &entry : entries)
    lines.push_back(escape(entry.function, true) + " " + escape(entry.op, false) + " " +
                    entry.device.str() + "\n");
  std::ranges::sort(lines);
  std::string text = std::string(header) + "\n";
  for (const std::string &line : lines)
    text += line;
  return text;
}

static Expected<LockEntry> parseEntry(std::string_view line) {
  size_t first = line.find(' '), last = line.rfind(' ');
  if (first == line.npos || first == last)
    return Status::invalidArgument("expected FUNCTION NAME DEVICE");
  auto function = unescape(line.substr(0, first));
  auto op = unescape(line.substr(first + 1, last - first - 1));
  if (!function || !op)
    return Status::invalidArgument("a backslash stands before none of n, r, s and \\");
  Expected<DeviceName> device = DeviceName::parse(line.substr(last + 1));
  if (!device)
    return device.status();
  if (!device->isFull())
    return Status::invalidArgument("'" + std::string(line.substr(last + 1)) +
                                   "' is not a full device name, "
                                   "/job:J/replica:R/task:T/device:TYPE:ID");
  return LockEntry{std::move(*function), std::move(*op), device.take(), 0};
}

Expected<std::vector<LockEntry>> parseLock(std::string_view text) {
  std::vector<LockEntry> entries;
  std::map<std::pair<std::string, std::string>, uint32_t> lineOf;
  bool begun = false;
  for (uint32_t line = 1; !text.empty(); ++line) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view content = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    auto wrong = [&](const std::string &what) {
      return Status::invalidArgument("line " + std::to_string(line) + ": " + what);
    };
    if (content.ends_with('\r'))
      content.remove_suffix(1);
    if (!begun && content != header)
      return Status::corrupt("not a placement lock of this version; the first line must be '" +
                             std::string(header) + "'");
    begun = true;
    if (content.empty() || content.starts_with('#'))
      continue;
    Expected<LockEntry> entry = parseEntry(content);
    if (!entry)
      return wrong(entry.status().message());
    entry->line = line;
    auto [other, fresh] = lineOf.try_emplace({entry->function, entry->op}, line);
    if (!fresh)
      return wrong("'" + entry->op + "' is locked in line " + std::to_string(other->second) +
                   " already");
    entries.push_back(entry.take());
  }
  if (!begun)
    return Status::corrupt("the placement lock is empty; the first line must be '" +
                           std::string(header) + "'");
  return entries;
}

} // namespace gantry::placement
