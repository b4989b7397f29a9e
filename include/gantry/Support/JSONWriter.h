// Writes JSON text, compact, keys in the order given.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gantry {

/// Commas are put where they belong; the caller keeps begins and ends balanced. Every member
/// function gives the writer for chaining.
class JSONWriter {
public:
  JSONWriter &beginObject();
  JSONWriter &endObject();
  JSONWriter &beginArray();
  JSONWriter &endArray();
  JSONWriter &key(std::string_view name);
  JSONWriter &value(std::string_view text);
  JSONWriter &value(const char *text) { return value(std::string_view(text)); }
  JSONWriter &value(double number);
  JSONWriter &value(uint64_t number);
  JSONWriter &value(int64_t number);
  JSONWriter &value(uint32_t number) { return value(uint64_t(number)); }
  JSONWriter &boolean(bool truth);
  template <typename T>
  JSONWriter &member(std::string_view name, const T &content) {
    return key(name).value(content);
  }
  const std::string &text() const { return out; }

private:
  void separate();
  std::string out;
  bool first = true; ///< nothing yet in the innermost object or array
  bool afterKey = false;
};

} // namespace gantry
