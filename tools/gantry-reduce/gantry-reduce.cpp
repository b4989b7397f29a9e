// gantry-reduce: makes a module that fails small, given a script that tells whether a module still
// fails (it exits with 1 then). See docs/Debugging.md.

#include "ReductionPatterns.h"

#include "gantry/Linalg/Passes.h"
#include "gantry/Pipeline/Pipeline.h"
#include "gantry/Target/CPU/Passes.h"
#include "gantry/Target/CUDA/Passes.h"
#include "gantry/Target/Passes.h"
#include "gantry/Transforms/OverLimit/Passes.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  gantry::registerDialects(registry);
  gantry::registerReductionPatterns(registry);
  gantry::registerGantryTransformsPasses();
  gantry::registerGantryOverLimitPasses();
  gantry::registerGantryLinalgPasses();
  gantry::registerGantryTargetPasses();
  gantry::registerGantryCPUPasses();
  gantry::registerGantryCUDAPasses();
  mlir::MLIRContext context(registry);
  return mlir::failed(mlir::mlirReduceMain(argc, argv, context));
}
