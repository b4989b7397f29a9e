// Names as people see them and mistype them.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gantry {

/// Text from outside, fit for one line of a terminal or log: control characters, line breaks, marks
/// that turn the direction of writing, and bytes that are no UTF-8 are written as \n, \x1b or
/// \u202e; letters of any language stay.
std::string printable(std::string_view text);

/// The same for several lines and columns: line breaks and tabs stay.
std::string printableLines(std::string_view text);

/// "; did you mean 'run'?" with the candidate that `word` is a slip of, or nothing when none is
/// near. `prefix` stands in front of all of them, which are given without it: what names have in
/// common makes none of them near.
std::string didYouMean(std::string_view word, std::span<const std::string> candidates,
                       std::string_view prefix = {});

} // namespace gantry
