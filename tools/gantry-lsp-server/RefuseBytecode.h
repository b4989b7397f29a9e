// MLIR's server reads files of bytecode for editors that want to show them, and MLIR's reader does
// not check what it reads. The request is made into one that the server does not know, and its
// answer says why.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace gantry::lsp {

/// `message`, to the server, as it is, byte for byte, unless it asks to read bytecode.
std::string withoutBytecode(llvm::StringRef message);

/// `message`, from the server, with the reason if it answers a request that withoutBytecode
/// changed.
std::string withReason(llvm::StringRef message);

} // namespace gantry::lsp
