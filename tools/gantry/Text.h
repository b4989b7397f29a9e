// Text for people and for programs: aligned tables, JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::tool {

/// Rows whose cells line up. Columns of numbers are flush right.
class Table {
public:
  /// Column titles; a leading '>' makes the column flush right.
  explicit Table(std::vector<std::string> titles);
  void add(std::vector<std::string> cells);
  bool empty() const { return rows.empty(); }
  /// Lines with newlines, each indented by two spaces.
  std::string text() const;

private:
  std::vector<bool> flushRight;
  std::vector<std::string> titles;
  std::vector<std::vector<std::string>> rows;
};

/// A JSON document built piece by piece; every member function gives the writer for chaining.
class Json {
public:
  Json &beginObject();
  Json &endObject();
  Json &beginArray();
  Json &endArray();
  Json &key(std::string_view name);
  Json &value(std::string_view text);
  Json &value(const char *text) { return value(std::string_view(text)); }
  Json &value(double number);
  Json &value(uint64_t number);
  Json &value(int64_t number);
  Json &value(uint32_t number) { return value(uint64_t(number)); }
  Json &boolean(bool truth);
  template <typename T>
  Json &member(std::string_view name, const T &content) {
    return key(name).value(content);
  }
  const std::string &text() const { return out; }

private:
  void separate();
  std::string out;
  bool first = true; ///< nothing yet in the innermost object or array
  bool afterKey = false;
};

/// Columns that a UTF-8 text takes on a terminal, one a character.
size_t displayWidth(std::string_view text);

} // namespace gantry::tool
