#include "SuggestOps.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Support/Names.h"

using namespace mlir;
using namespace gantry;

/// The op that the parser does not know, of "custom op 'gantry.rellu' is unknown" and its like;
/// empty for other errors.
static StringRef unknownOpIn(StringRef error) {
  if (!error.contains("is unknown") && !error.contains("unregistered"))
    return {};
  StringRef name = error.split('\'').second.split('\'').first;
  return name.contains(' ') ? StringRef() : name;
}

/// Those of the dialects that graphs are written in.
static std::vector<std::string> knownOps(MLIRContext *context) {
  std::vector<std::string> names;
  for (RegisteredOperationName name : context->getRegisteredOperations()) {
    StringRef dialect = name.getDialectNamespace();
    if (dialect == "gantry" || dialect == "func")
      names.push_back(name.getStringRef().str());
  }
  llvm::sort(names);
  return names;
}

SuggestOps::SuggestOps(MLIRContext *context) : ScopedDiagnosticHandler(context) {
  setHandler([context](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      if (std::string text = diagnostic.str(); !unknownOpIn(text).empty())
        diagnostic << didYouMean(unknownOpIn(text).str(), knownOps(context));
    return failure(); // the next handler prints it
  });
}
