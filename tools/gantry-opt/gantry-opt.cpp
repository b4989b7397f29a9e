// gantry-opt: runs passes by name on .mlir files, as mlir-opt does.

#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Target/Passes.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<gantry::GantryDialect>();
  mlir::registerAllPasses();
  gantry::registerGantryTargetPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Gantry's pass driver\n", registry));
}
