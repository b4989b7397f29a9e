// ONNX models for the rest of the frontend: what is wrong with one, what it says of itself, and the
// module that it becomes.
#pragma once

#include "Tensors.h"
#include "gantry/Formats/ONNX/Model.h"

#include "gantry/Frontend/Frontend.h"

#include "llvm/ADT/StringSet.h"

namespace gantry::onnx {

/// Imports or checks the model in `file`.
struct ImportRequest {
  const Model *model = nullptr;
  TensorReader *tensors = nullptr;
  const ImportOptions *options = nullptr;
  std::string file; ///< for locations
  /// When set, a node that fails is noted here and the import goes on with the others.
  GraphReport *report = nullptr;
  /// Initializers of the graph that are variables; null: none.
  const llvm::StringSet<> *variables = nullptr;
};
mlir::OwningOpRef<mlir::ModuleOp> importModel(const ImportRequest &request,
                                              mlir::MLIRContext *context);

/// Its graph alone, as one function.
mlir::OwningOpRef<mlir::ModuleOp> importGraphOf(const ImportRequest &request,
                                                mlir::MLIRContext *context);

/// What is wrong with a model as a whole; no error means that importing may begin.
struct ModelFindings {
  std::string error;
  std::vector<std::string> warnings;
};
ModelFindings checkModel(const Model &model);

/// The outputs of the graph, each once: a file may list one twice.
llvm::SmallVector<const ValueInfo *> outputsOf(const Model &model);

/// The name of the input that `name` means: its own, or "arg2" for the third, counting those that
/// are no initializers. Other names are given back.
std::string nameOfInput(const Model &model, llvm::StringRef name);

/// The kind of a port whose type the file does not say.
inline constexpr llvm::StringLiteral kUndeclared = "unknown";

/// Fills `report` with what the file says, without importing: ports, ops, open dimensions.
void describeModel(const Model &model, const ImportOptions &options, GraphReport &report);
/// Whether an input whose value is not given decides a branch of the graph, as far as can be told
/// without importing.
bool hasOpenBranch(const Model &model, const ImportOptions &options);

} // namespace gantry::onnx
