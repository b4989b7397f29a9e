// Reading and matching of placement rules.
#include "gantry/Placement/Rules.h"

#include "gantry/Support/Text.h"

#include <algorithm>

namespace gantry::placement {

namespace {

Status wrong(std::string_view text, const std::string &origin, const std::string &what) {
  return Status::invalidArgument(origin + " '" + std::string(text) + "' " + what);
}

} // namespace

Expected<Rule> parseRule(std::string_view text, std::string origin) {
  size_t equals = text.rfind('=');
  if (equals == text.npos)
    return wrong(text, origin, "is not PATTERN=DEVICE, for example op:MatMul=GPU:1");
  Expected<OpPattern> pattern = parseOpPattern(text.substr(0, equals));
  if (!pattern)
    return wrong(text, origin, pattern.status().message());
  Expected<DeviceName> device = DeviceName::parse(trim(text.substr(equals + 1)));
  if (!device)
    return wrong(text, origin, "has no valid device: " + device.status().message());
  return Rule{pattern.take(), device.take(), std::string(trim(text)), std::move(origin)};
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
    if (const OpPattern &pattern = rules[i].pattern; pattern.hasWildcard())
      globs.push_back(i);
    else
      exact[static_cast<size_t>(pattern.of)][pattern.text].push_back(i);
}

std::optional<uint32_t> RuleSet::find(const Subject &subject) {
  if (rules.empty())
    return std::nullopt;
  uint32_t best = UINT32_MAX;
  const auto lookUp = [&](OpPattern::Of of, std::span<const std::string_view> texts) {
    const auto &known = exact[static_cast<size_t>(of)];
    for (std::string_view text : known.empty() ? std::span<const std::string_view>() : texts)
      if (auto found = known.find(std::string(text)); found != known.end()) {
        best = std::min(best, found->second.front());
        for (uint32_t rule : found->second)
          matched[rule] = true;
      }
  };
  lookUp(OpPattern::Of::op, subject.ops);
  lookUp(OpPattern::Of::name, subject.names);
  lookUp(OpPattern::Of::kind, subject.kinds);
  lookUp(OpPattern::Of::nameOrOp, subject.names);
  lookUp(OpPattern::Of::nameOrOp, subject.ops);
  for (uint32_t rule : globs) {
    // Beyond the winner only rules that have yet to show that they match anything.
    if (rule > best && matched[rule])
      continue;
    if (rules[rule].pattern.matches(subject)) {
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
