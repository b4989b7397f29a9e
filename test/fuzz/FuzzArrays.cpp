// Array files from anywhere: every parser takes the bytes, and what one accepts has exactly the
// bytes that its type says, can be printed, and is read back as the same when written.
#include "gantry/Formats/Archive.h"
#include "gantry/Formats/Values.h"

#include <cstdlib>
#include <cstring>

using namespace gantry;
using namespace gantry::arrays;

static void check(const Array &array) {
  if (tensorByteSize(array.element, array.shape) != array.bytes.size())
    std::abort();
  // Tens of dimensions of size one print as pages of brackets: legal, but no use here.
  if (array.shape.size() < 8 && array.bytes.size() < 1 << 16)
    (void)formatValues(array.view());
  const std::string header = npyHeader(array.element, array.shape);
  std::vector<uint8_t> file(header.begin(), header.end());
  file.insert(file.end(), array.bytes.data(), array.bytes.data() + array.bytes.size());
  auto back = parseNpy(file, "back.npy");
  if (!back || back->shape != array.shape ||
      std::memcmp(back->bytes.data(), array.bytes.data(), array.bytes.size()) != 0)
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const ByteSpan bytes(data, size);
  if (auto array = parseNpy(bytes, "x.npy"))
    check(*array);
  if (auto tensor = parseTensorProto(bytes, "x.pb"))
    check(tensor->array);
  if (auto archive = parseNpz(bytes, "x.npz"))
    for (const NamedArray &array : *archive)
      check(array.array);
  return 0;
}
