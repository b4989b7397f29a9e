// Graph files from anywhere, ONNX and MLIR text: either a module that verifies, or a diagnostic.
#include "gantry/Frontend/Frontend.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

#include <cstdlib>

using namespace gantry;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  // Bytecode is MLIR's own format and reader.
  if (bytes.starts_with("ML\xefR"))
    return 0;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  bool complained = false;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    complained |= diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
    return mlir::success();
  });
  const GraphFile file{llvm::MemoryBuffer::getMemBufferCopy(bytes), "fuzz", "/nonexistent"};
  ImportOptions options;
  for (const char *name : {"n", "N", "batch"})
    options.dims.push_back({name, 2});
  // Names that the file does not have are errors, so the second try is without.
  for (int i = 0; i < 2; ++i) {
    complained = false;
    auto module = importGraph(file, options, &context);
    if (module ? mlir::failed(mlir::verify(*module)) : !complained)
      std::abort();
    options.dims.clear();
  }
  return 0;
}
