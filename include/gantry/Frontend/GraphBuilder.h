// A frontend without a file: calls in, a module of the gantry dialect out.
//
// Ops infer their types and verify themselves as they are made, so that a mistake is the error of
// the call that makes it. What is wrong is a diagnostic of the context at the current location;
// calls that fail leave the graph as it was. Values are numbers, which callers without C++ types
// can keep.
#pragma once

#include "gantry/Frontend/Frontend.h"
#include "gantry/Frontend/OpTable.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/FunctionExtras.h"

namespace gantry {

/// Element type and shape, -1 for an open dimension.
struct GivenType {
  ElementType element = ElementType::f32;
  llvm::ArrayRef<int64_t> dims = {};
};

/// An attribute: of `value`, what goes with `kind`.
struct GivenAttribute {
  llvm::StringRef name;
  AttributeKind kind = AttributeKind::unit_;
  std::variant<int64_t, double, llvm::StringRef, llvm::ArrayRef<int64_t>, llvm::ArrayRef<double>,
               std::vector<llvm::StringRef>>
      value = int64_t(1);
};

struct GivenOp {
  llvm::StringRef name; ///< "matmul", with the dialect's name or without
  llvm::ArrayRef<uint32_t> operands = {};
  std::vector<GivenAttribute> attributes = {};
  std::optional<std::vector<GivenType>> resultTypes = {}; ///< none: inferred
  llvm::StringRef label = {};                             ///< stable name; empty: none
};

/// `release` is called once, when `bytes` are no longer read, also when the call fails; they are
/// copied when it is empty.
struct GivenConstant {
  GivenType type;
  const char *bytes = nullptr;
  llvm::unique_function<void()> release = {};
  llvm::StringRef name = {};
};

struct GivenOutput {
  uint32_t value = 0;
  llvm::StringRef name = {}, device = {};
};

class GraphBuilder {
public:
  using Values = llvm::SmallVector<uint32_t>;

  GraphBuilder(mlir::MLIRContext *context, std::string name);

  /// Where what is made from now on comes from; folders of the file are left out.
  void setLocation(llvm::StringRef file, unsigned line, unsigned column);
  void clearLocation();

  llvm::LogicalResult pushDevice(llvm::StringRef device, SoftModeAttr soft);
  llvm::LogicalResult popDevice();

  llvm::LogicalResult beginFunction(llvm::StringRef name);
  llvm::FailureOr<uint32_t> addArgument(llvm::StringRef name, const GivenType &type,
                                        llvm::ArrayRef<llvm::StringRef> dimNames,
                                        llvm::StringRef device);
  llvm::LogicalResult endFunction(llvm::ArrayRef<GivenOutput> outputs);

  llvm::LogicalResult addVariable(GivenConstant initial, llvm::StringRef device, SoftModeAttr soft,
                                  bool isCentral);
  llvm::FailureOr<uint32_t> addConstant(GivenConstant constant);

  llvm::FailureOr<Values> makeOp(const GivenOp &given);
  llvm::LogicalResult beginOp(const GivenOp &given);
  llvm::FailureOr<Values> beginRegion(llvm::ArrayRef<GivenType> types);
  llvm::LogicalResult endRegion(llvm::ArrayRef<uint32_t> yielded);
  llvm::FailureOr<Values> endOp();
  llvm::LogicalResult abandonOp();

  /// The type of a value; null when there is none of that number.
  mlir::RankedTensorType typeOf(uint32_t value) const;

  /// The functions that have ended, as what importGraph and compileGraph take. Fails when there is
  /// none.
  llvm::FailureOr<GraphFile> finish();

  mlir::MLIRContext *getContext() const { return builder.getContext(); }

private:
  /// A value, while it can be used, and its type, for ever.
  struct Slot {
    mlir::Value value;
    mlir::RankedTensorType type;
  };
  /// A device's scope.
  struct Scope {
    DeviceName device;
    SoftModeAttr soft;
    mlir::Location origin;
  };
  /// An op with regions that is being made.
  struct OpenOp {
    mlir::Operation *op;
    const OpRow *row;
    bool hasTypes;
    unsigned regions = 0;                    ///< that have begun
    bool inRegion = false;                   ///< the last of them is open
    size_t firstValue = 0;                   ///< of the open region
    size_t scopes = 0;                       ///< around the open region
    llvm::SmallVector<mlir::Type> yielded{}; ///< by the last region that ended
  };

  mlir::InFlightDiagnostic refuse(StatusCode code = StatusCode::invalidArgument) const;
  llvm::LogicalResult needPlace() const;
  mlir::Location locationOf(llvm::StringRef label) const;
  llvm::FailureOr<mlir::RankedTensorType> makeType(const GivenType &given) const;
  llvm::FailureOr<DeviceAttr> readDevice(llvm::StringRef device) const;
  llvm::FailureOr<mlir::Value> valueOf(uint32_t number) const;
  uint32_t give(mlir::Value value);
  void forget(size_t first);
  bool isArgument(mlir::Value value);
  llvm::FailureOr<mlir::ElementsAttr> makeElements(GivenConstant &constant,
                                                   bool mayBeZeros = false) const;

  llvm::FailureOr<const OpRow *> rowOf(const GivenOp &given, bool withRegions) const;
  llvm::FailureOr<llvm::SmallVector<mlir::Value>> operandsOf(const OpRow &row,
                                                             const GivenOp &given) const;
  llvm::FailureOr<mlir::NamedAttrList> attributesOf(const OpRow &row, const GivenOp &given);
  llvm::LogicalResult addResultTypes(const OpRow &row, const GivenOp &given,
                                     mlir::OperationState &state);
  llvm::FailureOr<mlir::Operation *> create(const OpRow &row, const GivenOp &given);
  void askForDevice(mlir::Operation *op) const;
  llvm::LogicalResult check(mlir::Operation *op) const;
  llvm::FailureOr<Values> giveResults(mlir::Operation *op);

  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string name;
  mlir::Location location;
  mlir::func::FuncOp function; ///< that is open
  std::vector<Slot> slots;
  std::vector<Scope> scopes;
  std::vector<OpenOp> open;
};

/// The element type of a value: the dialect has no others.
ElementType elementTypeOf(mlir::RankedTensorType type);

/// The attribute of an op, as its row says. `emitError` says what is wrong with it.
llvm::FailureOr<mlir::Attribute>
makeAttribute(const OpRow &row, const AttributeRow &attribute, const GivenAttribute &given,
              mlir::MLIRContext *context, llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace gantry
