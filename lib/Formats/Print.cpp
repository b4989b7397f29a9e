// Printing as NumPy does it (numpy/core/arrayprint.py describes the rules): all shown numbers share
// one format, chosen from their range; each has the fewest digits that tell it from its neighbours.
#include "gantry/Formats/Values.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace gantry::arrays {

namespace {

constexpr uint64_t summariseAbove = 1000;
constexpr int64_t edgeItems = 3;
constexpr int precision = 8;
constexpr size_t lineWidth = 75;

/// Shortest digits of a value that still round to it in its own type.
std::string shortest(ElementType element, double value, std::chars_format format) {
  char buffer[400];
  char *end = buffer + sizeof buffer;
  if (element == ElementType::f64)
    return {buffer, std::to_chars(buffer, end, value, format).ptr};
  const auto single = static_cast<float>(value);
  if (element == ElementType::f32)
    return {buffer, std::to_chars(buffer, end, single, format).ptr};
  // Half types: the first number of digits that comes back to the same bits.
  const auto same = [&](float other) {
    return element == ElementType::f16 ? floatToHalf(other) == floatToHalf(single)
                                       : floatToBfloat(other) == floatToBfloat(single);
  };
  for (int digits = 0; digits < 9; ++digits) {
    float back = 0;
    auto scientific = std::to_chars(buffer, end, single, std::chars_format::scientific, digits);
    std::from_chars(buffer, scientific.ptr, back);
    if (same(back))
      return {buffer, std::to_chars(buffer, end, back, format).ptr};
  }
  return {buffer, std::to_chars(buffer, end, single, format).ptr};
}

/// Digits after the point of "12.5" or "1.5e-7": 1.
size_t fractionDigits(std::string_view text) {
  const size_t point = text.find('.');
  if (point == std::string_view::npos)
    return 0;
  return std::min(text.find('e'), text.size()) - point - 1;
}

/// Rounds to `precision` digits after the point when the shortest form has more, and drops zeros.
std::string limited(ElementType element, double value, std::chars_format format) {
  std::string text = shortest(element, value, format);
  if (fractionDigits(text) > precision) {
    char buffer[400];
    text = {buffer, std::to_chars(buffer, buffer + sizeof buffer, value, format, precision).ptr};
    const size_t exponent = std::min(text.find('e'), text.size());
    size_t last = exponent;
    while (text[last - 1] == '0')
      --last;
    text.erase(last, exponent - last);
  }
  if (text.find('.') == std::string::npos) // NumPy marks floats by a point: "1."
    text.insert(std::min(text.find('e'), text.size()), ".");
  return text;
}

/// The strings of the shown elements, all of one width.
class Column {
public:
  Column(const ArrayView &array, const std::vector<uint64_t> &shown) : array(array) {
    if (isFloat(array.element))
      chooseFormat(shown);
    for (uint64_t index : shown)
      width = std::max(width, unpadded(index).size());
  }

  std::string text(uint64_t index) const {
    std::string value = unpadded(index);
    return std::string(width - value.size(), ' ') + value;
  }

private:
  void chooseFormat(const std::vector<uint64_t> &shown) {
    double largest = 0, smallest = INFINITY;
    for (uint64_t index : shown) {
      const double magnitude = std::fabs(valueAt(array, index));
      if (!std::isfinite(magnitude) || magnitude == 0)
        continue;
      largest = std::max(largest, magnitude);
      smallest = std::min(smallest, magnitude);
    }
    if (largest >= 1e8 || (largest > 0 && (smallest < 1e-4 || largest / smallest > 1000)))
      format = std::chars_format::scientific;
    for (uint64_t index : shown)
      if (double value = valueAt(array, index); std::isfinite(value))
        digits = std::max(digits, fractionDigits(limited(array.element, value, format)));
  }

  /// Fixed numbers are padded with spaces to the common number of digits, scientific ones with more
  /// of their own.
  std::string unpadded(uint64_t index) const {
    if (array.element == ElementType::i1)
      return integerAt(array, index) ? "True" : "False";
    if (array.element == ElementType::u64)
      return std::to_string(static_cast<uint64_t>(integerAt(array, index)));
    if (!isFloat(array.element))
      return std::to_string(integerAt(array, index));
    const double value = valueAt(array, index);
    if (std::isnan(value))
      return "nan";
    if (std::isinf(value))
      return value < 0 ? "-inf" : "inf";
    std::string text = limited(array.element, value, format);
    const size_t missing = digits - fractionDigits(text);
    if (missing && format == std::chars_format::scientific) {
      char buffer[64];
      return {buffer,
              std::to_chars(buffer, buffer + sizeof buffer, value, format, static_cast<int>(digits))
                  .ptr};
    }
    return text.append(missing, ' ');
  }

  const ArrayView &array;
  std::chars_format format = std::chars_format::fixed;
  size_t digits = 0;
  size_t width = 0;
};

/// Walks the shown elements of an array; dimensions over twice the edge are cut when summarising.
class Printer {
public:
  explicit Printer(const ArrayView &array)
      : array(array), summarise(array.count() > summariseAbove) {}

  std::string print() {
    if (array.count() == 0)
      return "[]";
    std::vector<uint64_t> shown;
    collect(0, 0, shown);
    Column column(array, shown);
    if (array.shape.empty())
      return column.text(0);
    dimension(0, 0, column);
    return std::move(out);
  }

private:
  bool cut(size_t d) const { return summarise && array.shape[d] > 2 * edgeItems; }

  /// Calls item(i) for the shown indices of a dimension and gap() where some are left out.
  template <typename Item, typename Gap>
  void forShown(size_t d, Item item, Gap gap) const {
    const int64_t size = array.shape[d];
    for (int64_t i = 0; i < size; ++i) {
      if (cut(d) && i == edgeItems) {
        gap();
        i = size - edgeItems;
      }
      item(static_cast<uint64_t>(i));
    }
  }

  void collect(size_t d, uint64_t base, std::vector<uint64_t> &shown) const {
    if (d == array.shape.size()) {
      shown.push_back(base);
      return;
    }
    const auto size = static_cast<uint64_t>(array.shape[d]);
    forShown(d, [&](uint64_t i) { collect(d + 1, base * size + i, shown); }, [] {});
  }

  void dimension(size_t d, uint64_t base, const Column &column) {
    const size_t rank = array.shape.size();
    const auto size = static_cast<uint64_t>(array.shape[d]);
    out += '[';
    if (d + 1 == rank) {
      row(d, base * size, column);
    } else {
      const std::string separator = std::string(rank - d - 1, '\n') + std::string(d + 1, ' ');
      bool first = true;
      forShown(
          d,
          [&](uint64_t i) {
            out += first ? "" : separator;
            first = false;
            dimension(d + 1, base * size + i, column);
          },
          [&] { out += separator + "..."; });
    }
    out += ']';
  }

  void row(size_t d, uint64_t base, const Column &column) {
    const std::string indent(d + 1, ' ');
    size_t used = indent.size();
    bool first = true;
    const auto put = [&](const std::string &text) {
      // Every bracket around the row takes one off the line.
      if (!first && used + 1 + text.size() > lineWidth - 1 - d) {
        out.erase(out.find_last_not_of(' ') + 1);
        out += "\n" + indent;
        used = indent.size();
        first = true;
      }
      out += (first ? "" : " ") + text;
      used += text.size() + (first ? 0 : 1);
      first = false;
    };
    forShown(d, [&](uint64_t i) { put(column.text(base + i)); }, [&] { put("..."); });
  }

  const ArrayView &array;
  const bool summarise;
  std::string out;
};

} // namespace

std::string formatValues(const ArrayView &array) { return Printer(array).print(); }

} // namespace gantry::arrays
