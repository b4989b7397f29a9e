// Small helpers over FlatBuffers' generated accessors, in which an empty vector or string may be
// null.
#pragma once

#include "gantry/Plan/Plan_generated.h"
#include "gantry/Support/ElementType.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gantry::plan {

/// A constant's `home` or `cause` when the graph says nothing.
inline constexpr uint32_t nothingSaid = 0xffffffff;

/// Number of elements; 0 for a null vector.
template <typename T>
uint32_t countOf(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}

/// A range over a vector that may be null: `for (const fb::Kernel *kernel : each(plan.kernels()))`.
template <typename T>
class Each {
public:
  using iterator = typename flatbuffers::Vector<T>::const_iterator;
  explicit Each(const flatbuffers::Vector<T> *vector) : vector(vector) {}
  iterator begin() const { return vector ? vector->begin() : iterator(nullptr, 0); }
  iterator end() const { return vector ? vector->end() : iterator(nullptr, 0); }

private:
  const flatbuffers::Vector<T> *vector;
};
template <typename T>
Each<T> each(const flatbuffers::Vector<T> *vector) {
  return Each<T>(vector);
}

/// The text; empty for null.
inline std::string_view textOf(const flatbuffers::String *string) {
  return string ? std::string_view(string->data(), string->size()) : std::string_view();
}

/// Dimensions of a tensor, in place; empty for a scalar.
inline std::span<const int64_t> shapeOf(const fb::TensorType &type) {
  if (!type.shape())
    return {};
  return {type.shape()->data(), type.shape()->size()};
}

inline ElementType elementOf(const fb::TensorType &type) {
  return static_cast<ElementType>(type.element());
}

/// Bytes of a tensor; none when a dimension is negative or the size overflows, which a validated
/// plan does not have.
inline std::optional<uint64_t> byteSizeOf(const fb::TensorType &type) {
  return tensorByteSize(elementOf(type), shapeOf(type));
}

/// The functions, and before them the one that runs when the plan is loaded, if there is one.
inline std::vector<const fb::Function *> allFunctions(const fb::Plan &plan) {
  std::vector<const fb::Function *> all;
  if (plan.load())
    all.push_back(plan.load());
  for (const fb::Function *function : each(plan.functions()))
    all.push_back(function);
  return all;
}

/// Whether a command writes its buffer of that number; else it reads it.
inline bool writes(const fb::Command &command, uint32_t buffer) {
  switch (command.opcode()) {
  case fb::Opcode::launch:
    return buffer >= countOf(command.buffers()) - command.num_results();
  case fb::Opcode::copy:
    return buffer % 2 == 1;
  case fb::Opcode::part:
    return countOf(command.buffers()) == 1 ? command.rank() != 0 : buffer == 1;
  default:
    return command.opcode() == fb::Opcode::fill || command.opcode() == fb::Opcode::receive;
  }
}

/// Whether a command is a member's part in an exchange between tasks.
inline bool isExchange(const fb::Command &command) {
  return command.opcode() >= fb::Opcode::send && command.opcode() <= fb::Opcode::part;
}

/// How many values a copy command copies.
inline uint32_t numCopied(const fb::Command &copy) { return countOf(copy.buffers()) / 2; }

/// One value of a copy command, below numCopied.
struct Copied {
  const fb::BufferRef &source, &target;
  std::string_view name, location;
  uint32_t cause; ///< index into Plan.strings
};
inline Copied copiedBy(const fb::Command &copy, uint32_t value) {
  const fb::BufferRef &source = *copy.buffers()->Get(2 * value);
  const fb::BufferRef &target = *copy.buffers()->Get(2 * value + 1);
  if (value == 0)
    return {source, target, textOf(copy.name()), textOf(copy.location()), copy.cause()};
  const fb::CopiedValue &also = *copy.also()->Get(value - 1);
  return {source, target, textOf(also.name()), textOf(also.location()), also.cause()};
}

/// Bytes of all its values.
inline uint64_t bytesCopied(const fb::Command &copy) {
  uint64_t bytes = 0;
  for (uint32_t value = 0; value < numCopied(copy); ++value)
    bytes += copy.buffers()->Get(2 * value)->size();
  return bytes;
}

/// Index of the device where a buffer lies, of a plan whose indices have been checked.
inline uint32_t deviceOf(const fb::Plan &plan, const fb::Function &function,
                         const fb::BufferRef &buffer) {
  switch (buffer.space()) {
  case fb::Space::arena:
    return plan.arenas()->Get(buffer.index())->device();
  case fb::Space::input:
    return function.inputs()->Get(buffer.index())->device();
  case fb::Space::output:
    return function.outputs()->Get(buffer.index())->device();
  }
  return 0;
}

/// Where in an arena of constants those begin that are computed at load; its end if there are none.
inline uint64_t computedFrom(const fb::Plan &plan, uint32_t arena) {
  uint64_t begin = plan.arenas()->Get(arena)->size();
  for (const fb::Constant *constant : each(plan.constants()))
    if (constant->arena() == arena && constant->made() != nothingSaid && constant->offset() < begin)
      begin = constant->offset();
  return begin;
}

} // namespace gantry::plan
