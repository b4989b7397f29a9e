// Gives a job's plan to the judge: whether there is an order in which all of its tasks can do all
// that they do, however few bytes are buffered on the way.
#pragma once

#include "gantry/Judge/Job.h"
#include "gantry/Plan/Plan_generated.h"
#include "gantry/Support/Status.h"

namespace gantry::plan {

/// A function of a plan that was validated as what its tasks do.
judge::Job jobOf(const fb::Plan &plan, const fb::Function &function);

/// CORRUPT where a function can get stuck, with who waits for whom. Of a plan without exchanges
/// there is nothing to prove.
Status proveOrder(const fb::Plan &plan);

} // namespace gantry::plan
