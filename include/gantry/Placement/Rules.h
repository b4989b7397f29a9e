// Rules from outside (spec P15): "op:MatMul=GPU:1", "name:encoder.*=GPU:0", "kind:variable=CPU:0".
//
//   rule    := subject ":" pattern "=" device         the last "=" counts
//   subject := "op" (log name or the source format's op type) | "name" | "kind"
//   pattern := text in which "*" stands for any characters and "?" for one
// In a file, one rule a line; "#" starts a comment. The first rule that matches an op wins.
// Constants are placed by "kind:constant" alone; views have no device, a rule that matches one
// changes nothing.
#pragma once

#include "gantry/Device/DeviceName.h"
#include "gantry/Support/Status.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gantry::placement {

struct Rule {
  enum class Subject : uint8_t { op, name, kind };
  Subject subject = Subject::op;
  std::string pattern;
  DeviceName device;
  std::string text;   ///< as given, "op:MatMul=GPU:1"
  std::string origin; ///< "--place", or "rules.txt:3"
};

/// What rules of subject `kind` may name; patterns must match one of them.
std::span<const std::string_view> ruleKinds();

/// Reads a flag's rule. Errors: INVALID_ARGUMENT, with what is expected.
Expected<Rule> parseRule(std::string_view text, std::string origin = "--place");

/// Reads the rules of a file's text, one a line; `file` names it in their origins and in errors:
/// INVALID_ARGUMENT, with the line.
Expected<std::vector<Rule>> parseRules(std::string_view text, const std::string &file);

/// Whether `text` is what `pattern` describes.
bool globMatches(std::string_view pattern, std::string_view text);

/// What rules see of an op.
struct Subject {
  std::span<const std::string_view> ops;   ///< log name, source op type
  std::span<const std::string_view> names; ///< of the op, and of the node it came from
  std::span<const std::string_view> kinds; ///< compute, contraction, ...
};

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
  std::unordered_map<std::string, std::vector<uint32_t>> exact[3]; ///< by Subject
};

} // namespace gantry::placement
