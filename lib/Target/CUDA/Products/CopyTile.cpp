// How the pieces of a tile go to shared memory by themselves (FillTile.h).

#include "AsyncCopy.h"
#include "FillTile.h"
#include "StoreAccumulators.h"
#include "gantry/Linalg/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

/// What lanes read at once, and what all banks have side by side, in bytes.
static constexpr int64_t kPieceBytes = 16, kBankBytes = 128;

Swizzle Swizzle::of(int64_t lineBytes, int64_t elementBytes, int64_t step) {
  const int64_t pieces = std::min(lineBytes, kBankBytes) / kPieceBytes;
  return {kPieceBytes / elementBytes, std::max<int64_t>(1, kBankBytes / lineBytes), step,
          pieces - 1};
}

Value Swizzle::of(ImplicitLocOpBuilder &b, Value line) const {
  Value turn = lines > 1 ? arith::DivUIOp::create(b, line, indexConstant(b, lines)) : line;
  turn = arith::AndIOp::create(b, mulIndex(b, turn, step), indexConstant(b, mask));
  return mulIndex(b, turn, piece);
}

/// What is apart in memory is copied one by one, along the rows that lie side by side.
void FillTile::useCopies() {
  copies = true;
  if (lanesAlongRows && alongK) {
    alongK = false;
    values = 1;
  }
}

static Value both(ImplicitLocOpBuilder &b, Value x, Value y) {
  return x && y ? arith::AndIOp::create(b, x, y).getResult() : x ? x : y;
}

/// Behind the last term and outside of an image there are zeros.
void FillTile::copy(Value atK, const TileMemory &to, Value offset) {
  ImplicitLocOpBuilder &b = launch.builder();
  auto copyPiece = [&](int64_t turn, Value from, Value isThere) {
    Place place = placeOf(turn);
    Value line = to.linesOfK ? place.row : place.k;
    Value column = to.linesOfK ? place.k : place.row;
    column = arith::XOrIOp::create(b, column, to.swizzle->of(b, line));
    Value at = addIndex(b, addIndex(b, mulIndex(b, line, to.stride), column), offset);
    copyLater(b, memory, from, to.memory, at, values, isThere);
  };
  auto copyAll = [&] {
    for (auto &[key, group] : groupsOfTurns()) {
      Reach reach = reachOf(spots.find(key.first)->second, group, atK);
      Value isThere = both(b, reach.isInK, reach.isInside);
      for (int64_t turn : group) {
        Value from = addIndex(b, reach.spot.address, indexConstant(b, distanceOf(turn)));
        // Nothing is read there, but the address should be one.
        if (reach.isInside)
          from = arith::SelectOp::create(b, isThere, from, indexConstant(b, 0));
        copyPiece(turn, from, isThere);
      }
    }
  };
  if (isForAll())
    copyAll();
  else
    kernel.onlyIf(isBelow(b, launch.thread(), pieces()), copyAll);
}
