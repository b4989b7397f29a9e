// Text for people: aligned tables, counts.
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

/// "1 op", "2 ops", "3 launches".
std::string counted(uint64_t count, std::string noun);

/// Seconds with three digits in the unit that fits: "3.05 µs", "1.2 ms", "15 s".
std::string formatSeconds(double seconds);

/// A bar that takes `share` (0 to 1) of `width` columns, in eighths of a column; anything above 0
/// is seen.
std::string bar(double share, size_t width);

/// Columns that a UTF-8 text takes on a terminal, one a character.
size_t displayWidth(std::string_view text);

} // namespace gantry::tool
