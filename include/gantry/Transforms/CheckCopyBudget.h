// The pass gantry-check-copy-budget with its budget parsed.
#pragma once

#include "gantry/Device/CopyBudget.h"

#include "mlir/Pass/Pass.h"

#include <memory>

namespace gantry {

/// `others` is the budget of functions that have none themselves.
std::unique_ptr<mlir::Pass> createCheckCopyBudgetPass(const CopyBudget &others);

} // namespace gantry
