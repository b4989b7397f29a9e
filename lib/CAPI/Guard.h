// What calls of the compiler do when memory runs out in the middle of something.
#pragma once

#include "gantry-c/common.h"
#include "gantry/Support/Status.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace gantry::capi {

/// Runs `call`, DOES_NOT_FIT when the stack of this thread has no room for it, and when an
/// allocation fails on this thread. What `call` held is lost then, its contexts and their locks,
/// too: LLVM is built without exceptions, so that nothing is taken back.
gantry_status_t guarded(llvm::function_ref<gantry_status_t()> call);

/// Whether the stack of this thread has room for a compilation. Errors: DOES_NOT_FIT.
Status checkStack();

/// Runs a task of a pool; ends the process when an allocation fails in it: others wait for what it
/// holds, and are not on this thread.
void runTask(llvm::function_ref<void()> task) noexcept;

} // namespace gantry::capi
