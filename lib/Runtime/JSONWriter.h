// Writes JSON text, compact, keys in the order given.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gantry::runtime {

/// Commas are put where they belong; the caller keeps begins and ends balanced.
class JSONWriter {
public:
  void beginObject() { open('{'); }
  void endObject() { close('}'); }
  void beginArray() { open('['); }
  void endArray() { close(']'); }

  void key(std::string_view name) {
    separate();
    quote(name);
    out += ':';
    afterKey = true;
  }
  void string(std::string_view text) {
    separate();
    quote(text);
  }
  void number(int64_t value) {
    separate();
    out += std::to_string(value);
  }
  void number(uint64_t value) {
    separate();
    out += std::to_string(value);
  }
  void boolean(bool value) {
    separate();
    out += value ? "true" : "false";
  }

  std::string take() { return std::move(out); }

private:
  void open(char bracket) {
    separate();
    out += bracket;
    first = true;
  }
  void close(char bracket) {
    out += bracket;
    first = false;
  }
  void separate() {
    if (!first && !afterKey)
      out += ',';
    first = afterKey = false;
  }
  void quote(std::string_view text) {
    out += '"';
    for (char c : text) {
      auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        out += '\\';
        out += c;
      } else if (byte < 0x20) {
        constexpr char digits[] = "0123456789abcdef";
        out += "\\u00";
        out += digits[byte >> 4];
        out += digits[byte & 15];
      } else {
        out += c;
      }
    }
    out += '"';
  }

  std::string out;
  bool first = true;
  bool afterKey = false;
};

} // namespace gantry::runtime
