// Says by options what an import says by flags.

#include "gantry/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_SETTARGETSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
struct SetTargets : gantry::impl::SetTargetsPassBase<SetTargets> {
  using SetTargetsPassBase::SetTargetsPassBase;

  void runOnOperation() override {
    Builder b(&getContext());
    const TargetsAttr said = TargetsAttr::of(getOperation());
    llvm::MapVector<StringRef, SmallVector<StringRef>> byTarget;
    for (StringRef entry : machines) {
      auto [target, machine] = entry.split('=');
      byTarget[target].push_back(machine);
    }
    NamedAttrList lists(said.getMachines());
    for (auto &[target, names] : byTarget)
      lists.set(target, b.getStrArrayAttr(names));
    SmallVector<StringRef> names(drivers.begin(), drivers.end());
    getOperation()->setAttr(
        kTargetsAttr,
        TargetsAttr::get(&getContext(),
                         names.empty() ? said.getDrivers() : b.getStrArrayAttr(names),
                         lists.empty() ? DictionaryAttr() : lists.getDictionary(&getContext()),
                         math.getNumOccurrences() ? math.getValue() : said.getMath(),
                         said.getLibraries(), said.getStages()));
  }
};
} // namespace
