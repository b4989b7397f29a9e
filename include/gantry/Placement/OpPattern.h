// How ops are named from outside, in --place, --why-not and --op: one grammar and one matcher.
//
//   pattern := [subject ":"] text
//   subject := "op" (its type: the model's own, Conv, or the log's, Conv2D)
//            | "name" (its own, or that of the node of the model that it is a part of) | "kind"
// Without a subject the text is a name or a type. All of it has to match and case counts; "*"
// stands for any characters, "?" for one, "{0..11}" or "{1,3,5..7}" for a whole number of these.
#pragma once

#include "gantry/Support/Status.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gantry::placement {

/// What patterns see of an op.
struct Subject {
  std::span<const std::string_view> ops;   ///< log name, source op type
  std::span<const std::string_view> names; ///< of the op, and of the node it came from
  std::span<const std::string_view> kinds; ///< compute, contraction, ...
};

struct OpPattern {
  enum class Of : uint8_t { op, name, kind, nameOrOp };
  Of of = Of::nameOrOp;
  std::string text;

  /// As it was given: "name:fc*".
  std::string given() const;
  bool hasWildcard() const;
  bool matches(const Subject &subject) const;
};

/// Reads one. Errors: INVALID_ARGUMENT, whose message goes on after the pattern: "has no pattern".
Expected<OpPattern> parseOpPattern(std::string_view text);

/// Whether `text` is what `pattern` describes: the very text, or wildcards that fit. At most
/// quadratic.
bool globMatches(std::string_view pattern, std::string_view text);

/// The rule above for people, some lines that end in newlines.
std::string_view opPatternHelp();

} // namespace gantry::placement
