// gantry-opt: runs passes by name on .mlir files, as mlir-opt does.

#include "ForeignOps.h"
#include "gantry/Linalg/Passes.h"
#include "gantry/Pipeline/Pipeline.h"
#include "gantry/Target/CPU/Passes.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  gantry::registerDialects(registry);
  registerForeignOps(registry);
  gantry::registerGantryTransformsPasses();
  gantry::registerGantryLinalgPasses();
  gantry::registerGantryCPUPasses();
  gantry::registerPipelines();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Gantry's pass driver\n", registry));
}
