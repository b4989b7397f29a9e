#include "gantry/PTX/Types.h"

#include <array>
#include <map>

using namespace gantry::ptx;

namespace {

struct TypeFacts {
  std::string_view name;
  unsigned bits;
  TypeKind kind;
};

constexpr TypeFacts facts[] = {
    {"", 0, TypeKind::none},
#define GANTRY_PTX_TYPE(name, bits, kind) {#name, bits, TypeKind::kind},
#include "gantry/PTX/Types.def"
};

} // namespace

std::string_view gantry::ptx::typeName(Type type) { return facts[size_t(type)].name; }

unsigned gantry::ptx::typeBits(Type type) { return facts[size_t(type)].bits; }

TypeKind gantry::ptx::typeKind(Type type) { return facts[size_t(type)].kind; }

std::optional<Type> gantry::ptx::typeNamed(std::string_view name) {
  for (size_t i = 1; i < std::size(facts); ++i)
    if (facts[i].name == name)
      return Type(i);
  return std::nullopt;
}

std::string_view gantry::ptx::spaceName(Space space) {
  constexpr std::string_view names[] = {"generic", "global", "shared",  "local",
                                        "param",   "const",  "register"};
  return names[size_t(space)];
}
