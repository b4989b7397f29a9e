// Names of the attributes that stand beside an op's own, kNameAttr = "gantry.name" and so on.
// Attributes.def says what each of them is, and on what.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace gantry {

#define GANTRY_ATTRIBUTE(constant, name, kind, carrier, meaning)                                   \
  inline constexpr llvm::StringLiteral k##constant##Attr = "gantry." #name;
#include "gantry/Dialect/Gantry/IR/Attributes.def"

} // namespace gantry
