// A product with a zero of the border changes a sum in two cases: the weight is infinite or no
// number, or the sum is -0, which only a sum that underflowed is. Weights have to be known to be
// finite; a sum of -0 and one of +0 have to be the same to all that read it, which they are when
// anything but -0 is added to both.

#include "SkipBorders.h"

#include "Reorder.h"
#include "gantry/Dialect/Gantry/IR/Borders.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"

#include <cstring>

using namespace mlir;
using namespace gantry;

/// Whether no number of a floating-point constant has these bits under the mask; false where they
/// are not at hand.
template <typename Word>
static bool hasNone(ArrayRef<char> bytes, Word mask, Word bits) {
  bool found = bytes.empty();
  // Weights lie in a model's file at any address. Without an end before the last one, so that
  // vectors do it.
  for (size_t i = 0; i < bytes.size(); i += sizeof(Word)) {
    Word word;
    std::memcpy(&word, bytes.data() + i, sizeof(Word));
    found |= (word & mask) == bits;
  }
  return !found;
}

/// The same of all elements, where the bits are those of `like` in the element's type.
static bool hasNone(Value value, function_ref<APFloat(const llvm::fltSemantics &)> like,
                    bool exponentAlone) {
  ElementsAttr elements = getConstantElements(value);
  auto type = elements ? dyn_cast<FloatType>(elementOf(value)) : FloatType();
  if (!type)
    return false;
  const unsigned width = type.getWidth();
  const uint64_t bits = like(type.getFloatSemantics()).bitcastToAPInt().getZExtValue();
  const uint64_t mask = exponentAlone ? bits : llvm::maskTrailingOnes<uint64_t>(width);
  if (width == 32)
    return hasNone<uint32_t>(bytesOf(elements), mask, bits);
  return width == 16 && hasNone<uint16_t>(bytesOf(elements), mask, bits);
}

/// Whether all weights are constants, and numbers: also once f32 is made of shorter ones at load.
static bool isFinite(Value filter) {
  auto cast = filter.getDefiningOp<CastOp>();
  if (cast && elementOf(cast).isF32() && elementOf(cast.getInput()).getIntOrFloatBitWidth() == 16)
    filter = cast.getInput();
  return hasNone(
      filter, [](const llvm::fltSemantics &type) { return APFloat::getInf(type); },
      /*exponentAlone=*/true);
}

static bool hasNoNegativeZero(Value value) {
  return hasNone(
      value, [](const llvm::fltSemantics &type) { return APFloat::getZero(type, true); },
      /*exponentAlone=*/false);
}

/// Whether all that read a value add to it what tells no zero from the other.
static bool hidesSignOfZero(Value sums) {
  return !sums.use_empty() && llvm::all_of(sums.getUses(), [](OpOperand &use) {
    if (auto cast = dyn_cast<CastOp>(use.getOwner()))
      return isa<FloatType>(elementOf(cast)) && hidesSignOfZero(cast);
    auto add = dyn_cast<AddOp>(use.getOwner());
    return add && hasNoNegativeZero(add->getOperand(1 - use.getOperandNumber()));
  });
}

void gantry::allowSkippedBorder(ConvOp conv, ConvOp made) {
  if (isa<IntegerType>(elementOf(made)))
    return setBorder(made, Border::Unseen); // sums of integers are exact
  const bool isHidden = hidesSignOfZero(conv), addsZero = addsPlusZero(made) && !isHidden;
  Border border = addsZero ? Border::PlusZero : Border();
  if ((isHidden || addsZero) && isFinite(conv.getFilter()))
    border = border | Border::Unseen;
  setBorder(made, border);
}

bool gantry::addsZeros(PadOp pad) {
  auto value = dyn_cast_if_present<DenseElementsAttr>(getConstantElements(pad.getValue()));
  if (!value || pad.getMode() != PadMode::Constant)
    return false;
  return isa<FloatType>(value.getElementType()) ? value.getSplatValue<APFloat>().isPosZero()
                                                : value.getSplatValue<APInt>().isZero();
}
