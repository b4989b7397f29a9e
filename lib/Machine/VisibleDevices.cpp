#include "VisibleDevices.h"

#include <algorithm>
#include <charconv>

namespace gantry::machine {

namespace {

constexpr std::string_view uuidPrefix = "GPU-";

/// The number that the entry begins with; `count`, which is no GPU's, if that is none.
size_t byNumber(std::string_view entry, size_t count) {
  entry.remove_prefix(std::min(entry.find_first_not_of(" \t"), entry.size()));
  if (entry.starts_with('+'))
    entry.remove_prefix(1);
  size_t number = count;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), number);
  return error == std::errc() ? number : count;
}

/// The one GPU whose UUID begins so; their count if there is none, or several.
size_t byUUID(std::string_view entry, std::span<const std::string> uuids) {
  auto begins = [&](const std::string &uuid) { return uuid.starts_with(entry); };
  const auto first = std::find_if(uuids.begin(), uuids.end(), begins);
  if (!entry.starts_with(uuidPrefix) || first == uuids.end() ||
      std::find_if(first + 1, uuids.end(), begins) != uuids.end())
    return uuids.size();
  return static_cast<size_t>(first - uuids.begin());
}

} // namespace

std::vector<size_t> visibleDevices(std::string_view text, std::span<const std::string> uuids) {
  const bool areUUIDs = text.starts_with(uuidPrefix);
  std::vector<size_t> visible;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    const size_t index = areUUIDs ? byUUID(entry, uuids) : byNumber(entry, uuids.size());
    if (index >= uuids.size())
      break;
    if (std::find(visible.begin(), visible.end(), index) != visible.end())
      return {};
    visible.push_back(index);
  }
  return visible;
}

} // namespace gantry::machine
