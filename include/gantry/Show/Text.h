// Text for people: paragraphs, aligned tables, lists of names, bars.
#pragma once

#include "gantry/Show/Reports.h"
#include "gantry/Support/Seconds.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::show {

/// Columns where nobody says how many there are.
inline constexpr size_t defaultWidth = 100;

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
  std::string text(Long what, size_t width) const;

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

/// A text that is put together line by line; none is wider than `width`, as far as words allow.
class Page {
public:
  explicit Page(size_t width) : width(width) {}
  const size_t width;

  [[gnu::format(printf, 2, 3)]] void print(const char *pattern, ...);
  void add(std::string_view text) { content += text; }
  /// A sentence, made printable; its further lines are indented. Nothing of an empty one.
  void paragraph(std::string_view text);
  void table(const Table &table, Long what = Long::wrap) { add(table.text(what, width)); }
  /// "… and 3 more ways (--all)" where not all are shown.
  void more(const char *what, size_t shown, size_t all);
  std::string take() { return std::move(content); }

private:
  std::string content;
};

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

} // namespace gantry::show
