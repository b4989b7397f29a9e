// Gives open dimensions their sizes and infers result types again.

#include "gantry/Transforms/SpecializeShapes.h"

#include "gantry/Dialect/Gantry/IR/Ports.h"
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

  /// The size given for dimension `d` of argument `i`, under any of its names.
  std::optional<int64_t> sizeOf(func::FuncOp func, unsigned i, unsigned d) {
    for (const std::string &name : dimNames(func, i, d))
      if (auto given = sizes.find(name); given != sizes.end()) {
        used.insert(name);
        return given->getValue();
      }
    return std::nullopt;
  }

  /// All that is missing at once, with the flags to paste.
  LogicalResult askFor(func::FuncOp func, ArrayRef<unsigned> inputs,
                       ArrayRef<std::string> missing) {
    auto error = func.emitError() << "the inputs have open dimensions (";
    llvm::interleaveComma(inputs, error, [&](unsigned i) {
      error << "'" << inputName(func, i) << "': " << func.getArgumentTypes()[i];
    });
    return error << "); give their sizes with " << dimFlags(missing);
  }

  LogicalResult specialize(func::FuncOp func) {
    if (func.isExternal())
      return success();
    bool changed = false;
    SmallVector<unsigned> openInputs;
    SmallVector<std::string> missing;
    for (BlockArgument arg : func.getArguments()) {
      auto type = dyn_cast<RankedTensorType>(arg.getType());
      if (!type || type.hasStaticShape())
        continue;
      unsigned i = arg.getArgNumber();
      SmallVector<int64_t> shape(type.getShape());
      for (auto [d, size] : llvm::enumerate(shape)) {
        if (!ShapedType::isDynamic(size))
          continue;
        if (std::optional<int64_t> given = sizeOf(func, i, d)) {
          size = *given;
          continue;
        }
        if (openInputs.empty() || openInputs.back() != i)
          openInputs.push_back(i);
        if (std::string name = dimName(func, i, d); !llvm::is_contained(missing, name))
          missing.push_back(name);
      }
      arg.setType(type.clone(shape));
      changed = true;
    }
    if (!missing.empty())
      return askFor(func, openInputs, missing);
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
