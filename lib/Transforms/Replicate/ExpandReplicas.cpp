// Replaces replicated regions by the ops of the replicas.

#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_EXPANDREPLICASPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
struct ExpandReplicas : gantry::impl::ExpandReplicasPassBase<ExpandReplicas> {
  using ExpandReplicasPassBase::ExpandReplicasPassBase;
  void runOnOperation() override {}
};
} // namespace
