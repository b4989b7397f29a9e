// From object files to the shared object of a plan, in memory.
#pragma once

#include "gantry/Support/Status.h"
#include "gantry/Target/MadeCode.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <utility>
#include <vector>

namespace gantry {

/// Links the objects, and exports each of the `names` for the symbol beside it; one call at a time,
/// since lld is made for one. Errors: INTERNAL with what lld says, DOES_NOT_FIT.
Status linkObjects(llvm::ArrayRef<CodeBytes> objects,
                   llvm::ArrayRef<std::pair<std::string, std::string>> names,
                   std::vector<char> &sharedObject);

} // namespace gantry
