#include "CollectiveBuilder.h"

#include "gantry/Dialect/Gantry/IR/TensorTypes.h"

using namespace mlir;
using namespace gantry;

CollectiveBuilder::CollectiveBuilder(AllReduceOp op)
    : op(op), builder(op), type(cast<RankedTensorType>(op.getValues().front().getType())) {
  for (DeviceAttr device : op.getDevices()->getAsRange<DeviceAttr>()) {
    auto known = op.getTree() ? llvm::find(devices, device) : devices.end();
    owners.push_back(known - devices.begin());
    if (known == devices.end())
      devices.push_back(device);
  }
}

bool CollectiveBuilder::isEqualMean() {
  return op.getKind() == CombineKind::Mean && hasEqualShares() && count() > 1;
}

SmallVector<bool> CollectiveBuilder::readers() {
  SmallVector<bool> read(ranks(), !op.getTree());
  for (auto [result, owner] : llvm::zip(op.getResults(), owners))
    read[owner] = read[owner] || !result.use_empty();
  return read;
}

void CollectiveBuilder::inheritSoftness(Operation *made) {
  for (StringRef attr : {kSoftAttr, kOriginAttr})
    if (Attribute given = op->getAttr(attr))
      made->setAttr(attr, given);
}

Value CollectiveBuilder::place(Operation *made, size_t rank, const Twine &what) {
  made->setAttr(kDeviceAttr, devices[rank]);
  inheritSoftness(made);
  if (auto name = op->getAttrOfType<StringAttr>(kNameAttr))
    made->setAttr(kNameAttr,
                  builder.getStringAttr(name.getValue() + "/" + what + "/replica_" + Twine(rank)));
  return made->getResult(0);
}

Value CollectiveBuilder::scale(Value value, double factor, size_t rank, const Twine &what) {
  const Type element = type.getElementType();
  Attribute number = builder.getFloatAttr(element, factor);
  Value constant = ConstantOp::create(
      builder, op.getLoc(), DenseElementsAttr::get(RankedTensorType::get({}, element), number));
  return place(MulOp::create(builder, op.getLoc(), value.getType(), value, constant), rank, what);
}

Value CollectiveBuilder::reshape(Value value, ArrayRef<int64_t> shape) {
  auto wanted = RankedTensorType::get(shape, type.getElementType());
  return value.getType() == wanted
             ? value
             : ReshapeOp::create(builder, op.getLoc(), wanted, value).getResult();
}

Value CollectiveBuilder::flatten(Value value) {
  return reshape(value, cast<RankedTensorType>(value.getType()).getNumElements());
}

Value CollectiveBuilder::concat(ArrayRef<Value> values, size_t rank, const Twine &what) {
  if (values.size() == 1)
    return values.front();
  return place(ConcatOp::create(builder, op.getLoc(), values, /*axis=*/0), rank, what);
}

Value CollectiveBuilder::cut(Value value, int64_t begin, int64_t size, size_t rank,
                             const Twine &what) {
  SmallVector<int64_t> sizes(shapeOf(value)), starts(sizes.size(), 0), steps(sizes.size(), 1);
  sizes.back() = size;
  starts.back() = begin;
  return place(
      SliceOp::create(builder, op.getLoc(), type.clone(sizes), value, starts, sizes, steps), rank,
      what);
}
