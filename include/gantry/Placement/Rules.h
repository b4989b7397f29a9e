// Rules from outside (spec P15): "op:MatMul=GPU:1", "name:encoder.*=GPU:0", "kind:variable=CPU:0".
//
//   rule := pattern "=" device         the last "=" counts; gantry/Placement/OpPattern.h
// In a file, one rule a line; "#" starts a comment. The first rule that matches an op wins.
// Constants are placed by "kind:constant" alone; views have no device, a rule that matches one
// changes nothing.
#pragma once

#include "gantry/Device/DeviceName.h"
#include "gantry/Placement/OpPattern.h"
#include "gantry/Support/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gantry::placement {

struct Rule {
  OpPattern pattern;
  DeviceName device;
  std::string text;   ///< as given, "op:MatMul=GPU:1"
  std::string origin; ///< "--place", or "rules.txt:3"
};

/// Reads a flag's rule. Errors: INVALID_ARGUMENT, with what is expected.
Expected<Rule> parseRule(std::string_view text, std::string origin = "--place");

/// Reads the rules of a file's text, one a line; `file` names it in their origins and in errors:
/// INVALID_ARGUMENT, with the line.
Expected<std::vector<Rule>> parseRules(std::string_view text, const std::string &file);

/// Finds the first rule that matches. Rules without wildcards are looked up, so that thousands of
/// them cost no more than one.
class RuleSet {
public:
  explicit RuleSet(std::vector<Rule> rules);

  /// Index of the rule that wins; remembers that it was of use.
  std::optional<uint32_t> find(const Subject &subject);

  const Rule &rule(uint32_t index) const { return rules[index]; }
  bool empty() const { return rules.empty(); }
  /// Rules that never matched, whether or not an earlier one won.
  std::vector<uint32_t> unmatched() const;

private:
  std::vector<Rule> rules;
  std::vector<bool> matched;
  std::vector<uint32_t> globs;
  std::unordered_map<std::string, std::vector<uint32_t>> exact[4]; ///< by OpPattern::Of
};

} // namespace gantry::placement
