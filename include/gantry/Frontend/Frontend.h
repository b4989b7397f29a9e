// Frontends: a graph file in, a module of the gantry dialect out.
//
// The format is told by content, not by name: MLIR text or an ONNX model. Files may be hostile:
// everything read is checked, and what is wrong is reported through the context's diagnostic
// handlers at the node or line it is about. MLIR's bytecode is read by MLIR, which does not check
// it, and so only where the caller trusts it.
#pragma once

#include "gantry/Support/ElementType.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace gantry {

/// Elements of a graph input that are known when compiling, because shapes depend on them.
struct InputValue {
  std::string name;
  std::vector<int64_t> shape; ///< empty for a scalar
  /// Row-major; integers and truth values as int64_t, floating-point numbers as double.
  std::variant<std::vector<int64_t>, std::vector<double>> elements;
};

/// What to do with MLIR's bytecode.
enum class Bytecode { refused, trusted };

/// What a model's ops of training are for: as the file says; for a step, which also updates the
/// averages of batch norms, as variables; or to evaluate, without dropout and by these averages.
enum class ModelUse { asWritten, step, evaluation };

struct ImportOptions {
  /// Sizes of dimensions that the file leaves open, by the file's name for them, or as
  /// "INPUT:AXIS" for nameless ones. Naming a fixed dimension is an error.
  std::vector<std::pair<std::string, int64_t>> dims = {};
  /// Such an input becomes a constant and is no argument of the imported function.
  std::vector<InputValue> values = {};
  /// Folder below which links to files of weights may lead; empty: links are refused.
  std::string externalRoot = {};
  /// Name of the function wanted; empty for all. Only checked to exist.
  std::string entry = {};
  Bytecode bytecode = Bytecode::refused;
  ModelUse use = ModelUse::asWritten;
};

/// A graph file, mapped or in memory: read once, imported and checked as often as need be.
struct GraphFile {
  std::shared_ptr<llvm::MemoryBuffer> bytes;
  std::string name;   ///< as the user gave it: "models/bert.onnx", "<stdin>"
  std::string folder; ///< where external data is looked for; empty is the current one
  /// A graph that was built in the context that it will be imported to; `bytes` are what tells it
  /// from others.
  std::shared_ptr<mlir::OwningOpRef<mlir::ModuleOp>> built = {};

  /// What locations and plans call the file: its name without folders, so that nothing that is
  /// compiled depends on where the file lies.
  llvm::StringRef baseName() const;
};

/// Opens the file in `path`; "-" is standard input. Nothing after an error, emitted to `context`.
std::optional<GraphFile> openGraph(llvm::StringRef path, mlir::MLIRContext *context);

/// Reads the graph. Loads the dialects it needs into `context`. Returns null after emitting
/// diagnostics. Weights stay in the mapped files, which live until the context is destroyed.
///
/// Inputs and outputs of a function carry the file's names as the argument and result attribute
/// `gantry.name`, every op its node's name as `gantry.name` and in its location. The shapes of an
/// imported ONNX model are static.
mlir::OwningOpRef<mlir::ModuleOp> importGraph(const GraphFile &file, const ImportOptions &options,
                                              mlir::MLIRContext *context);

/// An input or output of a graph, as the file declares it.
struct GraphPort {
  /// A dimension: a size, or open, under a name where the file gives it one.
  struct Dim {
    std::optional<int64_t> size;
    std::string name = {};
  };

  std::string name;
  std::string kind;                     ///< "f32"; "string", "sequence", ... of what Gantry has not
  std::optional<ElementType> element;   ///< none for such
  std::optional<std::vector<Dim>> dims; ///< none when the rank is not declared, and of no tensor
  bool isTensor = true;

  /// "f32[batch,3,224,224]", "f32[...]" without a rank, "sequence".
  std::string type() const;
  /// The name under which --dim gives the size of an open dimension: the file's, or "INPUT:AXIS".
  std::string dimName(size_t axis) const;
};

/// What `gantry check` says about a graph.
struct GraphReport {
  struct OpCount {
    std::string op; ///< with its domain when that is not ONNX's own: "com.microsoft.Gelu"
    int64_t count = 0;
    bool supported = true;
  };
  struct Issue {
    std::string node; ///< name, or that of its first output
    std::string op;
    std::string domain; ///< "ai.onnx" for ONNX's own
    int64_t opset = 0;
    std::string message; ///< what is unsupported and what is supported instead
  };

  std::string format;   ///< "ONNX" or "MLIR"
  std::string producer; ///< as the file says
  std::vector<std::pair<std::string, int64_t>> opsets;
  std::vector<GraphPort> inputs, outputs;
  std::vector<OpCount> ops; ///< sorted by name
  std::vector<Issue> issues;
  std::vector<std::string> warnings; ///< what is wrong in the file and does no harm
  std::vector<std::string> openDims; ///< still to give with --dim
  /// Inputs whose values decide shapes, or which branch can be compiled; to give with --value.
  std::vector<std::string> shapeInputs;

  /// Nothing unsupported; open dimensions may remain.
  bool isSupported() const { return issues.empty(); }
};

/// Looks at all of the graph and collects what importGraph would refuse. Nothing after emitting
/// diagnostics when the file cannot be read at all.
std::optional<GraphReport> checkGraph(const GraphFile &file, const ImportOptions &options,
                                      mlir::MLIRContext *context,
                                      llvm::ArrayRef<std::string> outputs = {});

/// A graph file that is decoded once and imported in several sizes. Weights that the modules have
/// in common are one attribute.
class GraphImporter {
public:
  /// With `outputs`, the graph ends at these values instead of its own outputs: what they do not
  /// need is neither imported nor judged, and inputs that nothing needs are none. Each is the name
  /// of a value or of a node with one output, "%product" or the name of an op in MLIR, or several
  /// of them with commas between.
  GraphImporter(const GraphFile &file, mlir::MLIRContext *context,
                llvm::ArrayRef<std::string> outputs = {});
  ~GraphImporter();

  /// As importGraph and checkGraph.
  mlir::OwningOpRef<mlir::ModuleOp> import(const ImportOptions &options);
  std::optional<GraphReport> check(const ImportOptions &options);

  /// Names of the inputs that decide shapes and have no value in `options` yet: importing needs
  /// one. None for a graph in MLIR. Fails when the file cannot be read.
  llvm::FailureOr<std::vector<std::string>> shapeInputs(const ImportOptions &options);

  /// The input that `name` means: "arg0" is the first one of an ONNX model, whatever it is called.
  std::string nameOfInput(llvm::StringRef name);

  /// Inputs that get all of their sizes while importing, as the file declares them: those of an
  /// ONNX model. None for a graph in MLIR, which keeps its dimensions open.
  std::vector<GraphPort> inputsToSize();

  /// Files besides the graph's that importing has read: external data of an ONNX model.
  std::vector<std::string> filesRead() const;

private:
  struct Decoded;
  std::unique_ptr<Decoded> decoded;
};

void printReport(const GraphReport &report, llvm::raw_ostream &os);
void printReportAsJson(const GraphReport &report, llvm::raw_ostream &os);

} // namespace gantry
