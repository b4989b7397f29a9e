// What kernels made of microkernels (Microkernel.h) have in common: a function on buffers in the
// place of one on tensors, loops, addresses, calls of tiles, and the packing of operands.
#pragma once

#include "Microkernel.h"
#include "Panels.h"

#include "gantry/Linalg/Elements.h"
#include "gantry/Linalg/Emitter.h"
#include "gantry/Linalg/LoopBuilder.h"

namespace gantry::cpu {

/// Calls a microkernel; it is declared in the module of the kernels when it is first asked for.
void callMicrokernel(mlir::ImplicitLocOpBuilder &b, mlir::ModuleOp module, const Microkernel &tile,
                     llvm::ArrayRef<mlir::Value> arguments);

class TileBuilder {
public:
  using Value = mlir::Value;

  TileBuilder(mlir::func::FuncOp func, const RowTiles &rows);

protected:
  //===--- The function ----------------------------------------------------------------------===//

  /// Begins the code behind the ops on tensors: a buffer for each argument, the last one for
  /// `root`. Elements of all arguments but `packed` are read from theirs.
  void begin(Value root, mlir::BlockArgument packed = {});
  /// Ends it: the ops on tensors go away. `work` is how many multiply-adds an item has.
  void end(int64_t work);

  //===--- Building blocks -------------------------------------------------------------------===//

  /// Of a sum.
  static constexpr int64_t kElementBytes = 4;
  static constexpr int64_t kLineBytes = 64;

  Value constant(int64_t value) { return indexConstant(b, value); }
  Value add(Value x, Value y) { return addIndex(b, x, y); }
  Value mul(Value x, int64_t by) { return mulIndex(b, x, by); }
  Value sub(Value x, Value y);
  Value less(Value x, Value y);
  Value least(Value x, Value y);
  Value bytes(Value count, int64_t each = kElementBytes) { return mul(count, each); }
  Value addressOf(Value buffer);
  /// The element of a buffer at an index for each of its dimensions.
  Value load(Value buffer, mlir::ValueRange at);
  void store(Value element, Value buffer, mlir::ValueRange at);
  Value allocate(int64_t rows, int64_t columns) {
    return allocate({rows, columns}, b.getF32Type());
  }
  Value allocate(llvm::ArrayRef<int64_t> shape, mlir::Type element);

  void loop(Value from, Value to, llvm::function_ref<void(Value)> body) {
    LoopBuilder(b, &elements).loop(from, to, 1, body);
  }
  void loop(int64_t to, llvm::function_ref<void(Value)> body) {
    LoopBuilder(b, &elements).loop(0, to, 1, body);
  }
  void choose(Value condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise) {
    LoopBuilder(b, &elements).choose(condition, then, otherwise);
  }
  /// The work items: one for each index of all of `sizes`.
  void forItems(llvm::ArrayRef<int64_t> sizes, llvm::function_ref<void(mlir::ValueRange)> body) {
    LoopBuilder(b).forItems(sizes, body);
  }

  /// An index for each loop of `product`; those that are not given are null.
  Indices loopsAt(const Product &product, mlir::ValueRange batch, Value row, Value column,
                  Value atK);

  //===--- Tiles -----------------------------------------------------------------------------===//

  bool allTall() const { return tiles.tallTiles == tiles.tiles; }
  /// First row of a tile.
  Value rowOf(Value tile);
  Value rowsOf(Value tile);
  /// First tile of a chunk of `chunks`.
  Value firstTileOf(Value chunk, int64_t chunks);

  /// Calls the microkernel like `form` of as many rows as `tile` has.
  void callMicrokernel(Microkernel form, Value tile, llvm::ArrayRef<Value> arguments);

  void callBlockQuantized(const BlockQuantizedMicrokernel &tile, llvm::ArrayRef<Value> arguments);

  /// Where a matrix of `rows` begins for these indices of the batch, in elements.
  Value offsetOf(const DirectRows &rows, mlir::ValueRange batch);

  /// Visits all of terms by others in the order in which an operand lies. Terms that lie side by
  /// side are taken some at a time, of each of the others: as many as a cache line has.
  void visit(Value sizeK, Value others, bool alongK, llvm::function_ref<void(Value, Value)> body);

  /// The same of terms that lie far from each other: all of a group before the next of the others,
  /// so that what is stored side by side is stored together.
  void visitGroups(Value sizeK, int64_t group, Value others,
                   llvm::function_ref<void(Value, Value)> body);

  mlir::func::FuncOp func;
  mlir::ImplicitLocOpBuilder b;
  Elements elements;
  llvm::DenseMap<Value, Value> buffers; ///< of the arguments
  Value result;

private:
  RowTiles tiles;
  mlir::ModuleOp module;
  llvm::SmallVector<mlir::Operation *> recipe; ///< the ops on tensors
  unsigned tensors = 0;                        ///< arguments of them
};

} // namespace gantry::cpu
