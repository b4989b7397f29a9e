#include "gantry/Dialect/Gantry/IR/RoundElements.h"

#include "gantry/Dialect/Gantry/IR/Elements.h"
#include "gantry/Formats/Array.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <cstring>

using namespace mlir;
using namespace gantry;

ElementsAttr gantry::roundElements(ElementsAttr value, FloatType element) {
  auto type = cast<RankedTensorType>(value.getType());
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    return dense.mapValues(element, [&](const APFloat &number) {
      APFloat rounded = number;
      bool loses = false;
      rounded.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven, &loses);
      return rounded.bitcastToAPInt();
    });
  ArrayRef<char> wide = storedBytes(value);
  const size_t count = type.getNumElements();
  if (count == 0 || wide.size() != count * sizeof(float))
    return {};
  AsmResourceBlob blob =
      HeapAsmResourceBlob::allocate(count * sizeof(uint16_t), /*align=*/64, /*dataIsMutable=*/true);
  char *narrow = blob.getMutableData().data();
  auto round = element.isBF16() ? arrays::floatToBfloat : arrays::floatToHalf;
  for (size_t i = 0; i < count; ++i) {
    float number;
    std::memcpy(&number, wide.data() + i * sizeof number, sizeof number);
    uint16_t bits = round(number);
    std::memcpy(narrow + i * sizeof bits, &bits, sizeof bits);
  }
  StringRef name = cast<DenseResourceElementsAttr>(value).getRawHandle().getKey();
  return DenseResourceElementsAttr::get(type.clone(element), name, std::move(blob));
}
