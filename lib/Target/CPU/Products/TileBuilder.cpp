#include "TileBuilder.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::cpu;

/// Multiply-adds that are worth a thread of their own.
static constexpr int64_t kLeastWorkOfThread = 32768;

TileBuilder::TileBuilder(func::FuncOp func, const RowTiles &rows)
    : func(func), b(func.getLoc(), func.getContext()), elements(b), tiles(rows),
      module(func->getParentOfType<ModuleOp>()) {}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

void TileBuilder::begin(Value root, BlockArgument packed) {
  Block &body = func.getBody().front();
  for (Operation &op : body)
    recipe.push_back(&op);
  tensors = body.getNumArguments();
  b.setInsertionPointToEnd(&body);
  auto bufferType = [](Value tensor) {
    return MemRefType::get(typeOf(tensor).getShape(), typeOf(tensor).getElementType());
  };
  for (unsigned i = 0; i < tensors; ++i) {
    BlockArgument tensor = body.getArgument(i);
    MemRefType type = bufferType(tensor);
    if (tensor == packed) {
      auto layout = PanelLayout::ofArgument(func, i);
      type = MemRefType::get({layout->elements()}, type.getElementType());
    }
    Value buffer = body.addArgument(type, tensor.getLoc());
    buffers[tensor] = buffer;
    if (tensor != packed)
      elements.provide(tensor, [this, buffer](ValueRange at) { return load(buffer, at); });
  }
  result = body.addArgument(bufferType(root), b.getLoc());
}

void TileBuilder::end(int64_t work) {
  func::ReturnOp::create(b);
  for (Operation *op : llvm::reverse(recipe))
    if (op->hasTrait<OpTrait::IsTerminator>() || isOpTriviallyDead(op))
      op->erase();
  Block &body = func.getBody().front();
  body.eraseArguments(0, tensors);
  func.setType(b.getFunctionType(body.getArgumentTypes(), {}));
  SmallVector<DictionaryAttr> attributes(
      func.getNumArguments(),
      b.getDictionaryAttr({b.getNamedAttr("llvm.align", b.getI64IntegerAttr(kLineBytes)),
                           b.getNamedAttr("llvm.noalias", b.getUnitAttr())}));
  func.setAllArgAttrs(attributes);
  func->setAttr(kWorkAttr,
                WorkAttr::of(func).withGrain(std::max<int64_t>(1, kLeastWorkOfThread / work)));
}

//===----------------------------------------------------------------------===//
// Building blocks
//===----------------------------------------------------------------------===//

Value TileBuilder::sub(Value x, Value y) { return arith::SubIOp::create(b, x, y); }
Value TileBuilder::least(Value x, Value y) { return arith::MinUIOp::create(b, x, y); }
Value TileBuilder::less(Value x, Value y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, y);
}
Value TileBuilder::addressOf(Value buffer) {
  return memref::ExtractAlignedPointerAsIndexOp::create(b, buffer);
}
Value TileBuilder::load(Value buffer, ValueRange at) {
  return memref::LoadOp::create(b, buffer, at);
}
void TileBuilder::store(Value element, Value buffer, ValueRange at) {
  memref::StoreOp::create(b, element, buffer, at);
}
Value TileBuilder::allocate(ArrayRef<int64_t> shape, Type element) {
  return memref::AllocOp::create(b, MemRefType::get(shape, element));
}

Indices TileBuilder::loopsAt(const Product &product, ValueRange batch, Value row, Value column,
                             Value atK) {
  Indices loops(linalg::GenericOp(product.op).getNumLoops());
  auto place = [&](ArrayRef<unsigned> list, ValueRange indices) {
    for (auto [loop, index] : llvm::zip(list, indices))
      loops[loop] = index;
  };
  auto split = [&](ArrayRef<unsigned> list, Value number) {
    if (number)
      place(list, delinearize(b, number, product.sizes(list)));
  };
  place(product.batch, batch);
  split(product.rows, row);
  split(product.columns, column);
  split(product.k, atK);
  return loops;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

Value TileBuilder::firstTileOf(Value chunk, int64_t chunks) {
  if (chunks == 1)
    return constant(0);
  return arith::DivUIOp::create(b, mul(chunk, tiles.tiles), constant(chunks));
}

Value TileBuilder::rowOf(Value tile) {
  if (allTall())
    return mul(tile, tiles.tileRows);
  Value tall = least(tile, constant(tiles.tallTiles));
  return add(mul(tile, tiles.tileRows - 1), tall);
}

Value TileBuilder::rowsOf(Value tile) {
  if (allTall())
    return constant(tiles.tileRows);
  return arith::SelectOp::create(b, less(tile, constant(tiles.tallTiles)), constant(tiles.tileRows),
                                 constant(tiles.tileRows - 1));
}

/// Calls a function of numbers; it is declared when it is first asked for.
static void callByName(ImplicitLocOpBuilder &b, ModuleOp module, StringRef symbol,
                       ArrayRef<Value> arguments) {
  auto declared = module.lookupSymbol<func::FuncOp>(symbol);
  if (!declared) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(module.getBody());
    SmallVector<Type> types(arguments.size(), b.getIndexType());
    declared = func::FuncOp::create(b, module.getLoc(), symbol, b.getFunctionType(types, {}));
    declared.setPrivate();
  }
  func::CallOp::create(b, declared, arguments);
}

void gantry::cpu::callMicrokernel(ImplicitLocOpBuilder &b, ModuleOp module, const Microkernel &tile,
                                  ArrayRef<Value> arguments) {
  callByName(b, module, tile.symbol(), arguments);
}

void TileBuilder::callBlockQuantized(const BlockQuantizedMicrokernel &tile,
                                     ArrayRef<Value> arguments) {
  callByName(b, module, tile.symbol(), arguments);
}

void TileBuilder::callMicrokernel(Microkernel form, Value tile, ArrayRef<Value> arguments) {
  form.amx = tiles.amx;
  auto call = [&](int64_t rows) {
    form.rows = rows;
    cpu::callMicrokernel(b, module, form, arguments);
  };
  if (allTall() || tiles.filled)
    return call(tiles.tileRows);
  choose(
      less(tile, constant(tiles.tallTiles)), [&] { call(tiles.tileRows); },
      [&] { call(tiles.tileRows - 1); });
}

Value TileBuilder::offsetOf(const DirectRows &rows, ValueRange batch) {
  Value offset = constant(rows.offset);
  for (auto [index, step] : llvm::zip(batch, rows.batchSteps))
    if (step != 0)
      offset = add(offset, mul(index, step));
  return offset;
}

void TileBuilder::visit(Value sizeK, Value others, bool alongK,
                        function_ref<void(Value, Value)> body) {
  if (!alongK)
    return loop(constant(0), sizeK, [&](Value atK) {
      loop(constant(0), others, [&](Value other) { body(atK, other); });
    });
  // One after the other without a loop: LLVM would take a loop for one that scatters.
  constexpr int64_t side = kLineBytes / kElementBytes;
  Value blocks = arith::DivUIOp::create(b, sizeK, constant(side));
  loop(constant(0), blocks, [&](Value block) {
    loop(constant(0), others, [&](Value other) {
      for (int64_t i = 0; i < side; ++i)
        body(add(mul(block, side), constant(i)), other);
    });
  });
  loop(constant(0), others,
       [&](Value other) { loop(mul(blocks, side), sizeK, [&](Value atK) { body(atK, other); }); });
}

void TileBuilder::visitGroups(Value sizeK, int64_t group, Value others,
                              function_ref<void(Value, Value)> body) {
  if (group == 1)
    return visit(sizeK, others, /*alongK=*/false, body);
  Value groups = arith::DivUIOp::create(b, sizeK, constant(group));
  loop(constant(0), groups, [&](Value each) {
    loop(constant(0), others, [&](Value other) {
      for (int64_t i = 0; i < group; ++i)
        body(add(mul(each, group), constant(i)), other);
    });
  });
  loop(mul(groups, group), sizeK,
       [&](Value atK) { loop(constant(0), others, [&](Value other) { body(atK, other); }); });
}
