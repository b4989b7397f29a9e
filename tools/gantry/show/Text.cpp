#include "Text.h"

#include "gantry/Support/Names.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace gantry::tool {

size_t displayWidth(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string counted(uint64_t count, std::string noun) {
  if (count != 1)
    noun += noun.ends_with("ch") ? "es" : "s";
  return std::to_string(count) + " " + noun;
}

std::string formatSeconds(double seconds) {
  struct Unit {
    double size;
    const char *name;
  };
  constexpr Unit units[] = {{1, " s"}, {1e-3, " ms"}, {1e-6, " µs"}, {1e-9, " ns"}};
  if (seconds <= 0)
    return "0 s";
  for (const Unit &unit : units) {
    // What rounds up to the next unit is written in that one.
    if (seconds < 0.9995 * unit.size && &unit != std::end(units) - 1)
      continue;
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", seconds / unit.size);
    return text + std::string(unit.name);
  }
  return "";
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

Table::Table(std::vector<std::string> columns) : titles(std::move(columns)) {
  for (std::string &title : titles) {
    flushRight.push_back(title.starts_with('>'));
    if (flushRight.back())
      title.erase(0, 1);
  }
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(titles.size());
  std::transform(cells.begin(), cells.end(), cells.begin(), printable); // a row is a line
  rows.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<size_t> widths(titles.size());
  const auto widen = [&](const std::vector<std::string> &cells) {
    for (size_t c = 0; c < cells.size(); ++c)
      widths[c] = std::max(widths[c], displayWidth(cells[c]));
  };
  widen(titles);
  std::for_each(rows.begin(), rows.end(), widen);
  std::string out;
  const auto line = [&](const std::vector<std::string> &cells) {
    std::string text = "  ";
    for (size_t c = 0; c < cells.size(); ++c) {
      const std::string padding(widths[c] - displayWidth(cells[c]), ' ');
      text += (c ? "  " : "") + (flushRight[c] ? padding + cells[c] : cells[c] + padding);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  line(titles);
  std::for_each(rows.begin(), rows.end(), line);
  return out;
}

} // namespace gantry::tool
