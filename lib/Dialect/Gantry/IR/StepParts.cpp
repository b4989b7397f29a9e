#include "gantry/Dialect/Gantry/IR/StepParts.h"

#include "gantry/Dialect/Gantry/IR/Attributes.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace gantry;

static constexpr llvm::StringLiteral kPart = "part", kAgain = "again";
static constexpr llvm::StringLiteral partNames[] = {"forward", "backward", "update"};

StringRef gantry::stepPartName(StepPart part) { return partNames[size_t(part)]; }

/// What is noted beside a place.
static DictionaryAttr notesOf(Location location) {
  auto fused = dyn_cast<FusedLoc>(location);
  return fused ? dyn_cast_if_present<DictionaryAttr>(fused.getMetadata()) : DictionaryAttr();
}

static Location withNote(Location location, StringRef key, Attribute value) {
  NamedAttrList notes;
  if (DictionaryAttr known = notesOf(location)) {
    notes = known;
    location = cast<FusedLoc>(location).getLocations().front();
  }
  notes.set(key, value);
  MLIRContext *context = location.getContext();
  return FusedLoc::get(context, {location}, notes.getDictionary(context));
}

StepPart gantry::stepPartOf(Location location) {
  DictionaryAttr notes = notesOf(location);
  auto name = notes ? notes.getAs<StringAttr>(kPart) : StringAttr();
  for (StepPart part : {StepPart::backward, StepPart::update})
    if (name && name.getValue() == stepPartName(part))
      return part;
  return StepPart::forward;
}

Location gantry::ofStepPart(Location location, StepPart part) {
  return withNote(location, kPart, StringAttr::get(location.getContext(), stepPartName(part)));
}

bool gantry::isComputedAgain(Operation *op) {
  DictionaryAttr notes = notesOf(op->getLoc());
  return op->hasAttr(kAgainAttr) || (notes && notes.contains(kAgain));
}

Location gantry::computedAgain(Location location) {
  return withNote(location, kAgain, UnitAttr::get(location.getContext()));
}
