// Gives open dimensions their sizes and infers result types again.

#include "gantry/Transforms/Passes.h"

#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_SPECIALIZESHAPESPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
struct SpecializeShapes : gantry::impl::SpecializeShapesPassBase<SpecializeShapes> {
  using SpecializeShapesPassBase::SpecializeShapesPassBase;

  llvm::StringMap<int64_t> sizes;
  llvm::StringSet<> used;

  void runOnOperation() override {
    if (failed(readSizes()))
      return signalPassFailure();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(specialize(func)))
        return signalPassFailure();
    for (const auto &entry : sizes)
      if (!used.contains(entry.getKey())) {
        getOperation().emitError() << "--dim " << entry.getKey() << "=" << entry.getValue()
                                   << " names no open dimension of the graph";
        return signalPassFailure();
      }
  }

  LogicalResult readSizes() {
    for (const std::string &text : dims) {
      auto [name, number] = StringRef(text).rsplit('=');
      int64_t size;
      if (name.empty() || number.getAsInteger(10, size) || size < 0)
        return getOperation().emitError() << "--dim '" << text << "' is not NAME=SIZE";
      sizes[name] = size;
    }
    return success();
  }

  /// What the graph calls dimension `d` of argument `i`.
  static std::string nameOf(func::FuncOp func, unsigned i, unsigned d) {
    if (auto names = func.getArgAttrOfType<ArrayAttr>(i, "gantry.dims"))
      if (d < names.size())
        if (auto name = dyn_cast<StringAttr>(names[d]); name && !name.empty())
          return name.str();
    auto name = func.getArgAttrOfType<StringAttr>(i, kNameAttr);
    return (name ? name.str() : "arg" + std::to_string(i)) + ":" + std::to_string(d);
  }

  LogicalResult specialize(func::FuncOp func) {
    if (func.isExternal())
      return success();
    bool changed = false;
    for (BlockArgument arg : func.getArguments()) {
      auto type = dyn_cast<RankedTensorType>(arg.getType());
      if (!type || type.hasStaticShape())
        continue;
      SmallVector<int64_t> shape(type.getShape());
      for (auto [d, size] : llvm::enumerate(shape)) {
        if (!ShapedType::isDynamic(size))
          continue;
        std::string name = nameOf(func, arg.getArgNumber(), d);
        auto given = sizes.find(name);
        if (given == sizes.end())
          return func.emitError() << "dimension " << d << " of input " << arg.getArgNumber() << " ("
                                  << type << ") is open; give its size with --dim " << name << "=N";
        size = given->getValue();
        used.insert(name);
      }
      arg.setType(type.clone(shape));
      changed = true;
    }
    if (!changed)
      return success();
    if (failed(inferAgain(func.getBody())))
      return failure();
    func.setType(FunctionType::get(func.getContext(), func.getBody().getArgumentTypes(),
                                   func.getBody().front().getTerminator()->getOperandTypes()));
    return success();
  }

  /// Gives every op of the region its result types again, in program order: operands come first.
  static LogicalResult inferAgain(Region &region) {
    for (Operation &op : region.front())
      if (failed(inferAgain(op)))
        return failure();
    return success();
  }

  static LogicalResult inferAgain(Operation &op) {
    if (auto infer = dyn_cast<InferTypeOpInterface>(op); infer && op.getNumResults() > 0) {
      SmallVector<Type> types;
      if (failed(infer.inferReturnTypes(op.getContext(), op.getLoc(), op.getOperands(),
                                        op.getDiscardableAttrDictionary(),
                                        op.getPropertiesStorage(), op.getRegions(), types)))
        return failure();
      setTypes(op.getResults(), types);
    }
    // Ops whose types are given follow their operands where that is the only reading.
    if (auto cast = dyn_cast<CastOp>(op))
      cast.getResult().setType(cast.getType().clone(cast.getInput().getType().getShape()));
    if (auto reshape = dyn_cast<ReshapeOp>(op))
      closeOneDimension(reshape);
    return inferControlFlow(op);
  }

  template <typename Values>
  static void setTypes(Values values, TypeRange types) {
    for (auto [value, type] : llvm::zip(values, types))
      value.setType(type);
  }

  /// The number of elements decides the only open dimension of a reshape.
  static void closeOneDimension(ReshapeOp op) {
    auto in = op.getInput().getType(), out = op.getType();
    if (!in.hasStaticShape() || out.getNumDynamicDims() != 1)
      return;
    SmallVector<int64_t> shape(out.getShape());
    int64_t known = 1, *open = nullptr;
    for (int64_t &size : shape)
      ShapedType::isDynamic(size) ? void(open = &size) : void(known *= size);
    if (known == 0 || in.getNumElements() % known)
      return;
    *open = in.getNumElements() / known;
    op.getResult().setType(out.clone(shape));
  }

  /// Sizes go into the regions with what loops carry, and come out with what regions yield.
  static LogicalResult inferControlFlow(Operation &op) {
    auto loop = dyn_cast<WhileOp>(op);
    if (loop)
      for (Region *region : {&loop.getConditionBody(), &loop.getBody()})
        setTypes(region->getArguments(), loop.getInits().getTypes());
    for (Region &region : op.getRegions())
      if (failed(inferAgain(region)))
        return failure();
    if (loop)
      setTypes(loop.getResults(), loop.getInits().getTypes());
    if (auto branch = dyn_cast<IfOp>(op))
      setTypes(branch.getResults(),
               branch.getThenBody().front().getTerminator()->getOperandTypes());
    return success();
  }
};
} // namespace
