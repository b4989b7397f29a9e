// A tile is cut into pieces whose sums fit the registers: all of it with AVX-512, some rows of some
// columns with fewer or shorter registers. A piece is a loop over the terms that carries its sums
// as values; LLVM has nothing to decide but the order of instructions.

#include "EmitTile.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/Support/MathExtras.h"

using namespace gantry;
using namespace gantry::cpu;

static constexpr llvm::StringLiteral kPrefix = "gantry_tile_f32_";
static constexpr int64_t kElementBytes = 4, kLineBytes = 64;

std::string Tile::symbol() const {
  return (kPrefix + llvm::Twine(rows) + "x" + llvm::Twine(width) + "_" + llvm::Twine(ahead)).str();
}

std::optional<Tile> Tile::of(llvm::StringRef symbol) {
  Tile tile;
  if (!symbol.consume_front(kPrefix) || symbol.consumeInteger(10, tile.rows) ||
      !symbol.consume_front("x") || symbol.consumeInteger(10, tile.width) ||
      !symbol.consume_front("_") || symbol.consumeInteger(10, tile.ahead) || !symbol.empty())
    return std::nullopt;
  return tile;
}

namespace {
/// Some rows and vectors of a tile.
struct Piece {
  int64_t row, rows;
  int64_t column, vectors; ///< from a column on
};

class TileEmitter {
public:
  TileEmitter(llvm::Function &function, const Tile &tile, const Registers &registers)
      : function(function), tile(tile), registers(registers), b(function.getContext()),
        lanes(std::min(registers.bytes / kElementBytes, kColumnUnit)),
        vector(llvm::FixedVectorType::get(b.getFloatTy(), unsigned(lanes))) {}

  void emit() {
    b.SetInsertPoint(block("entry"));
    // A piece after the other; the first one asks for what comes next.
    bool isFirst = true;
    for (const Piece &piece : pieces()) {
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
  llvm::Value *argument(Tile::Argument which) { return function.getArg(which); }

  /// Sums, the vectors of a step and one that holds an element of the left side are in registers at
  /// the same time.
  static bool fits(int64_t rows, int64_t vectors, const Registers &registers) {
    return rows * vectors + vectors + 1 <= registers.count;
  }

  llvm::SmallVector<Piece> pieces() const {
    int64_t all = tile.width / lanes, vectors = all;
    // As many rows as columns would load least; 5 rows and more hide what a step takes to finish.
    while (vectors > 1 && !fits(std::min<int64_t>(tile.rows, 5), vectors, registers))
      vectors = llvm::divideCeil(vectors, 2);
    while (all % vectors != 0)
      --vectors;
    int64_t parts = 1;
    while (!fits(llvm::divideCeil(tile.rows, parts), vectors, registers))
      ++parts;
    llvm::SmallVector<Piece> pieces;
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t first = 0; first < all; first += vectors) {
        int64_t from = tile.rows * part / parts, to = tile.rows * (part + 1) / parts;
        pieces.push_back({from, to - from, first * lanes, vectors});
      }
    return pieces;
  }

  llvm::Value *at(llvm::Value *address, int64_t element) {
    llvm::Value *pointer = b.CreateIntToPtr(address, b.getPtrTy());
    return b.CreateConstInBoundsGEP1_64(b.getFloatTy(), pointer, element);
  }

  llvm::Align alignment() const {
    return llvm::Align(std::min<int64_t>(lanes * kElementBytes, kLineBytes));
  }

  /// Where the sums of a piece are, row by row.
  Values places(const Piece &piece) {
    Values places;
    for (int64_t r = 0; r < piece.rows; ++r)
      for (int64_t v = 0; v < piece.vectors; ++v)
        places.push_back(
            at(argument(Tile::sums), (piece.row + r) * tile.width + piece.column + v * lanes));
    return places;
  }

  /// What is there already, or zeros.
  Values start(const Values &places) {
    llvm::BasicBlock *from = b.GetInsertBlock(), *load = block("load"), *join = block("start");
    llvm::Value *goesOn = b.CreateICmpNE(argument(Tile::accumulate), b.getInt64(0));
    b.CreateCondBr(goesOn, load, join);
    b.SetInsertPoint(load);
    Values loaded;
    for (llvm::Value *place : places)
      loaded.push_back(b.CreateAlignedLoad(vector, place, alignment()));
    b.CreateBr(join);
    b.SetInsertPoint(join);
    Values sums;
    for (llvm::Value *value : loaded) {
      llvm::PHINode *sum = b.CreatePHI(vector, 2);
      sum->addIncoming(llvm::Constant::getNullValue(vector), from);
      sum->addIncoming(value, load);
      sums.push_back(sum);
    }
    return sums;
  }

  llvm::Value *multiplyAdd(llvm::Value *x, llvm::Value *y, llvm::Value *sum) {
    if (registers.fma)
      return b.CreateIntrinsic(llvm::Intrinsic::fma, {vector}, {x, y, sum});
    return b.CreateFAdd(b.CreateFMul(x, y), sum);
  }

  /// One more term of each sum.
  void step(const Piece &piece, llvm::Value *left, llvm::Value *panel, int64_t term, Values &sums) {
    Values columns;
    for (int64_t v = 0; v < piece.vectors; ++v)
      columns.push_back(b.CreateAlignedLoad(
          vector,
          b.CreateConstInBoundsGEP1_64(b.getFloatTy(), panel,
                                       term * tile.width + piece.column + v * lanes),
          alignment()));
    for (int64_t r = 0; r < piece.rows; ++r) {
      llvm::Value *row = b.CreateMul(argument(Tile::leftStride), b.getInt64(piece.row + r));
      llvm::Value *place = b.CreateInBoundsGEP(b.getFloatTy(), left, row);
      llvm::Value *element = b.CreateAlignedLoad(
          b.getFloatTy(), b.CreateConstInBoundsGEP1_64(b.getFloatTy(), place, term),
          llvm::Align(kElementBytes));
      llvm::Value *factor = b.CreateVectorSplat(unsigned(lanes), element);
      for (int64_t v = 0; v < piece.vectors; ++v) {
        llvm::Value *&sum = sums[r * piece.vectors + v];
        sum = multiplyAdd(factor, columns[v], sum);
      }
    }
  }

  void askFor(llvm::Value *term, int64_t lines) {
    if (lines == 0)
      return;
    // Lines of kTermUnit terms.
    llvm::Value *first = b.CreateMul(term, b.getInt64(lines * kLineBytes / kTermUnit));
    llvm::Value *place = b.CreateIntToPtr(b.CreateAdd(argument(Tile::next), first), b.getPtrTy());
    // Into the nearest cache: asked for in the second one (prefetcht1), Zen 4 leaves what lies on a
    // page that it has no address of to the loads, and products run 4 % slower than unasked.
    for (int64_t line = 0; line < lines; ++line)
      b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()},
                        {b.CreateConstGEP1_64(b.getInt8Ty(), place, line * kLineBytes),
                         b.getInt32(0), b.getInt32(3), b.getInt32(1)});
  }

  /// for (; term < end; term += unit), from `first` on; leaves the sums behind it.
  void loop(const Piece &piece, llvm::Value *first, llvm::Value *end, int64_t unit, int64_t lines,
            Values &sums) {
    llvm::BasicBlock *from = b.GetInsertBlock(), *body = block("terms"), *after = block("after");
    b.CreateCondBr(b.CreateICmpULT(first, end), body, after);
    b.SetInsertPoint(body);
    llvm::PHINode *term = b.CreatePHI(b.getInt64Ty(), 2);
    Values carried, next;
    for (llvm::Value *sum : sums) {
      llvm::PHINode *phi = b.CreatePHI(vector, 2);
      phi->addIncoming(sum, from);
      carried.push_back(phi);
    }
    next = carried;
    llvm::Value *left = b.CreateInBoundsGEP(
        b.getFloatTy(), b.CreateIntToPtr(argument(Tile::left), b.getPtrTy()), term);
    llvm::Value *panel =
        b.CreateInBoundsGEP(b.getFloatTy(), b.CreateIntToPtr(argument(Tile::panel), b.getPtrTy()),
                            b.CreateMul(term, b.getInt64(tile.width)));
    for (int64_t i = 0; i < unit; ++i)
      step(piece, left, panel, i, next);
    askFor(term, lines);
    llvm::Value *following = b.CreateAdd(term, b.getInt64(unit));
    term->addIncoming(first, from);
    term->addIncoming(following, body);
    for (auto [phi, value] : llvm::zip(carried, next))
      llvm::cast<llvm::PHINode>(phi)->addIncoming(value, body);
    b.CreateCondBr(b.CreateICmpULT(following, end), body, after);
    b.SetInsertPoint(after);
    for (auto [sum, value] : llvm::zip(sums, next)) {
      llvm::PHINode *phi = b.CreatePHI(vector, 2);
      phi->addIncoming(sum, from);
      phi->addIncoming(value, body);
      sum = phi;
    }
  }

  void emitPiece(const Piece &piece, int64_t lines) {
    Values places = this->places(piece), sums = start(places);
    llvm::Value *terms = argument(Tile::terms);
    llvm::Value *most = b.CreateAnd(terms, b.getInt64(-kTermUnit));
    loop(piece, b.getInt64(0), most, kTermUnit, lines, sums);
    loop(piece, most, terms, 1, 0, sums);
    for (auto [place, sum] : llvm::zip(places, sums))
      b.CreateAlignedStore(sum, place, alignment());
  }

  llvm::Function &function;
  const Tile &tile;
  const Registers &registers;
  llvm::IRBuilder<> b;
  int64_t lanes;
  llvm::Type *vector;
};
} // namespace

void gantry::cpu::defineTiles(llvm::Module &module, const Registers &registers) {
  for (llvm::Function &function : module)
    if (std::optional<Tile> tile = Tile::of(function.getName()); tile && function.isDeclaration()) {
      TileEmitter(function, *tile, registers).emit();
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
    }
}

void gantry::cpu::hideTiles(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (Tile::of(function.getName()))
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
}
