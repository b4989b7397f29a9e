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

  LogicalResult inferAgain(Region &region) {
    WalkResult result = region.walk<WalkOrder::PreOrder>([](Operation *op) {
      auto infer = dyn_cast<InferTypeOpInterface>(op);
      if (!infer || op->getNumResults() == 0)
        return WalkResult::advance();
      SmallVector<Type> types;
      if (failed(infer.inferReturnTypes(op->getContext(), op->getLoc(), op->getOperands(),
                                        op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
                                        op->getRegions(), types)))
        return WalkResult::interrupt();
      for (auto [value, type] : llvm::zip(op->getResults(), types))
        value.setType(type);
      return WalkResult::advance();
    });
    // Ops whose types are given follow their operands where that is the only reading.
    region.walk([](Operation *op) {
      if (isa<CastOp>(op)) {
        auto in = cast<RankedTensorType>(op->getOperand(0).getType());
        auto out = cast<RankedTensorType>(op->getResult(0).getType());
        op->getResult(0).setType(out.clone(in.getShape()));
      }
    });
    return failure(result.wasInterrupted());
  }
};
} // namespace
