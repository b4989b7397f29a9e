// Text for people: aligned tables, counts.
#pragma once

#include "gantry/Show/Reports.h"
#include "gantry/Support/Seconds.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::tool {

using namespace show;

/// Columns of standard output: COLUMNS if that is a number, else those of the terminal, else 100.
/// Nothing that is printed is wider, as far as words allow.
size_t outputWidth();

/// What becomes of texts that are too long for the width.
enum class Long {
  wrap, ///< they go on in the next line: nothing is lost
  cut,  ///< the middle gives way to "…", so that a row is a line
};

/// Rows whose cells line up. Columns of numbers are flush right; columns of long texts give way
/// when the table is wider than the output.
class Table {
public:
  /// Column titles; a leading '>' makes the column flush right, a leading '~' one of long texts.
  explicit Table(std::vector<std::string> titles);
  void add(std::vector<std::string> cells);
  bool empty() const { return rows.empty(); }
  size_t size() const { return rows.size(); }
  /// Lines with newlines, each indented by two spaces.
  std::string text(Long what = Long::wrap, size_t width = outputWidth()) const;

private:
  std::vector<size_t> columnWidths(size_t width) const;

  std::vector<bool> flushRight, isLong;
  std::vector<std::string> titles;
  std::vector<std::vector<std::string>> rows;
};

/// The text in at most `width` columns: the middle of a longer one becomes "…".
std::string cutTo(std::string_view text, size_t width);

/// The text in lines of at most `width` columns, broken behind blanks, else behind marks of names
/// ("/", ",", "."), else anywhere.
std::vector<std::string> wrapped(std::string_view text, size_t width);

/// A sentence, printable, in lines with newlines, as wide as the output; further lines are
/// indented.
std::string paragraph(std::string_view text, size_t indent = 2);

/// The names folded (FoldNames.h) and joined by ", ".
std::string foldedList(std::span<const std::string_view> names);
/// The same in few words: those that stand for most first, and how many are left out.
std::string someOf(std::span<const std::string_view> names);
std::string someOf(const std::vector<std::string> &names);
/// Where in the graph the names are, coarsely: "/encoder/layer.{0..3}/*, 2 of 9 /head/*"; the
/// largest parts, or a few names themselves.
std::string partsOf(std::span<const std::string_view> names, std::span<const std::string_view> all);

/// A bar that takes `share` (0 to 1) of `width` columns, in eighths of a column; anything above 0
/// is seen.
std::string bar(double share, size_t width);

/// Columns that a UTF-8 text takes on a terminal, one a character.
size_t displayWidth(std::string_view text);

} // namespace gantry::tool
