#include "gantry/Support/JSONWriter.h"

#include "gantry/Support/UTF8.h"

#include <charconv>
#include <cmath>

namespace gantry {

void JSONWriter::separate() {
  if (!first && !afterKey)
    out += ',';
  first = afterKey = false;
}

JSONWriter &JSONWriter::beginObject() {
  separate();
  out += '{';
  first = true;
  return *this;
}
JSONWriter &JSONWriter::endObject() {
  out += '}';
  first = false;
  return *this;
}
JSONWriter &JSONWriter::beginArray() {
  separate();
  out += '[';
  first = true;
  return *this;
}
JSONWriter &JSONWriter::endArray() {
  out += ']';
  first = false;
  return *this;
}

JSONWriter &JSONWriter::key(std::string_view name) {
  value(name);
  out += ':';
  afterKey = true;
  return *this;
}

JSONWriter &JSONWriter::value(std::string_view text) {
  separate();
  out += '"';
  while (!text.empty()) {
    const CodePoint point = firstCodePoint(text);
    const std::string_view bytes = text.substr(0, point.size);
    constexpr char hex[] = "0123456789abcdef";
    if (!point.valid)
      out += "\\ufffd"; // JSON is UTF-8, and this is not
    else if (point.code == '"' || point.code == '\\')
      (out += '\\') += bytes;
    else if (point.code < 0x20 || (point.code >= 0x7f && point.code < 0xa0)) // steers a terminal
      ((out += "\\u00") += hex[point.code >> 4]) += hex[point.code & 15];
    else
      out += bytes;
    text.remove_prefix(point.size);
  }
  out += '"';
  return *this;
}

JSONWriter &JSONWriter::value(double number) {
  separate();
  char buffer[32];
  if (std::isfinite(number))
    out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
  else
    out += "null"; // JSON has no infinity
  return *this;
}

JSONWriter &JSONWriter::value(uint64_t number) {
  separate();
  out += std::to_string(number);
  return *this;
}

JSONWriter &JSONWriter::value(int64_t number) {
  separate();
  out += std::to_string(number);
  return *this;
}

JSONWriter &JSONWriter::boolean(bool truth) {
  separate();
  out += truth ? "true" : "false";
  return *this;
}

} // namespace gantry
