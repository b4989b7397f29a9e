// Microkernels (Microkernel.h) for processors that multiply matrices (AMX).
//
// A register of it holds 16 rows of 64 bytes, and there are eight. A piece of a tile is one or two
// matrices of 16 rows by some of 16 columns, whose accumulators stay in registers; a step
// multiplies 16 groups of K, which the left operand and the panel have where they lie: rows of 64
// bytes, a stride apart. A tile of 17 to 31 rows computes some of them twice, with the same sums,
// so that the shape of the registers stays; one of fewer than 16 has registers of its own shape.
// What is left of the terms is filled up with zeros on the stack.
//
// A product of bf16 adds to a sum, for each step, what its 16 pairs give (Intel's manual on
// TDPBF16PS): all even terms one after the other from zero on, the odd ones as well, and both
// together; subnormal numbers count as zeros. So a sum depends on its terms alone, as long as they
// come in blocks of whole steps.

#include "EmitMicrokernel.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/Support/MathExtras.h"

using namespace gantry;
using namespace gantry::cpu;

/// Matrix registers. Where a tile has rows for one matrix alone, the first ones are sums and have
/// its rows, like that of the left operand, and the others the panel's 16; else all have 16.
static constexpr int64_t kRegisters = 8, kLeftOfOne = 5, kMostAccumulatorsOfTwo = 6;
/// Of a row of a register, of a sum, and of a group of K.
static constexpr int64_t kRowBytes = 64, kUnitBytes = 4;

bool gantry::cpu::usesAMX(OperandPrecision precision, const Registers &registers) {
  return precision == OperandPrecision::bf16   ? registers.amxBF16
         : precision == OperandPrecision::int8 ? registers.amxInt8
                                               : false;
}

bool gantry::cpu::usesAMX(const Microkernel &tile, const Registers &registers) {
  return tile.amx && usesAMX(tile.precision, registers);
}

void gantry::cpu::configureAMX(llvm::IRBuilder<> &b, int64_t rows) {
  // Palette 1; bytes of a row from byte 16 on, rows from byte 48 on.
  llvm::SmallVector<uint8_t, kRowBytes> bytes(kRowBytes, 0);
  bytes[0] = 1;
  for (int64_t i = 0; i < kRegisters; ++i) {
    bytes[16 + 2 * i] = kRowBytes;
    bytes[48 + i] = uint8_t(i <= kLeftOfOne ? std::min(rows, kAMXRows) : kAMXRows);
  }
  llvm::Module &module = *b.GetInsertBlock()->getModule();
  auto *value = llvm::ConstantDataArray::get(b.getContext(), bytes);
  auto *shape = new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                         llvm::GlobalValue::PrivateLinkage, value, "matrices");
  shape->setAlignment(llvm::Align(kRowBytes));
  b.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {shape});
}

void gantry::cpu::releaseAMX(llvm::IRBuilder<> &b) {
  b.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {});
}

namespace {
/// Some columns of a tile, in matrices of 16.
struct AMXBlock {
  int64_t column, amxTiles;
};

class AMXEmitter {
public:
  using Value = llvm::Value;

  AMXEmitter(llvm::Function &function, const Microkernel &tile)
      : function(function), tile(tile), b(function.getContext()),
        amxTilesOfRows(llvm::divideCeil(tile.rows, kAMXRows)),
        group(packingFactorOf(tile.precision)), stepOfK(kAMXGroups * group) {}

  void emit() {
    b.SetInsertPoint(block("entry"));
    rowBytes =
        b.CreateMul(argument(Microkernel::leftStride), b.getInt64(leftBytesOf(tile.precision)));
    steps = b.CreateUDiv(argument(Microkernel::sizeK), b.getInt64(stepOfK));
    rest = b.CreateURem(argument(Microkernel::sizeK), b.getInt64(stepOfK));
    ownRows = buffer(amxTilesOfRows * kAMXRows * kRowBytes);
    ownPanel = buffer(kAMXGroups * kMostAccumulatorsOfTwo * kRowBytes);
    // A piece after the other; the first one asks for what comes next.
    for (const AMXBlock &piece : pieces())
      emitPiece(piece, piece.column == 0 ? tile.ahead : 0);
    b.CreateRetVoid();
  }

private:
  llvm::BasicBlock *block(const char *name) {
    return llvm::BasicBlock::Create(b.getContext(), name, &function);
  }
  Value *argument(Microkernel::Argument which) { return function.getArg(which); }
  Value *buffer(int64_t bytes) {
    auto *made = b.CreateAlloca(llvm::ArrayType::get(b.getInt8Ty(), uint64_t(bytes)));
    made->setAlignment(llvm::Align(kRowBytes));
    return made;
  }
  Value *pointer(Microkernel::Argument which) {
    return b.CreateIntToPtr(argument(which), b.getPtrTy());
  }
  Value *after(Value *place, Value *bytes) { return b.CreateGEP(b.getInt8Ty(), place, bytes); }
  Value *after(Value *place, int64_t bytes) {
    return b.CreateConstGEP1_64(b.getInt8Ty(), place, uint64_t(bytes));
  }

  llvm::SmallVector<AMXBlock> pieces() const {
    const int64_t all = tile.width / kColumnUnit;
    const int64_t most = amxTilesOfRows == 1 ? kLeftOfOne : kMostAccumulatorsOfTwo / amxTilesOfRows;
    const int64_t count = llvm::divideCeil(all, most);
    llvm::SmallVector<AMXBlock> pieces;
    for (int64_t i = 0; i < count; ++i)
      pieces.push_back({all * i / count * kColumnUnit, all * (i + 1) / count - all * i / count});
    return pieces;
  }

  /// The row of the tile that a matrix of rows begins with: the last one ends with the tile.
  int64_t firstRow(int64_t matrix) const {
    return std::max<int64_t>(0, std::min(matrix * kAMXRows, tile.rows - kAMXRows));
  }
  int64_t panelBytes() const { return tile.width * kUnitBytes; }

  //===--- Instructions ----------------------------------------------------------------------===//

  Value *number(int64_t matrix) { return b.getInt8(uint8_t(matrix)); }
  void load(int64_t matrix, Value *place, Value *stride) {
    b.CreateIntrinsic(llvm::Intrinsic::x86_tileloadd64, {number(matrix), place, stride});
  }
  void multiplyAdd(int64_t accumulators, int64_t left, int64_t right) {
    auto instruction = tile.precision == OperandPrecision::bf16 ? llvm::Intrinsic::x86_tdpbf16ps
                                                                : llvm::Intrinsic::x86_tdpbusd;
    b.CreateIntrinsic(instruction, {number(accumulators), number(left), number(right)});
  }

  //===--- Loops -----------------------------------------------------------------------------===//

  /// for (index = 0; index < end; ++index)
  void loop(Value *end, llvm::function_ref<void(Value *)> body) {
    llvm::BasicBlock *from = b.GetInsertBlock(), *inside = block("loop"), *behind = block("after");
    b.CreateCondBr(b.CreateICmpULT(b.getInt64(0), end), inside, behind);
    b.SetInsertPoint(inside);
    llvm::PHINode *index = b.CreatePHI(b.getInt64Ty(), 2);
    index->addIncoming(b.getInt64(0), from);
    body(index);
    Value *next = b.CreateAdd(index, b.getInt64(1));
    index->addIncoming(next, b.GetInsertBlock());
    b.CreateCondBr(b.CreateICmpULT(next, end), inside, behind);
    b.SetInsertPoint(behind);
  }

  void choose(Value *condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise) {
    llvm::BasicBlock *yes = block("then"), *no = block("else"), *behind = block("after");
    b.CreateCondBr(condition, yes, no);
    b.SetInsertPoint(yes);
    then();
    b.CreateBr(behind);
    b.SetInsertPoint(no);
    otherwise();
    b.CreateBr(behind);
    b.SetInsertPoint(behind);
  }

  //===--- A piece ---------------------------------------------------------------------------===//

  void forAccumulators(const AMXBlock &piece, llvm::function_ref<void(int64_t, Value *)> body) {
    for (int64_t r = 0; r < amxTilesOfRows; ++r)
      for (int64_t c = 0; c < piece.amxTiles; ++c)
        body(r * piece.amxTiles + c,
             after(pointer(Microkernel::accumulators),
                   (firstRow(r) * tile.width + piece.column + c * kColumnUnit) * kUnitBytes));
  }

  void emitPiece(const AMXBlock &piece, int64_t lines) {
    Value *stride = b.getInt64(panelBytes());
    choose(
        b.CreateICmpNE(argument(Microkernel::accumulate), b.getInt64(0)),
        [&] {
          forAccumulators(piece, [&](int64_t accumulators, Value *place) {
            load(accumulators, place, stride);
          });
        },
        [&] {
          forAccumulators(piece, [&](int64_t accumulators, Value *) {
            b.CreateIntrinsic(llvm::Intrinsic::x86_tilezero, {number(accumulators)});
          });
        });
    loop(steps, [&](Value *step) {
      Value *left = after(pointer(Microkernel::left), b.CreateMul(step, b.getInt64(kRowBytes)));
      multiply(
          piece,
          [&](int64_t r) { return after(left, b.CreateMul(rowBytes, b.getInt64(firstRow(r)))); },
          rowBytes, panelAt(piece, step), stride);
      askFor(step, lines * kAMXGroups / kUnitOfK);
    });
    choose(b.CreateICmpNE(rest, b.getInt64(0)), [&] { multiplyRest(piece); }, [] {});
    forAccumulators(piece, [&](int64_t accumulators, Value *place) {
      b.CreateIntrinsic(llvm::Intrinsic::x86_tilestored64, {number(accumulators), place, stride});
    });
  }

  Value *panelAt(const AMXBlock &piece, Value *step) {
    Value *bytes = b.CreateMul(step, b.getInt64(kAMXGroups * panelBytes()));
    return after(after(pointer(Microkernel::panel), bytes), piece.column * kUnitBytes);
  }

  /// One step of all sums. What is left of the registers holds all of the left side and, one after
  /// the other, the matrices of the panel; or one of each.
  void multiply(const AMXBlock &piece, llvm::function_ref<Value *(int64_t)> rows, Value *rowStride,
                Value *panel, Value *panelStride) {
    const int64_t own = amxTilesOfRows * piece.amxTiles;
    const int64_t left = amxTilesOfRows == 1 ? kLeftOfOne : own;
    auto accumulators = [&](int64_t r, int64_t c) { return r * piece.amxTiles + c; };
    auto loadColumns = [&](int64_t matrix, int64_t c) {
      load(matrix, after(panel, c * kRowBytes), panelStride);
    };
    if (kRegisters - left > amxTilesOfRows) {
      const int64_t right = left + amxTilesOfRows, spare = kRegisters - right;
      for (int64_t r = 0; r < amxTilesOfRows; ++r)
        load(left + r, rows(r), rowStride);
      for (int64_t c = 0; c < piece.amxTiles; ++c) {
        loadColumns(right + c % spare, c);
        for (int64_t r = 0; r < amxTilesOfRows; ++r)
          multiplyAdd(accumulators(r, c), left + r, right + c % spare);
      }
      return;
    }
    for (int64_t r = 0; r < amxTilesOfRows; ++r) {
      load(left, rows(r), rowStride);
      for (int64_t c = 0; c < piece.amxTiles; ++c) {
        loadColumns(left + 1, c);
        multiplyAdd(accumulators(r, c), left, left + 1);
      }
    }
  }

  void askFor(Value *step, int64_t lines) {
    Value *place =
        after(pointer(Microkernel::next), b.CreateMul(step, b.getInt64(lines * kRowBytes)));
    for (int64_t line = 0; line < lines; ++line)
      b.CreateIntrinsic(
          llvm::Intrinsic::prefetch, {b.getPtrTy()},
          {after(place, line * kRowBytes), b.getInt32(0), b.getInt32(3), b.getInt32(1)});
  }

  //===--- The last terms --------------------------------------------------------------------===//

  void multiplyRest(const AMXBlock &piece) {
    copyRows();
    copyPanel(piece);
    multiply(
        piece, [&](int64_t r) { return after(ownRows, r * kAMXRows * kRowBytes); },
        b.getInt64(kRowBytes), ownPanel, b.getInt64(piece.amxTiles * kRowBytes));
  }

  /// Nothing is read behind the last term of a row.
  void copyRows() {
    const auto count = unsigned(kRowBytes / leftBytesOf(tile.precision));
    auto *elements =
        llvm::FixedVectorType::get(b.getIntNTy(unsigned(8 * leftBytesOf(tile.precision))), count);
    auto *numbers = llvm::FixedVectorType::get(b.getInt64Ty(), count);
    Value *live = b.CreateICmpULT(b.CreateStepVector(numbers), b.CreateVectorSplat(count, rest));
    Value *left = after(pointer(Microkernel::left), b.CreateMul(steps, b.getInt64(kRowBytes)));
    for (int64_t r = 0; r < amxTilesOfRows; ++r)
      loop(b.getInt64(std::min(tile.rows, kAMXRows)), [&](Value *row) {
        Value *from = b.CreateMul(rowBytes, b.CreateAdd(row, b.getInt64(firstRow(r))));
        Value *loaded = b.CreateMaskedLoad(elements, after(left, from),
                                           llvm::Align(leftBytesOf(tile.precision)), live,
                                           llvm::Constant::getNullValue(elements));
        Value *to = after(after(ownRows, r * kAMXRows * kRowBytes),
                          b.CreateMul(row, b.getInt64(kRowBytes)));
        b.CreateAlignedStore(loaded, to, llvm::Align(kRowBytes));
      });
  }

  /// Groups that the panel does not have are zeros.
  void copyPanel(const AMXBlock &piece) {
    auto *vector = llvm::FixedVectorType::get(b.getInt32Ty(), unsigned(kColumnUnit));
    Value *groups = b.CreateUDiv(b.CreateAdd(rest, b.getInt64(group - 1)), b.getInt64(group));
    Value *panel = panelAt(piece, steps);
    const int64_t bytes = piece.amxTiles * kRowBytes;
    loop(b.getInt64(kAMXGroups), [&](Value *g) {
      Value *isThere = b.CreateICmpULT(g, groups);
      Value *from = after(panel, b.CreateMul(g, b.getInt64(panelBytes())));
      Value *to = after(ownPanel, b.CreateMul(g, b.getInt64(bytes)));
      for (int64_t c = 0; c < piece.amxTiles; ++c) {
        Value *mask = b.CreateVectorSplat(unsigned(kColumnUnit), isThere);
        Value *loaded =
            b.CreateMaskedLoad(vector, after(from, c * kRowBytes), llvm::Align(kUnitBytes), mask,
                               llvm::Constant::getNullValue(vector));
        b.CreateAlignedStore(loaded, after(to, c * kRowBytes), llvm::Align(kRowBytes));
      }
    });
  }

  llvm::Function &function;
  const Microkernel &tile;
  llvm::IRBuilder<> b;
  int64_t amxTilesOfRows;
  int64_t group;   ///< the packing factor
  int64_t stepOfK; ///< terms that are multiplied at once
  Value *rowBytes = nullptr, *steps = nullptr, *rest = nullptr;
  Value *ownRows = nullptr, *ownPanel = nullptr;
};
} // namespace

void gantry::cpu::emitAMXMicrokernel(llvm::Function &function, const Microkernel &tile) {
  AMXEmitter(function, tile).emit();
}
