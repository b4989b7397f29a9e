// Checks attributes of the dialect wherever they stand: a name of Attributes.def, a value of its
// kind.

#include "gantry/Dialect/Gantry/IR/Attributes.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Support/Names.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace gantry;

namespace {
struct Kind {
  bool (*isRight)(Attribute);
  StringLiteral expected;
};
} // namespace

template <typename T>
static bool is(Attribute attr) {
  return isa<T>(attr);
}

template <typename Element>
static bool isArrayOf(Attribute attr) {
  auto array = dyn_cast<ArrayAttr>(attr);
  return array && llvm::all_of(array, llvm::IsaPred<Element>);
}

/// What a value may be, by the words of the table.
namespace kinds {
static constexpr Kind any{is<Attribute>, "an attribute"};
static constexpr Kind array{is<ArrayAttr>, "an array"};
static constexpr Kind block_quantized{is<BlockQuantizedAttr>, "a #gantry.block_quantized<...>"};
static constexpr Kind decision{is<DecisionAttr>, "a #gantry.decision<...>"};
static constexpr Kind device{is<DeviceAttr>, "a #gantry.device<\"...\">"};
static constexpr Kind devices{isArrayOf<DeviceAttr>, "an array of devices"};
static constexpr Kind integer{is<IntegerAttr>, "an integer"};
static constexpr Kind integers{is<DenseI64ArrayAttr>, "an array of integers"};
static constexpr Kind location{is<LocationAttr>, "a location"};
static constexpr Kind number{is<FloatAttr>, "a number"};
static constexpr Kind soft{is<SoftModeAttr>,
                           "#gantry<soft strict>, #gantry<soft prefer> or #gantry<soft any>"};
static constexpr Kind string{is<StringAttr>, "a string"};
static constexpr Kind strings{isArrayOf<StringAttr>, "an array of strings"};
static constexpr Kind symbol{is<FlatSymbolRefAttr>, "a symbol"};
static constexpr Kind target{is<TargetAttr>, "a #gantry.target<\"...\">"};
static constexpr Kind targets{is<TargetsAttr>, "a #gantry.targets<...>"};
static constexpr Kind topology{is<TopologyAttr>, "a #gantry.topology<[...]>"};
static constexpr Kind unit{is<UnitAttr>, "a unit attribute"};
static constexpr Kind work{is<WorkAttr>, "a #gantry.work<...>"};
} // namespace kinds

static const llvm::StringMap<const Kind *> &knownAttributes() {
  static const llvm::StringMap<const Kind *> known = {
#define GANTRY_ATTRIBUTE(constant, name, kind, carrier, meaning) {"gantry." #name, &kinds::kind},
#include "gantry/Dialect/Gantry/IR/Attributes.def"
  };
  return known;
}

static std::string suggestionFor(StringRef name) {
  static const std::vector<std::string> names = {
#define GANTRY_ATTRIBUTE(constant, name, kind, carrier, meaning) #name,
#include "gantry/Dialect/Gantry/IR/Attributes.def"
  };
  constexpr StringLiteral prefix = "gantry.";
  return didYouMean(name.drop_front(prefix.size()), names, prefix);
}

static LogicalResult verifyAttribute(Operation *op, NamedAttribute attr, const Twine &where = "") {
  const Kind *kind = knownAttributes().lookup(attr.getName());
  if (!kind)
    return op->emitOpError() << where << "has the attribute '" << attr.getName().getValue()
                             << "', which the dialect does not know"
                             << suggestionFor(attr.getName());
  if (!kind->isRight(attr.getValue()))
    return op->emitOpError() << where << "attribute '" << attr.getName().getValue() << "' must be "
                             << kind->expected << ", got " << attr.getValue();
  return success();
}

LogicalResult GantryDialect::verifyOperationAttribute(Operation *op, NamedAttribute attr) {
  return verifyAttribute(op, attr);
}

LogicalResult GantryDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned argument,
                                                      NamedAttribute attr) {
  return verifyAttribute(op, attr, "argument " + Twine(argument) + " ");
}

LogicalResult GantryDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned result,
                                                         NamedAttribute attr) {
  return verifyAttribute(op, attr, "result " + Twine(result) + " ");
}

LogicalResult BlockQuantizedAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t bits,
                                         int64_t block, int64_t k, int64_t zero) {
  if (BlockQuantized{bits, block, k, zero}.isValid())
    return success();
  return emitError()
         << "block_quantized: no weights have " << bits << " bits, blocks of " << block << ", " << k
         << " numbers a column and the zero point " << zero
         << "; bits are 2, 4 or 8, blocks whole words of 4 bytes, the zero point one of the "
            "numbers, or -1";
}
