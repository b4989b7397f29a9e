// See Elements.h. Elements are little-endian in files, as on every machine Gantry runs on.

#include "gantry/Dialect/Gantry/IR/Elements.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <cstring>

using namespace mlir;
using namespace gantry;

/// One element as the type stores it in memory.
template <typename T>
static T load(const char *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

static double loadFloat(const char *from, FloatType type) {
  unsigned width = type.getWidth();
  uint64_t bits = 0;
  std::memcpy(&bits, from, width / 8);
  APFloat value(type.getFloatSemantics(), APInt(width, bits));
  bool loses = false;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  return value.convertToDouble();
}

static int64_t loadInt(const char *from, IntegerType type) {
  bool isUnsigned = type.isUnsigned();
  switch (type.getWidth()) {
  case 1:
    return *from != 0;
  case 8:
    return isUnsigned ? int64_t(load<uint8_t>(from)) : load<int8_t>(from);
  case 16:
    return isUnsigned ? int64_t(load<uint16_t>(from)) : load<int16_t>(from);
  case 32:
    return isUnsigned ? int64_t(load<uint32_t>(from)) : load<int32_t>(from);
  default:
    return load<int64_t>(from);
  }
}

ArrayRef<char> gantry::storedBytes(ElementsAttr attr) {
  if (auto dense = dyn_cast<DenseElementsAttr>(attr))
    return dense.isSplat() ? ArrayRef<char>() : dense.getRawData();
  auto resource = dyn_cast<DenseResourceElementsAttr>(attr);
  AsmResourceBlob *blob = resource ? resource.getRawHandle().getBlob() : nullptr;
  return blob ? blob->getData() : ArrayRef<char>();
}

static ArrayRef<uint8_t> unsignedBytes(ArrayRef<char> bytes) {
  return {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()};
}

std::optional<ArrayRef<uint8_t>> gantry::kernelBytes(ElementsAttr attr,
                                                     std::vector<uint8_t> &made) {
  auto type = cast<RankedTensorType>(attr.getType());
  const uint64_t size = getByteSize(type);
  auto dense = dyn_cast<DenseElementsAttr>(attr);
  if (!dense || (!dense.isSplat() && !type.getElementType().isInteger(1))) {
    ArrayRef<uint8_t> stored = unsignedBytes(storedBytes(attr));
    return stored.size() == size ? std::optional(stored) : std::nullopt;
  }
  made.resize(size);
  if (type.getElementType().isInteger(1)) {
    for (auto [i, bit] : llvm::enumerate(dense.getValues<bool>()))
      made[i] = bit;
    return ArrayRef<uint8_t>(made);
  }
  ArrayRef<uint8_t> one = unsignedBytes(dense.getRawData());
  for (uint64_t at = 0; at + one.size() <= size; at += one.size())
    llvm::copy(one, made.begin() + at);
  return ArrayRef<uint8_t>(made);
}

DenseElementsAttr gantry::makeElements(RankedTensorType type, ArrayRef<uint8_t> bytes) {
  if (!type.getElementType().isInteger(1))
    return DenseElementsAttr::getFromRawBuffer(
        type, {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  SmallVector<bool> flags(bytes.begin(), bytes.end());
  return DenseElementsAttr::get(type, ArrayRef<bool>(flags));
}

std::optional<KnownElements> gantry::readElements(ElementsAttr attr, int64_t limit) {
  auto type = dyn_cast<RankedTensorType>(attr.getType());
  if (!type || type.getNumElements() > limit)
    return std::nullopt;
  KnownElements out;
  out.isFloat = isa<FloatType>(type.getElementType());
  if (auto dense = dyn_cast<DenseElementsAttr>(attr)) {
    if (type.getElementType().isF32()) {
      llvm::append_range(out.floats, dense.getValues<float>());
      return out;
    }
    if (type.getElementType().isF64()) {
      llvm::append_range(out.floats, dense.getValues<double>());
      return out;
    }
    if (out.isFloat) {
      for (APFloat value : dense.getValues<APFloat>()) {
        bool loses = false;
        value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
        out.floats.push_back(value.convertToDouble());
      }
      return out;
    }
    auto integer = cast<IntegerType>(type.getElementType());
    bool zeroExtend = integer.isUnsigned() || integer.getWidth() == 1;
    for (const APInt &value : dense.getValues<APInt>())
      out.ints.push_back(zeroExtend ? int64_t(value.getZExtValue()) : value.getSExtValue());
    return out;
  }
  ArrayRef<char> bytes = storedBytes(attr);
  uint64_t step = std::max(type.getElementTypeBitWidth() / 8, 1u);
  if (!isa<DenseResourceElementsAttr>(attr) ||
      bytes.size() != step * uint64_t(type.getNumElements()))
    return std::nullopt;
  for (const char *at = bytes.begin(); at != bytes.end(); at += step)
    if (out.isFloat)
      out.floats.push_back(loadFloat(at, cast<FloatType>(type.getElementType())));
    else
      out.ints.push_back(loadInt(at, cast<IntegerType>(type.getElementType())));
  return out;
}

/// Of a type of the machine, which rounds as APFloat does, tens of times as fast.
template <typename T>
static DenseElementsAttr makeFloats(RankedTensorType type, const KnownElements &elements) {
  SmallVector<T, 0> values;
  values.reserve(elements.size());
  for (size_t i = 0; i < elements.size(); ++i)
    values.push_back(T(elements.isFloat ? elements.floats[i] : double(elements.ints[i])));
  return DenseElementsAttr::get(type, ArrayRef<T>(values));
}

DenseElementsAttr gantry::makeElements(RankedTensorType type, const KnownElements &elements) {
  if (type.getElementType().isF32())
    return makeFloats<float>(type, elements);
  if (type.getElementType().isF64())
    return makeFloats<double>(type, elements);
  if (auto floatType = dyn_cast<FloatType>(type.getElementType())) {
    SmallVector<APFloat> values;
    for (size_t i = 0; i < elements.size(); ++i) {
      APFloat value(elements.isFloat ? elements.floats[i] : double(elements.ints[i]));
      bool loses = false;
      value.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven, &loses);
      values.push_back(value);
    }
    return DenseElementsAttr::get(type, values);
  }
  unsigned width = type.getElementTypeBitWidth();
  SmallVector<APInt> values;
  for (size_t i = 0; i < elements.size(); ++i) {
    int64_t value = elements.isFloat ? 0 : elements.ints[i];
    if (elements.isFloat) {
      // Saturating, as gantry.cast; NaN becomes 0.
      double f = elements.floats[i];
      value = f != f ? 0 : f >= 0x1p63 ? INT64_MAX : f <= -0x1p63 ? INT64_MIN : int64_t(f);
      if (width == 1)
        value = f != 0;
    } else if (width == 1) {
      value = value != 0;
    }
    values.push_back(APInt(width, uint64_t(value), /*isSigned=*/false, /*implicitTrunc=*/true));
  }
  return DenseElementsAttr::get(type, values);
}
