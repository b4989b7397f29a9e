// Turns the outer scf.forall of a kernel into a loop over a range of work items.

#include "gantry/Target/CPU/Passes.h"

#include "mlir/Dialect/Affine/Utils.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_LOWERWORKITEMSPASS
#include "gantry/Target/CPU/Passes.h.inc"
} // namespace gantry

namespace {
struct LowerWorkItems : gantry::impl::LowerWorkItemsPassBase<LowerWorkItems> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal())
      return;
    Block &body = func.getBody().front();
    Location loc = func.getLoc();
    Type index = IndexType::get(func.getContext());
    Value begin = body.addArgument(index, loc), end = body.addArgument(index, loc);
    func.setType(FunctionType::get(func.getContext(), body.getArgumentTypes(), {}));

    SmallVector<scf::ForallOp> loops(body.getOps<scf::ForallOp>());
    WorkAttr work = WorkAttr::of(func);
    bool serial = work.getSerial() || loops.size() != 1;
    int64_t items = 1;
    func.walk([&](scf::ForallOp loop) {
      if (!serial && loop == loops.front())
        items = lower(loop, begin, end);
      else
        lower(loop, {}, {});
    });
    func->setAttr(kWorkAttr, work.withItems(items).withSerial(false));
  }

  /// Replaces the loop by one over [begin, end), or over all its iterations; gives their number.
  int64_t lower(scf::ForallOp loop, Value begin, Value end) {
    IRRewriter rewriter(loop);
    Location loc = loop.getLoc();
    SmallVector<int64_t> counts;
    SmallVector<OpFoldResult> basis;
    int64_t total = 1;
    for (auto [lower, upper, step] :
         llvm::zip(loop.getMixedLowerBound(), loop.getMixedUpperBound(), loop.getMixedStep())) {
      int64_t l = *getConstantIntValue(lower), u = *getConstantIntValue(upper),
              s = *getConstantIntValue(step);
      counts.push_back((u - l + s - 1) / s);
      basis.push_back(rewriter.getIndexAttr(counts.back()));
      total *= counts.back();
    }
    if (!begin) {
      begin = arith::ConstantIndexOp::create(rewriter, loc, 0);
      end = arith::ConstantIndexOp::create(rewriter, loc, total);
    }
    Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
    auto range = scf::ForOp::create(rewriter, loc, begin, end, one);
    rewriter.setInsertionPointToStart(range.getBody());
    SmallVector<Value> ivs;
    Value rest = range.getInductionVar();
    int64_t below = total;
    for (auto [i, lower, step] : llvm::enumerate(loop.getMixedLowerBound(), loop.getMixedStep())) {
      below /= std::max<int64_t>(counts[i], 1);
      auto constant = [&](int64_t v) {
        return arith::ConstantIndexOp::create(rewriter, loc, v).getResult();
      };
      Value at = below == 1
                     ? rest
                     : arith::DivUIOp::create(rewriter, loc, rest, constant(below)).getResult();
      if (below != 1)
        rest = arith::RemUIOp::create(rewriter, loc, rest, constant(below));
      at = arith::MulIOp::create(rewriter, loc, at, constant(*getConstantIntValue(step)));
      ivs.push_back(
          arith::AddIOp::create(rewriter, loc, at, constant(*getConstantIntValue(lower))));
    }
    rewriter.eraseOp(loop.getTerminator());
    rewriter.inlineBlockBefore(loop.getBody(), range.getBody()->getTerminator(), ivs);
    rewriter.eraseOp(loop);
    return total;
  }
};
} // namespace
