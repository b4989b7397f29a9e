// How often loops go round, where that is known when compiling.
//
// Such a loop carries a counter that starts at a constant and gets a constant more each time, and
// goes on while the counter is on the right side of a constant, and nothing else ends it.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry {

/// How often the body of the loop runs; nothing where that is not known.
std::optional<int64_t> tripsOf(WhileOp loop);

/// How often it runs at most: as often as it is known to, else by its `at_most`, or by a counter
/// that has to be below a constant beside whatever else its condition asks for; nothing where none
/// of these says so.
std::optional<int64_t> mostTripsOf(WhileOp loop);

/// How often an op in a region below `block` runs for each time that the block does, as far as the
/// passes that know (gantry-annotate-trips) have noted it; `unknown` rounds of other loops. The
/// first region of a loop tests, once more than the other runs.
double roundsIn(mlir::Block *block, mlir::Operation *op, double unknown = 1);

/// An integer that a loop carries and that gets the same number more each time.
struct Counter {
  std::optional<int64_t> first; ///< where that is known
  int64_t step = 0;
};

/// What the loop carries under that number, where it is a counter.
std::optional<Counter> counterOf(WhileOp loop, unsigned carried);

} // namespace gantry
