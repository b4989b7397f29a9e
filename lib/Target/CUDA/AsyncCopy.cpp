#include "AsyncCopy.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

static constexpr unsigned kGlobal = 1, kShared = 3;

static bool isShared(MemRefType type) {
  auto space = dyn_cast_or_null<::mlir::gpu::AddressSpaceAttr>(type.getMemorySpace());
  return space && space.getValue() == ::mlir::gpu::AddressSpace::Workgroup;
}

/// Of the element at an index. The cast stands for the pointer of the buffer's descriptor.
static Value pointerTo(ImplicitLocOpBuilder &b, Value buffer, Value at) {
  auto type = cast<MemRefType>(buffer.getType());
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), isShared(type) ? kShared : 0);
  Value base = UnrealizedConversionCastOp::create(b, pointer, buffer).getResult(0);
  Value wide = arith::IndexCastUIOp::create(b, b.getI64Type(), at);
  return LLVM::GEPOp::create(b, pointer, type.getElementType(), base, ArrayRef<LLVM::GEPArg>{wide});
}

void gantry::gpu::copyLater(ImplicitLocOpBuilder &b, Value from, Value fromAt, Value to, Value toAt,
                            int64_t count, Value isThere) {
  const int64_t bytes = count * (cast<MemRefType>(from.getType()).getElementTypeBitWidth() / 8);
  auto global = LLVM::LLVMPointerType::get(b.getContext(), kGlobal);
  Value source = LLVM::AddrSpaceCastOp::create(b, global, pointerTo(b, from, fromAt));
  Value read;
  if (isThere) {
    auto number = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
    };
    read = arith::SelectOp::create(b, isThere, number(bytes), number(0));
  }
  // What a block reads once need not be kept for it; shorter copies have to be.
  NVVM::CpAsyncOp::create(
      b, pointerTo(b, to, toAt), source, uint32_t(bytes),
      bytes == 16 ? NVVM::LoadCacheModifierKind::CG : NVVM::LoadCacheModifierKind::CA, read);
}

void gantry::gpu::closeCopies(ImplicitLocOpBuilder &b) { NVVM::CpAsyncCommitGroupOp::create(b); }

void gantry::gpu::waitForCopies(ImplicitLocOpBuilder &b, int64_t groupsLeft) {
  NVVM::CpAsyncWaitGroupOp::create(b, uint32_t(groupsLeft));
}

void gantry::gpu::lowerPointers(Operation *module, unsigned indexBits) {
  module->walk([&](UnrealizedConversionCastOp cast) {
    if (cast.getNumOperands() != 1 || cast.getNumResults() != 1)
      return;
    auto buffer = dyn_cast<MemRefType>(cast.getOperand(0).getType());
    auto pointer = dyn_cast<LLVM::LLVMPointerType>(cast.getResult(0).getType());
    if (!buffer || !pointer)
      return;
    ImplicitLocOpBuilder b(cast.getLoc(), cast);
    auto index = b.getIntegerType(indexBits);
    SmallVector<Type> fields{pointer, pointer, index};
    if (buffer.getRank() > 0)
      fields.append(2, LLVM::LLVMArrayType::get(index, unsigned(buffer.getRank())));
    auto descriptor = LLVM::LLVMStructType::getLiteral(b.getContext(), fields);
    Value whole =
        UnrealizedConversionCastOp::create(b, descriptor, cast.getOperand(0)).getResult(0);
    cast.getResult(0).replaceAllUsesWith(LLVM::ExtractValueOp::create(b, whole, 1));
    cast.erase();
  });
}
