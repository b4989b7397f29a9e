// Types and state spaces of PTX, as instructions and variables name them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gantry::ptx {

enum class Type : uint8_t {
  none,
#define GANTRY_PTX_TYPE(name, bits, kind) name,
#include "gantry/PTX/Types.def"
};

/// What the bits of a type mean.
enum class TypeKind : uint8_t { none, pred, bits, unsignedInt, signedInt, real, packed };

/// Where a variable or an address is.
enum class Space : uint8_t { generic, global, shared, local, param, constant, reg };

/// "f32"; "" for none.
std::string_view typeName(Type type);
/// Bits of one value; 1 for pred, 0 for none.
unsigned typeBits(Type type);
inline unsigned typeBytes(Type type) { return (typeBits(type) + 7) / 8; }
TypeKind typeKind(Type type);
/// The type of that name, without the dot.
std::optional<Type> typeNamed(std::string_view name);

inline bool isSigned(Type type) { return typeKind(type) == TypeKind::signedInt; }
inline bool isInteger(Type type) {
  return typeKind(type) == TypeKind::signedInt || typeKind(type) == TypeKind::unsignedInt ||
         typeKind(type) == TypeKind::bits;
}

std::string_view spaceName(Space space);

} // namespace gantry::ptx
