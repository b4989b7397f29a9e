// Gives open dimensions their sizes and infers result types again.

#include "gantry/Transforms/SpecializeShapes.h"
#include "gantry/Transforms/InferShapes.h"
#include "gantry/Transforms/Passes.h"

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
  explicit SpecializeShapes(ArrayRef<DimSize> given) {
    for (auto &[name, size] : given)
      sizes[name] = size;
  }

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

  /// The option is text for gantry-opt alone.
  LogicalResult readSizes() {
    for (const std::string &text : dims) {
      Expected<DimSize> dim = parseDimSize(text);
      if (!dim)
        return getOperation().emitError() << dim.status().message();
      sizes[dim->first] = dim->second;
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
    if (failed(inferTypesAgain(func.getBody())))
      return failure();
    func.setType(FunctionType::get(func.getContext(), func.getBody().getArgumentTypes(),
                                   func.getBody().front().getTerminator()->getOperandTypes()));
    return success();
  }
};
} // namespace

Expected<DimSize> gantry::parseDimSize(StringRef text) {
  auto [name, number] = text.rsplit('=');
  int64_t size;
  if (name.empty() || number.getAsInteger(10, size) || size < 0)
    return Status::invalidArgument("--dim '" + text.str() + "' is not NAME=SIZE");
  return DimSize(name.str(), size);
}

std::unique_ptr<Pass> gantry::createSpecializeShapesPass(ArrayRef<DimSize> sizes) {
  return std::make_unique<SpecializeShapes>(sizes);
}
