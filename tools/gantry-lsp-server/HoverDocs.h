// What an editor shows where the cursor rests on an op: MLIR's server tells its name, results and
// generic form; the documentation of the op, which MLIR does not keep at run time, is put in front.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace gantry::lsp {

/// The documentation of `op` ("gantry.add") in Markdown: what it does in a sentence, then in full,
/// an example, its attributes. Empty for ops of other dialects.
std::string documentationOf(llvm::StringRef op);

/// `message`, a JSON-RPC message of MLIR's server, with the documentation added if it answers a
/// hover over one of our ops; otherwise as it is, byte for byte.
std::string withDocumentation(llvm::StringRef message);

} // namespace gantry::lsp
