// Shared-memory transpose, by squares: what is read along another dimension than it is written
// along is turned in shared memory.
//
// Threads write neighbours of the result's last dimension. An operand whose last dimension is read
// at the index of another one of the result would give each of them a sector of its own. So a block
// takes a square of both dimensions, 32 by 32: first its threads read the operand along its rows,
// then each computes elements of the result from what the square has. Rows of the square are an odd
// number of words apart, so that elements of a column are in different banks. Where one of the
// dimensions is short the square is as high as it is wide, a rectangle.
//
// What is turned may be an argument or a reshaped one; elementwise ops before and after it, and
// operands that need no turning, are computed as ever.

#include "Kernel.h"

#include "gantry/Linalg/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

static constexpr int64_t kSide = 32, kElements = kSide * kSide, kThreads = 256;
static constexpr int64_t kWordBytes = 4; // of a bank
/// A side below that is made shorter, and the other one longer.
static constexpr int64_t kShort = 16;

namespace {
/// An operand, the result's dimensions that its own are read at, and the memory of a square of it.
struct Turned {
  Value tensor;
  SmallVector<int64_t> dims;
  Value square;
};

class SharedTranspose : public LoweringStrategy {
public:
  explicit SharedTranspose(const Output &output);

  bool applies() const { return !turned.empty(); }
  int64_t threads() const override { return kThreads; }
  void emit(KernelEmitter &kernel) override;

private:
  void findTurned();
  bool setSides(int64_t second, Type element);
  void emitSquare(KernelEmitter &kernel, bool isWhole);
  /// Emits a body for each of the thread's elements, at a place of the square. Of neighbouring
  /// threads the places are neighbours along `across`, or else along `along`.
  void forPlaces(KernelEmitter &kernel, bool isAcross, bool isWhole,
                 function_ref<void(Value, Value)> emit);
  Indices indicesAt(KernelEmitter &kernel, Value along, Value across);

  SmallVector<Turned> turned;
  int64_t across = -1; ///< the result's dimension that neighbouring elements have different
  int64_t along = -1;  ///< and the one that neighbours of the operands have
  int64_t width = kSide, height = kSide;     ///< of the square, along and across
  int64_t alongStride = 1, acrossStride = 1; ///< of the square in memory

  Indices corner; ///< of the square, in the result
};
} // namespace

static int64_t lastOf(ArrayRef<int64_t> dims, ArrayRef<int64_t> shape, size_t before = 0) {
  for (size_t i = dims.size(); i-- > 0;)
    if (shape[i] != 1 && before-- == 0)
      return dims[i];
  return -1;
}

SharedTranspose::SharedTranspose(const Output &output) : LoweringStrategy(output) {
  auto own = llvm::to_vector(llvm::seq<int64_t>(0, output.shape().size()));
  across = lastOf(own, output.shape());
  if (across >= 0 && output.tensor.getDefiningOp() && output.count() >= kElements)
    findTurned();
}

/// Operands that have both dimensions, and another last one than the result.
void SharedTranspose::findTurned() {
  Alignment reads(output.tensor);
  auto look = [&](Value tensor) {
    ArrayRef<int64_t> dims = reads.dimsOf(tensor);
    if (dims.empty() || !llvm::is_contained(dims, across))
      return;
    ArrayRef<int64_t> shape = shapeOf(tensor);
    for (auto [d, size] : llvm::zip(dims, shape))
      if (d < 0 && size != 1)
        return;
    int64_t last = lastOf(dims, shape);
    if (last < 0 || last == across || (along >= 0 && last != along))
      return;
    int64_t before = along;
    along = last;
    if (before >= 0 || setSides(lastOf(dims, shape, 1), elementOf(tensor)))
      turned.push_back({tensor, SmallVector<int64_t>(dims), Value()});
    else
      along = before;
  };
  Block &body = *output.tensor.getDefiningOp()->getBlock();
  for (BlockArgument argument : body.getArguments())
    if (isa<RankedTensorType>(argument.getType()))
      look(argument);
  // Behind a reshape dimensions may be known that are not in front of it.
  for (Operation &op : body)
    if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op) &&
        llvm::is_contained(reads.dimsOf(op.getOperand(0)), -1))
      look(op.getResult(0));
}

/// A short side is read, or written, together with the dimension next to it: `second` of the
/// operand, or that of the result.
bool SharedTranspose::setSides(int64_t second, Type element) {
  int64_t wide = output.shape()[along], high = output.shape()[across];
  auto own = llvm::to_vector(llvm::seq<int64_t>(0, output.shape().size()));
  int64_t bytes = std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
  int64_t ofWord = std::max<int64_t>(1, kWordBytes / bytes);
  if (wide > kShort && high > kShort) {
    width = height = kSide;
    acrossStride = kSide + ofWord;
    return true;
  }
  // The long side is the inner one, and short rows of it are in banks beside each other.
  if (wide <= kShort && high > kElements / 4 && second == across) {
    width = int64_t(llvm::PowerOf2Ceil(uint64_t(wide)));
    height = std::min<int64_t>(kElements / width, kThreads);
    alongStride = height + kSide / width * ofWord;
    return true;
  }
  if (high <= kShort && wide > kElements / 4 && lastOf(own, output.shape(), 1) == along) {
    height = int64_t(llvm::PowerOf2Ceil(uint64_t(high)));
    width = std::min<int64_t>(kElements / height, kThreads);
    acrossStride = width + kSide / height * ofWord;
    return true;
  }
  return false;
}

void SharedTranspose::forPlaces(KernelEmitter &kernel, bool isAcross, bool isWhole,
                                function_ref<void(Value, Value)> emit) {
  ImplicitLocOpBuilder &b = kernel.builder();
  int64_t threads = kernel.launch().threads(), inner = isAcross ? height : width;
  auto isInside = [&](Value place, int64_t dim) -> Value {
    Value index = addIndex(b, corner[dim], place);
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, index,
                                 indexConstant(b, output.shape()[dim]));
  };
  Value by = indexConstant(b, inner);
  Value inRow = arith::RemUIOp::create(b, kernel.launch().thread(), by);
  Value row = arith::DivUIOp::create(b, kernel.launch().thread(), by);
  // Threads are whole rows of places.
  for (int64_t first = 0; first < width * height; first += threads) {
    Value x = inRow, y = addIndex(b, row, indexConstant(b, first / inner));
    if (isAcross)
      std::swap(x, y);
    if (isWhole) {
      emit(x, y);
      continue;
    }
    Value isThere = arith::AndIOp::create(b, isInside(x, along), isInside(y, across));
    kernel.onlyIf(isThere, [&] { emit(x, y); });
  }
}

Indices SharedTranspose::indicesAt(KernelEmitter &kernel, Value x, Value y) {
  Indices at = corner;
  at[along] = addIndex(kernel.builder(), at[along], x);
  at[across] = addIndex(kernel.builder(), at[across], y);
  return at;
}

void SharedTranspose::emitSquare(KernelEmitter &kernel, bool isWhole) {
  ImplicitLocOpBuilder &b = kernel.builder();
  auto placeOf = [&](Value x, Value y) {
    return addIndex(b, mulIndex(b, y, acrossStride), mulIndex(b, x, alongStride));
  };
  kernel.provideInputs();
  for (const Turned &one : turned) {
    // All loads before all stores.
    SmallVector<std::pair<Value, Value>> read;
    forPlaces(kernel, /*isAcross=*/false, isWhole, [&](Value x, Value y) {
      Indices all = indicesAt(kernel, x, y), own;
      for (int64_t d : one.dims)
        own.push_back(d < 0 ? indexConstant(b, 0) : all[d]);
      Value value = kernel.elements().at(one.tensor, own), place = placeOf(x, y);
      if (isWhole)
        read.push_back({value, place});
      else
        memref::StoreOp::create(b, value, one.square, place);
    });
    for (auto [value, place] : read)
      memref::StoreOp::create(b, value, one.square, place);
  }
  kernel.launch().barrier();
  Value place;
  for (const Turned &one : turned)
    kernel.elements().provide(one.tensor, [&](ValueRange) -> Value {
      return memref::LoadOp::create(b, one.square, place);
    });
  SmallVector<std::pair<Indices, Value>> computed;
  forPlaces(kernel, /*isAcross=*/true, isWhole, [&](Value x, Value y) {
    place = placeOf(x, y);
    Indices at = indicesAt(kernel, x, y);
    Value value = kernel.elements().at(output.tensor, at);
    if (isWhole)
      computed.push_back({at, value});
    else
      kernel.write(output, at, value);
  });
  for (auto &[at, value] : computed)
    kernel.write(output, at, value);
}

/// Squares at the ends of a dimension may have places without elements; the others need not look.
void SharedTranspose::emit(KernelEmitter &kernel) {
  ImplicitLocOpBuilder &b = kernel.builder();
  Launch &launch = kernel.launch();
  SmallVector<int64_t> squares(output.shape());
  squares[along] = llvm::divideCeil(squares[along], width);
  squares[across] = llvm::divideCeil(squares[across], height);
  int64_t blocks = ShapedType::getNumElements(squares);
  launch.needBlocks(blocks);
  for (Turned &one : turned)
    one.square = launch.allocate(std::max(height * acrossStride, width * alongStride),
                                 elementOf(one.tensor), blocks);
  auto isBelow = [&](Value x, int64_t end) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, indexConstant(b, end));
  };
  auto emitAll = [&] {
    corner = delinearize(b, launch.block(), squares);
    Value isWhole;
    for (auto [dim, side] : {std::pair(along, width), std::pair(across, height)}) {
      int64_t whole = output.shape()[dim] / side;
      Value fits = whole == squares[dim] ? Value() : isBelow(corner[dim], whole);
      if (fits)
        isWhole = isWhole ? Value(arith::AndIOp::create(b, isWhole, fits)) : fits;
      corner[dim] = mulIndex(b, corner[dim], side);
    }
    if (!isWhole)
      return emitSquare(kernel, /*isWhole=*/true);
    Value one = arith::ConstantOp::create(b, b.getBoolAttr(true));
    Value isEnd = arith::XOrIOp::create(b, isWhole, one);
    kernel.onlyIf(isWhole, [&] { emitSquare(kernel, /*isWhole=*/true); });
    kernel.onlyIf(isEnd, [&] { emitSquare(kernel, /*isWhole=*/false); });
  };
  if (kernel.hasOneOutput())
    return emitAll();
  kernel.onlyIf(isBelow(launch.block(), blocks), emitAll);
}

std::unique_ptr<LoweringStrategy> gantry::gpu::findSharedTranspose(const Output &output) {
  auto strategy = std::make_unique<SharedTranspose>(output);
  if (!strategy->applies())
    return nullptr;
  return strategy;
}
