#include "gantry/Transforms/Replicas.h"

#include "gantry/Device/DeviceName.h"
#include "gantry/Dialect/Gantry/IR/Views.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <algorithm>

using namespace mlir;
using namespace gantry;

SmallVector<Shard> gantry::cutIntoShards(int64_t size, size_t count,
                                         std::optional<ArrayRef<int64_t>> weights) {
  SmallVector<Shard> shards;
  __int128 total = 0, before = 0;
  for (size_t i = 0; i < count; ++i)
    total += weights ? (*weights)[i] : 1;
  int64_t each = (size + int64_t(count) - 1) / int64_t(count), begin = 0;
  for (size_t i = 0; i < count; ++i) {
    before += weights ? (*weights)[i] : 1;
    int64_t end =
        weights ? int64_t((size * before + total - 1) / total) : std::min(size, begin + each);
    shards.push_back({begin, end - begin});
    begin = end;
  }
  return shards;
}

DeviceAttr gantry::makeDeviceAttr(MLIRContext *context, StringRef text) {
  return DeviceAttr::get(context, DeviceName::parse(text.str())->str());
}

/// The device that a value is known to be on: that of an argument.
static DeviceAttr homeOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto func =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  if (!func)
    return {};
  if (auto given = func.getArgAttrOfType<DeviceAttr>(argument.getArgNumber(), kDeviceAttr))
    return given;
  return makeDeviceAttr(value.getContext(), "CPU:0");
}

Value gantry::sliceShard(OpBuilder &builder, Location origin, Value value, int64_t axis,
                         Shard shard, const Twine &name) {
  auto type = cast<RankedTensorType>(value.getType());
  if (shard.begin == 0 && shard.size == type.getDimSize(axis))
    return value;
  SmallVector<int64_t> starts(type.getRank(), 0), sizes(type.getShape()), steps(type.getRank(), 1);
  starts[axis] = shard.begin;
  sizes[axis] = shard.size;
  auto made = SliceOp::create(builder, origin, type.clone(sizes), value, starts, sizes, steps);
  if (DeviceAttr home = homeOf(value)) {
    made->setAttr(kDeviceAttr, home);
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

void gantry::markAsReplica(Operation *op, const ReplicaMark &replica) {
  MLIRContext *context = op->getContext();
  std::string suffix = "/replica_" + std::to_string(replica.number);
  auto variable = op->getAttrOfType<FlatSymbolRefAttr>(kVariableAttr);
  if (variable && replica.number)
    op->setAttr(kVariableAttr,
                FlatSymbolRefAttr::get(context, (variable.getValue() + suffix).str()));
  if (!isa<KernelOpInterface>(op))
    return;
  markName(op, suffix);
  // Views are where what they show is, unless the graph says otherwise.
  auto own = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
  if (isView(op) && !own)
    return;
  DeviceName request = *DeviceName::parse(replica.device.getSpelling().str());
  if (own) {
    request = mergeScopes(request, *DeviceName::parse(own.getSpelling().str()));
  } else {
    op->setAttr(kOriginAttr, replica.origin);
    if (replica.soft && !op->hasAttr(kSoftAttr))
      op->setAttr(kSoftAttr, replica.soft);
  }
  op->setAttr(kDeviceAttr, DeviceAttr::get(context, request.str()));
}
