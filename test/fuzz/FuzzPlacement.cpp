// Rules and locks: any text is refused or read; a lock that was read says the same when it is
// written and read again, and a rule's pattern is matched in no more than the product of the
// lengths.
#include "gantry/Placement/Lock.h"
#include "gantry/Placement/Rules.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <tuple>

using namespace gantry::placement;

static std::vector<std::tuple<std::string, std::string, std::string>>
sorted(const std::vector<LockEntry> &entries) {
  std::vector<std::tuple<std::string, std::string, std::string>> all;
  for (const LockEntry &entry : entries)
    all.emplace_back(entry.function, entry.op, entry.device.str());
  std::sort(all.begin(), all.end());
  return all;
}

static void checkLock(std::string_view text) {
  auto lock = parseLock(text);
  if (!lock)
    return;
  auto again = parseLock(formatLock(*lock));
  if (!again || sorted(*again) != sorted(*lock))
    std::abort();
}

static void checkRule(std::string_view text) {
  auto rule = parseRule(text);
  if (!rule)
    return;
  // A text that a pattern without wildcards describes is that pattern.
  if (rule->pattern.text.find_first_of("*?{") == std::string::npos &&
      (!globMatches(rule->pattern.text, rule->pattern.text) ||
       globMatches(rule->pattern.text, rule->pattern.text + "x")))
    std::abort();
  (void)globMatches(rule->pattern.text, text);
  std::vector<std::string_view> ops{text}, names{rule->pattern.text}, kinds{"compute"};
  RuleSet set({*rule});
  if (rule->pattern.of == OpPattern::Of::name &&
      globMatches(rule->pattern.text, rule->pattern.text) !=
          set.find({ops, names, kinds}).has_value())
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  checkLock(text);
  checkRule(text);
  return 0;
}
