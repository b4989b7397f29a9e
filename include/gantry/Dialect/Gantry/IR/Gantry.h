// The gantry dialect: what is computed, and on which device. See GantryOps.td.
#pragma once

#include "gantry/Device/DeviceName.h"
#include "gantry/Dialect/Gantry/IR/Attributes.h"
#include "gantry/Dialect/Gantry/IR/BlockQuantized.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace gantry {

struct Topology;       // gantry/Device/Topology.h
class GradientBuilder; // GradientBuilder.h

/// What attributes are told apart by.
llvm::hash_code hash_value(const DeviceName &name);

/// How an op may join others in one kernel. Nothing else tells what is elementwise;
/// DimensionMapOpInterface says which elements.
enum class FusionKind {
  Elementwise, ///< one result element from one element of each operand
  Reduction,   ///< combines elements along some dimensions
  Contraction, ///< matrix product or convolution
  Movement,    ///< elements change places, none is computed
  View,        ///< the same bytes under another shape
  Indexing,    ///< reads at computed indices
  Generator,   ///< made of attributes, and a key at most
  Opaque,      ///< always a kernel of its own
};

/// What placement rules call it: "elementwise", "reduction", ...
llvm::StringRef fusionKindName(FusionKind kind);

namespace detail {
uint64_t defaultFlops(mlir::Operation *op);
uint64_t defaultBytes(mlir::Operation *op);
bool isOfGantry(mlir::Operation *op);
llvm::SmallVector<int64_t> broadcastDims(mlir::Operation *op, unsigned operand);
bool areCompatibleTypes(mlir::TypeRange lhs, mlir::TypeRange rhs);
} // namespace detail

} // namespace gantry

#include "gantry/Dialect/Gantry/IR/GantryInterfaces.h.inc"

#include "gantry/Dialect/Gantry/IR/GantryDialect.h.inc"
#include "gantry/Dialect/Gantry/IR/GantryEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "gantry/Dialect/Gantry/IR/GantryAttrs.h.inc"
#define GET_OP_CLASSES
#include "gantry/Dialect/Gantry/IR/GantryOps.h.inc"

namespace gantry {

/// Reads a device name in the text of a module. The error is that of the grammar.
mlir::FailureOr<DeviceName>
readDeviceName(llvm::StringRef text, llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The variable that gantry.read, gantry.assign or gantry.assign_add is about; null of other ops.
mlir::FlatSymbolRefAttr getAccessedVariable(mlir::Operation *op);

/// What the module is compiled for: its `gantry.topology` in full, or the host alone when it has
/// none. The attribute was verified, so this cannot fail.
Topology getTopology(mlir::ModuleOp module);

/// Puts a sound topology (Topology::check) on the module, in the short form when that says it all.
void setTopology(mlir::ModuleOp module, const Topology &topology);

/// The modules in `module` that hold kernels, with who makes code of them.
llvm::SmallVector<std::pair<mlir::ModuleOp, TargetAttr>> kernelModules(mlir::ModuleOp module);

/// Whether the op makes its one result of attributes alone, so that a clone anywhere makes the
/// same.
bool isMadeOfNothing(mlir::Operation *op);

/// The element type that kernels go by; null for an op without operands and results.
mlir::Type kernelElementType(mlir::Operation *op);

/// Whether the user makes each element of its result of the used value's element at the same place:
/// the one answer to who is elementwise in what.
bool isElementwiseUse(mlir::OpOperand &use);

/// The constant behind `value` when it is one whose elements are at hand, else null. Blobs count.
mlir::ElementsAttr getConstantElements(mlir::Value value);

/// The integers of a small constant (i1 and integer types, row-major), or nothing.
std::optional<llvm::SmallVector<int64_t>> getConstantIntegers(mlir::Attribute attr);

/// Shape of broadcasting `a` to `b` as NumPy does, or nothing when they do not agree. Open
/// dimensions meet size 1 as open, and any other size as that size.
std::optional<llvm::SmallVector<int64_t>> broadcastShapes(llvm::ArrayRef<int64_t> a,
                                                          llvm::ArrayRef<int64_t> b);

/// Row-major position in an operand of shape `operand`, which broadcasts to `shape`, of the element
/// at `linear` of `shape`. All dimensions are known.
int64_t broadcastPosition(int64_t linear, llvm::ArrayRef<int64_t> shape,
                          llvm::ArrayRef<int64_t> operand);

/// A location in words: "file:line:column", or "node 'conv1' of model.onnx"; empty when unknown.
std::string describeLocation(mlir::Location loc);

/// The node of a model that a location names, 'conv1'; empty when it names none.
llvm::StringRef nodeNameOf(mlir::Location loc);

/// Bytes of a tensor of static shape in row-major order; i1 takes a byte an element.
uint64_t getByteSize(mlir::RankedTensorType type);

} // namespace gantry
