#include "CoreInstructions.h"

#include "gantry/Linalg/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

std::optional<CoreKind> gantry::gpu::coreKindOf(Type element) {
  if (element.isF16())
    return CoreKind::f16;
  if (element.isBF16())
    return CoreKind::bf16;
  return std::nullopt;
}

static SmallVector<Value> fieldsOf(ImplicitLocOpBuilder &b, Value record) {
  SmallVector<Value> fields;
  for (int64_t i = 0; i < 4; ++i)
    fields.push_back(LLVM::ExtractValueOp::create(b, record, i));
  return fields;
}

SmallVector<Value> gantry::gpu::loadMatrices(ImplicitLocOpBuilder &b, Value memory, Value place,
                                             bool turned) {
  const int64_t bytes = cast<MemRefType>(memory.getType()).getElementTypeBitWidth() / 8;
  Value base = memref::ExtractAlignedPointerAsIndexOp::create(b, memory);
  Value address = addIndex(b, base, mulIndex(b, place, bytes));
  Value number = arith::IndexCastUIOp::create(b, b.getI64Type(), address);
  Value pointer =
      LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), 3), number);
  auto layout = NVVM::MMALayoutAttr::get(b.getContext(),
                                         turned ? NVVM::MMALayout::col : NVVM::MMALayout::row);
  SmallVector<Type> words(4, b.getI32Type());
  auto record = LLVM::LLVMStructType::getLiteral(b.getContext(), words);
  Value loaded = NVVM::LdMatrixOp::create(
      b, record, pointer, b.getI32IntegerAttr(4), layout,
      NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8),
      NVVM::LdStMatrixEltTypeAttr::get(b.getContext(), NVVM::LdStMatrixEltType::B16));
  return fieldsOf(b, loaded);
}

static NVVM::MMATypes mmaTypeOf(CoreKind kind) {
  return kind == CoreKind::f16    ? NVVM::MMATypes::f16
         : kind == CoreKind::bf16 ? NVVM::MMATypes::bf16
                                  : NVVM::MMATypes::tf32;
}

SmallVector<Value> gantry::gpu::multiplyOnCores(ImplicitLocOpBuilder &b, CoreKind kind,
                                                ArrayRef<Value> x, ArrayRef<Value> y,
                                                ArrayRef<Value> accumulators) {
  SmallVector<Type> four(4, b.getF32Type());
  auto record = LLVM::LLVMStructType::getLiteral(b.getContext(), four);
  auto pair = VectorType::get({2}, b.getF16Type());
  auto wordsOf = [&](ArrayRef<Value> fragment) {
    SmallVector<Value> words(fragment);
    for (Value &word : words)
      if (kind == CoreKind::f16)
        word = LLVM::BitcastOp::create(b, pair, word);
    return words;
  };
  Value added = NVVM::MmaOp::create(b, record, wordsOf(x), wordsOf(y), accumulators,
                                    {16, 8, kind == CoreKind::tf32 ? 8 : 16}, std::nullopt,
                                    std::nullopt, std::array{mmaTypeOf(kind), mmaTypeOf(kind)},
                                    std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  return fieldsOf(b, added);
}
