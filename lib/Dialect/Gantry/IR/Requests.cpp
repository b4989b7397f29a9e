#include "gantry/Dialect/Gantry/IR/Requests.h"

using namespace mlir;
using namespace gantry;

bool gantry::hasRequest(Operation *op) {
  return op->hasAttr(kDeviceAttr) || op->hasAttr(kColocateAttr);
}

DictionaryAttr gantry::getRequest(Operation *op) {
  NamedAttrList request;
  for (StringRef name : kRequestAttrs)
    if (Attribute value = op->getAttr(name))
      request.set(name, value);
  return request.getDictionary(op->getContext());
}

bool gantry::mayGiveWay(Operation *op, Value value) {
  if (!hasRequest(op))
    return true;
  Operation *maker = value.getDefiningOp();
  return isa_and_present<KernelOpInterface>(maker) && getRequest(op) == getRequest(maker);
}

OpFoldResult gantry::unlessRequested(Operation *op, OpFoldResult folded) {
  // The op itself, changed in place, keeps what it was asked.
  auto value = dyn_cast_if_present<Value>(folded);
  if (!folded || (value && value.getDefiningOp() == op))
    return folded;
  bool may = value ? mayGiveWay(op, value) : !hasRequest(op);
  return may ? folded : OpFoldResult();
}

void gantry::inheritRequest(Operation *from, Operation *to) {
  for (NamedAttribute asked : getRequest(from))
    to->setAttr(asked.getName(), asked.getValue());
  if (Attribute origin = from->getAttr(kOriginAttr))
    to->setAttr(kOriginAttr, origin);
}

void gantry::placeLike(Operation *like, Operation *op, StringRef suffix) {
  op->setDiscardableAttrs(like->getDiscardableAttrDictionary());
  op->removeDiscardableAttr(kSourceOpAttr);
  if (auto name = like->getAttrOfType<StringAttr>(kNameAttr); name && !suffix.empty())
    op->setAttr(kNameAttr, StringAttr::get(op->getContext(), name.getValue() + suffix));
}
