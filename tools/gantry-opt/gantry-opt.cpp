// gantry-opt: runs passes by name on .mlir files, as mlir-opt does.

#include "ForeignOps.h"
#include "TestTarget.h"
#include "gantry/Arithmetic/Passes.h"
#include "gantry/Linalg/Passes.h"
#include "gantry/Pipeline/Pipeline.h"
#include "gantry/Target/CPU/Passes.h"
#include "gantry/Target/CUDA/Passes.h"
#include "gantry/Target/Passes.h"
#include "gantry/Transforms/MemoryRepair/Passes.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"

static llvm::cl::opt<bool>
    testTarget("test-target", llvm::cl::desc("Serve the driver cuda by a target for tests"));

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  gantry::registerDialects(registry);
  registerForeignOps(registry);
  gantry::registerGantryTransformsPasses();
  gantry::registerGantryMemoryRepairPasses();
  gantry::registerGantryArithmeticPasses();
  gantry::registerGantryLinalgPasses();
  gantry::registerGantryTargetPasses();
  gantry::registerGantryCPUPasses();
  gantry::registerGantryCUDAPasses();
  gantry::registerPipelines();
  auto [input, output] =
      mlir::registerAndParseCLIOptions(argc, argv, "Gantry's pass driver\n", registry);
  if (testTarget)
    registerTestTarget();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
}
