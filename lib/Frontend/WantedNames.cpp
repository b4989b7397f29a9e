#include "WantedNames.h"

#include "gantry/Support/Names.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace gantry;
using llvm::StringRef;

/// Names compared with a wrong one: more take long, and are in no model that somebody wrote.
static constexpr size_t kMostCompared = 100'000;
static constexpr size_t kMostListed = 5;

static std::string listed(std::vector<std::string> names) {
  const size_t count = names.size();
  if (count > kMostListed)
    names.resize(kMostListed);
  for (std::string &name : names)
    name = printable(name);
  return "'" + llvm::join(names, "', '") + "'" +
         (count > kMostListed ? ", ... (" + std::to_string(count) + " in all)" : "");
}

/// What may have been meant: names that go on from it, a slip, else an output of the graph.
static std::string meant(StringRef name, KnownNames known) {
  auto &[names, outputs] = known;
  llvm::erase(names, "");
  if (names.size() > kMostCompared)
    names.resize(kMostCompared);
  llvm::sort(names);
  names.erase(llvm::unique(names), names.end());
  std::vector<std::string> around;
  for (const std::string &candidate : names)
    if (!name.empty() && StringRef(candidate).contains_insensitive(name))
      around.push_back(candidate);
  if (!around.empty())
    return around.size() == 1 ? "; did you mean " + listed(around) + "?"
                              : "; there are " + listed(around);
  if (std::string near = didYouMean(name.str(), names); !near.empty())
    return near;
  return outputs.empty() ? "" : "; the graph's own outputs are " + listed(outputs);
}

bool gantry::forWantedNames(llvm::ArrayRef<std::string> texts,
                            llvm::function_ref<bool(StringRef)> find, std::string &error,
                            llvm::function_ref<KnownNames()> known) {
  for (StringRef text : texts) {
    if (find(text))
      continue;
    for (StringRef name : llvm::split(text, ',')) {
      name = name.trim();
      if (!error.empty() || (name != text && find(name)))
        continue;
      if (error.empty())
        error = "--outputs: the graph has no value '" + printable(name.str()) + "'" +
                meant(name, known());
    }
    if (!error.empty())
      return false;
  }
  return true;
}
