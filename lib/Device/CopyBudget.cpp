// Reading of copy budgets.
#include "gantry/Device/CopyBudget.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/Text.h"

#include <algorithm>

namespace gantry {

Expected<CopyBudget> parseCopyBudget(const std::string &text) {
  CopyBudget budget;
  // After the last comma an entry is expected, be there text or not.
  for (size_t begin = 0, end = 0; !text.empty() && begin <= text.size(); begin = end + 1) {
    end = std::min(text.find(',', begin), text.size());
    std::string_view entry = std::string_view(text).substr(begin, end - begin);
    size_t colon = std::min(entry.find(':'), entry.size());
    auto wrong = [&](size_t inside, const std::string &what) {
      return Status::invalidArgument("copy budget '" + text + "', column " +
                                     std::to_string(begin + inside + 1) + ": " + what);
    };
    std::string_view name = trim(entry.substr(0, colon));
    auto known = std::find(copyDirectionNames.begin(), copyDirectionNames.end(), name);
    if (known == copyDirectionNames.end())
      return wrong(0, "'" + std::string(entry) +
                          "' is not DIRECTION:BYTES; the directions are h2d, d2h, d2d");
    auto &limit = budget.bytes[static_cast<size_t>(known - copyDirectionNames.begin())];
    if (limit)
      return wrong(0, std::string(name) + " is given twice");
    Expected<uint64_t> bytes =
        parseByteCount(trim(entry.substr(std::min(colon + 1, entry.size()))));
    if (!bytes)
      return wrong(colon + 1, bytes.status().message());
    limit = *bytes;
  }
  return budget;
}

} // namespace gantry
