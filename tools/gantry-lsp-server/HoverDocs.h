// What an editor shows where the cursor rests on an op: MLIR's server tells its name, results and
// generic form; the documentation of the op, which MLIR does not keep at run time, is put in front.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>
#include <thread>

namespace gantry::lsp {

/// The documentation of `op` ("gantry.add") in Markdown: what it does in a sentence, then in full,
/// an example, its attributes. Empty for ops of other dialects.
std::string documentationOf(llvm::StringRef op);

/// `message`, a JSON-RPC message of MLIR's server, with the documentation added if it answers a
/// hover over one of our ops; otherwise as it is, byte for byte.
std::string withDocumentation(llvm::StringRef message);

/// While it lives, messages that are written to the standard output pass through
/// withDocumentation on a thread of their own. The destructor waits for the last of them; what
/// the program's own streams still hold must have been flushed.
class OutputFilter {
public:
  OutputFilter();
  ~OutputFilter();

private:
  /// Whether it could be set up; output goes its usual way otherwise.
  bool isActive() const { return output >= 0; }

  int output = -1; ///< what the standard output was
  std::thread reader;
};

} // namespace gantry::lsp
