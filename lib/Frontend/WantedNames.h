// Names of values as --outputs has them, and what is said of those that a graph has not.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <utility>
#include <vector>

namespace gantry {

/// Names of all values, and those of the outputs that the graph has itself.
using KnownNames = std::pair<std::vector<std::string>, std::vector<std::string>>;

/// Calls `find` with each of the names. A text is one name or, where no value is called so, several
/// with commas between. False after setting `error`, unless `find` did: a name that is not found.
bool forWantedNames(llvm::ArrayRef<std::string> texts,
                    llvm::function_ref<bool(llvm::StringRef)> find, std::string &error,
                    llvm::function_ref<KnownNames()> known);

} // namespace gantry
