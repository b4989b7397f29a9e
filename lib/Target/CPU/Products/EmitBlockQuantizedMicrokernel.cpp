// A microkernel of block-quantised weights (BlockQuantizedMicrokernel.h) is cut into pieces of some
// vectors of columns, whose sums, scales and words fit the registers. A word has the same terms of
// all its columns at one place, so that one shift takes them out of a vector of words. With AVX-512
// numbers of up to four bits are looked up as f32 in a register, zero point and all.

#include "BlockQuantizedMicrokernel.h"
#include "Machine.h"
#include "gantry/Dialect/Gantry/IR/BlockQuantized.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

using namespace gantry;
using namespace gantry::cpu;

static constexpr llvm::StringLiteral kPrefix = "gantry_bits_";
static constexpr int64_t kUnitBytes = 4, kMostLanes = 16;

std::string BlockQuantizedMicrokernel::symbol() const {
  return (kPrefix + llvm::Twine(bits) + "_" + llvm::Twine(block) + "_" + llvm::Twine(zero + 1) +
          "_" + llvm::Twine(rows) + "x" + llvm::Twine(width))
      .str();
}

std::optional<BlockQuantizedMicrokernel> BlockQuantizedMicrokernel::of(llvm::StringRef symbol) {
  BlockQuantizedMicrokernel tile{};
  if (!symbol.consume_front(kPrefix) || symbol.consumeInteger(10, tile.bits) ||
      !symbol.consume_front("_") || symbol.consumeInteger(10, tile.block) ||
      !symbol.consume_front("_") || symbol.consumeInteger(10, tile.zero) ||
      !symbol.consume_front("_") || symbol.consumeInteger(10, tile.rows) ||
      !symbol.consume_front("x") || symbol.consumeInteger(10, tile.width) || !symbol.empty())
    return std::nullopt;
  --tile.zero;
  return tile;
}

namespace {
class BlockQuantizedEmitter {
public:
  BlockQuantizedEmitter(llvm::Function &function, const BlockQuantizedMicrokernel &tile,
                        const Registers &registers)
      : function(function), tile(tile), registers(registers), b(function.getContext()),
        lanes(std::min(registers.bytes / kUnitBytes, kMostLanes)),
        form{tile.bits, tile.block, 0, tile.zero}, wordOfK(form.numbersOfWord()),
        floats(llvm::FixedVectorType::get(b.getFloatTy(), unsigned(lanes))),
        ints(llvm::FixedVectorType::get(b.getInt32Ty(), unsigned(lanes))) {}

  void emit() {
    b.SetInsertPoint(block("entry"));
    const int64_t all = tile.width / lanes;
    vectors = all;
    while (vectors > 1 && (all % vectors != 0 || !fits()))
      --vectors;
    for (column = 0; column < tile.width; column += vectors * lanes)
      emitPiece();
    b.CreateRetVoid();
  }

private:
  using Value = llvm::Value;
  using Values = llvm::SmallVector<Value *, 32>;

  llvm::BasicBlock *block(const char *name) {
    return llvm::BasicBlock::Create(b.getContext(), name, &function);
  }
  Value *argument(BlockQuantizedMicrokernel::Argument which) { return function.getArg(which); }
  Value *number(int64_t value) { return b.getInt64(uint64_t(value)); }
  Value *splat(Value *value) { return b.CreateVectorSplat(unsigned(lanes), value); }

  bool hasZeros() const { return form.hasZeros(); }
  bool looksUp() const { return lanes == kMostLanes && tile.bits <= 4; }

  /// Accumulators, scales, zero points and words; what a term takes besides, and the table.
  bool fits() const { return (tile.rows + (hasZeros() ? 3 : 2)) * vectors + 3 <= registers.count; }

  /// Of the columns of this piece in row `row` of a table of 32-bit elements.
  Value *place(BlockQuantizedMicrokernel::Argument base, Value *row, int64_t v) {
    Value *element = b.CreateAdd(b.CreateMul(row, number(tile.width)), number(column + v * lanes));
    Value *address = b.CreateAdd(argument(base), b.CreateMul(element, number(kUnitBytes)));
    return b.CreateIntToPtr(address, b.getPtrTy());
  }
  llvm::Align alignment() const { return llvm::Align(lanes * kUnitBytes); }
  Value *load(llvm::Type *vector, Value *row, int64_t v) {
    return b.CreateAlignedLoad(vector, place(BlockQuantizedMicrokernel::panel, row, v),
                               alignment());
  }

  /// for (at = first; at < end; at = body(at)), carrying `values`.
  template <typename Body>
  void loop(Value *first, Value *end, Values &values, Body body) {
    llvm::BasicBlock *from = b.GetInsertBlock(), *inside = block("body"), *after = block("after");
    b.CreateCondBr(b.CreateICmpULT(first, end), inside, after);
    b.SetInsertPoint(inside);
    llvm::PHINode *at = b.CreatePHI(b.getInt64Ty(), 2);
    at->addIncoming(first, from);
    Values before = values;
    llvm::SmallVector<llvm::PHINode *, 32> carried;
    for (Value *&value : values) {
      carried.push_back(b.CreatePHI(value->getType(), 2));
      carried.back()->addIncoming(value, from);
      value = carried.back();
    }
    Value *next = body(at);
    llvm::BasicBlock *last = b.GetInsertBlock();
    at->addIncoming(next, last);
    for (auto [phi, value] : llvm::zip(carried, values))
      phi->addIncoming(value, last);
    b.CreateCondBr(b.CreateICmpULT(next, end), inside, after);
    b.SetInsertPoint(after);
    for (auto [value, old] : llvm::zip(values, before)) {
      llvm::PHINode *phi = b.CreatePHI(value->getType(), 2);
      phi->addIncoming(old, from);
      phi->addIncoming(value, last);
      value = phi;
    }
  }

  //===--- Weights ---------------------------------------------------------------------------===//

  /// What the numbers mean before they are scaled, at the place of their lowest four bits.
  Value *table() {
    llvm::SmallVector<llvm::Constant *, kMostLanes> meanings;
    for (int64_t i = 0; i < kMostLanes; ++i)
      meanings.push_back(llvm::ConstantFP::get(
          b.getFloatTy(), double(i % (1 << tile.bits)) - double(std::max<int64_t>(tile.zero, 0))));
    return llvm::ConstantVector::get(meanings);
  }

  /// The weights of a term: what is lowest in `words`, which may have more above.
  Value *weight(Value *words, int64_t v, bool isLast) {
    Value *centred;
    if (looksUp()) {
      centred = b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {}, {table(), words});
    } else {
      if (!isLast)
        words = b.CreateAnd(words, llvm::ConstantInt::get(ints, (1 << tile.bits) - 1));
      centred = b.CreateSIToFP(words, floats);
      if (tile.zero > 0)
        centred = b.CreateFSub(centred, llvm::ConstantFP::get(floats, double(tile.zero)));
    }
    if (hasZeros())
      centred = b.CreateFSub(centred, zeros[v]);
    return b.CreateFMul(centred, scales[v]);
  }

  /// What stands in front of a record.
  void loadHead(Value *record) {
    scales.clear();
    zeros.clear();
    for (int64_t v = 0; v < vectors; ++v) {
      scales.push_back(load(floats, record, v));
      if (hasZeros())
        zeros.push_back(load(floats, b.CreateAdd(record, number(1)), v));
    }
  }

  /// The words of all columns that have a term of the block.
  Values loadWords(Value *firstWord, Value *firstK, Value *atK) {
    Value *row = b.CreateUDiv(b.CreateSub(atK, firstK), number(wordOfK));
    Values words;
    for (int64_t v = 0; v < vectors; ++v)
      words.push_back(load(ints, b.CreateAdd(firstWord, row), v));
    return words;
  }

  //===--- Terms -----------------------------------------------------------------------------===//

  Value *multiplyAdd(Value *x, Value *y, Value *sum) {
    if (registers.fma)
      return b.CreateIntrinsic(llvm::Intrinsic::fma, {floats}, {x, y, sum});
    return b.CreateFAdd(b.CreateFMul(x, y), sum);
  }

  /// One more term of each sum, or its weights stored; words are shifted to it.
  void step(Value *atK, const Values &words, bool isLast, Values &accumulators) {
    Values weights;
    for (int64_t v = 0; v < vectors; ++v)
      weights.push_back(weight(words[v], v, isLast));
    if (tile.rows == 0) {
      Value *row = b.CreateSub(atK, argument(BlockQuantizedMicrokernel::first));
      for (int64_t v = 0; v < vectors; ++v)
        b.CreateAlignedStore(weights[v], place(BlockQuantizedMicrokernel::out, row, v),
                             alignment());
    }
    for (int64_t r = 0; r < tile.rows; ++r) {
      Value *row = b.CreateMul(argument(BlockQuantizedMicrokernel::leftStride), number(r));
      Value *at = b.CreateMul(b.CreateAdd(row, atK), number(kUnitBytes));
      Value *address = b.CreateIntToPtr(b.CreateAdd(argument(BlockQuantizedMicrokernel::left), at),
                                        b.getPtrTy());
      Value *factor = splat(b.CreateAlignedLoad(b.getFloatTy(), address, llvm::Align(kUnitBytes)));
      for (int64_t v = 0; v < vectors; ++v) {
        Value *&sum = accumulators[r * vectors + v];
        sum = multiplyAdd(factor, weights[v], sum);
      }
    }
  }

  /// All terms of a word.
  void stepWord(Value *atK, const Values &words, Values &accumulators) {
    for (int64_t i = 0; i < wordOfK; ++i) {
      Values shifted;
      for (Value *word : words)
        shifted.push_back(i == 0 ? word
                                 : b.CreateLShr(word, llvm::ConstantInt::get(ints, i * tile.bits)));
      step(b.CreateAdd(atK, number(i)), shifted, i + 1 == wordOfK, accumulators);
    }
  }

  /// A term of the last word of all, which need not be full.
  void stepAtK(Value *atK, Values words, Values &accumulators) {
    Value *place = b.CreateURem(atK, number(wordOfK));
    Value *shift = b.CreateTrunc(b.CreateMul(place, number(tile.bits)), b.getInt32Ty());
    for (Value *&word : words)
      word = b.CreateLShr(word, splat(shift));
    step(atK, words, /*isLast=*/false, accumulators);
  }

  /// Those of a block from `atK` on, up to `end`.
  Value *stepBlock(Value *atK, Value *end, Values &accumulators) {
    Value *block = b.CreateUDiv(atK, number(tile.block));
    Value *record = b.CreateMul(block, number(form.recordWords()));
    loadHead(record);
    Value *words = b.CreateAdd(record, number(form.headWords()));
    Value *first = b.CreateMul(block, number(tile.block));
    Value *next =
        b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b.CreateAdd(first, number(tile.block)), end);
    Value *whole = b.CreateAnd(b.CreateSub(next, atK), number(-wordOfK));
    Value *full = b.CreateAdd(atK, whole);
    loop(atK, full, accumulators, [&](Value *at) {
      stepWord(at, loadWords(words, first, at), accumulators);
      return b.CreateAdd(at, number(wordOfK));
    });
    loop(full, next, accumulators, [&](Value *at) {
      stepAtK(at, loadWords(words, first, at), accumulators);
      return b.CreateAdd(at, number(1));
    });
    return next;
  }

  void emitPiece() {
    Values accumulators(tile.rows * vectors, llvm::Constant::getNullValue(floats));
    Value *end = argument(BlockQuantizedMicrokernel::end);
    loop(argument(BlockQuantizedMicrokernel::first), end, accumulators,
         [&](Value *atK) { return stepBlock(atK, end, accumulators); });
    for (int64_t r = 0; r < tile.rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        b.CreateAlignedStore(accumulators[r * vectors + v],
                             place(BlockQuantizedMicrokernel::out, number(r), v), alignment());
  }

  llvm::Function &function;
  const BlockQuantizedMicrokernel &tile;
  const Registers &registers;
  llvm::IRBuilder<> b;
  int64_t lanes;
  BlockQuantized form;
  int64_t wordOfK;
  llvm::FixedVectorType *floats, *ints;
  int64_t vectors = 0, column = 0; ///< of the piece: how many, and the first column
  Values scales, zeros;            ///< of the block
};
} // namespace

void gantry::cpu::emitBlockQuantizedMicrokernel(llvm::Function &function,
                                                const BlockQuantizedMicrokernel &tile,
                                                const Registers &registers) {
  BlockQuantizedEmitter(function, tile, registers).emit();
}
