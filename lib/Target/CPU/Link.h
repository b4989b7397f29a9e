// From object files to the shared object of a plan, in memory.
#pragma once

#include "gantry/Support/Status.h"
#include "gantry/Target/MadeCode.h"

#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace gantry {

/// Links the objects; one call at a time, since lld is made for one. Errors: INTERNAL with what lld
/// says, DOES_NOT_FIT.
Status linkObjects(llvm::ArrayRef<CodeBytes> objects, std::vector<char> &sharedObject);

} // namespace gantry
