#include "Text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace gantry::tool {

size_t displayWidth(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
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

void Json::separate() {
  if (!first && !afterKey)
    out += ',';
  first = afterKey = false;
}

Json &Json::beginObject() {
  separate();
  out += '{';
  first = true;
  return *this;
}
Json &Json::endObject() {
  out += '}';
  first = false;
  return *this;
}
Json &Json::beginArray() {
  separate();
  out += '[';
  first = true;
  return *this;
}
Json &Json::endArray() {
  out += ']';
  first = false;
  return *this;
}

Json &Json::key(std::string_view name) {
  value(name);
  out += ':';
  afterKey = true;
  return *this;
}

Json &Json::value(std::string_view text) {
  separate();
  out += '"';
  for (char c : text) {
    constexpr char hex[] = "0123456789abcdef";
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      ((out += "\\u00") += hex[c >> 4]) += hex[c & 15];
    else
      out += c;
  }
  out += '"';
  return *this;
}

Json &Json::value(double number) {
  separate();
  char buffer[32];
  if (std::isfinite(number))
    out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
  else
    out += "null"; // JSON has no infinity
  return *this;
}

Json &Json::value(uint64_t number) {
  separate();
  out += std::to_string(number);
  return *this;
}

Json &Json::value(int64_t number) {
  separate();
  out += std::to_string(number);
  return *this;
}

Json &Json::boolean(bool truth) {
  separate();
  out += truth ? "true" : "false";
  return *this;
}

} // namespace gantry::tool
