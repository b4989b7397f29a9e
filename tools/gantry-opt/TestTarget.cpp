#include "TestTarget.h"

#include "gantry/Target/Target.h"

using namespace mlir;
using namespace gantry;

namespace {
struct TestTarget : Target {
  StringRef getName() const override { return "test"; }

  ArrayRef<StringRef> getDrivers() const override {
    static const StringRef drivers[] = {"cuda"};
    return drivers;
  }

  bool mayJoin(Operation *, ArrayRef<Operation *>, TargetAttr) const override { return false; }
  SmallVector<InPlace> getArgumentsToOverwrite(KernelOp) const override { return {}; }
  void buildKernelPipeline(OpPassManager &) const override {}
  void buildCodePipeline(OpPassManager &) const override {}

  FailureOr<std::string> printCode(ModuleOp kernels, TargetAttr, Text) const override {
    return kernels.emitError("the test target makes no code");
  }

  LogicalResult outlineCode(ModuleOp kernels, TargetAttr, PlanCode &) const override {
    return kernels.emitError("the test target makes no code");
  }

  LogicalResult emitCode(ModuleOp kernels, TargetAttr, PlanCode &) const override {
    return kernels.emitError("the test target makes no code");
  }
};
} // namespace

void registerTestTarget() { registerTarget(std::make_unique<TestTarget>()); }
