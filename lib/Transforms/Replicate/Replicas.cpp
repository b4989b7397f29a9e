#include "gantry/Transforms/Replicas.h"

#include "gantry/Analysis/Homes.h"

using namespace mlir;
using namespace gantry;

Value gantry::sliceShard(OpBuilder &builder, Location origin, Value value, int64_t axis,
                         Shard shard, const Twine &name) {
  auto type = cast<RankedTensorType>(value.getType());
  if (shard.begin == 0 && shard.size == type.getDimSize(axis))
    return value;
  SmallVector<int64_t> starts(type.getRank(), 0), sizes(type.getShape()), steps(type.getRank(), 1);
  starts[axis] = shard.begin;
  sizes[axis] = shard.size;
  auto made = SliceOp::create(builder, origin, type.clone(sizes), value, starts, sizes, steps);
  auto argument = dyn_cast<BlockArgument>(value);
  auto func =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  if (func) {
    made->setAttr(kDeviceAttr, requestOfArgument(func, argument.getArgNumber()));
    made->setAttr(kOriginAttr, LocationAttr(origin));
  }
  if (std::string text = name.str(); !text.empty())
    made->setAttr(kNameAttr, builder.getStringAttr(text));
  return made;
}

static void markName(Operation *op, StringRef suffix) {
  std::string name;
  if (auto own = op->getAttrOfType<StringAttr>(kNameAttr))
    name = own.str();
  else if (auto loc = dyn_cast<NameLoc>(op->getLoc()); loc && loc.getName() != "?")
    name = loc.getName().str();
  if (!name.empty())
    op->setAttr(kNameAttr, StringAttr::get(op->getContext(), name + suffix));
}

std::string gantry::replicaSuffix(unsigned number, std::optional<unsigned> part) {
  return part ? "/part_" + std::to_string(*part) : "/replica_" + std::to_string(number);
}

void gantry::markAsReplica(Operation *op, const ReplicaMark &replica) {
  MLIRContext *context = op->getContext();
  auto variable = op->getAttrOfType<FlatSymbolRefAttr>(kVariableAttr);
  if (variable && replica.number) // a mirror is a device's
    op->setAttr(kVariableAttr,
                FlatSymbolRefAttr::get(context, variable.getValue().str() +
                                                    replicaSuffix(replica.number, std::nullopt)));
  if (!isa<KernelOpInterface>(op))
    return;
  markName(op, replicaSuffix(replica.number, replica.part));
  // Views are where what they show is, unless the graph says otherwise.
  auto own = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
  if (isView(op) && !own)
    return;
  DeviceName request = replica.device.getName();
  if (own) {
    request = mergeScopes(request, own.getName());
  } else {
    op->setAttr(kOriginAttr, replica.origin);
    if (replica.soft && !op->hasAttr(kSoftAttr))
      op->setAttr(kSoftAttr, replica.soft);
  }
  op->setAttr(kDeviceAttr, DeviceAttr::get(context, request));
}
