#include "Declarations.h"

#include "gantry/Analysis/InPlace.h"
#include "gantry/Analysis/PanelLayout.h"
#include "gantry/Device/Task.h"
#include "gantry/Plan/AllReducePart.h"
#include "gantry/Target/TargetMap.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::schedule;

uint64_t gantry::schedule::byteSize(Type type) { return getByteSize(cast<RankedTensorType>(type)); }

ElementType gantry::schedule::elementTypeOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (element.isF16())
    return ElementType::f16;
  if (element.isBF16())
    return ElementType::bf16;
  unsigned width = element.getIntOrFloatBitWidth();
  if (isa<FloatType>(element))
    return width == 64 ? ElementType::f64 : ElementType::f32;
  bool isUnsigned = element.isUnsignedInteger();
  switch (width) {
  case 1:
    return ElementType::i1;
  case 8:
    return isUnsigned ? ElementType::u8 : ElementType::i8;
  case 16:
    return isUnsigned ? ElementType::u16 : ElementType::i16;
  case 32:
    return isUnsigned ? ElementType::u32 : ElementType::i32;
  default:
    return isUnsigned ? ElementType::u64 : ElementType::i64;
  }
}

Declarations::Declarations(ModuleOp module)
    : module(module), names(module), declarations(OpBuilder::atBlockBegin(module.getBody())),
      topology(getTopology(module)), costModel(CostModel::of(topology)) {
  for (auto [i, device] : llvm::enumerate(topology.logical)) {
    symbols.push_back(FlatSymbolRefAttr::get(names.take("d" + Twine(i))));
    numbers[symbols.back()] = i;
    devices[DeviceAttr::get(module.getContext(), device.name)] = i;
  }
  for (unsigned i = topology.logical.size(); i-- > 0;)
    if (logical(i).name.type == DeviceType::CPU)
      hostDevice = i;
  findTasks();
  for (auto variable : module.getOps<VariableOp>())
    variableOps[variable.getSymNameAttr()] = variable;
  // Looked up once: a symbol table per launch would make big graphs quadratic.
  for (auto [kernelModule, target] : kernelModules(module))
    for (auto func : kernelModule.getOps<func::FuncOp>())
      if (!func.isExternal() && WorkAttr::of(func).isLowered())
        kernels[SymbolRefAttr::get(kernelModule.getSymNameAttr(), {FlatSymbolRefAttr::get(func)})] =
            func;
}

void Declarations::findTasks() {
  const std::vector<TaskName> all = tasksOf(topology);
  hosts.assign(all.size(), ~0u);
  for (auto [i, device] : llvm::enumerate(topology.logical)) {
    tasks.push_back(llvm::lower_bound(all, gantry::taskOf(device.name)) - all.begin());
    unsigned &host = hosts[tasks.back()];
    if (host == ~0u ||
        (device.name.type == DeviceType::CPU && logical(host).name.type != DeviceType::CPU))
      host = i;
  }
}

FlatSymbolRefAttr Declarations::declareExchange(Location loc, ExchangeKind kind,
                                                ArrayRef<unsigned> members, ArrayRef<int64_t> sizes,
                                                DenseI64ArrayAttr rows, StringRef cause,
                                                StringAttr name) {
  auto devices =
      llvm::map_to_vector(members, [&](unsigned device) -> Attribute { return symbolOf(device); });
  StringAttr symbol = names.take("x" + Twine(numExchanges++));
  plan::ir::ExchangeOp::create(
      declarations, loc, symbol, ExchangeKindAttr::get(module.getContext(), kind),
      declarations.getArrayAttr(devices), declarations.getDenseI64ArrayAttr(sizes), rows,
      declarations.getStringAttr(cause), name);
  return FlatSymbolRefAttr::get(symbol);
}

/// Bytes that the plan may use; 0 for what is there at run time. A simulated device has no more
/// memory than the topology gives it.
static uint64_t limitOf(const LogicalDevice &device, const PhysicalDevice &physical) {
  if (device.limit || physical.driver != Driver::sim)
    return device.limit;
  return physical.memory;
}

void Declarations::declareDevices() {
  const TargetMap targets(module);
  for (auto [i, logical] : llvm::enumerate(topology.logical)) {
    const PhysicalDevice &physical = topology.physical[logical.physical];
    auto device = plan::ir::DeviceOp::create(
        declarations, module.getLoc(), symbols[i].getAttr(),
        DeviceAttr::get(module.getContext(), logical.name),
        declarations.getStringAttr(driverName(physical.driver)),
        declarations.getI64IntegerAttr(*physical.name.id),
        declarations.getI64IntegerAttr(limitOf(logical, physical)),
        declarations.getF64FloatAttr(physical.peakFlops[static_cast<size_t>(ElementType::f32)]),
        declarations.getF64FloatAttr(physical.bandwidth),
        declarations.getStrArrayAttr(targets.standInsFor(physical.driver)));
    if (physical.launch > 0)
      device->setAttr(kLaunchSecondsAttr, declarations.getF64FloatAttr(physical.launch));
  }
  declareLinks();
}

/// The topology's links join physical devices, the plan's the logical ones that it knows.
void Declarations::declareLinks() {
  std::vector<SmallVector<unsigned>> links(topology.physical.size()), parts(links.size());
  for (auto [i, link] : llvm::enumerate(topology.links))
    if (link.from != link.to)
      links[link.from].push_back(i);
  for (auto [i, device] : llvm::enumerate(topology.logical))
    parts[device.physical].push_back(i);
  for (auto [from, source] : llvm::enumerate(topology.logical)) {
    SmallVector<std::pair<unsigned, unsigned>> ways; // target and link
    for (unsigned link : links[source.physical])
      for (unsigned to : parts[topology.links[link].to])
        ways.push_back({to, link});
    llvm::sort(ways);
    for (auto [to, link] : ways)
      plan::ir::LinkOp::create(declarations, module.getLoc(), symbols[from], symbols[to],
                               declarations.getF64FloatAttr(topology.links[link].bandwidth),
                               declarations.getF64FloatAttr(topology.links[link].latency));
  }
}

/// Targets that have the same kernel share its declaration.
void Declarations::declareKernels() {
  llvm::DenseSet<StringAttr> declared;
  for (auto &[symbol, func] : kernels)
    if (declared.insert(func.getSymNameAttr()).second) {
      WorkAttr work = WorkAttr::of(func);
      plan::ir::KernelOp::create(declarations, func.getLoc(), func.getSymName(), work.getItems(),
                                 work.getGrain(), work.getScratch(), declarations.getArrayAttr({}));
    }
}

unsigned Declarations::device(DeviceAttr name) {
  auto [known, isNew] = devices.try_emplace(name, hostDevice);
  if (isNew && name)
    if (const LogicalDevice *found = topology.find(name.getName().withDefaultTask()))
      known->second = found - topology.logical.data();
  return known->second;
}

/// Bytes of a constant as it lies in memory.
static uint64_t storedSize(ConstantOp op, Attribute layout) {
  auto panels = PanelLayout::of(layout);
  return panels
             ? panels->elements() * getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth() / 8
             : byteSize(op.getType());
}

plan::ir::ConstantOp Declarations::constantFor(ConstantOp op, unsigned device, StringRef use,
                                               Attribute layout) {
  plan::ir::ConstantOp &constant = constants[{op.getValueAttr(), layout, device}];
  if (constant)
    return constant;
  auto symbol = names.take("c" + Twine(constants.size() - 1));
  auto name = op->getAttrOfType<StringAttr>(kNameAttr);
  auto wish = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
  uint64_t size = storedSize(op, layout);
  FlatSymbolRefAttr home;
  if (wish && this->device(wish) != device && size > 0)
    home = symbolOf(this->device(wish));
  constant = plan::ir::ConstantOp::create(
      declarations, op.getLoc(), symbol, name ? name : symbol, symbolOf(device),
      declarations.getI64IntegerAttr(-1), declarations.getI64IntegerAttr(size),
      TypeAttr::get(op.getType()), op.getValueAttr(), home,
      declarations.getStringAttr(home ? use : ""), FlatSymbolRefAttr(), IntegerAttr());
  if (layout)
    constant->setAttr(kLayoutAttr, layout);
  return constant;
}

plan::ir::ConstantOp Declarations::madeConstant(int64_t output, RankedTensorType type,
                                                StringAttr name, unsigned device, Location loc) {
  plan::ir::ConstantOp &constant = made[output];
  if (constant)
    return constant;
  auto symbol = names.take("once" + Twine(output));
  constant = plan::ir::ConstantOp::create(
      declarations, loc, symbol, name && !name.empty() ? name : symbol, symbolOf(device),
      declarations.getI64IntegerAttr(-1), declarations.getI64IntegerAttr(byteSize(type)),
      TypeAttr::get(type), ElementsAttr(), FlatSymbolRefAttr(), declarations.getStringAttr(""),
      FlatSymbolRefAttr(), declarations.getI64IntegerAttr(output));
  return constant;
}

FlatSymbolRefAttr Declarations::kernelFor(AllReduceOp part) {
  auto type = cast<RankedTensorType>(part.getValues()[0].getType());
  const unsigned number =
      collectives.try_emplace({*part.getDevices(), type}, collectives.size()).first->second;
  const plan::AllReducePart asked{elementTypeOf(type), uint64_t(type.getNumElements()),
                                  uint32_t(part->getAttrOfType<IntegerAttr>(kRankAttr).getInt()),
                                  uint32_t(part.getDevices()->size())};
  FlatSymbolRefAttr &symbol = parts[{number, asked.rank}];
  if (!symbol) {
    symbol = FlatSymbolRefAttr::get(
        names.take("all_reduce_" + Twine(number) + "_part_" + Twine(asked.rank)));
    auto variant = plan::ir::VariantAttr::get(
        module.getContext(), driverName(Driver::cuda), FlatSymbolRefAttr(),
        StringRef(plan::collectiveLibrary), StringRef(plan::oldestCollectiveLibrary), false,
        asked.text(), ArrayAttr(), DenseI64ArrayAttr(), 0, 0, 0, DenseI64ArrayAttr(),
        DenseI64ArrayAttr(), 0);
    plan::ir::KernelOp::create(declarations, part.getLoc(), symbol.getValue(), 1, 1, 0,
                               declarations.getArrayAttr(variant));
  }
  return symbol;
}

Attribute Declarations::layoutOf(OpOperand &operand) const {
  func::FuncOp kernel = kernels.lookup(cast<LaunchOp>(operand.getOwner()).getKernelAttr());
  auto layouts = kernel ? kernel->getAttrOfType<ArrayAttr>(kLayoutsAttr) : ArrayAttr();
  Attribute layout = layouts ? layouts[operand.getOperandNumber()] : Attribute();
  return PanelLayout::of(layout) ? layout : Attribute();
}

plan::ir::VariableOp Declarations::variableFor(FlatSymbolRefAttr symbol, DeviceAttr device) {
  plan::ir::VariableOp &known = variables[symbol.getAttr()];
  VariableOp variable = variableOps.lookup(symbol.getAttr());
  if (known || !variable)
    return known;
  RankedTensorType type = variable.getTensorType();
  return known = plan::ir::VariableOp::create(
             declarations, variable.getLoc(), names.take("v" + Twine(variables.size() - 1)),
             variable.getSymNameAttr(), symbolOf(this->device(device)),
             declarations.getStringAttr(variable.getMirrorOf().value_or("")), IntegerAttr(),
             declarations.getI64IntegerAttr(byteSize(type)), TypeAttr::get(type),
             variable.getValueAttr(), FlatSymbolRefAttr());
}

void Declarations::declareOtherVariables() {
  SmallVector<VariableOp> all(module.getOps<VariableOp>());
  for (VariableOp variable : all)
    variableFor(FlatSymbolRefAttr::get(variable.getSymNameAttr()),
                variable->getAttrOfType<DeviceAttr>(kDeviceAttr));
  // Only now: declarations are inserted in front of the first of them.
  for (VariableOp variable : all)
    variable.erase();
}

WorkAttr Declarations::workOf(LaunchOp launch) const {
  func::FuncOp own = kernels.lookup(launch.getKernelAttr());
  if (!own)
    return {};
  WorkAttr work = WorkAttr::of(own);
  for (Attribute symbol : launch.getAlso()) {
    func::FuncOp other = kernels.lookup(symbol);
    if (!other)
      return {};
    WorkAttr more = WorkAttr::of(other);
    SmallVector<InPlace> inPlace = inPlacesOf(work);
    llvm::erase_if(inPlace, [others = inPlacesOf(more)](const InPlace &place) {
      return !llvm::is_contained(others, place);
    });
    work = withInPlaces(work.withScratch(std::max(work.getScratch(), more.getScratch())), inPlace);
  }
  return work;
}
