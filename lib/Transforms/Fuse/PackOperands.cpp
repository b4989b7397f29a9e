// Packs an operand once that several kernels, or the rounds of a loop, read.
//
// A product reads one of its operands in panels (Analysis/PanelLayout.h). Constants lie so in the
// plan; what is computed is packed by the kernel that reads it, in each of its runs: the recurrent
// weight of a network in each step of its loop. Here such an operand is packed by a launch of its
// own in front of the first of its readers, out of the loops that do not change it, and they get
// kernels that take it as it then is. The panels are a value like others: Memory plans them, and
// the cost model knows what it takes to make them.
//
// Packing goes through the operand and through the panels in memory, where kernels that pack for
// themselves have panels in the nearest cache. Rows that are copied there cost them little, columns
// whose terms lie side by side as much as that.

#include "gantry/Analysis/PanelLayout.h"
#include "gantry/Analysis/Trips.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"
#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Target/TargetMap.h"
#include "gantry/Transforms/MemoryRepair/Words.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_PACKOPERANDSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// Rounds of a loop that says nothing of them.
static constexpr double kUnknownRounds = 8;
/// Runs of kernels that take as long to pack for themselves as it takes to pack for all, of
/// operands whose columns lie side by side, and of others.
static constexpr double kEvenRuns = 2, kEvenRunsOfColumns = 1;

using Shape = SmallVector<int64_t>;

namespace {
/// A value of some shape in a layout, on a device.
struct Packing {
  Value value; ///< before views
  Type type;   ///< behind them
  Attribute layout, device;
  bool operator==(const Packing &) const = default;
};
} // namespace

template <>
struct llvm::DenseMapInfo<Packing> {
  static Packing getEmptyKey() { return {DenseMapInfo<mlir::Value>::getEmptyKey(), {}, {}, {}}; }
  static Packing getTombstoneKey() {
    return {DenseMapInfo<mlir::Value>::getTombstoneKey(), {}, {}, {}};
  }
  static unsigned getHashValue(const Packing &packing) {
    return hash_combine(packing.value, packing.type, packing.layout, packing.device);
  }
  static bool isEqual(const Packing &a, const Packing &b) { return a == b; }
};

namespace {
/// Makes the ops of a kernel that packs a matrix, or several.
class PanelOps {
public:
  PanelOps(OpBuilder &b, Location loc, const PanelLayout &layout)
      : b(b), loc(loc), layout(layout), matrices(PanelLayout::count(layout.matrices)),
        rows(layout.panelRows()), columns(layout.panels() * layout.width) {}

  /// The panels of `plain`, all elements in one row.
  Value pack(Value plain) {
    const bool isByRows = layout.columns.front().step == 1;
    const int64_t own[] = {PanelLayout::count(layout.rows), PanelLayout::count(layout.columns)};
    Value all = reshape(plain, {matrices, own[!isByRows], own[isByRows]});
    all = pad(all, isByRows ? Shape{matrices, rows, columns} : Shape{matrices, columns, rows});
    const int64_t panels = layout.panels(), width = layout.width, group = layout.packingFactor;
    Shape parts{matrices, panels, width, rows / group}, order{0, 1, 3, 2};
    if (isByRows) {
      parts = {matrices, rows / group, panels, width};
      order = {0, 2, 1, 3};
    }
    if (group > 1) {
      // Of each column some rows side by side.
      parts.insert(parts.begin() + (isByRows ? 2 : 4), group);
      order = isByRows ? Shape{0, 3, 1, 4, 2} : Shape{0, 1, 3, 2, 4};
    }
    return reshape(transpose(reshape(all, parts), order), {layout.elements()});
  }

private:
  Value reshape(Value value, const Shape &shape) {
    RankedTensorType type = typeOf(value);
    if (type.getShape() == ArrayRef(shape))
      return value;
    return ReshapeOp::create(b, loc, type.clone(shape), value);
  }

  Value transpose(Value value, const Shape &order) {
    return TransposeOp::create(b, loc, value, b.getDenseI64ArrayAttr(order)).getResult();
  }

  /// Zeros behind what is there.
  Value pad(Value value, const Shape &shape) {
    RankedTensorType type = typeOf(value);
    if (type.getShape() == ArrayRef(shape))
      return value;
    auto zero = DenseElementsAttr::get(RankedTensorType::get({}, type.getElementType()),
                                       b.getZeroAttr(type.getElementType()));
    Shape none(shape.size(), 0), behind;
    for (auto [all, own] : llvm::zip(shape, type.getShape()))
      behind.push_back(all - own);
    return PadOp::create(b, loc, value, ConstantOp::create(b, loc, zero),
                         b.getDenseI64ArrayAttr(none), b.getDenseI64ArrayAttr(behind),
                         PadModeAttr::get(b.getContext(), PadMode::Constant))
        .getResult();
  }

  OpBuilder &b;
  Location loc;
  const PanelLayout &layout;
  int64_t matrices, rows, columns;
};

struct PackOperands : gantry::impl::PackOperandsPassBase<PackOperands> {
  using Readers = SmallVector<OpOperand *, 2>;

  llvm::DenseMap<SymbolRefAttr, KernelOp> kernels;
  llvm::StringSet<> names; ///< of kernels and functions, which share those of a plan
  llvm::DenseMap<std::pair<Type, Attribute>, StringAttr> makers;
  /// By the plain kernel's name, an argument and its layout.
  llvm::DenseMap<std::pair<StringAttr, std::pair<unsigned, Attribute>>, StringAttr> takers;
  llvm::SmallSetVector<SymbolRefAttr, 8> replaced;

  void runOnOperation() override {
    collectKernels();
    TargetMap targets(getOperation());
    llvm::MapVector<Packing, Readers> found;
    for (auto func : getOperation().getOps<func::FuncOp>())
      func.walk([&](LaunchOp launch) { collect(launch, targets.targetsOf(launch), found); });
    for (auto &[packing, readers] : found)
      if (isGain(packing, readers))
        pack(packing, readers);
    eraseUnread();
  }

  void collectKernels() {
    kernels.clear(), names.clear(), makers.clear(), takers.clear(), replaced.clear();
    for (Operation &op : *getOperation().getBody())
      if (auto name = op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()))
        names.insert(name.getValue());
    for (auto [module, target] : kernelModules(getOperation()))
      for (auto kernel : module.getOps<KernelOp>()) {
        kernels[nameIn(module, kernel.getSymNameAttr())] = kernel;
        names.insert(kernel.getSymName());
      }
  }

  static SymbolRefAttr nameIn(ModuleOp module, StringAttr kernel) {
    return SymbolRefAttr::get(module.getSymNameAttr(), {FlatSymbolRefAttr::get(kernel)});
  }

  StringAttr freshName(const Twine &stem) {
    unsigned number = 0;
    std::string name;
    do
      name = (stem + "_" + Twine(number++)).str();
    while (!names.insert(name).second);
    return StringAttr::get(&getContext(), name);
  }

  static SmallVector<SymbolRefAttr> kernelsOf(LaunchOp launch) {
    SmallVector<SymbolRefAttr> all{launch.getKernelAttr()};
    llvm::append_range(all, launch.getAlso().getAsRange<SymbolRefAttr>());
    return all;
  }

  //===--- What is packed --------------------------------------------------------------------===//

  void collect(LaunchOp launch, ArrayRef<const Target *> targets,
               llvm::MapVector<Packing, Readers> &found) {
    for (OpOperand &operand : launch->getOpOperands()) {
      Value value = skipViews(operand.get());
      if (value.getDefiningOp<ConstantOp>())
        continue;
      if (Attribute layout = layoutFor(launch, operand.getOperandNumber(), targets))
        found[{value, operand.get().getType(), layout, launch->getAttr(kDeviceAttr)}].push_back(
            &operand);
    }
  }

  /// The layout that the kernels of all targets want, or null.
  Attribute layoutFor(LaunchOp launch, unsigned argument, ArrayRef<const Target *> targets) const {
    SmallVector<SymbolRefAttr> own = kernelsOf(launch);
    if (own.size() != targets.size())
      return {};
    Attribute agreed;
    for (auto [name, target] : llvm::zip(own, targets)) {
      KernelOp kernel = kernels.lookup(name);
      Attribute layout = kernel ? target->getLayoutOfComputed(kernel, argument) : Attribute();
      if (!layout || (agreed && agreed != layout))
        return {};
      agreed = layout;
    }
    return agreed;
  }

  static bool isGain(const Packing &packing, const Readers &readers) {
    Block *block = Value(packing.value).getParentBlock();
    double runs = 0;
    for (OpOperand *reader : readers)
      runs += roundsIn(block, reader->getOwner(), kUnknownRounds);
    const bool isByRows = PanelLayout::of(packing.layout)->columns.front().step == 1;
    return runs > (isByRows ? kEvenRuns : kEvenRunsOfColumns);
  }

  //===--- Packing it ------------------------------------------------------------------------===//

  void pack(const Packing &packing, const Readers &readers) {
    auto launch = cast<LaunchOp>(readers.front()->getOwner());
    OpBuilder b(firstOf(packing.value, readers));
    Value packed = makeLaunch(b, packing, launch)->getResult(0);
    for (OpOperand *reader : readers) {
      takePacked(*reader, packing.layout);
      reader->set(packed);
    }
  }

  /// The first op beside the value's maker that reads it, itself or in a region.
  static Operation *firstOf(Value value, const Readers &readers) {
    Operation *first = nullptr;
    for (OpOperand *reader : readers) {
      Operation *op = value.getParentBlock()->findAncestorOpInBlock(*reader->getOwner());
      if (!first || op->isBeforeInBlock(first))
        first = op;
    }
    return first;
  }

  LaunchOp makeLaunch(OpBuilder &b, const Packing &packing, LaunchOp reader) {
    const PanelLayout layout = *PanelLayout::of(packing.layout);
    auto plain = cast<RankedTensorType>(packing.type);
    RankedTensorType type = plain.clone({layout.elements()});
    Value value = packing.value;
    if (value.getType() != plain)
      value = ReshapeOp::create(b, reader->getLoc(), plain, value);
    StringAttr &name = makers[{plain, packing.layout}];
    if (!name)
      name = freshName("pack");
    SmallVector<Attribute> own;
    for (SymbolRefAttr of : kernelsOf(reader))
      own.push_back(makerOf(name, plain, layout, of));
    auto launch = LaunchOp::create(
        b, reader->getLoc(), TypeRange(type), cast<SymbolRefAttr>(own.front()), value,
        b.getArrayAttr(ArrayRef(own).drop_front()), b.getArrayAttr(describe(reader, plain, type)));
    launch->setAttr(kDeviceAttr, packing.device);
    if (StringRef told = cast<LaunchedOpAttr>(launch.getOps()[0]).getName(); !told.empty())
      launch->setAttr(kNameAttr, b.getStringAttr(told));
    return launch;
  }

  /// For the log and `explain`: named as its reader is, and where that is.
  Attribute describe(LaunchOp reader, RankedTensorType plain, RankedTensorType packed) {
    auto of = reader.getOps().empty() ? LaunchedOpAttr()
                                      : cast<LaunchedOpAttr>(reader.getOps().getValue().front());
    const std::string name = of && !of.getName().empty() ? (of.getName() + "/panels").str() : "";
    auto decision = DecisionAttr::get(&getContext(), "inferred", kPackedReason, {}, false);
    return LaunchedOpAttr::get(&getContext(), "Transpose", name, describeLocation(reader->getLoc()),
                               0, getByteSize(plain) + getByteSize(packed), decision, "", "",
                               fusionKindName(FusionKind::Movement));
  }

  /// The kernel that packs, in the module of the kernel `beside`.
  SymbolRefAttr makerOf(StringAttr name, RankedTensorType plain, const PanelLayout &layout,
                        SymbolRefAttr beside) {
    auto module = kernels.lookup(beside)->getParentOfType<ModuleOp>();
    SymbolRefAttr symbol = nameIn(module, name);
    KernelOp &kernel = kernels[symbol];
    if (kernel)
      return symbol;
    OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
    kernel = KernelOp::create(b, b.getUnknownLoc(), name);
    Block *body = b.createBlock(&kernel.getBody());
    Value argument = body->addArgument(plain, b.getUnknownLoc());
    YieldOp::create(b, b.getUnknownLoc(), PanelOps(b, b.getUnknownLoc(), layout).pack(argument));
    return symbol;
  }

  /// The reader's kernels become those that take the operand packed, of one name in all modules.
  void takePacked(OpOperand &reader, Attribute layout) {
    auto launch = cast<LaunchOp>(reader.getOwner());
    const unsigned argument = reader.getOperandNumber();
    SmallVector<SymbolRefAttr> plain = kernelsOf(launch);
    StringAttr &name = takers[{plain.front().getLeafReference(), {argument, layout}}];
    if (!name)
      name = freshName(plain.front().getLeafReference().getValue() + "_packed");
    SmallVector<Attribute> own;
    for (SymbolRefAttr of : plain)
      own.push_back(takerOf(of, name, argument, layout));
    launch.setKernelAttr(cast<SymbolRefAttr>(own.front()));
    launch.setAlsoAttr(ArrayAttr::get(&getContext(), ArrayRef(own).drop_front()));
  }

  SymbolRefAttr takerOf(SymbolRefAttr of, StringAttr name, unsigned argument, Attribute layout) {
    KernelOp plain = kernels.lookup(of);
    SymbolRefAttr symbol = nameIn(plain->getParentOfType<ModuleOp>(), name);
    replaced.insert(of);
    KernelOp &kernel = kernels[symbol];
    if (kernel)
      return symbol;
    kernel = plain.clone();
    kernel.setSymNameAttr(name);
    plain->getBlock()->getOperations().insertAfter(plain->getIterator(), kernel);
    SmallVector<Attribute> layouts(kernel.getBody().getNumArguments(),
                                   UnitAttr::get(&getContext()));
    if (auto known = kernel->getAttrOfType<ArrayAttr>(kLayoutsAttr))
      layouts.assign(known.begin(), known.end());
    layouts[argument] = layout;
    kernel->setAttr(kLayoutsAttr, ArrayAttr::get(&getContext(), layouts));
    return symbol;
  }

  void eraseUnread() {
    llvm::DenseSet<Attribute> read;
    getOperation().walk([&](LaunchOp launch) {
      for (SymbolRefAttr kernel : kernelsOf(launch))
        read.insert(kernel);
    });
    for (SymbolRefAttr kernel : replaced)
      if (!read.contains(kernel))
        kernels.lookup(kernel)->erase();
  }
};
} // namespace
