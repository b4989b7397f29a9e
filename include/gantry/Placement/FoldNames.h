// Names of repeated layers in one line: "/encoder/layer.{0..11}/attention/Add" for twelve of them.
//
// Names that differ in whole numbers only are covered by patterns with a set of numbers in each
// place, every combination of which is there. What is printed is a pattern of OpPattern.h, so it
// can be given back to --op, --why-not and --place.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::placement {

struct FoldedName {
  /// One more than there are sets of numbers: literals[0] numbers[0] literals[1] ...
  std::vector<std::string> literals;
  std::vector<std::vector<uint64_t>> numbers; ///< each sorted, without repetition, not empty

  /// How many names it stands for.
  uint64_t count() const;
  /// "layer.{0..11}/Add_{1,3}"; a place with one number has no braces.
  std::string text() const;
  /// Those names, the last place changing fastest.
  std::vector<std::string> unfold() const;
};

/// Covers the names, each as often as it is there, in the order of their first names. Names with
/// characters that mean something in patterns stay as they are.
std::vector<FoldedName> foldNames(std::span<const std::string_view> names);

/// The judge: whether unfolding gives the same names, each as often. foldNames always asks it, and
/// folds nothing when it says no.
bool isFoldOf(std::span<const FoldedName> folded, std::span<const std::string_view> names);

/// A part of a graph: "/encoder/layer.{0..11}/*", or a name by itself.
struct Part {
  std::string pattern; ///< describes `of` of all names
  uint64_t count = 0;  ///< so many of these are meant
  uint64_t of = 0;
};

/// Where in the graph some of its names are, coarsely: names by their path up to the first number,
/// else up to the last "/", folded. Counts sum to the number of `names`, which are among `all`; the
/// largest part first.
std::vector<Part> outlineNames(std::span<const std::string_view> names,
                               std::span<const std::string_view> all);

} // namespace gantry::placement
