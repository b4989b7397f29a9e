// Element types of tensors: names and sizes, the one home of both (ElementTypes.def).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gantry {

/// In memory an i1 is one byte, 0 or 1. Values are those of plan files and of the C API.
enum class ElementType : uint8_t {
#define GANTRY_ELEMENT_TYPE(name, value, bytes) name = value,
#include "gantry/Support/ElementTypes.def"
};

inline constexpr unsigned numElementTypes = 13;

/// "f32", "bf16", ...
std::string_view elementTypeName(ElementType type);

/// Bytes of one element.
uint64_t elementTypeSize(ElementType type);

/// The type of that name; none when there is no such type.
std::optional<ElementType> elementTypeNamed(std::string_view name);

/// "f32, f64, ...": what to list in an error message.
std::string_view elementTypeList();

/// "f32[2,3]"; a scalar is "f32[]".
std::string tensorTypeName(ElementType type, std::span<const int64_t> shape);

/// Bytes of a contiguous tensor; none when a dimension is negative or the size is over 2^63 - 1.
std::optional<uint64_t> tensorByteSize(ElementType type, std::span<const int64_t> shape);

} // namespace gantry
