// Tensors of a model as attributes: small ones with their elements, large ones as resource blobs
// over the mapped files, so that no weight is copied.
#pragma once

#include "gantry/Dialect/Gantry/IR/Elements.h"
#include "gantry/Formats/ONNX/ExternalData.h"
#include "gantry/Formats/ONNX/Model.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/FunctionExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <optional>

namespace gantry::onnx {

/// The element type for `type`, or null for one that Gantry has not (strings, complex, floats of 8
/// bits, integers of less).
mlir::Type makeElementType(DataType type, mlir::MLIRContext *context);
mlir::Type makeElementType(ElementType type, mlir::MLIRContext *context);
/// How many bits an integer of less than 8 has; such tensors are read into bytes of its sign.
std::optional<unsigned> narrowBits(DataType type);
/// "f32, f64, ..." for messages.
llvm::StringRef supportedElementTypes();

/// Most bytes that a tensor may have; sizes from files are checked against it before any
/// arithmetic.
inline constexpr int64_t kMaxBytes = int64_t(1) << 46;
/// Most dimensions that a tensor may have.
inline constexpr size_t kMaxRank = 32;

/// A tensor type of these sizes, or what is wrong with them (negative, too many, too large).
gantry::Expected<mlir::RankedTensorType> makeTensorType(llvm::ArrayRef<int64_t> shape,
                                                        mlir::Type element);

/// A constant of these elements, in a blob of this name when they are many.
mlir::ElementsAttr makeConstantElements(mlir::RankedTensorType type, const KnownElements &elements,
                                        llvm::StringRef name);

/// A constant of these bytes, which are as many as the type has: copied where they are few, else in
/// a blob of this name over them. `release` is called once, when they are no longer read, be it
/// before this returns.
mlir::ElementsAttr makeConstant(mlir::RankedTensorType type, llvm::ArrayRef<char> data,
                                llvm::unique_function<void()> release, llvm::StringRef name);

/// Makes attributes of tensors, of each tensor of the model one; knows the files that hold their
/// bytes.
class TensorReader {
public:
  TensorReader(std::shared_ptr<llvm::MemoryBuffer> model, std::string folder,
               mlir::MLIRContext *context)
      : model(std::move(model)), external(std::move(folder)), context(context) {}

  /// See ExternalData.
  void allowLinksBelow(std::string folder) { external.allowLinksBelow(std::move(folder)); }

  Expected<mlir::ElementsAttr> read(const Tensor &tensor);

  /// Files besides the model whose bytes were taken.
  std::vector<std::string> filesRead() const { return external.paths(); }

private:
  Expected<mlir::ElementsAttr> make(const Tensor &tensor);
  struct Bytes {
    llvm::ArrayRef<char> data;
    std::shared_ptr<const void> owner; ///< keeps `data` alive; a buffer made here, or a mapping
  };
  /// So many bytes; of elements in typed fields, each has `width`.
  Expected<Bytes> bytesOf(const Tensor &tensor, uint64_t expected, size_t width);
  Expected<mlir::ElementsAttr> makeNarrow(const Tensor &tensor, unsigned bits);
  Expected<Bytes> externalBytes(const Tensor &tensor, uint64_t expected);

  std::shared_ptr<llvm::MemoryBuffer> model;
  ExternalData external;
  llvm::DenseMap<const Tensor *, mlir::ElementsAttr> known;
  mlir::MLIRContext *context;
};

} // namespace gantry::onnx
