#include "gantry/Support/JSONWriter.h"

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
