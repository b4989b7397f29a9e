// Each name is a skeleton with numbers in its holes. The tuples of numbers of one skeleton start as
// boxes of one tuple; boxes that agree in all holes but one become one box, hole after hole. Boxes
// stay disjoint and cover the same tuples at every step.
#include "gantry/Placement/FoldNames.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace gantry::placement {

namespace {

using Numbers = std::vector<uint64_t>;
using Box = std::vector<Numbers>; ///< a set for each hole

bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// The literals of a name and the numbers between them. Digits that are no number as we would write
/// it (leading zeros, too long) belong to a literal.
void split(std::string_view name, std::vector<std::string> &literals, Numbers &numbers) {
  literals.assign(1, "");
  if (name.find_first_of("*?{}") != name.npos) {
    literals.front() = name;
    return;
  }
  for (size_t i = 0; i < name.size();) {
    size_t end = i;
    while (end < name.size() && isDigit(name[end]))
      ++end;
    uint64_t number = 0;
    const bool isNumber =
        end > i && (end == i + 1 || name[i] != '0') &&
        std::from_chars(name.data() + i, name.data() + end, number).ec == std::errc();
    end = std::max(end, i + 1);
    if (isNumber) {
      numbers.push_back(number);
      literals.emplace_back();
    } else {
      literals.back() += name.substr(i, end - i);
    }
    i = end;
  }
}

/// Makes one box of those that differ in one hole only.
void mergeAlong(size_t hole, std::vector<Box> &boxes) {
  std::map<Box, size_t> known; ///< by the other holes
  std::vector<Box> merged;
  for (Box &box : boxes) {
    Box others = box;
    others[hole].clear();
    const auto [place, isNew] = known.try_emplace(std::move(others), merged.size());
    if (isNew) {
      merged.push_back(std::move(box));
      continue;
    }
    Numbers &into = merged[place->second][hole];
    into.insert(into.end(), box[hole].begin(), box[hole].end());
  }
  for (Box &box : merged)
    std::sort(box[hole].begin(), box[hole].end());
  boxes = std::move(merged);
}

/// Boxes that cover distinct tuples; of two orders of the holes the one that needs fewer.
std::vector<Box> cover(const std::vector<Numbers> &tuples) {
  std::vector<Box> forward;
  for (const Numbers &tuple : tuples) {
    Box &box = forward.emplace_back();
    for (uint64_t number : tuple)
      box.push_back({number});
  }
  std::vector<Box> backward = forward;
  const size_t holes = tuples.front().size();
  for (size_t hole = 0; hole < holes; ++hole) {
    mergeAlong(hole, forward);
    mergeAlong(holes - 1 - hole, backward);
  }
  return backward.size() < forward.size() ? backward : forward;
}

/// Names of one skeleton. A name that is there twice is in two layers, which are folded apart.
struct Class {
  std::vector<std::string> literals;
  std::map<Numbers, size_t> seen;
  std::vector<std::vector<Numbers>> layers;

  void add(Numbers numbers) {
    const size_t layer = seen[numbers]++;
    if (layer == layers.size())
      layers.emplace_back();
    layers[layer].push_back(std::move(numbers));
  }
};

std::string textOf(const Numbers &numbers) {
  if (numbers.size() == 1)
    return std::to_string(numbers.front());
  std::string text;
  for (size_t i = 0, end; i < numbers.size(); i = end) {
    for (end = i + 1; end < numbers.size() && numbers[end] == numbers[end - 1] + 1;)
      ++end;
    text += (i ? "," : "{") + std::to_string(numbers[i]);
    if (end - i == 2)
      text += "," + std::to_string(numbers[end - 1]);
    else if (end - i > 2)
      text += ".." + std::to_string(numbers[end - 1]);
  }
  return text + "}";
}

/// The path to a name's layer: "/encoder/layer.3/" of "/encoder/layer.3/attention/Add", "/norm/" of
/// "/norm/Add_1"; the name itself where there is no such path.
std::string_view pathOf(std::string_view name) {
  const size_t slash = name.rfind('/');
  if (slash == name.npos || slash == 0)
    return name;
  const size_t digit = name.find_first_of("0123456789");
  return name.substr(0, digit < slash ? name.find('/', digit) + 1 : slash + 1);
}

FoldedName unfolded(std::string_view name) { return {{std::string(name)}, {}}; }

} // namespace

uint64_t FoldedName::count() const {
  uint64_t count = 1;
  for (const Numbers &set : numbers)
    count *= set.size();
  return count;
}

std::string FoldedName::text() const {
  std::string text = literals.front();
  for (size_t i = 0; i < numbers.size(); ++i)
    text += textOf(numbers[i]) + literals[i + 1];
  return text;
}

std::vector<std::string> FoldedName::unfold() const {
  std::vector<std::string> names{literals.front()};
  for (size_t i = 0; i < numbers.size(); ++i) {
    std::vector<std::string> longer;
    for (const std::string &name : names)
      for (uint64_t number : numbers[i])
        longer.push_back(name + std::to_string(number) + literals[i + 1]);
    names = std::move(longer);
  }
  return names;
}

bool isFoldOf(std::span<const FoldedName> folded, std::span<const std::string_view> names) {
  std::map<std::string, int64_t, std::less<>> counts;
  for (std::string_view name : names)
    ++counts.try_emplace(std::string(name), 0).first->second;
  uint64_t total = 0;
  for (const FoldedName &name : folded) {
    // More than there are cannot be right, and need not be written out.
    if (total += name.count(); total > names.size())
      return false;
    for (const std::string &one : name.unfold())
      if (const auto found = counts.find(one); found == counts.end() || --found->second < 0)
        return false;
  }
  return total == names.size();
}

std::vector<FoldedName> foldNames(std::span<const std::string_view> names) {
  std::map<std::vector<std::string>, size_t> places;
  std::vector<Class> classes;
  for (std::string_view name : names) {
    std::vector<std::string> literals;
    Numbers numbers;
    split(name, literals, numbers);
    const auto [place, isNew] = places.try_emplace(literals, classes.size());
    if (isNew)
      classes.push_back({std::move(literals), {}, {}});
    classes[place->second].add(std::move(numbers));
  }
  std::vector<FoldedName> folded;
  for (const Class &one : classes)
    for (const std::vector<Numbers> &layer : one.layers)
      for (Box &box : cover(layer))
        folded.push_back({one.literals, std::move(box)});
  if (isFoldOf(folded, names))
    return folded;
  folded.clear();
  for (std::string_view name : names)
    folded.push_back(unfolded(name));
  return folded;
}

std::vector<Part> outlineNames(std::span<const std::string_view> names,
                               std::span<const std::string_view> all) {
  std::map<std::string_view, Part> paths;
  std::vector<std::string_view> inOrder;
  for (std::string_view name : all)
    ++paths[pathOf(name)].of;
  for (std::string_view name : names)
    if (paths[pathOf(name)].count++ == 0)
      inOrder.push_back(pathOf(name));
  // Paths of which all is meant are folded apart from those of which some is.
  std::map<bool, std::vector<std::string_view>> groups;
  for (std::string_view path : inOrder)
    groups[paths[path].count < paths[path].of].push_back(path);
  std::vector<Part> parts;
  for (const auto &[isSome, group] : groups)
    for (const FoldedName &folded : foldNames(group)) {
      Part part{folded.text() + (folded.literals.back().ends_with('/') ? "*" : ""), 0, 0};
      for (const std::string &path : folded.unfold()) {
        part.count += paths[path].count;
        part.of += paths[path].of;
      }
      parts.push_back(std::move(part));
    }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part &a, const Part &b) { return a.count > b.count; });
  return parts;
}

} // namespace gantry::placement
