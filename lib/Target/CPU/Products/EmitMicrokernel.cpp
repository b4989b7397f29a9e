// A tile is cut into register blocks whose accumulators fit the registers: all of it with AVX-512,
// some rows of some columns with fewer or shorter registers. Such a register block is a loop over K
// that carries its accumulators as values; LLVM has nothing to decide but the order of
// instructions.

#include "EmitMicrokernel.h"

#include "BlockQuantizedMicrokernel.h"
#include "Convolutions/Dot.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/Support/MathExtras.h"

using namespace gantry;
using namespace gantry::cpu;

static constexpr llvm::StringLiteral kPrefix = "gantry_tile_", kAMXPrefix = "gantry_matrices_";
/// Of a sum, and of the groups that are read for it.
static constexpr int64_t kUnitBytes = 4, kLineBytes = 64;

llvm::StringRef gantry::cpu::nameOf(OperandPrecision precision) {
  switch (precision) {
  case OperandPrecision::f32:
    return "f32";
  case OperandPrecision::bf16:
    return "bf16";
  case OperandPrecision::f16:
    return "f16";
  case OperandPrecision::int8:
    return "bytes";
  }
  llvm_unreachable("no other precision");
}

std::string Microkernel::symbol() const {
  return ((amx ? kAMXPrefix : kPrefix) + nameOf(precision) + "_" + llvm::Twine(rows) + "x" +
          llvm::Twine(width) + "_" + llvm::Twine(ahead) + (leftByColumns ? "t" : ""))
             .str() +
         (storesIntoResult() ? ("_" + llvm::Twine(columns) + "of" + llvm::Twine(stride)).str()
                             : "");
}

std::optional<Microkernel> Microkernel::of(llvm::StringRef symbol) {
  const bool amx = symbol.consume_front(kAMXPrefix);
  if (!amx && !symbol.consume_front(kPrefix))
    return std::nullopt;
  auto [name, sizes] = symbol.split('_');
  for (OperandPrecision precision : {OperandPrecision::f32, OperandPrecision::bf16,
                                     OperandPrecision::f16, OperandPrecision::int8}) {
    Microkernel tile{precision, 0, 0, 0, amx};
    if (name != nameOf(precision) || sizes.consumeInteger(10, tile.rows) ||
        !sizes.consume_front("x") || sizes.consumeInteger(10, tile.width) ||
        !sizes.consume_front("_") || sizes.consumeInteger(10, tile.ahead))
      continue;
    tile.leftByColumns = sizes.consume_front("t");
    if (sizes.empty() ||
        (sizes.consume_front("_") && !sizes.consumeInteger(10, tile.columns) &&
         sizes.consume_front("of") && !sizes.consumeInteger(10, tile.stride) && sizes.empty()))
      return tile;
  }
  return std::nullopt;
}

namespace {
/// Some rows and vectors of a tile.
struct RegisterBlock {
  int64_t row, rows;
  int64_t column, vectors; ///< from a column on
};

class MicrokernelEmitter {
public:
  MicrokernelEmitter(llvm::Function &function, const Microkernel &tile, const Registers &registers)
      : function(function), tile(tile), registers(registers), b(function.getContext()),
        lanes(std::min(registers.bytes / kUnitBytes, kColumnUnit)),
        group(packingFactorOf(tile.precision)),
        parts(tile.precision == OperandPrecision::bf16 && !registers.dotBF16 ? group : 1),
        element(b.getFloatTy()), unit(b.getFloatTy()), panelUnit(b.getFloatTy()),
        vector(llvm::FixedVectorType::get(b.getFloatTy(), unsigned(lanes))) {
    if (tile.precision == OperandPrecision::bf16) {
      element = b.getInt16Ty();
      unit = panelUnit = b.getInt32Ty();
    }
    if (tile.precision == OperandPrecision::f16)
      panelUnit = b.getHalfTy();
    if (tile.precision == OperandPrecision::int8) {
      element = b.getInt8Ty();
      unit = panelUnit = b.getInt32Ty();
      vector = llvm::FixedVectorType::get(b.getInt32Ty(), unsigned(lanes));
    }
  }

  void emit() {
    b.SetInsertPoint(block("entry"));
    // A piece after the other; the first one asks for what comes next.
    bool isFirst = true;
    for (const RegisterBlock &piece : pieces()) {
      emitPiece(piece, isFirst ? tile.ahead : 0);
      isFirst = false;
    }
    b.CreateRetVoid();
  }

private:
  using Values = llvm::SmallVector<llvm::Value *, 32>;

  llvm::BasicBlock *block(const char *name) {
    return llvm::BasicBlock::Create(b.getContext(), name, &function);
  }
  llvm::Value *argument(Microkernel::Argument which) { return function.getArg(which); }

  /// Accumulators, the vectors of a step and what holds a group of the left side are in registers
  /// at the same time; where groups come apart, so are they and their parts, some of the next step
  /// already.
  bool fits(int64_t rows, int64_t vectors) const {
    // Words of bytes come apart in no order: the parts of all rows may be there at once.
    if (tile.precision == OperandPrecision::int8 && !registers.mostByteLanes)
      return rows * (vectors + 2) + registersOfBytes(vectors, registers) <= registers.count;
    int64_t held = parts == 1 ? vectors + 1 : (parts + 1) * (vectors + 1) + 4;
    return rows * vectors + held <= registers.count;
  }

  llvm::SmallVector<RegisterBlock> pieces() const {
    int64_t all = tile.width / lanes, vectors = all;
    // As many rows as columns would load least; 5 rows and more hide what a step takes to finish.
    while (vectors > 1 && !fits(std::min<int64_t>(tile.rows, 5), vectors))
      vectors = llvm::divideCeil(vectors, 2);
    while (all % vectors != 0)
      --vectors;
    // Tiles that are cut for matrices have more rows than others.
    int64_t cuts = llvm::divideCeil(tile.rows, mostRows(tile.width));
    while (!fits(llvm::divideCeil(tile.rows, cuts), vectors))
      ++cuts;
    llvm::SmallVector<RegisterBlock> pieces;
    for (int64_t cut = 0; cut < cuts; ++cut)
      for (int64_t first = 0; first < all; first += vectors) {
        int64_t from = tile.rows * cut / cuts, to = tile.rows * (cut + 1) / cuts;
        pieces.push_back({from, to - from, first * lanes, vectors});
      }
    return pieces;
  }

  llvm::Value *at(llvm::Value *address, int64_t element) {
    llvm::Value *pointer = b.CreateIntToPtr(address, b.getPtrTy());
    return b.CreateConstInBoundsGEP1_64(b.getFloatTy(), pointer, element);
  }

  /// Of a vector, of sums or of a panel.
  llvm::Align alignment() const { return alignmentOf(kUnitBytes); }
  llvm::Align alignmentOf(int64_t bytes) const {
    return llvm::Align(std::min<int64_t>(lanes * bytes, kLineBytes));
  }

  /// Where the accumulators of a piece are, row by row.
  Values places(const RegisterBlock &piece) {
    const int64_t stride = tile.storesIntoResult() ? tile.stride : tile.width;
    Values places;
    for (int64_t r = 0; r < piece.rows; ++r)
      for (int64_t v = 0; v < piece.vectors; ++v)
        places.push_back(at(argument(Microkernel::accumulators),
                            (piece.row + r) * stride + piece.column + v * lanes));
    return places;
  }

  /// What is there already, or zeros.
  Values start(const Values &places) {
    if (tile.storesIntoResult())
      return Values(places.size(), llvm::Constant::getNullValue(vector));
    llvm::BasicBlock *from = b.GetInsertBlock(), *load = block("load"), *join = block("start");
    llvm::Value *goesOn = b.CreateICmpNE(argument(Microkernel::accumulate), b.getInt64(0));
    b.CreateCondBr(goesOn, load, join);
    b.SetInsertPoint(load);
    Values loaded;
    for (llvm::Value *place : places)
      loaded.push_back(b.CreateAlignedLoad(vector, place, alignment()));
    b.CreateBr(join);
    b.SetInsertPoint(join);
    Values accumulators;
    for (llvm::Value *value : loaded) {
      llvm::PHINode *sum = b.CreatePHI(vector, 2);
      sum->addIncoming(llvm::Constant::getNullValue(vector), from);
      sum->addIncoming(value, load);
      accumulators.push_back(sum);
    }
    return accumulators;
  }

  llvm::Value *multiplyAdd(llvm::Value *x, llvm::Value *y, llvm::Value *sum) {
    if (tile.precision == OperandPrecision::bf16 && registers.dotBF16) {
      auto *pairs = llvm::FixedVectorType::get(b.getBFloatTy(), unsigned(lanes * group));
      return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {},
                               {sum, b.CreateBitCast(x, pairs), b.CreateBitCast(y, pairs)});
    }
    if (tile.precision == OperandPrecision::int8)
      return callDot(b, x, y, sum);
    if (registers.fma)
      return b.CreateIntrinsic(llvm::Intrinsic::fma, {vector}, {x, y, sum});
    return b.CreateFAdd(b.CreateFMul(x, y), sum);
  }

  /// A group as what `multiplyAdd` takes, in the order in which it is to be added.
  Values partsOf(llvm::Value *groups) {
    if (parts == 1)
      return {groups};
    // The odd one of a pair is in the upper half, and an f32 when the other one is gone.
    llvm::Value *odd = b.CreateAnd(groups, llvm::ConstantInt::get(groups->getType(), 0xffff0000)),
                *even = b.CreateShl(groups, 16);
    return {b.CreateBitCast(odd, vector), b.CreateBitCast(even, vector)};
  }

  /// A group of each of some columns.
  llvm::Value *loadColumns(llvm::Value *panel, int64_t first) {
    auto *groups = llvm::FixedVectorType::get(panelUnit, unsigned(lanes));
    llvm::Value *loaded =
        b.CreateAlignedLoad(groups, b.CreateConstInBoundsGEP1_64(panelUnit, panel, first),
                            alignmentOf(panelBytesOf(tile.precision) * group));
    return tile.precision == OperandPrecision::f16 ? b.CreateFPExt(loaded, vector) : loaded;
  }

  /// A group of the left side. Of the last one there are only some: the others are zeros, and not
  /// read.
  llvm::Value *loadGroup(llvm::Value *place, llvm::Value *live) {
    if (!live)
      return b.CreateAlignedLoad(unit, place, llvm::Align(leftBytesOf(tile.precision)));
    auto *elements = llvm::FixedVectorType::get(element, unsigned(group));
    auto *numbers = llvm::FixedVectorType::get(b.getInt64Ty(), unsigned(group));
    llvm::Value *mask =
        b.CreateICmpULT(b.CreateStepVector(numbers), b.CreateVectorSplat(unsigned(group), live));
    llvm::Value *loaded =
        b.CreateMaskedLoad(elements, place, llvm::Align(leftBytesOf(tile.precision)), mask,
                           llvm::Constant::getNullValue(elements));
    return b.CreateBitCast(loaded, unit);
  }

  /// `steps` strides of the left operand, in elements.
  llvm::Value *strides(llvm::Value *steps) {
    return b.CreateMul(argument(Microkernel::leftStride), steps);
  }

  /// A group of a row of the left operand, the `index`th behind `left`.
  llvm::Value *placeOf(llvm::Value *left, int64_t row, int64_t index) {
    if (!tile.leftByColumns) {
      llvm::Value *first = b.CreateInBoundsGEP(element, left, strides(b.getInt64(row)));
      return b.CreateConstInBoundsGEP1_64(unit, first, index);
    }
    llvm::Value *first = b.CreateInBoundsGEP(element, left, strides(b.getInt64(index)));
    return b.CreateConstInBoundsGEP1_64(element, first, row);
  }

  /// One more group of K of each sum; `live` says how many of them there are, null: all.
  void step(const RegisterBlock &piece, llvm::Value *left, llvm::Value *panel, int64_t index,
            llvm::Value *live, Values &accumulators) {
    llvm::SmallVector<Values, 4> columns;
    for (int64_t v = 0; v < piece.vectors; ++v)
      columns.push_back(partsOf(loadColumns(panel, index * tile.width + piece.column + v * lanes)));
    for (int64_t r = 0; r < piece.rows; ++r) {
      llvm::Value *loaded = loadGroup(placeOf(left, piece.row + r, index), live);
      Values factors = partsOf(b.CreateVectorSplat(unsigned(lanes), loaded));
      for (int64_t part = 0; part < parts; ++part)
        for (int64_t v = 0; v < piece.vectors; ++v) {
          llvm::Value *&sum = accumulators[r * piece.vectors + v];
          sum = multiplyAdd(factors[part], columns[v][part], sum);
        }
    }
  }

  void askFor(llvm::Value *index, int64_t lines) {
    if (lines == 0)
      return;
    // Lines of kUnitOfK groups.
    llvm::Value *first = b.CreateMul(index, b.getInt64(lines * kLineBytes / kUnitOfK));
    llvm::Value *place =
        b.CreateIntToPtr(b.CreateAdd(argument(Microkernel::next), first), b.getPtrTy());
    // Into the nearest cache: asked for in the second one (prefetcht1), Zen 4 leaves what lies on a
    // page that it has no address of to the loads, and products run 4 % slower than unasked.
    for (int64_t line = 0; line < lines; ++line)
      b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()},
                        {b.CreateConstGEP1_64(b.getInt8Ty(), place, line * kLineBytes),
                         b.getInt32(0), b.getInt32(3), b.getInt32(1)});
  }

  /// for (; group < end; group += atOnce), from `first` on; leaves the sums behind it.
  void loop(const RegisterBlock &piece, llvm::Value *first, llvm::Value *end, int64_t atOnce,
            int64_t lines, llvm::Value *live, Values &accumulators) {
    llvm::BasicBlock *from = b.GetInsertBlock(), *body = block("terms"), *after = block("after");
    b.CreateCondBr(b.CreateICmpULT(first, end), body, after);
    b.SetInsertPoint(body);
    llvm::PHINode *index = b.CreatePHI(b.getInt64Ty(), 2);
    Values carried, next;
    for (llvm::Value *sum : accumulators) {
      llvm::PHINode *phi = b.CreatePHI(vector, 2);
      phi->addIncoming(sum, from);
      carried.push_back(phi);
    }
    next = carried;
    llvm::Value *left =
        b.CreateInBoundsGEP(unit, b.CreateIntToPtr(argument(Microkernel::left), b.getPtrTy()),
                            tile.leftByColumns ? strides(index) : index);
    llvm::Value *panel =
        b.CreateInBoundsGEP(panelUnit, b.CreateIntToPtr(argument(Microkernel::panel), b.getPtrTy()),
                            b.CreateMul(index, b.getInt64(tile.width)));
    for (int64_t i = 0; i < atOnce; ++i)
      step(piece, left, panel, i, live, next);
    askFor(index, lines);
    llvm::Value *following = b.CreateAdd(index, b.getInt64(atOnce));
    index->addIncoming(first, from);
    index->addIncoming(following, body);
    for (auto [phi, value] : llvm::zip(carried, next))
      llvm::cast<llvm::PHINode>(phi)->addIncoming(value, body);
    b.CreateCondBr(b.CreateICmpULT(following, end), body, after);
    b.SetInsertPoint(after);
    for (auto [sum, value] : llvm::zip(accumulators, next)) {
      llvm::PHINode *phi = b.CreatePHI(vector, 2);
      phi->addIncoming(sum, from);
      phi->addIncoming(value, body);
      sum = phi;
    }
  }

  void emitPiece(const RegisterBlock &piece, int64_t lines) {
    Values places = this->places(piece), accumulators = start(places);
    llvm::Value *sizeK = argument(Microkernel::sizeK), *full = sizeK;
    if (group > 1)
      full = b.CreateUDiv(sizeK, b.getInt64(group));
    llvm::Value *most = b.CreateAnd(full, b.getInt64(-kUnitOfK));
    loop(piece, b.getInt64(0), most, kUnitOfK, lines, nullptr, accumulators);
    loop(piece, most, full, 1, 0, nullptr, accumulators);
    // Of bytes all groups are full.
    if (group > 1 && tile.precision != OperandPrecision::int8) {
      llvm::Value *live = b.CreateURem(sizeK, b.getInt64(group));
      llvm::Value *all = b.CreateUDiv(b.CreateAdd(sizeK, b.getInt64(group - 1)), b.getInt64(group));
      loop(piece, full, all, 1, 0, live, accumulators);
    }
    store(piece, places, accumulators);
  }

  void store(const RegisterBlock &piece, const Values &places, const Values &accumulators) {
    for (auto [i, place, sum] : llvm::enumerate(places, accumulators)) {
      int64_t column = piece.column + int64_t(i) % piece.vectors * lanes;
      if (!tile.storesIntoResult())
        b.CreateAlignedStore(sum, place, alignment());
      else if (column + lanes <= tile.columns)
        b.CreateAlignedStore(sum, place, llvm::Align(kUnitBytes));
      else if (column < tile.columns)
        storeFirst(tile.columns - column, sum, place);
    }
  }

  /// The first lanes of a vector: with a mask in AVX-512, elsewhere in parts of 4, 2 and 1. Masks
  /// of AVX2 are slower on Zen 4 than a copy through a buffer, parts slower than masks of AVX-512.
  void storeFirst(int64_t count, llvm::Value *sum, llvm::Value *place) {
    if (registers.bytes == kLineBytes) {
      auto *numbers = llvm::FixedVectorType::get(b.getInt64Ty(), unsigned(lanes));
      llvm::Value *mask =
          b.CreateICmpULT(b.CreateStepVector(numbers),
                          b.CreateVectorSplat(unsigned(lanes), b.getInt64(uint64_t(count))));
      b.CreateMaskedStore(sum, place, llvm::Align(kUnitBytes), mask);
      return;
    }
    int64_t stored = 0;
    for (int64_t part = lanes / 2; part > 0; part /= 2) {
      if ((count & part) == 0)
        continue;
      auto taken = llvm::to_vector(llvm::seq(int(stored), int(stored + part)));
      b.CreateAlignedStore(b.CreateShuffleVector(sum, taken),
                           b.CreateConstInBoundsGEP1_64(b.getFloatTy(), place, stored),
                           llvm::Align(kUnitBytes));
      stored += part;
    }
  }

  llvm::Function &function;
  const Microkernel &tile;
  const Registers &registers;
  llvm::IRBuilder<> b;
  int64_t lanes;
  int64_t group;         ///< the packing factor: neighbours of K that are read together
  int64_t parts;         ///< of a group, multiplied one after the other
  llvm::Type *element;   ///< a factor of the left side
  llvm::Type *unit;      ///< a group of them
  llvm::Type *panelUnit; ///< a group of a column
  llvm::Type *vector;    ///< of accumulators
};
} // namespace

void gantry::cpu::defineMicrokernels(llvm::Module &module, const Registers &registers) {
  for (llvm::Function &function : module)
    if (auto bits = BlockQuantizedMicrokernel::of(function.getName());
        bits && function.isDeclaration()) {
      emitBlockQuantizedMicrokernel(function, *bits, registers);
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
    } else if (std::optional<Microkernel> tile = Microkernel::of(function.getName());
               tile && function.isDeclaration()) {
      if (usesAMX(*tile, registers))
        emitAMXMicrokernel(function, *tile);
      else
        MicrokernelEmitter(function, *tile, registers).emit();
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
    }
}

void gantry::cpu::hideMicrokernels(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (Microkernel::of(function.getName()) || BlockQuantizedMicrokernel::of(function.getName()))
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
}
