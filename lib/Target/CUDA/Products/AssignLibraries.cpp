// Which products a library is asked for: all that it has, or those that it is estimated to compute
// so much faster that what would share their kernel may be one of its own (docs/decisions/0086).
//
// The answer is a mark on the op that everybody reads: fusion, which leaves such an op alone,
// whoever predicts fusion, and the kernel, which becomes a variant. It is a function of the op and
// of what its operands are, so that the same product of another replica, or without fusion, has the
// same bits (docs/decisions/0016).

#include "ChooseLibrary.h"
#include "LibraryProduct.h"

#include "gantry/Analysis/AttentionProducts.h"
#include "gantry/Device/Topology.h"
#include "gantry/Dialect/Gantry/IR/Notes.h"
#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Target/CUDA/CUDATarget.h"
#include "gantry/Target/CUDA/Libraries.h"
#include "gantry/Target/CUDA/Passes.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;
using gantry::plan::MatrixProduct;

namespace gantry {
#define GEN_PASS_DEF_ASSIGNLIBRARIESPASS
#include "gantry/Target/CUDA/Passes.h.inc"
} // namespace gantry

/// Bytes of operands that are turned in each run for this product or others, where kernels of ours
/// may read them as they were.
static uint64_t bytesTurnedFor(MatmulOp op) {
  uint64_t bytes = 0;
  for (Value operand : op->getOperands()) {
    while (auto copy = operand.getDefiningOp<CopyOp>())
      operand = copy.getInput();
    if (auto transpose = operand.getDefiningOp<TransposeOp>())
      if (!skipViews(transpose.getInput()).getDefiningOp<ConstantOp>())
        bytes += getByteSize(transpose.getType());
  }
  return bytes;
}

namespace {
struct AssignLibraries : gantry::impl::AssignLibrariesPassBase<AssignLibraries> {
  using AssignLibrariesPassBase::AssignLibrariesPassBase;

  Topology topology;
  int64_t oldestArch = 0;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    topology = getTopology(module);
    oldestArch = gpuArchNumber(kDefaultGPUArch);
    if (!archs.empty())
      oldestArch = gpuArchNumber(*llvm::min_element(
          archs, [](StringRef a, StringRef b) { return gpuArchNumber(a) < gpuArchNumber(b); }));
    for (auto func : module.getOps<func::FuncOp>()) {
      func.walk([](MatmulOp op) { op.removeByLibraryAttr(); });
      if (asksForLibrary(func, StringRef(plan::matmulLibrary)))
        assignAll(func);
      else if (!own && asksForLibrary(func, kAutomaticLibraries))
        assignFaster(func);
    }
  }

  void assignAll(func::FuncOp func) {
    func.walk([&](MatmulOp op) {
      if (mayBeOnGPU(op) && describe(op))
        assign(op);
    });
  }

  void assignFaster(func::FuncOp func) {
    const llvm::SetVector<MatmulOp> attention = productsOfAttention(func);
    func.walk([&](MatmulOp op) {
      if (!mayBeOnGPU(op) || attention.contains(op))
        return;
      if (std::optional<MatrixProduct> product = describe(op);
          product && isWorthLibrary(*product, oldestArch, bytesTurnedFor(op)))
        assign(op);
    });
  }

  std::optional<MatrixProduct> describe(MatmulOp op) const {
    return describeProduct(op, math == "tf32");
  }

  void assign(MatmulOp op) {
    op.setByLibraryAttr(UnitAttr::get(&getContext()));
  }

  /// Nobody knows before Place.
  bool mayBeOnGPU(MatmulOp op) const {
    auto device = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
    if (!device || !op->hasAttr(kPlacementAttr))
      return true;
    const Driver own = driverOf(topology, device);
    auto isOurs = [](StringRef driver) {
      const Target *target = findTarget(driver);
      return target && target->getName() == kCUDATarget;
    };
    return isOurs(driverName(own)) || llvm::any_of(also, [&](const std::string &driver) {
             return mayStandIn(driver, own) && isOurs(driver);
           });
  }
};
} // namespace
