// gantry-lsp-server: the language server for .mlir files of our dialects (and of all upstream ones,
// since graphs after Target are made of them): errors while typing, hover, definitions.

#include "gantry/Pipeline/Pipeline.h"

#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  gantry::registerDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
