// Files of tensors from anywhere: what the reader accepts covers the file behind its header, and
// written again it is read back as the same tensors and texts.
#include "gantry/Formats/Safetensors.h"

#include <cstdlib>
#include <cstring>

using namespace gantry;
using namespace gantry::arrays;

static void check(bool holds) {
  if (!holds)
    std::abort();
}

static void checkBytes(const Safetensors &file, ByteSpan bytes) {
  uint64_t header = 0, covered = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (const Safetensors::Tensor &tensor : file.tensors()) {
    check(tensor.view().size() == tensor.bytes.size());
    check(tensor.bytes.data() >= bytes.data() + sizeof header + header);
    check(tensor.bytes.data() + tensor.bytes.size() <= bytes.data() + bytes.size());
    covered += tensor.bytes.size();
  }
  check(covered == bytes.size() - header - sizeof header);
}

/// Written into memory, and read from there.
static void checkWritten(const Safetensors &file) {
  std::vector<std::pair<std::string, ArrayView>> arrays;
  for (const Safetensors::Tensor &tensor : file.tensors())
    arrays.emplace_back(tensor.name, tensor.view());
  auto memory = NamelessFile::inMemory();
  check(bool(memory));
  check(writeSafetensors(memory->path(), arrays, file.metadata()).ok());
  auto written = memory->map();
  check(bool(written));
  auto back = Safetensors::parse(written->bytes(), "back");
  check(bool(back));
  check(back->metadata() == file.metadata() && back->tensors().size() == arrays.size());
  for (const Safetensors::Tensor &tensor : back->tensors()) {
    bool found = false;
    for (const auto &[name, view] : arrays)
      found |= name == tensor.name && view.element == tensor.element &&
               std::equal(view.shape.begin(), view.shape.end(), tensor.shape.begin(),
                          tensor.shape.end()) &&
               (tensor.bytes.empty() ||
                std::memcmp(view.data, tensor.bytes.data(), tensor.bytes.size()) == 0);
    check(found);
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const ByteSpan bytes(data, size);
  auto file = Safetensors::parse(bytes, "x");
  if (!file)
    return 0;
  checkBytes(*file, bytes);
  if (file->tensors().size() < 100) // the comparison is of all with all
    checkWritten(*file);
  return 0;
}
