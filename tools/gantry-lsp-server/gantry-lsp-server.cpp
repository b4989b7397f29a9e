// gantry-lsp-server: the language server for .mlir files of our dialects (and of all upstream ones,
// since graphs after Target are made of them): errors while typing, hover with the documentation of
// the op, definitions. Text alone: bytecode is not read.

#include "HoverDocs.h"
#include "MessageFilter.h"
#include "RefuseBytecode.h"
#include "gantry/Pipeline/Pipeline.h"

#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  // Static, and before the first use of a stream: `--help` ends in exit(), which closes the streams
  // in the opposite order.
  using namespace gantry::lsp;
  static OutputFilter filter(
      [](llvm::StringRef message) { return withDocumentation(withReason(message)); });
  filterInput(withoutBytecode);
  mlir::DialectRegistry registry;
  gantry::registerDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
