// Notes how often loops go round, where that is known (Trips.h). Once ops are kernels nobody can
// tell any more, and predictions of time need it.

#include "gantry/Analysis/Trips.h"
#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_ANNOTATETRIPSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
struct AnnotateTrips : gantry::impl::AnnotateTripsPassBase<AnnotateTrips> {
  void runOnOperation() override {
    auto type = IntegerType::get(&getContext(), 64);
    getOperation().walk([&](WhileOp op) {
      if (auto trips = tripsOf(op); trips && *trips > 0)
        op->setAttr(kTripsAttr, IntegerAttr::get(type, *trips));
    });
  }
};
} // namespace
