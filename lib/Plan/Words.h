// Reads the symbols of libraries' variants, which are texts of words and numbers.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

namespace gantry::plan {

/// Takes words from the front of a text; after the first that is not as expected it stays failed.
class Words {
public:
  explicit Words(std::string_view text) : left(text) {}

  void expect(std::string_view word) { failed |= take() != word; }

  std::string_view take() {
    const size_t end = std::min(left.find(' '), left.size());
    const std::string_view word = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    return word;
  }

  uint64_t number(std::string_view word) {
    uint64_t value = 0;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    failed |= error != std::errc() || end != word.data() + word.size();
    return value;
  }
  uint64_t number() { return number(take()); }

  bool failed = false;

private:
  std::string_view left;
};

} // namespace gantry::plan
