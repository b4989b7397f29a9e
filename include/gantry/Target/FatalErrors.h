// What LLVM calls fatal, and memory that it cannot have, as an error of one call. By default both
// end the process, which is not a library's to end.
#pragma once

#include "gantry/Support/Status.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace gantry {

/// Runs `work`; what LLVM reports as fatal in this thread ends it, and so does an allocation that
/// fails. What the work had allocated is then lost, and nothing that it wrote may be used. Errors:
/// INTERNAL with LLVM's text, DOES_NOT_FIT.
Status runGuarded(llvm::function_ref<void()> work);

/// The diagnostic for it: `what` was to be made.
llvm::LogicalResult emitFatal(mlir::Location loc, const std::string &what, const Status &fatal);

} // namespace gantry
