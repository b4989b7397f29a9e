#include "gantry/Placement/OpPattern.h"

#include "gantry/Support/Text.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace gantry::placement {

namespace {

constexpr std::array<std::string_view, 3> subjects = {"op", "name", "kind"};
constexpr std::array<std::string_view, 11> kinds = {
    "compute",   "contraction", "elementwise", "reduction", "movement", "indexing",
    "generator", "opaque",      "view",        "constant",  "variable"};

template <typename List>
std::string join(const List &list) {
  std::string text;
  for (std::string_view item : list)
    text += (text.empty() ? "" : ", ") + std::string(item);
  return text;
}

bool isDigit(char c) { return c >= '0' && c <= '9'; }

std::optional<uint64_t> numberOf(std::string_view digits) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool all = error == std::errc() && end == digits.data() + digits.size();
  // A number is written in one way: 07 is none.
  return all && (digits.size() == 1 || digits[0] != '0') ? std::optional(number) : std::nullopt;
}

/// Whether a number is in "0..11" or "1,3,5..7"; nothing when that is no such list.
std::optional<bool> isListed(std::string_view list, std::optional<uint64_t> number) {
  bool found = false;
  while (true) {
    const std::string_view item = list.substr(0, list.find(','));
    const size_t dots = item.find("..");
    const auto first = numberOf(item.substr(0, dots));
    const auto last = dots == item.npos ? first : numberOf(item.substr(dots + 2));
    if (!first || !last)
      return std::nullopt;
    found |= number && *first <= *number && *number <= *last;
    if (item.size() == list.size())
      return found;
    list.remove_prefix(item.size() + 1);
  }
}

/// Takes one element of the pattern that is no star, with what it stands for.
bool takeOne(std::string_view pattern, size_t &p, std::string_view text, size_t &t) {
  if (pattern[p] == '{')
    if (const size_t close = pattern.find('}', p); close != pattern.npos) {
      // A number is all of its digits.
      size_t end = t;
      while (end < text.size() && isDigit(text[end]))
        ++end;
      const bool isWhole = end > t && (t == 0 || !isDigit(text[t - 1]));
      const auto listed = isListed(pattern.substr(p + 1, close - p - 1),
                                   isWhole ? numberOf(text.substr(t, end - t)) : std::nullopt);
      if (listed) {
        p = close + 1;
        t = end;
        return *listed;
      }
    }
  if (t == text.size() || (pattern[p] != '?' && pattern[p] != text[t]))
    return false;
  ++p;
  ++t;
  return true;
}

} // namespace

bool globMatches(std::string_view pattern, std::string_view text) {
  if (pattern == text)
    return true;
  size_t p = 0, t = 0, star = pattern.npos, resume = 0;
  while (p < pattern.size() || t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
      continue;
    }
    if (p < pattern.size() && takeOne(pattern, p, text, t))
      continue;
    if (star == pattern.npos || resume == text.size())
      return false;
    // The last star takes one character more.
    p = star + 1;
    t = ++resume;
  }
  return true;
}

std::string OpPattern::given() const {
  return of == Of::nameOrOp ? text : std::string(subjects[static_cast<size_t>(of)]) + ":" + text;
}

bool OpPattern::hasWildcard() const { return text.find_first_of("*?{") != text.npos; }

bool OpPattern::matches(const Subject &subject) const {
  const auto any = [&](std::span<const std::string_view> texts) {
    return std::ranges::any_of(texts, [&](std::string_view t) { return globMatches(text, t); });
  };
  switch (of) {
  case Of::op:
    return any(subject.ops);
  case Of::name:
    return any(subject.names);
  case Of::kind:
    return any(subject.kinds);
  case Of::nameOrOp:
    return any(subject.names) || any(subject.ops);
  }
  return false;
}

Expected<OpPattern> parseOpPattern(std::string_view text) {
  OpPattern pattern;
  if (const size_t colon = text.find(':'); colon != text.npos) {
    const std::string_view subject = trim(text.substr(0, colon));
    const auto known = std::ranges::find(subjects, subject);
    if (known == subjects.end())
      return Status::invalidArgument("has the unknown subject '" + std::string(subject) +
                                     "'; known are " + join(subjects));
    pattern.of = static_cast<OpPattern::Of>(known - subjects.begin());
    text.remove_prefix(colon + 1);
  }
  pattern.text = trim(text);
  if (pattern.text.empty())
    return Status::invalidArgument("has no pattern; '*' matches everything");
  if (pattern.of == OpPattern::Of::kind &&
      std::ranges::none_of(kinds, [&](auto kind) { return globMatches(pattern.text, kind); }))
    return Status::invalidArgument("has the unknown kind '" + pattern.text + "'; known are " +
                                   join(kinds));
  return pattern;
}

std::string_view opPatternHelp() {
  return "An op is named in one way by --place, --why-not and --op:\n"
         "  MatMul                 its type, the model's own or the log's: Conv, Conv2D\n"
         "  /encoder/layer.3/Add   its name, or that of the node of the model that it is part of\n"
         "  op:T  name:N  kind:K   the type alone, the name alone, or the kind: compute,\n"
         "                         contraction, elementwise, reduction, movement, indexing, "
         "opaque\n"
         "All of it has to match, and case counts. '*' stands for any characters, '?' for one,\n"
         "'{0..11}' or '{1,3,5..7}' for a number: '/encoder/layer.{0..11}/*'. A name with a colon\n"
         "is written name:N.\n";
}

} // namespace gantry::placement
