// From the plan dialect to a plan file: a walk that fills the FlatBuffer's objects, and the weights
// in the order of their arena, so that a runtime on the host can use them where they are mapped.

#include "gantry/Target/Plan/WritePlan.h"

#include "AddSignatures.h"
#include "gantry/Analysis/PanelLayout.h"
#include "gantry/Analysis/Segments.h"
#include "gantry/Analysis/SharedBuffers.h"
#include "gantry/Dialect/Gantry/IR/Diagnostics.h"
#include "gantry/Dialect/Gantry/IR/Elements.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Dialect/Gantry/IR/OpForm.h"
#include "gantry/Dialect/Plan/IR/Exchanges.h"
#include "gantry/Plan/PlanWriter.h"
#include "gantry/Plan/Validate.h"
#include "gantry/Plan/Views.h"
#include "gantry/Support/Version.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace gantry;

namespace fb = gantry::plan::fb;
using Bytes = std::span<const uint8_t>;

static fb::ElementType elementType(Type type) {
  if (type.isF32())
    return fb::ElementType::f32;
  if (type.isF64())
    return fb::ElementType::f64;
  if (type.isF16())
    return fb::ElementType::f16;
  if (type.isBF16())
    return fb::ElementType::bf16;
  bool isUnsigned = type.isUnsignedInteger();
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return fb::ElementType::i1;
  case 8:
    return isUnsigned ? fb::ElementType::u8 : fb::ElementType::i8;
  case 16:
    return isUnsigned ? fb::ElementType::u16 : fb::ElementType::i16;
  case 32:
    return isUnsigned ? fb::ElementType::u32 : fb::ElementType::i32;
  default:
    return isUnsigned ? fb::ElementType::u64 : fb::ElementType::i64;
  }
}

static std::unique_ptr<fb::TensorTypeT> tensorType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  auto out = std::make_unique<fb::TensorTypeT>();
  out->element = elementType(tensor.getElementType());
  out->shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  return out;
}

namespace {
/// The plan in the making.
struct Writer {
  ModuleOp module;
  plan::PlanWriter file;
  fb::PlanT plan;
  const PlanInfo &info;
  uint64_t leftOut =
      bufferAlignment; ///< where what an outline leaves out would go on; 0 is no place
  llvm::StringMap<uint32_t> devices, arenas, constants, variables, codes, kernels, exchanges,
      strings;

  Writer(ModuleOp module, const PlanInfo &info) : module(module), file(info.cancel), info(info) {}

  LogicalResult build() {
    plan.producer = "gantry " GANTRY_VERSION_STRING;
    plan.source = info.source;
    plan.source_hash = info.sourceHash;
    plan.math = info.math;
    plan.constraints = info.constraints;
    plan.remarks = info.remarks;
    plan.placement = info.placement;
    addDevices();
    if (failed(addConstants()) || failed(addVariables()))
      return failure();
    if (failed(addCode()))
      return failure();
    for (auto kernel : module.getOps<plan::ir::KernelOp>())
      addKernel(kernel);
    addExchanges();
    for (auto func : module.getOps<plan::ir::FuncOp>())
      addFunction(func);
    addSignatures(module, plan);
    for (auto &function : plan.functions)
      if (auto steps = info.predictions.find(function->name); steps != info.predictions.end()) {
        function->predicted_seconds = steps->second.seconds;
        function->lower_bound_seconds = steps->second.lowerBoundSeconds;
      }
    return success();
  }

  //===------------------------------------------------------------------===//
  // What functions refer to
  //===------------------------------------------------------------------===//

  void addJob() {
    const Topology topology = getTopology(module);
    for (const JobTask &task : topology.tasks) {
      auto &written = plan.tasks.emplace_back(std::make_unique<fb::TaskT>());
      written->name = task.name.str();
      written->host = task.host;
    }
    for (const std::string &name : topology.hosts)
      plan.hosts.emplace_back(std::make_unique<fb::HostT>())->name = name;
    if (!topology.network)
      return;
    const Network &network = *topology.network;
    plan.network = std::make_unique<fb::NetworkT>();
    plan.network->bandwidth = network.bandwidth;
    plan.network->latency = network.latency;
    plan.network->inside_bandwidth = network.insideBandwidth;
    plan.network->inside_latency = network.insideLatency;
    plan.network->joins_gpus = network.joinsGPUs;
    for (const HostLink &link : network.links) {
      auto &written = plan.network->links.emplace_back(std::make_unique<fb::HostLinkT>());
      written->from = link.from;
      written->to = link.to;
      written->bandwidth = link.bandwidth;
      written->latency = link.latency;
    }
  }

  /// Members in the same order are one group.
  void addExchanges() {
    DenseMap<Attribute, uint32_t> groups;
    for (auto op : module.getOps<plan::ir::ExchangeOp>()) {
      auto [group, isNew] = groups.try_emplace(op.getMembersAttr(), plan.groups.size());
      if (isNew) {
        auto &written = plan.groups.emplace_back(std::make_unique<fb::GroupT>());
        for (auto member : op.getMembers().getAsRange<FlatSymbolRefAttr>())
          written->devices.push_back(devices.lookup(member.getValue()));
      }
      exchanges[op.getSymName()] = plan.exchanges.size();
      auto &written = plan.exchanges.emplace_back(std::make_unique<fb::ExchangeT>());
      written->kind = static_cast<fb::ExchangeKind>(op.getKind());
      written->group = group->second;
      written->sizes.assign(op.getSizes().begin(), op.getSizes().end());
      if (std::optional<ArrayRef<int64_t>> rows = op.getRows())
        written->rows.assign(rows->begin(), rows->end());
      written->name = op.getName().str();
      written->cause = op.getCause().empty() ? 0 : stringIndex(op.getCause());
    }
  }

  void addDevices() {
    for (auto op : module.getOps<plan::ir::DeviceOp>()) {
      devices[op.getSymName()] = plan.devices.size();
      auto device = std::make_unique<fb::DeviceT>();
      const DeviceName &name = op.getDevice().getName();
      device->name = name.str();
      device->type = name.type == DeviceType::GPU ? fb::DeviceType::gpu : fb::DeviceType::cpu;
      device->driver = op.getDriver().str();
      device->physical = op.getPhysical();
      device->memory_limit = op.getLimit();
      device->peak_flops = op.getFlops().convertToDouble();
      device->bandwidth = op.getBandwidth().convertToDouble();
      if (auto seconds = op->getAttrOfType<FloatAttr>(kLaunchSecondsAttr))
        device->launch = seconds.getValueAsDouble();
      device->also = textsOf(op.getAlso());
      plan.devices.push_back(std::move(device));
    }
    for (auto op : module.getOps<plan::ir::LinkOp>()) {
      auto link = std::make_unique<fb::LinkT>();
      link->from = devices.lookup(op.getSource());
      link->to = devices.lookup(op.getTarget());
      link->bandwidth = op.getBandwidth().convertToDouble();
      link->latency = op.getLatency().convertToDouble();
      plan.links.push_back(std::move(link));
    }
    addJob();
    for (auto op : module.getOps<plan::ir::ArenaOp>()) {
      arenas[op.getSymName()] = plan.arenas.size();
      auto arena = std::make_unique<fb::ArenaT>();
      arena->device = devices.lookup(op.getDevice());
      arena->kind = static_cast<fb::ArenaKind>(op.getKind());
      arena->size = op.getSize();
      arena->lower_bound = op.getLowerBound();
      arena->load_size = op.getLoadSize();
      plan.arenas.push_back(std::move(arena));
    }
  }

  /// The bytes of a value as kernels read them: borrowed where the attribute has them so, else kept
  /// in `made`.
  static FailureOr<Bytes> bytesOf(Operation *op, ElementsAttr value, uint64_t size,
                                  std::vector<uint8_t> &made) {
    if (!value)
      return op->emitOpError("has no value to write");
    std::optional<ArrayRef<uint8_t>> bytes = kernelBytes(value, made);
    if (!bytes || bytes->size() != size)
      return op->emitOpError() << "has " << storedBytes(value).size() << " bytes, expected "
                               << size;
    return Bytes{bytes->data(), size};
  }

  uint32_t addSegment(plan::SegmentKind kind) {
    return info.isOutline ? plan::nothingSaid : file.addSegment(kind);
  }

  /// In the place of a blob, for an outline (Plan/Outline.h).
  plan::BlobRef leaveOut(uint64_t size) {
    const uint64_t offset = std::exchange(leftOut, alignTo(leftOut + size, bufferAlignment));
    return {plan::nothingSaid, offset, 0, 0};
  }

  template <typename Op>
  LogicalResult addBlob(Op op, uint32_t segment, plan::BlobRef &blob) {
    if (info.isOutline) {
      blob = leaveOut(op.getSize());
      return success();
    }
    std::vector<uint8_t> made;
    FailureOr<Bytes> bytes = bytesOf(op, op.getValueAttr(), op.getSize(), made);
    if (failed(bytes))
      return failure();
    blob = made.empty() ? file.addBlob(segment, *bytes) : file.addBlob(segment, std::move(made));
    return success();
  }

  /// In panels, packed on the way: only the plain bytes are in memory, or mapped.
  LogicalResult addPacked(plan::ir::ConstantOp op, const PanelLayout &layout, uint32_t segment,
                          plan::BlobRef &blob) {
    if (info.isOutline) {
      blob = leaveOut(op.getSize());
      return success();
    }
    auto type = cast<ShapedType>(op.getType());
    unsigned elementBytes = type.getElementTypeBitWidth() / 8;
    auto made = std::make_shared<std::vector<uint8_t>>();
    FailureOr<Bytes> plain =
        bytesOf(op, op.getValueAttr(), type.getNumElements() * elementBytes, *made);
    if (failed(plain))
      return failure();
    blob = file.addBlob(segment, op.getSize(),
                        [layout, elementBytes, made, plain = *plain](const auto &sink) {
                          return layout.pack(plain, elementBytes, sink);
                        });
    return success();
  }

  /// The bytes of constants lie in the file device by device, in the order of their arenas, so that
  /// a runtime on the host can use them in place; what another device has too is there once.
  LogicalResult addConstants() {
    SmallVector<plan::ir::ConstantOp> ops(module.getOps<plan::ir::ConstantOp>());
    if (ops.empty())
      return success();
    uint32_t segment = addSegment(plan::SegmentKind::constants);
    DenseMap<std::pair<Attribute, Attribute>, plan::BlobRef> blobs; // by value and layout
    plan.constants.resize(ops.size());
    for (uint32_t device = 0; device < plan.devices.size(); ++device)
      for (auto [i, op] : llvm::enumerate(ops)) {
        if (devices.lookup(op.getDevice()) != device)
          continue;
        if (op.getMade()) {
          addConstant(op, i, {plan::nothingSaid, 0, 0, 0});
          continue;
        }
        Attribute layout = op->getAttr(kLayoutAttr);
        auto [blob, isNew] = blobs.try_emplace({op.getValueAttr(), layout});
        auto panels = PanelLayout::of(layout);
        if (isNew && failed(panels ? addPacked(op, *panels, segment, blob->second)
                                   : addBlob(op, segment, blob->second)))
          return failure();
        addConstant(op, i, blob->second);
      }
    return success();
  }

  void addConstant(plan::ir::ConstantOp op, uint32_t index, const plan::BlobRef &blob) {
    constants[op.getSymName()] = index;
    auto constant = std::make_unique<fb::ConstantT>();
    constant->name = op.getName().str();
    constant->arena = arenas.lookup(*op.getArena());
    constant->offset = op.getOffset();
    constant->size = op.getSize();
    constant->segment = blob.segment;
    constant->segment_offset = blob.offset;
    constant->content_hash = blob.hash;
    constant->made = op.getMade().value_or(plan::nothingSaid);
    if (op.getHome()) {
      constant->home = devices.lookup(*op.getHome());
      constant->cause = stringIndex(op.getCause());
    }
    plan.constants[index] = std::move(constant);
  }

  /// What new states hold lies in a segment of its own, mirrors' once; all zeros need none.
  LogicalResult addVariables() {
    DenseMap<Attribute, plan::BlobRef> blobs;
    std::optional<uint32_t> segment;
    for (auto op : module.getOps<plan::ir::VariableOp>()) {
      variables[op.getSymName()] = plan.variables.size();
      auto variable = std::make_unique<fb::VariableT>();
      variable->name = op.getName().str();
      variable->type = tensorType(op.getType());
      variable->arena = arenas.lookup(*op.getArena());
      variable->offset = op.getOffset().value_or(0);
      variable->size = op.getSize();
      variable->mirror_of = op.getMirrorOf().str();
      if (op.getValueAttr() && !isZero(op.getValueAttr())) {
        if (!segment)
          segment = addSegment(plan::SegmentKind::constants);
        auto [blob, isNew] = blobs.try_emplace(op.getValueAttr());
        if (isNew && failed(addBlob(op, *segment, blob->second)))
          return failure();
        variable->initial_segment = blob->second.segment;
        variable->initial_offset = blob->second.offset;
      }
      plan.variables.push_back(std::move(variable));
    }
    return success();
  }

  static bool isZero(ElementsAttr value) {
    auto dense = dyn_cast<DenseElementsAttr>(value);
    return dense && dense.isSplat() &&
           llvm::all_of(dense.getRawData(), [](char byte) { return byte == 0; });
  }

  /// Place of a text in Plan.strings; 0 is the empty one.
  uint32_t stringIndex(StringRef text) {
    if (plan.strings.empty())
      plan.strings.push_back("");
    auto [known, isNew] = strings.try_emplace(text, plan.strings.size());
    if (text.empty())
      return 0;
    if (isNew)
      plan.strings.push_back(text.str());
    return known->second;
  }

  LogicalResult addCode() {
    std::optional<uint32_t> segment;
    for (auto op : module.getOps<plan::ir::CodeOp>()) {
      if (!segment)
        segment = addSegment(plan::SegmentKind::code);
      plan::BlobRef blob;
      if (failed(addBlob(op, *segment, blob)))
        return failure();
      codes[op.getSymName()] = plan.code.size();
      auto object = std::make_unique<fb::CodeT>();
      object->kind = static_cast<fb::CodeKind>(op.getKind());
      object->segment = *segment;
      object->segment_offset = blob.offset;
      object->size = blob.size;
      object->content_hash = blob.hash;
      object->target = op.getMachine().str();
      object->features = textsOf(op.getNeeds());
      plan.code.push_back(std::move(object));
    }
    return success();
  }

  void addKernel(plan::ir::KernelOp op) {
    kernels[op.getSymName()] = plan.kernels.size();
    auto kernel = std::make_unique<fb::KernelT>();
    kernel->symbol = op.getSymName().str();
    for (auto variant : op.getVariants().getAsRange<plan::ir::VariantAttr>())
      kernel->variants.push_back(makeVariant(variant));
    plan.kernels.push_back(std::move(kernel));
  }

  std::unique_ptr<fb::VariantT> makeVariant(plan::ir::VariantAttr attr) {
    auto variant = std::make_unique<fb::VariantT>();
    variant->driver = attr.getDriver().str();
    if (attr.getCode())
      variant->code = codes.lookup(attr.getCode().getValue());
    else
      variant->source =
          attr.getRegistered() ? fb::KernelSource::registered : fb::KernelSource::library;
    variant->library = attr.getLibrary().str();
    variant->library_version = attr.getVersion().str();
    variant->symbol = attr.getSymbol().str();
    variant->features = textsOf(attr.getFeatures());
    if (DenseI64ArrayAttr arch = attr.getArch(); arch && arch.size() == 2) {
      variant->arch_min = arch[0];
      variant->arch_max = arch[1];
    }
    variant->items = attr.getItems();
    variant->grain = attr.getGrain();
    variant->grid = extentOf(attr.getGrid());
    variant->block = extentOf(attr.getBlock());
    variant->shared_memory = attr.getShared();
    variant->scratch = attr.getScratch();
    return variant;
  }

  static std::unique_ptr<fb::Extent> extentOf(DenseI64ArrayAttr sides) {
    if (!sides)
      return nullptr;
    auto side = [&](int64_t i) { return uint32_t(i < sides.size() ? sides[i] : 1); };
    return std::make_unique<fb::Extent>(side(0), side(1), side(2));
  }

  static std::vector<std::string> textsOf(ArrayAttr texts) {
    std::vector<std::string> out;
    if (texts)
      for (auto text : texts.getAsRange<StringAttr>())
        out.push_back(text.str());
    return out;
  }

  //===------------------------------------------------------------------===//
  // Functions
  //===------------------------------------------------------------------===//

  std::vector<std::unique_ptr<fb::BindingT>> bindings(ArrayAttr entries) {
    std::vector<std::unique_ptr<fb::BindingT>> out;
    for (auto entry : entries.getAsRange<plan::ir::BindingAttr>()) {
      auto binding = std::make_unique<fb::BindingT>();
      binding->name = entry.getName().str();
      binding->type = tensorType(entry.getType());
      binding->device = devices.lookup(entry.getDevice().getValue());
      out.push_back(std::move(binding));
    }
    return out;
  }

  void addFunction(plan::ir::FuncOp func) {
    auto function = std::make_unique<fb::FunctionT>();
    function->name = func.getSymName().str();
    function->inputs = bindings(func.getInputs());
    function->outputs = bindings(func.getOutputs());
    auto forms = func->getAttrOfType<ArrayAttr>(kFormsAttr);
    for (auto [i, op] : llvm::enumerate(func.getPlaced().getAsRange<plan::ir::PlacedAttr>())) {
      function->placed_ops.push_back(placedOp(op));
      if (forms && i < forms.size())
        addForm(*function->placed_ops.back(), readForm(forms[i]));
    }
    for (auto output : func.getBody().getOps<plan::ir::OutputOp>())
      if (auto over = output->getAttrOfType<IntegerAttr>(kOverAttr))
        function->outputs[output.getIndex()]->over = over.getInt();
    function->writes_variables = writesVariables(func);
    addBlock(*function, func.getBody());
    addValues(*function, func);
    countQueues(*function);
    if (func.getAtLoad())
      plan.load = std::move(function);
    else
      plan.functions.push_back(std::move(function));
  }

  static bool writesVariables(plan::ir::FuncOp func) {
    bool found = false;
    func.walk([&](Operation *op) {
      if (schedule::isCommand(op))
        schedule::forEachBuffer(op, [&](Value buffer, bool writes) {
          found |= writes && isa_and_present<plan::ir::StateOp>(buffer.getDefiningOp());
        });
    });
    return found;
  }

  static void countQueues(fb::FunctionT &function) {
    function.num_queues = 1;
    for (auto &block : function.blocks)
      for (auto &command : block->commands) {
        function.num_queues = std::max(function.num_queues, command->queue + 1);
        if (command->opcode == fb::Opcode::signal)
          function.num_semaphores = std::max(function.num_semaphores, command->signal + 1);
      }
  }

  std::unique_ptr<fb::PlacedOpT> placedOp(plan::ir::PlacedAttr placed) {
    auto op = std::make_unique<fb::PlacedOpT>();
    op->log_name = placed.getLogName().str();
    op->name = placed.getName().str();
    op->location = placed.getLocation().str();
    op->device = devices.lookup(placed.getDevice().getValue());
    op->rule = placed.getRule().str();
    op->reason = placed.getReason().str();
    op->fall_back = placed.getFallBack();
    op->rejected = textsOf(placed.getRejected());
    if (FloatAttr seconds = placed.getPredictedSeconds())
      op->predicted_seconds = seconds.getValueAsDouble();
    op->kernel_name = placed.getKernel().getValue().str();
    op->flops = placed.getFlops();
    op->bytes = placed.getBytes();
    op->node = placed.getNode().str();
    op->source_op = placed.getSourceOp().str();
    op->kind = placed.getKind().str();
    op->once = placed.getOnce();
    return op;
  }

  static void addForm(fb::PlacedOpT &op, const OpForm &form) {
    for (const OperandForm &operand : form.operands) {
      auto &out = op.operands.emplace_back(std::make_unique<fb::OperandT>());
      out->name = operand.name.str();
      out->type = tensorType(operand.type);
      out->constant = operand.isConstant;
      out->value = operand.value.str();
    }
    for (RankedTensorType result : form.results)
      op.results.push_back(tensorType(result));
    for (StringRef attribute : form.attributes)
      op.attributes.push_back(attribute.str());
    op.part = static_cast<fb::StepPart>(form.part);
    op.again = form.isAgain;
  }

  fb::BufferRef bufferRef(Value buffer) {
    Operation *op = buffer.getDefiningOp();
    if (auto input = dyn_cast<plan::ir::InputOp>(op))
      return {fb::Space::input, uint32_t(input.getIndex()), 0, input.getSize()};
    if (auto output = dyn_cast<plan::ir::OutputOp>(op))
      return {fb::Space::output, uint32_t(output.getIndex()), memory::beginOf(output),
              output.getSize()};
    if (auto use = dyn_cast<plan::ir::UseOp>(op)) {
      const fb::ConstantT &constant = *plan.constants[constants.lookup(use.getConstant())];
      return {fb::Space::arena, constant.arena, constant.offset, constant.size};
    }
    if (auto state = dyn_cast<plan::ir::StateOp>(op)) {
      const fb::VariableT &variable = *plan.variables[variables.lookup(state.getVariable())];
      return {fb::Space::arena, variable.arena, variable.offset, variable.size};
    }
    auto decl = cast<plan::ir::BufferDeclOp>(op);
    return {fb::Space::arena, arenas.lookup(*decl.getArena()), uint64_t(*decl.getOffset()),
            decl.getSize()};
  }

  /// Fills a block with the commands of a region; gives its index. Nested blocks come after it.
  uint32_t addBlock(fb::FunctionT &function, Region &region) {
    uint32_t index = function.blocks.size();
    function.blocks.push_back(std::make_unique<fb::BlockT>());
    std::vector<std::unique_ptr<fb::CommandT>> commands;
    for (Operation &op : region.front())
      if (auto command = makeCommand(function, op))
        commands.push_back(std::move(command));
    function.blocks[index]->commands = std::move(commands);
    return index;
  }

  std::unique_ptr<fb::CommandT> makeCommand(fb::FunctionT &function, Operation &op) {
    if (auto launch = dyn_cast<plan::ir::LaunchOp>(op))
      return makeLaunch(launch);
    if (auto copy = dyn_cast<plan::ir::CopyOp>(op))
      return makeCopy(function, copy);
    if (auto check = dyn_cast<plan::ir::CheckOp>(op))
      return makeCheck(check);
    if (auto part = dyn_cast<plan::ir::PartOp>(op))
      return makePart(part);
    auto command = std::make_unique<fb::CommandT>();
    auto nest = [&](fb::Opcode opcode, ArrayRef<Value> conditions, Region &first, Region &second) {
      command->opcode = opcode;
      command->condition = std::make_unique<fb::BufferRef>(bufferRef(conditions.front()));
      for (size_t i = 0; conditions.size() > 1 && i < conditions.size(); ++i)
        command->conditions.push_back(bufferRef(conditions[i]));
      command->blocks = {addBlock(function, first), addBlock(function, second)};
    };
    auto order = [&](fb::Opcode opcode, auto op) {
      command->opcode = opcode;
      command->device = devices.lookup(op.getDevice());
      command->queue = op.getQueue();
      command->signal = op.getSemaphore();
    };
    if (auto branch = dyn_cast<plan::ir::IfOp>(op)) {
      nest(fb::Opcode::branch, plan::ir::conditionsOf(branch), branch.getThenBody(),
           branch.getElseBody());
      if (auto library = branch->getAttrOfType<StringAttr>(kLibraryAttr))
        command->library = library.str();
    } else if (auto loop = dyn_cast<plan::ir::WhileOp>(op)) {
      nest(fb::Opcode::loop, plan::ir::conditionsOf(loop), loop.getConditionBody(), loop.getBody());
      command->trips = loop.getTrips().value_or(0);
    } else if (auto signal = dyn_cast<plan::ir::SignalOp>(op))
      order(fb::Opcode::signal, signal);
    else if (auto wait = dyn_cast<plan::ir::WaitOp>(op))
      order(fb::Opcode::wait, wait);
    else
      return nullptr; // a declaration
    return command;
  }

  std::unique_ptr<fb::CommandT> makePart(plan::ir::PartOp part) {
    auto command = std::make_unique<fb::CommandT>();
    command->exchange = exchanges.lookup(part.getExchange());
    const bool isMessage = plan.exchanges[command->exchange]->kind == fb::ExchangeKind::message;
    command->opcode = !isMessage         ? fb::Opcode::part
                      : part.getSource() ? fb::Opcode::send
                                         : fb::Opcode::receive;
    command->rank = part.getRank();
    command->device = devices.lookup(part.getDevice());
    command->queue = part.getQueue();
    command->copy_kind = fb::CopyKind::betweenTasks;
    for (Value buffer : part->getOperands())
      command->buffers.push_back(bufferRef(buffer));
    command->num_results = part.getTarget() ? 1 : 0;
    command->name = part.getName().str();
    command->location = part.getLocation().str();
    command->cause = plan.exchanges[command->exchange]->cause;
    return command;
  }

  std::unique_ptr<fb::CommandT> makeCheck(plan::ir::CheckOp check) {
    auto command = std::make_unique<fb::CommandT>();
    command->opcode = fb::Opcode::check;
    command->device = devices.lookup(check.getDevice());
    for (Value v : check->getOperands())
      command->buffers.push_back(bufferRef(v));
    command->name = check.getName().str();
    command->location = check.getLocation().str();
    auto &about = command->index_check = std::make_unique<fb::IndexCheckT>();
    about->operand = check.getIndices().str();
    about->source_op = check.getSourceOp().str();
    about->shape.assign(check.getShape().begin(), check.getShape().end());
    about->sizes.assign(check.getSizes().begin(), check.getSizes().end());
    about->says = check.getSays().value_or("").str();
    return command;
  }

  std::unique_ptr<fb::CommandT> makeLaunch(plan::ir::LaunchOp launch) {
    auto command = std::make_unique<fb::CommandT>();
    command->opcode = fb::Opcode::launch;
    command->device = devices.lookup(launch.getDevice());
    command->kernel = kernels.lookup(launch.getKernel());
    for (Value v : launch->getOperands())
      command->buffers.push_back(bufferRef(v));
    command->num_results = launch.getOutputs().size() + (launch.getScratch() ? 1 : 0);
    command->has_scratch = bool(launch.getScratch());
    command->items = launch.getItems();
    command->grain = launch.getGrain();
    command->flops = launch.getFlops();
    command->bytes = launch.getBytes();
    command->name = launch.getName().str();
    command->location = launch.getLocation().str();
    for (auto name : launch.getLogNames().getAsRange<StringAttr>())
      command->log_names.push_back(name.str());
    return command;
  }

  std::unique_ptr<fb::CommandT> makeCopy(fb::FunctionT &function, plan::ir::CopyOp copy) {
    auto command = std::make_unique<fb::CommandT>();
    command->opcode = fb::Opcode::copy;
    command->device = devices.lookup(copy.getDevice());
    command->queue = copy.getQueue();
    command->num_results = 1;
    for (unsigned i = 0; i < copy.getSources().size(); ++i) {
      plan::ir::CopyOp::Copied copied = copy.getCopied(i);
      command->buffers.push_back(bufferRef(copied.source));
      command->buffers.push_back(bufferRef(copied.target));
      auto describe = [&](auto &value) {
        value.name = copied.name.str();
        value.location = copied.location.str();
        value.cause = copied.cause.empty() ? 0 : stringIndex(copied.cause);
      };
      if (i == 0)
        describe(*command);
      else
        describe(*command->also.emplace_back(std::make_unique<fb::CopiedValueT>()));
    }
    command->copy_kind = copyKind(function, command->buffers[0], command->buffers[1]);
    return command;
  }

  uint32_t deviceOf(const fb::FunctionT &function, const fb::BufferRef &buffer) {
    switch (buffer.space()) {
    case fb::Space::arena:
      return plan.arenas[buffer.index()]->device;
    case fb::Space::input:
      return function.inputs[buffer.index()]->device;
    case fb::Space::output:
      return function.outputs[buffer.index()]->device;
    }
    llvm_unreachable("there are three spaces");
  }

  fb::CopyKind copyKind(const fb::FunctionT &function, const fb::BufferRef &source,
                        const fb::BufferRef &target) {
    uint32_t from = deviceOf(function, source), to = deviceOf(function, target);
    return plan::copyKindBetween(from, plan.devices[from]->type, to, plan.devices[to]->type);
  }

  /// The values that have a place, for `explain --memory`, live in commands first..last.
  void addValues(fb::FunctionT &function, plan::ir::FuncOp func) {
    DenseMap<Operation *, uint32_t> at;
    uint32_t next = 0;
    func.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<plan::ir::LaunchOp, plan::ir::CopyOp, plan::ir::IfOp, plan::ir::WhileOp,
              plan::ir::SignalOp, plan::ir::WaitOp, plan::ir::CheckOp, plan::ir::PartOp>(op))
        at[op] = next++;
      else if (isa<plan::ir::ConditionsOp>(op))
        at[op] = next; // of the branch or loop behind it
    });
    for (const memory::Whole &whole : memory::wholesOf(func)) {
      plan::ir::BufferDeclOp decl = whole.buffer;
      SmallVector<Operation *> users(decl->getUsers());
      for (plan::ir::BufferDeclOp part : whole.parts)
        llvm::append_range(users, part->getUsers());
      if (users.empty())
        continue;
      auto value = std::make_unique<fb::ValueT>();
      value->name = decl.getValue().str();
      value->type = tensorType(decl.getType());
      value->buffer = std::make_unique<fb::BufferRef>(bufferRef(decl));
      value->first = UINT32_MAX;
      for (Operation *user : users) {
        value->first = std::min(value->first, at.lookup(user));
        value->last = std::max(value->last, at.lookup(user));
      }
      function.values.push_back(std::move(value));
    }
  }
};
} // namespace

static LogicalResult report(ModuleOp module, const Status &status) {
  if (status.ok())
    return success();
  const bool isCancelled = status.code() == StatusCode::cancelled;
  InFlightDiagnostic error =
      (isCancelled ? emitError(UnknownLoc::get(module.getContext())) : module.emitError())
      << (isCancelled ? "" : "the plan could not be written: ") << status.message();
  setStatusCode(*error.getUnderlyingDiagnostic(), status.code());
  return error;
}

LogicalResult gantry::writePlanFile(ModuleOp module, const PlanInfo &info,
                                    const std::string &path) {
  Writer writer(module, info);
  if (failed(writer.build()))
    return failure();
  return report(module, writer.file.writeFile(writer.plan, path));
}

LogicalResult gantry::writePlanTo(ModuleOp module, const PlanInfo &info, const PlanSink &sink) {
  Writer writer(module, info);
  if (failed(writer.build()))
    return failure();
  return report(module, writer.file.writeTo(writer.plan, sink));
}

FailureOr<AlignedBuffer> gantry::writePlanBytes(ModuleOp module, const PlanInfo &info) {
  Writer writer(module, info);
  if (failed(writer.build()))
    return failure();
  Expected<AlignedBuffer> bytes = writer.file.toBytes(writer.plan);
  if (!bytes) {
    (void)report(module, bytes.status());
    return failure();
  }
  return bytes.take();
}

FailureOr<AlignedBuffer> gantry::planMetadata(ModuleOp module, const PlanInfo &info) {
  PlanInfo outline = info; // so that nobody reads and sums up weights
  outline.isOutline = true;
  Writer writer(module, outline);
  if (failed(writer.build()))
    return failure();
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Plan::Pack(builder, &writer.plan), fb::PlanIdentifier());
  return AlignedBuffer::copyOf({builder.GetBufferPointer(), builder.GetSize()});
}
