#include "Shadow.h"

#include <cstdlib>
#include <cstring>

using namespace gantry::ptx;

/// Zeroed by the system when it is first touched, so that a large buffer that is hardly used costs
/// nothing.
bool Shadow::resize(uint64_t bytes, unsigned wanted) {
  size_t count = size_t((bytes + wanted - 1) / wanted) + 1;
  if (granule == wanted && cells >= count)
    return true;
  granule = wanted;
  cells = count;
  auto make = [&] {
    return std::unique_ptr<Record[], void (*)(void *)>(
        static_cast<Record *>(std::calloc(count, sizeof(Record))), std::free);
  };
  written = make();
  read = make();
  return written && read;
}

void Shadow::clear() {
  std::memset(written.get(), 0, cells * sizeof(Record));
  std::memset(read.get(), 0, cells * sizeof(Record));
}
