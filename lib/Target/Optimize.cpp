#include "gantry/Target/Optimize.h"

#include "mlir/Pass/PassRegistry.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Target/TargetMachine.h"

void gantry::addPasses(mlir::OpPassManager &pm, llvm::StringRef passes) {
  if (mlir::failed(mlir::parsePassPipeline(passes, pm)))
    llvm::report_fatal_error("internal error: unknown pass in '" + llvm::Twine(passes) + "'");
}

void gantry::optimizeModule(llvm::Module &module, llvm::TargetMachine &machine,
                            const llvm::PipelineTuningOptions &tuning) {
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}
