// Registration for the compiler that carries MLIR and LLVM in itself (GANTRY_STATIC_LLVM): only
// what the pipelines use, since everything that is named here is linked in. Registration.cpp, which
// registers all that MLIR has, is what the pipelines are developed with.
//
// A missing interface implementation is silent: the pass that asks for it does nothing. So the
// check (tools/dev/build_static.sh) compares the code of whole models with what the other compiler
// makes.

#include "Evaluator.h"
#include "gantry/Pipeline/Pipeline.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Dialect/Plan/IR/Plan.h"
#include "gantry/Gradient/Gradient.h"
#include "gantry/Target/CPU/CPUTarget.h"
#include "gantry/Target/CUDA/CUDATarget.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/Transforms/BufferViewFlowOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/ControlFlow/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/InlinerInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/AllInterfaces.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRefMemorySlot.h"
#include "mlir/Dialect/MemRef/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/Transforms/AllocationOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/Transforms/BufferViewFlowOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/TensorInferTypeOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/TensorTilingInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/Vector/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Vector/Transforms/SubsetOpInterfaceImpl.h"
#include "mlir/Transforms/Passes.h"

#include <mutex>

using namespace mlir;

/// A pass that the pipelines name in their text.
template <typename Create>
static void add(Create create) {
  registerPass([create]() -> std::unique_ptr<Pass> { return create(); });
}

static void registerPasses() {
  // Cleaning up.
  add([] { return createCSEPass(); });
  add([] { return createLoopInvariantCodeMotionPass(); });
  add([] { return createReconcileUnrealizedCastsPass(); });

  // Kernels: tensors to loops over buffers.
  add([] { return createLinalgGeneralizeNamedOpsPass(); });
  add([] { return createLinalgElementwiseOpFusionPass(); });
  add([] { return bufferization::createEmptyTensorEliminationPass(); });
  add([] { return bufferization::createEmptyTensorToAllocTensorPass(); });
  add([] { return bufferization::createOneShotBufferizePass(); });
  add([] { return createConvertLinalgToLoopsPass(); });
  add([] { return memref::createFoldMemRefAliasOpsPass(); });

  // Loops to the LLVM dialect.
  add([] { return arith::createArithExpandOpsPass(); });
  add([] { return memref::createExpandStridedMetadataPass(); });
  add([] { return createLowerAffinePass(); });
  add([] { return createSCFToControlFlowPass(); });
  add([] { return createConvertMathToLLVMPass(); });
  add([] { return createConvertVectorToLLVMPass(); });
  add([] { return createConvertFuncToLLVMPass(); });
  add([] { return createConvertToLLVMPass(); });
  add([] { return createArithToLLVMConversionPass(); });
  add([] { return createConvertIndexToLLVMPass(); });

  // The code of GPU threads to NVIDIA's part of it.
  add([] { return createConvertGpuOpsToNVVMOps(); });
}

/// What one-shot bufferization asks of each op.
static void registerBufferization(DialectRegistry &registry) {
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  arith::registerBufferViewFlowOpInterfaceExternalModels(registry);
  bufferization::func_ext::registerBufferizableOpInterfaceExternalModels(registry);
  cf::registerBufferizableOpInterfaceExternalModels(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  vector::registerBufferizableOpInterfaceExternalModels(registry);
  memref::registerAllocationOpInterfaceExternalModels(registry);
  memref::registerBufferViewFlowOpInterfaceExternalModels(registry);
  memref::registerMemorySlotExternalModels(registry);
  tensor::registerSubsetOpInterfaceExternalModels(registry);
  vector::registerSubsetOpInterfaceExternalModels(registry);
}

/// What tiling asks, and the sizes that canonicalisation can know.
static void registerTiling(DialectRegistry &registry) {
  linalg::registerAllDialectInterfaceImplementations(registry);
  tensor::registerTilingInterfaceExternalModels(registry);
  tensor::registerInferTypeOpInterfaceExternalModels(registry);
  affine::registerValueBoundsOpInterfaceExternalModels(registry);
  arith::registerValueBoundsOpInterfaceExternalModels(registry);
  ::mlir::gpu::registerValueBoundsOpInterfaceExternalModels(registry);
  memref::registerValueBoundsOpInterfaceExternalModels(registry);
  scf::registerValueBoundsOpInterfaceExternalModels(registry);
  tensor::registerValueBoundsOpInterfaceExternalModels(registry);
  vector::registerValueBoundsOpInterfaceExternalModels(registry);
}

/// What the conversions to the LLVM dialect ask of each dialect.
static void registerConversions(DialectRegistry &registry) {
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertFuncToLLVMInterface(registry);
  index::registerConvertIndexToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
  ub::registerConvertUBToLLVMInterface(registry);
  vector::registerConvertVectorToLLVMInterface(registry);
  NVVM::registerConvertGpuToNVVMInterface(registry);
  registerConvertNVVMToLLVMInterface(registry);
  func::registerInlinerExtension(registry);
  LLVM::registerInlinerInterface(registry);
}

void gantry::registerDialects(DialectRegistry &registry) {
  static std::once_flag once;
  std::call_once(once, registerPasses);
  registry.insert<affine::AffineDialect, arith::ArithDialect, bufferization::BufferizationDialect,
                  cf::ControlFlowDialect, func::FuncDialect, ::mlir::gpu::GPUDialect,
                  index::IndexDialect, linalg::LinalgDialect, LLVM::LLVMDialect, math::MathDialect,
                  memref::MemRefDialect, NVVM::NVVMDialect, scf::SCFDialect, tensor::TensorDialect,
                  ub::UBDialect, vector::VectorDialect>();
  registerBufferization(registry);
  registerTiling(registry);
  registerConversions(registry);
  registry.insert<GantryDialect, plan::ir::PlanDialect>();
  registerCPUTarget();
  registerCUDATarget();
  registerGradients(registry);
  registerEvaluator(registry);
}
