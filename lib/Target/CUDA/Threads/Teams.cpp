// By teams: reductions of rows and columns, with what feeds them and what follows.
//
// Softmax, norms and sums have reductions over the same elements, a row of them, and one result for
// each row. A team of lanes takes a row (Sums.h): neighbouring threads where the row's elements are
// neighbours in memory, so that they read together; else threads that are as far apart as there are
// columns in a block, so that neighbouring threads read neighbouring columns. Short rows share a
// block, long rows have one of several warps.

#include "Rows.h"

#include "gantry/Linalg/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

/// Threads of a block that has several rows, when there are rows for so many blocks.
static constexpr int64_t kThreads = 128, kEnoughBlocks = 256;

namespace {
class TeamsStrategy : public LoweringStrategy {
public:
  TeamsStrategy(const Output &output, const Sharing &found);

  bool applies() const { return rows.apply(); }
  int64_t threads() const override;
  void emit(KernelEmitter &kernel) override;

private:
  Team makeTeam(KernelEmitter &kernel, Rows::Row &row);
  Value firstOfWarp(KernelEmitter &kernel) const;
  void emitRows(KernelEmitter &kernel);

  Rows rows;
  Order order;
};
} // namespace

static SmallVector<linalg::GenericOp> allOps(Value tensor) {
  SmallVector<linalg::GenericOp> ops;
  if (Operation *last = tensor.getDefiningOp())
    llvm::append_range(ops, last->getBlock()->getOps<linalg::GenericOp>());
  return ops;
}

TeamsStrategy::TeamsStrategy(const Output &output, const Sharing &sharing)
    : LoweringStrategy(output),
      rows(output.tensor, sharing.kept, sharing.rows, allOps(output.tensor)), order(rows.order()) {}

/// Few rows are spread over many blocks, for a GPU has many multiprocessors.
int64_t TeamsStrategy::threads() const {
  int64_t most = std::clamp<int64_t>(rows.count() * order.lanes / kEnoughBlocks, kWarp, kThreads);
  int64_t threads = int64_t(llvm::bit_floor(uint64_t(most)));
  if (order.isAlongRows)
    return std::max(order.lanes, threads);
  // At least a warp's columns, so that they are read together.
  int64_t columns = std::min<int64_t>(kWarp, llvm::PowerOf2Ceil(uint64_t(rows.count())));
  return std::max(threads, order.lanes * columns);
}

/// Which row this thread helps with, and as which lane.
Team TeamsStrategy::makeTeam(KernelEmitter &kernel, Rows::Row &own) {
  ImplicitLocOpBuilder &b = kernel.builder();
  Launch &launch = kernel.launch();
  int64_t teams = launch.threads() / order.lanes;
  auto divide = [&](int64_t by) -> Value {
    return arith::DivUIOp::create(b, launch.thread(), indexConstant(b, by));
  };
  auto rest = [&](int64_t by) -> Value {
    return arith::RemUIOp::create(b, launch.thread(), indexConstant(b, by));
  };
  Team team{order.lanes, order.isAlongRows ? 1 : teams,
            order.isAlongRows ? rest(order.lanes) : divide(teams),
            int64_t(llvm::divideCeil(rows.count(), teams))};
  Value inBlock = order.isAlongRows ? divide(order.lanes) : rest(teams);
  Value row = addIndex(b, mulIndex(b, launch.block(), teams), inBlock);
  // Teams without a row help the last one, so that no lane is missing of a warp or at a barrier.
  bool isWarp = order.isAlongRows && order.lanes == kWarp;
  if (rows.count() % teams != 0 && !isWarp) {
    own.isThere =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, row, indexConstant(b, rows.count()));
    row = arith::MinUIOp::create(b, row, indexConstant(b, rows.count() - 1));
  }
  llvm::append_range(own.at, delinearize(b, row, rows.sizes()));
  return team;
}

void TeamsStrategy::emitRows(KernelEmitter &kernel) {
  Rows::Row row;
  Team team = makeTeam(kernel, row);
  row.overwrites =
      kernel.launch().mayOverwrite() ? Rows::Overwrites::argument : Rows::Overwrites::nothing;
  rows.emit(kernel, team, row,
            [&](const Indices &place, Value value) { kernel.write(output, place, value); });
}

/// The first row of this thread's warp, where that is sure to be a row's or several.
Value TeamsStrategy::firstOfWarp(KernelEmitter &kernel) const {
  ImplicitLocOpBuilder &b = kernel.builder();
  Launch &launch = kernel.launch();
  Value warp = arith::DivUIOp::create(b, launch.thread(), indexConstant(b, kWarp));
  return addIndex(b, mulIndex(b, launch.block(), launch.threads() / order.lanes),
                  mulIndex(b, warp, kWarp / order.lanes));
}

void TeamsStrategy::emit(KernelEmitter &kernel) {
  ImplicitLocOpBuilder &b = kernel.builder();
  Launch &launch = kernel.launch();
  int64_t teams = launch.threads() / order.lanes, blocks = llvm::divideCeil(rows.count(), teams);
  launch.needBlocks(blocks);
  auto isBelow = [&](Value x, int64_t end) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, indexConstant(b, end));
  };
  if (kernel.hasOneOutput() && rows.count() % teams == 0)
    return emitRows(kernel);
  // Warps of rows meet in no memory, so those without one may leave the others alone.
  if (order.isAlongRows && order.lanes <= kWarp)
    return kernel.onlyIf(isBelow(firstOfWarp(kernel), rows.count()), [&] { emitRows(kernel); });
  if (kernel.hasOneOutput())
    return emitRows(kernel);
  kernel.onlyIf(isBelow(launch.block(), blocks), [&] { emitRows(kernel); });
}

std::unique_ptr<LoweringStrategy> gantry::gpu::findTeams(const Output &output) {
  auto strategy = std::make_unique<TeamsStrategy>(output, findSharing(output.tensor));
  if (!strategy->applies())
    return nullptr;
  return strategy;
}
