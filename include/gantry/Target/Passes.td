//===- Passes.td - What every target does between its own passes ----------===//
#ifndef GANTRY_TARGET_PASSES_TD
#define GANTRY_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

def CanonicalizePass : Pass<"gantry-canonicalize"> {
  let summary = "canonical forms of the ops that are there";
  let description = [{
    As upstream's `canonicalize`, with the patterns of those ops and dialects alone that occur below the
    op; when these bring in others, it goes on with the patterns of these, too. Upstream collects and
    sorts the patterns of all loaded dialects each time, which takes longer than all the rest of a pass
    over a small kernel.

    Constants are merged, and blocks are not, unless options say otherwise.
  }];
  let options = [
    Option<"mergeConstants", "merge-constants", "bool", /*default=*/"true",
           "one constant for equal ones; off: those of one value keep what was asked for each">,
    Option<"mergeBlocks", "merge-blocks", "bool", /*default=*/"false",
           "simplify control flow aggressively, bottom up">];
}

#endif
