// Tables over ElementTypes.def.
#include "gantry/Support/ElementType.h"

#include "gantry/Support/Bytes.h"

#include <array>

namespace gantry {

namespace {
struct Entry {
  std::string_view text;
  uint64_t size;
};
constexpr Entry entries[] = {
#define GANTRY_ELEMENT_TYPE(name, value, bytes) {#name, bytes},
#include "gantry/Support/ElementTypes.def"
};
static_assert(std::size(entries) == numElementTypes);
#define GANTRY_ELEMENT_TYPE(name, value, bytes)                                                    \
  static_assert(entries[value].text == #name, "values must count up from 0");
#include "gantry/Support/ElementTypes.def"

const Entry &entryOf(ElementType type) { return entries[static_cast<unsigned>(type)]; }
} // namespace

std::string_view elementTypeName(ElementType type) { return entryOf(type).text; }
uint64_t elementTypeSize(ElementType type) { return entryOf(type).size; }

std::optional<ElementType> elementTypeNamed(std::string_view name) {
  for (unsigned i = 0; i < numElementTypes; ++i)
    if (entries[i].text == name)
      return static_cast<ElementType>(i);
  return std::nullopt;
}

std::string_view elementTypeList() {
  return "f32, f64, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64, i1";
}

std::string tensorTypeName(ElementType type, std::span<const int64_t> shape) {
  std::string text(elementTypeName(type));
  text += '[';
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? "," : "") + std::to_string(shape[i]);
  return text + ']';
}

std::optional<uint64_t> tensorByteSize(ElementType type, std::span<const int64_t> shape) {
  // An empty tensor stays empty whatever its other dimensions, so zeros are looked for first.
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0)
      return std::nullopt;
    empty |= dim == 0;
  }
  if (empty)
    return 0;
  uint64_t bytes = elementTypeSize(type);
  for (int64_t dim : shape)
    if (mulOverflows(bytes, static_cast<uint64_t>(dim), &bytes) || bytes > INT64_MAX)
      return std::nullopt;
  return bytes;
}

} // namespace gantry
