#include "Launch.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Target/CUDA/CUDATarget.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

/// Of buffers, in bytes: what a thread reads or writes at once.
static constexpr int64_t kAlignment = 16;

int64_t gantry::gpu::threadsFor(int64_t n) {
  int64_t warps = std::clamp<int64_t>((n + kWarp - 1) / kWarp, 1, kMostThreads / kWarp);
  return int64_t(llvm::PowerOf2Ceil(uint64_t(warps))) * kWarp;
}

static int64_t bytesOf(Type element) {
  return std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
}

Launch::Launch(func::FuncOp func, TypeRange results, int64_t threads)
    : func(func), body(func.getBody().front()), b(func.getLoc(), func.getContext()),
      firstResult(body.getNumArguments()), blockSize(threads) {
  for (Type type : results) {
    auto tensor = cast<RankedTensorType>(type);
    body.addArgument(MemRefType::get(tensor.getShape(), tensor.getElementType()), func.getLoc());
  }
  b.setInsertionPointToStart(&body);
  auto x = ::mlir::gpu::Dimension::x;
  blockId = ::mlir::gpu::BlockIdOp::create(b, x);
  threadId = ::mlir::gpu::ThreadIdOp::create(b, x);
  globalId = addIndex(b, mulIndex(b, blockId, blockSize), threadId);
  b.setInsertionPoint(body.getTerminator());
}

Value Launch::block() { return blockId; }
Value Launch::thread() { return threadId; }
Value Launch::global() { return globalId; }

static int64_t sharedBytesOf(int64_t count, Type element) {
  return int64_t(llvm::alignTo(count * bytesOf(element), kAlignment));
}

/// The next released piece, which grows, or a new one. Null where there is not so much.
Value Launch::allocateShared(int64_t count, Type element) {
  Value piece;
  if (nextReleased < sharedPieces.size())
    piece = sharedPieces[nextReleased];
  auto before = piece ? cast<MemRefType>(piece.getType()) : MemRefType();
  if (before && before.getElementType() != element)
    before = {};
  int64_t had = before ? before.getNumElements() : 0, now = std::max(count, had);
  int64_t more = sharedBytesOf(now, element) - sharedBytesOf(had, element);
  if (!hasShared(more))
    return {};
  sharedBytes += more;
  auto space =
      ::mlir::gpu::AddressSpaceAttr::get(b.getContext(), ::mlir::gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get({now}, element, MemRefLayoutAttrInterface(), Attribute(space));
  if (before) {
    piece.setType(type);
    ++nextReleased;
    return piece;
  }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&body);
  sharedPieces.push_back(memref::AllocOp::create(b, type, b.getI64IntegerAttr(kAlignment)));
  return sharedPieces.back();
}

Value Launch::allocate(int64_t count, Type element, int64_t blocks) {
  int64_t bytes = llvm::alignTo(std::max<int64_t>(1, count) * bytesOf(element), kAlignment);
  if (Value shared = allocateShared(std::max<int64_t>(1, count), element))
    return shared;
  if (!scratch)
    scratch = body.addArgument(MemRefType::get({0}, b.getI8Type()), func.getLoc());
  Value offset = addIndex(b, mulIndex(b, blockId, bytes), indexConstant(b, scratchBytes));
  scratchBytes += bytes * std::max<int64_t>(blocks, gridSize);
  auto type = MemRefType::get({std::max<int64_t>(1, count)}, element);
  return memref::ViewOp::create(b, type, scratch, offset, ValueRange());
}

void Launch::barrier() { ::mlir::gpu::BarrierOp::create(b); }

void Launch::finish() {
  Operation *old = body.getTerminator();
  func::ReturnOp::create(b);
  old->erase();
  // The tensor ops have become code.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  WorkAttr work = WorkAttr::of(func).withItems(1);
  if (scratch) {
    scratch.setType(MemRefType::get({scratchBytes}, b.getI8Type()));
    work = work.withScratch(scratchBytes);
  }
  func.setType(FunctionType::get(func.getContext(), body.getArgumentTypes(), {}));
  func->setAttr(kWorkAttr, work);
  describeArguments();
  func->setAttr(kGridSizeAttr, b.getDenseI32ArrayAttr({int32_t(gridSize), 1, 1}));
  func->setAttr(kBlockSizeAttr, b.getDenseI32ArrayAttr({int32_t(blockSize), 1, 1}));
}

/// What may be said of a buffer: LLVM reads what it takes for aligned to the end of an access, so
/// one that does not end with an access has the alignment of its elements.
static int64_t alignmentOf(ShapedType type) {
  int64_t bytes = bytesOf(type.getElementType());
  return type.getNumElements() * bytes % kAlignment == 0 ? kAlignment : bytes;
}

bool Launch::mayOverwrite() const {
  WorkAttr work = WorkAttr::of(func);
  return work.getInPlace() && !work.getInPlace().empty();
}

/// No buffer is another one, unless the result may take the place of an argument.
void Launch::describeArguments() {
  WorkAttr work = WorkAttr::of(func);
  SmallVector<DictionaryAttr> attributes;
  for (unsigned i = 0; i < body.getNumArguments(); ++i) {
    bool isTarget = mayOverwrite() && i == firstResult;
    NamedAttrList own(function_interface_impl::getArgAttrs(func, i));
    if (!isTarget && !work.mayTakePlaceOf(i))
      own.set("llvm.noalias", b.getUnitAttr());
    own.set("llvm.align",
            b.getI64IntegerAttr(alignmentOf(cast<ShapedType>(body.getArgument(i).getType()))));
    attributes.push_back(own.getDictionary(func.getContext()));
  }
  func.setAllArgAttrs(attributes);
}

Value gantry::gpu::flat(ImplicitLocOpBuilder &b, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  if (type.getRank() == 1)
    return buffer;
  auto line = MemRefType::get({type.getNumElements()}, type.getElementType(),
                              MemRefLayoutAttrInterface(), type.getMemorySpace());
  return memref::ReinterpretCastOp::create(b, line, buffer, b.getIndexAttr(0),
                                           {b.getIndexAttr(type.getNumElements())},
                                           {b.getIndexAttr(1)});
}
