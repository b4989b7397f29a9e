// Replaces collectives by direct exchange.

#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_EXPANDCOLLECTIVESPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
struct ExpandCollectives : gantry::impl::ExpandCollectivesPassBase<ExpandCollectives> {
  using ExpandCollectivesPassBase::ExpandCollectivesPassBase;
  void runOnOperation() override {}
};
} // namespace
