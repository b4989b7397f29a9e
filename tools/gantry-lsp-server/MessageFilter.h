// MLIR's server offers no hooks, reads the standard input and writes to the standard output: what
// passes there is read before it and behind it.
#pragma once

#include "gantry/Support/Thread.h"

#include "llvm/ADT/StringRef.h"

#include <functional>
#include <string>

namespace gantry::lsp {

/// What becomes of a JSON-RPC message.
using Rewrite = std::function<std::string(llvm::StringRef message)>;

/// From now on messages that come in at the standard input pass through `rewrite` on a thread of
/// their own, which lives as long as the process.
void filterInput(Rewrite rewrite);

/// While it lives, messages that are written to the standard output pass through `rewrite` on a
/// thread of their own. The destructor waits for the last of them; what the program's own streams
/// still hold must have been flushed.
class OutputFilter {
public:
  explicit OutputFilter(Rewrite rewrite);
  ~OutputFilter();

private:
  int output = -1; ///< what the standard output was
  Thread reader;
};

} // namespace gantry::lsp
