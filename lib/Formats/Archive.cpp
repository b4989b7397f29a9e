// The .npz format: a zip archive of .npy files, stored or deflated.
#include "gantry/Formats/Archive.h"

#include "Zip.h"

#include <deque>

namespace gantry::arrays {

namespace {

/// A zip entry's, without ".npy".
constexpr size_t longestName = 65535 - 4;

std::string withoutSuffix(std::string name) {
  if (name.ends_with(".npy"))
    name.resize(name.size() - 4);
  return name;
}

} // namespace

Expected<std::vector<NamedArray>> parseNpz(ByteSpan bytes, std::string_view file) {
  auto entries = readZip(bytes, file);
  if (!entries)
    return entries.status();
  std::vector<NamedArray> arrays;
  for (const ZipEntry &entry : *entries) {
    auto content = unpack(entry, file);
    if (!content)
      return content.status();
    auto array = parseNpy(content->bytes(), std::string(file) + ":" + entry.name);
    if (!array)
      return array.status();
    arrays.push_back({withoutSuffix(entry.name), array.take()});
  }
  return arrays;
}

Status writeNpz(const std::string &path,
                std::span<const std::pair<std::string, ArrayView>> arrays) {
  std::deque<std::string> headers; // which the parts point to
  ZipParts archive;
  for (const auto &[name, array] : arrays) {
    if (name.size() > longestName)
      return Status::invalidArgument("cannot write '" + path + "': the name of an array has " +
                                     std::to_string(name.size()) + " bytes, at most " +
                                     std::to_string(longestName) + " are possible");
    const std::string &header = headers.emplace_back(npyHeader(array.element, array.shape));
    const ByteSpan pieces[] = {{reinterpret_cast<const uint8_t *>(header.data()), header.size()},
                               {static_cast<const uint8_t *>(array.data), array.size()}};
    archive.add(name + ".npy", pieces);
  }
  return writeFile(path, archive.finish());
}

Expected<std::vector<NamedArray>> readArrays(const std::string &path) {
  auto file = FileBytes::open(path);
  if (!file)
    return file.status();
  const ByteSpan bytes = file->bytes();
  if (bytes.size() >= 2 && bytes[0] == 'P' && bytes[1] == 'K')
    return parseNpz(bytes, path);
  auto array = parseArray(bytes, path);
  if (!array)
    return array.status();
  std::vector<NamedArray> arrays;
  arrays.push_back(array.take());
  return arrays;
}

} // namespace gantry::arrays
