#include "gantry/Analysis/Zeros.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

bool gantry::isZeros(Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    return isZeros(broadcast.getInput());
  return matchPattern(value, m_PosZeroFloat());
}
