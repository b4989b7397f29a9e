// Dialects and external models that the passes rely on. A missing model is silent: the pass that
// asks for the interface does nothing, and code gets slow or fails later. So all are listed here.

#include "Evaluator.h"
#include "gantry/Pipeline/Pipeline.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Dialect/Plan/IR/Plan.h"
#include "gantry/Gradient/Gradient.h"
#include "gantry/Target/CPU/CPUTarget.h"
#include "gantry/Target/CUDA/CUDATarget.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"

#include <mutex>

void gantry::registerDialects(mlir::DialectRegistry &registry) {
  // The pipelines name upstream passes.
  static std::once_flag once;
  std::call_once(once, [] { mlir::registerAllPasses(); });
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<GantryDialect, plan::ir::PlanDialect>();
  registerCPUTarget();
  registerCUDATarget();
  registerGradients(registry);
  registerEvaluator(registry);
}
