// Reading and matching of placement rules.
#include "gantry/Placement/Rules.h"

#include "gantry/Support/Text.h"

#include <algorithm>
#include <array>

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

bool hasWildcard(std::string_view pattern) { return pattern.find_first_of("*?") != pattern.npos; }

Status wrong(std::string_view text, const std::string &origin, const std::string &what) {
  return Status::invalidArgument(origin + " '" + std::string(text) + "' " + what);
}

} // namespace

std::span<const std::string_view> ruleKinds() { return kinds; }

bool globMatches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = pattern.npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != pattern.npos) {
      // The last star takes one character more.
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

Expected<Rule> parseRule(std::string_view text, std::string origin) {
  size_t colon = text.find(':'), equals = text.rfind('=');
  if (colon == text.npos || equals == text.npos || equals < colon)
    return wrong(text, origin, "is not SUBJECT:PATTERN=DEVICE, for example op:MatMul=GPU:1");
  Rule rule;
  std::string_view subject = trim(text.substr(0, colon));
  auto known = std::ranges::find(subjects, subject);
  if (known == subjects.end())
    return wrong(text, origin,
                 "has the unknown subject '" + std::string(subject) + "'; known are " +
                     join(subjects));
  rule.subject = static_cast<Rule::Subject>(known - subjects.begin());
  rule.pattern = trim(text.substr(colon + 1, equals - colon - 1));
  if (rule.pattern.empty())
    return wrong(text, origin, "has no pattern; '*' matches everything");
  if (rule.subject == Rule::Subject::kind &&
      std::ranges::none_of(kinds, [&](auto kind) { return globMatches(rule.pattern, kind); }))
    return wrong(text, origin,
                 "has the unknown kind '" + rule.pattern + "'; known are " + join(kinds));
  Expected<DeviceName> device = DeviceName::parse(trim(text.substr(equals + 1)));
  if (!device)
    return wrong(text, origin, "has no valid device: " + device.status().message());
  rule.device = device.take();
  rule.text = trim(text);
  rule.origin = std::move(origin);
  return rule;
}

Expected<std::vector<Rule>> parseRules(std::string_view text, const std::string &file) {
  std::vector<Rule> rules;
  for (uint32_t line = 1; !text.empty(); ++line) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view content = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    content = trim(content.substr(0, content.find('#')));
    if (content.empty())
      continue;
    Expected<Rule> rule = parseRule(content, file + ":" + std::to_string(line));
    if (!rule)
      return rule.status();
    rules.push_back(rule.take());
  }
  return rules;
}

RuleSet::RuleSet(std::vector<Rule> given) : rules(std::move(given)), matched(rules.size()) {
  for (uint32_t i = 0; i < rules.size(); ++i)
    if (hasWildcard(rules[i].pattern))
      globs.push_back(i);
    else
      exact[static_cast<size_t>(rules[i].subject)][rules[i].pattern].push_back(i);
}

std::optional<uint32_t> RuleSet::find(const Subject &subject) {
  if (rules.empty())
    return std::nullopt;
  const std::span<const std::string_view> texts[3] = {subject.ops, subject.names, subject.kinds};
  uint32_t best = UINT32_MAX;
  for (size_t s = 0; s < 3; ++s)
    for (std::string_view text :
         exact[s].empty() ? std::span<const std::string_view>() : texts[s]) {
      auto found = exact[s].find(std::string(text));
      if (found == exact[s].end())
        continue;
      best = std::min(best, found->second.front());
      for (uint32_t rule : found->second)
        matched[rule] = true;
    }
  for (uint32_t rule : globs) {
    // Beyond the winner only rules that have yet to show that they match anything.
    if (rule > best && matched[rule])
      continue;
    auto matches = [&](std::string_view text) { return globMatches(rules[rule].pattern, text); };
    if (std::ranges::any_of(texts[static_cast<size_t>(rules[rule].subject)], matches)) {
      matched[rule] = true;
      best = std::min(best, rule);
    }
  }
  return best == UINT32_MAX ? std::nullopt : std::optional(best);
}

std::vector<uint32_t> RuleSet::unmatched() const {
  std::vector<uint32_t> none;
  for (uint32_t i = 0; i < rules.size(); ++i)
    if (!matched[i])
      none.push_back(i);
  return none;
}

} // namespace gantry::placement
