#include "gantry/Linalg/Scalars.h"

using namespace mlir;
using namespace gantry;

Value gantry::meetUpdate(Emitter &b, ScatterReduction reduction, Value old, Value update,
                         bool isUnsigned) {
  Value x = b.widen(old), y = b.widen(update), result;
  switch (reduction) {
  case ScatterReduction::None:
    return update;
  case ScatterReduction::Add:
    // Bits: or and and are the sum and the product that stay within i1.
    result = x.getType().isInteger(1) ? b.either(x, y) : b.add(x, y);
    break;
  case ScatterReduction::Mul:
    result = b.mul(x, y);
    break;
  case ScatterReduction::Max:
    result = b.maximum(x, y, isUnsigned);
    break;
  case ScatterReduction::Min:
    result = b.minimum(x, y, isUnsigned);
    break;
  }
  return b.narrow(result, update.getType());
}

Value gantry::isPreferred(Emitter &b, TopKOp op, Value x, Value y) {
  if (op.getSmallest())
    std::swap(x, y);
  if (!isa<FloatType>(x.getType()))
    return b.less(y, x, isUnsigned(op.getInput().getType()));
  using Predicate = arith::CmpFPredicate;
  Value wideX = b.widen(x), wideY = b.widen(y);
  Value above = b.compare(Predicate::OGT, wideX, wideY);
  Value nan =
      b.both(b.compare(Predicate::UNO, wideX, wideX), b.compare(Predicate::ORD, wideY, wideY));
  return b.either(above, nan);
}
