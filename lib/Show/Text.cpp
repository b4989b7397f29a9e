#include "gantry/Show/Text.h"

#include "gantry/Placement/FoldNames.h"
#include "gantry/Support/Format.h"
#include "gantry/Support/Names.h"

#include <algorithm>
#include <cstdarg>

namespace gantry::show {

size_t displayWidth(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string bar(double share, size_t width) {
  static const char *eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (!(share > 0))
    return "";
  const double columns = std::min(share, 1.0) * static_cast<double>(width);
  const auto filled = std::max<size_t>(1, static_cast<size_t>(columns * 8 + 0.5));
  std::string text;
  for (size_t i = 0; i < filled / 8; ++i)
    text += "█";
  return text + eighths[filled % 8];
}

namespace {

/// Where each character of a UTF-8 text begins, and the end.
std::vector<size_t> charactersOf(std::string_view text) {
  std::vector<size_t> at;
  for (size_t i = 0; i < text.size(); ++i)
    if ((text[i] & 0xc0) != 0x80)
      at.push_back(i);
  at.push_back(text.size());
  return at;
}

} // namespace

std::string cutTo(std::string_view text, size_t width) {
  const std::vector<size_t> at = charactersOf(text);
  const size_t length = at.size() - 1;
  if (length <= width || width == 0)
    return std::string(text);
  // Ends of names tell more than their beginnings.
  const size_t head = (width - 1) / 3, tail = width - 1 - head;
  return std::string(text.substr(0, at[head])) + "…" + std::string(text.substr(at[length - tail]));
}

std::vector<std::string> wrapped(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  while (true) {
    const std::vector<size_t> at = charactersOf(text);
    const size_t length = at.size() - 1;
    if (length <= width || width == 0) {
      lines.emplace_back(text);
      return lines;
    }
    size_t end = text.substr(0, at[width] + 1).rfind(' ');
    if (end == text.npos || end == 0) {
      end = text.substr(0, at[width]).find_last_of("/,.");
      end = end == text.npos || end == 0 ? at[width] : end + 1;
    }
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(text.find_first_not_of(' ', end), text.size()));
    if (text.empty())
      return lines;
  }
}

void Page::print(const char *pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  content += formatList(pattern, arguments);
  va_end(arguments);
}

void Page::paragraph(std::string_view text) {
  constexpr size_t indent = 2;
  if (text.empty())
    return;
  bool isFirst = true;
  for (const std::string &line : wrapped(printable(text), width - indent)) {
    content += (isFirst ? "" : std::string(indent, ' ')) + line + "\n";
    isFirst = false;
  }
}

void Page::more(const char *what, size_t shown, size_t all) {
  if (shown < all)
    print("  … and %zu more %s (--all)\n", all - shown, what);
}

std::string foldedList(std::span<const std::string_view> names) {
  std::string text;
  for (const placement::FoldedName &name : placement::foldNames(names))
    text += (text.empty() ? "" : ", ") + name.text();
  return text;
}

namespace {

constexpr size_t enough = 36; ///< columns of a list
constexpr size_t few = 3;     ///< names that need no summary

/// Items as long as they fit, the first in any case; each stands for `count` names.
struct ShortList {
  std::string text;
  uint64_t told = 0;

  bool add(const std::string &item, uint64_t count) {
    if (told && displayWidth(text) + displayWidth(item) + 2 > enough)
      return false;
    text += (told ? ", " : "") + item;
    told += count;
    return true;
  }
  std::string of(uint64_t all) const {
    return told < all ? text + " and " + std::to_string(all - told) + " more" : text;
  }
};

} // namespace

std::string someOf(std::span<const std::string_view> names) {
  std::vector<placement::FoldedName> folded = placement::foldNames(names);
  std::stable_sort(folded.begin(), folded.end(),
                   [](const auto &a, const auto &b) { return a.count() > b.count(); });
  ShortList list;
  for (const placement::FoldedName &name : folded)
    if (!list.add(name.text(), name.count()))
      break;
  return list.of(names.size());
}

std::string someOf(const std::vector<std::string> &names) {
  return someOf(std::vector<std::string_view>(names.begin(), names.end()));
}

std::string partsOf(std::span<const std::string_view> names,
                    std::span<const std::string_view> all) {
  if (names.size() == all.size())
    return "all";
  if (names.size() <= few)
    return someOf(names);
  ShortList list;
  for (const placement::Part &part : placement::outlineNames(names, all)) {
    const std::string some =
        std::to_string(part.count) + " of " + std::to_string(part.of) + " " + part.pattern;
    if (!list.add(part.count < part.of ? some : part.pattern, part.count))
      break;
  }
  return list.of(names.size());
}

Table::Table(std::vector<std::string> columns) : titles(std::move(columns)) {
  for (std::string &title : titles) {
    flushRight.push_back(title.starts_with('>'));
    isLong.push_back(title.starts_with('~'));
    if (flushRight.back() || isLong.back())
      title.erase(0, 1);
  }
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(titles.size());
  std::transform(cells.begin(), cells.end(), cells.begin(), printable); // a row is a line
  rows.push_back(std::move(cells));
}

/// As wide as what is in them, unless that is too wide: then the widest column of long texts gives
/// way first.
std::vector<size_t> Table::columnWidths(size_t width) const {
  constexpr size_t indent = 2, gap = 2, least = 6;
  std::vector<size_t> widths(titles.size());
  size_t total = indent + gap * (titles.size() - 1);
  for (size_t c = 0; c < titles.size(); ++c) {
    widths[c] = displayWidth(titles[c]);
    for (const auto &cells : rows)
      widths[c] = std::max(widths[c], displayWidth(cells[c]));
    total += widths[c];
  }
  while (total > width) {
    size_t widest = titles.size();
    for (size_t c = 0; c < titles.size(); ++c)
      if (isLong[c] && widths[c] > least && (widest == titles.size() || widths[c] > widths[widest]))
        widest = c;
    if (widest == titles.size())
      break;
    --widths[widest];
    --total;
  }
  return widths;
}

std::string Table::text(Long what, size_t width) const {
  const std::vector<size_t> widths = columnWidths(width);
  std::string out;
  const auto line = [&](const std::vector<std::string> &cells) {
    std::string text = "  ";
    for (size_t c = 0; c < cells.size(); ++c) {
      const size_t used = displayWidth(cells[c]);
      const std::string padding(widths[c] > used ? widths[c] - used : 0, ' ');
      text += (c ? "  " : "") + (flushRight[c] ? padding + cells[c] : cells[c] + padding);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  line(titles);
  for (std::vector<std::string> cells : rows) {
    std::vector<std::vector<std::string>> further;
    for (size_t c = 0; c < cells.size(); ++c) {
      if (!isLong[c])
        continue;
      std::vector<std::string> parts = what == Long::cut ? std::vector{cutTo(cells[c], widths[c])}
                                                         : wrapped(cells[c], widths[c]);
      cells[c] = parts.front();
      for (size_t i = 1; i < parts.size(); ++i) {
        if (further.size() < i)
          further.emplace_back(titles.size());
        further[i - 1][c] = std::move(parts[i]);
      }
    }
    line(cells);
    for (const auto &more : further)
      line(more);
  }
  return out;
}

} // namespace gantry::show
