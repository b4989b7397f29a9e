// Turns launches of values into commands over buffers.
//
// Each value gets a buffer: a place in the caller's input or output, a constant's, or a transient
// one that Memory will place. Views share the buffer of their source. Control flow has no values
// any more: results of a branch and the carried values of a loop are buffers written by copies.

#include "gantry/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_LOWERTOPLANPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

static uint64_t byteSize(Type type) { return getByteSize(cast<RankedTensorType>(type)); }

/// The value whose bytes are those of `value`, before views.
static Value skipViews(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    auto kernel = dyn_cast<KernelOpInterface>(op);
    if (!kernel || kernel.getFusionKind() != FusionKind::View)
      break;
    value = op->getOperand(0);
  }
  return value;
}

namespace {
/// Devices, constants and kernels of the whole module.
struct ModuleState {
  ModuleOp module;
  ModuleOp kernels;
  OpBuilder declarations; ///< where symbols of the plan are declared
  DenseMap<Attribute, StringAttr> constants;
  llvm::StringMap<StringAttr> devices; ///< full name → symbol
  unsigned numConstants = 0;

  explicit ModuleState(ModuleOp module)
      : module(module), kernels(module.lookupSymbol<ModuleOp>("kernels")),
        declarations(OpBuilder::atBlockBegin(module.getBody())) {}

  void declareDevices(TopologyAttr topology) {
    for (auto [i, device] : llvm::enumerate(topology.getDevices())) {
      std::string symbol = "d" + std::to_string(i);
      planir::DeviceOp::create(declarations, module.getLoc(), symbol, device.getSpelling(), "host");
      devices[device.getSpelling()] = declarations.getStringAttr(symbol);
    }
  }

  void declareKernels() {
    if (!kernels)
      return;
    for (auto func : kernels.getOps<func::FuncOp>()) {
      auto number = [&](StringRef name, int64_t otherwise) {
        auto attr = func->getAttrOfType<IntegerAttr>(name);
        return attr ? attr.getInt() : otherwise;
      };
      if (func.isExternal() || !func->hasAttr("gantry.items"))
        continue;
      planir::KernelOp::create(declarations, func.getLoc(), func.getSymName(),
                               number("gantry.items", 1), number("gantry.grain", 1),
                               number("gantry.scratch", 0));
    }
  }

  /// The symbol of a constant with this value.
  StringAttr constantFor(ConstantOp op) {
    StringAttr &symbol = constants[op.getValueAttr()];
    if (symbol)
      return symbol;
    symbol = declarations.getStringAttr("c" + std::to_string(numConstants++));
    auto name = op->getAttrOfType<StringAttr>(kNameAttr);
    planir::ConstantOp::create(declarations, op.getLoc(), symbol, name ? name : symbol,
                               declarations.getI64IntegerAttr(-1),
                               declarations.getI64IntegerAttr(byteSize(op.getType())),
                               TypeAttr::get(op.getType()), op.getValueAttr());
    return symbol;
  }
};

/// One function on its way.
struct FunctionLowering {
  ModuleState &state;
  func::FuncOp func;
  OpBuilder builder;
  FlatSymbolRefAttr host; ///< device of buffers that no op asks for: the first one
  DenseMap<Value, Value> buffers;
  SmallVector<Attribute> placed;

  FunctionLowering(ModuleState &state, func::FuncOp func)
      : state(state), func(func), builder(func.getContext()) {
    host = FlatSymbolRefAttr::get(builder.getStringAttr("d0"));
  }

  StringAttr text(StringRef s) { return builder.getStringAttr(s); }

  StringAttr nameOf(Operation *op) {
    auto name = op ? op->getAttrOfType<StringAttr>(kNameAttr) : StringAttr();
    return name ? name : text("");
  }

  FlatSymbolRefAttr deviceOf(Operation *op) {
    auto device = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
    auto known = device ? state.devices.find(device.getSpelling()) : state.devices.end();
    return known == state.devices.end() ? host : FlatSymbolRefAttr::get(known->getValue());
  }

  //===------------------------------------------------------------------===//
  // Function
  //===------------------------------------------------------------------===//

  LogicalResult lower() {
    Operation *terminator = func.getBody().front().getTerminator();
    builder.setInsertionPointToEnd(state.module.getBody());
    auto target = planir::FuncOp::create(builder, func.getLoc(), func.getSymName(),
                                         bindings(func.getArgumentTypes(), /*inputs=*/true),
                                         bindings(terminator->getOperandTypes(), /*inputs=*/false),
                                         ArrayAttr());
    builder.setInsertionPointToStart(builder.createBlock(&target.getBody()));
    for (BlockArgument arg : func.getArguments())
      buffers[arg] =
          planir::InputOp::create(builder, arg.getLoc(), planir::BufferType::get(func.getContext()),
                                  arg.getArgNumber(), byteSize(arg.getType()));
    SmallVector<Value> outputs = declareOutputs(terminator);
    if (failed(lowerBlock(func.getBody().front())))
      return failure();
    for (auto [value, output] : llvm::zip(terminator->getOperands(), outputs))
      copyTo(bufferOf(value), output, terminator->getLoc(), nameOf(value.getDefiningOp()));
    target.setPlacedAttr(builder.getArrayAttr(placed));
    return success();
  }

  ArrayAttr bindings(TypeRange types, bool inputs) {
    SmallVector<Attribute> entries;
    for (auto [i, type] : llvm::enumerate(types)) {
      auto name = inputs ? func.getArgAttrOfType<StringAttr>(i, kNameAttr)
                         : func.getResultAttrOfType<StringAttr>(i, kNameAttr);
      std::string fallback = (inputs ? "input" : "output") + std::to_string(i);
      entries.push_back(
          builder.getDictionaryAttr({builder.getNamedAttr("device", host),
                                     builder.getNamedAttr("name", name ? name : text(fallback)),
                                     builder.getNamedAttr("type", TypeAttr::get(type))}));
    }
    return builder.getArrayAttr(entries);
  }

  /// Outputs; the value that is returned is computed right there when only a launch of the function
  /// itself makes it, and only for one output.
  SmallVector<Value> declareOutputs(Operation *terminator) {
    SmallVector<Value> outputs;
    for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
      Value output = planir::OutputOp::create(builder, func.getLoc(),
                                              planir::BufferType::get(func.getContext()), i,
                                              byteSize(value.getType()));
      outputs.push_back(output);
      Value root = skipViews(value);
      if (root.getDefiningOp<LaunchOp>() && !buffers.contains(root))
        buffers[root] = output;
    }
    return outputs;
  }

  //===------------------------------------------------------------------===//
  // Buffers
  //===------------------------------------------------------------------===//

  Value makeBuffer(Type type, StringAttr name, Location loc, FlatSymbolRefAttr device,
                   uint64_t size) {
    return planir::BufferDeclOp::create(
        builder, loc, planir::BufferType::get(func.getContext()), builder.getI64IntegerAttr(size),
        device, FlatSymbolRefAttr(), IntegerAttr(), name, TypeAttr::get(type));
  }

  Value bufferOf(Value value) {
    value = skipViews(value);
    Value &buffer = buffers[value];
    if (buffer)
      return buffer;
    if (auto constant = value.getDefiningOp<ConstantOp>()) {
      // At the top of the function, whatever region uses it first.
      OpBuilder::InsertionGuard guard(builder);
      Block *body = builder.getInsertionBlock();
      while (!isa<planir::FuncOp>(body->getParentOp()))
        body = body->getParentOp()->getBlock();
      builder.setInsertionPointToStart(body);
      return buffer = planir::UseOp::create(builder, constant.getLoc(),
                                            planir::BufferType::get(func.getContext()),
                                            FlatSymbolRefAttr::get(state.constantFor(constant)),
                                            builder.getI64IntegerAttr(byteSize(value.getType())));
    }
    return buffer = makeBuffer(value.getType(), nameOf(value.getDefiningOp()), value.getLoc(),
                               value.getDefiningOp() ? deviceOf(value.getDefiningOp()) : host,
                               byteSize(value.getType()));
  }

  void copyTo(Value source, Value target, Location loc, StringAttr name) {
    if (source != target)
      planir::CopyOp::create(builder, loc, source, target, host, name, text(describeLocation(loc)));
  }

  //===------------------------------------------------------------------===//
  // Ops
  //===------------------------------------------------------------------===//

  LogicalResult lowerBlock(Block &block) {
    for (Operation &op : block.without_terminator())
      if (failed(lowerOp(op)))
        return failure();
    return success();
  }

  LogicalResult lowerOp(Operation &op) {
    if (auto launch = dyn_cast<LaunchOp>(op))
      return lowerLaunch(launch);
    if (auto branch = dyn_cast<IfOp>(op))
      return lowerIf(branch);
    if (auto loop = dyn_cast<WhileOp>(op))
      return lowerWhile(loop);
    if (auto copy = dyn_cast<CopyOp>(op)) {
      copyTo(bufferOf(copy.getInput()), bufferOf(copy.getResult()), op.getLoc(), nameOf(&op));
      return success();
    }
    auto kernel = dyn_cast<KernelOpInterface>(op);
    if (isa<ConstantOp>(op) || (kernel && kernel.getFusionKind() == FusionKind::View))
      return success();
    return op.emitOpError("has no command in a plan");
  }

  LogicalResult lowerLaunch(LaunchOp launch) {
    auto kernel = state.kernels.lookupSymbol<func::FuncOp>(launch.getKernel());
    if (!kernel || !kernel->hasAttr("gantry.items"))
      return launch.emitOpError() << "refers to '" << launch.getKernel()
                                  << "', which is not a lowered kernel";
    FlatSymbolRefAttr device = deviceOf(launch);
    SmallVector<Value> inputs, outputs;
    for (Value operand : launch->getOperands())
      inputs.push_back(bufferOf(operand));
    for (Value result : launch->getResults())
      outputs.push_back(bufferOf(result));
    auto number = [&](StringRef name, int64_t otherwise) {
      auto attr = kernel->getAttrOfType<IntegerAttr>(name);
      return attr ? attr.getInt() : otherwise;
    };
    Value scratch;
    if (int64_t bytes = number("gantry.scratch", 0))
      scratch = makeBuffer(RankedTensorType::get({bytes}, builder.getI8Type()), text("scratch"),
                           launch.getLoc(), device, bytes);
    SmallVector<Attribute> logNames;
    if (launch.getOps())
      for (auto entry : launch.getOpsAttr().getAsRange<DictionaryAttr>()) {
        logNames.push_back(entry.get("log_name"));
        SmallVector<NamedAttribute> fields(entry.begin(), entry.end());
        fields.push_back(builder.getNamedAttr("device", device));
        fields.push_back(builder.getNamedAttr("kernel", launch.getKernelAttr()));
        placed.push_back(builder.getDictionaryAttr(fields));
      }
    planir::LaunchOp::create(
        builder, launch.getLoc(), launch.getKernelAttr(), device, nameOf(launch),
        text(describeLocation(launch.getLoc())), builder.getArrayAttr(logNames),
        builder.getI64IntegerAttr(number("gantry.items", 1)),
        builder.getI64IntegerAttr(number("gantry.grain", 1)), inputs, outputs, scratch);
    return success();
  }

  /// Lowers a region in place and hands its yielded buffers to `finish` at its end.
  LogicalResult lowerRegion(Region &source, Region &target,
                            function_ref<void(SmallVector<Value>)> finish) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(target.empty() ? builder.createBlock(&target)
                                                    : &target.front());
    if (failed(lowerBlock(source.front())))
      return failure();
    SmallVector<Value> yielded;
    for (Value value : source.front().getTerminator()->getOperands())
      yielded.push_back(bufferOf(value));
    finish(yielded);
    return success();
  }

  LogicalResult lowerIf(IfOp op) {
    Value condition = bufferOf(op.getCondition());
    SmallVector<Value> results;
    for (Value result : op.getResults())
      results.push_back(bufferOf(result));
    auto branch = planir::IfOp::create(builder, op.getLoc(), condition);
    auto finish = [&](SmallVector<Value> yielded) {
      for (auto [value, result] : llvm::zip(yielded, results))
        copyTo(value, result, op.getLoc(), nameOf(op));
    };
    return success(succeeded(lowerRegion(op.getThenBody(), branch.getThenBody(), finish)) &&
                   succeeded(lowerRegion(op.getElseBody(), branch.getElseBody(), finish)));
  }

  LogicalResult lowerWhile(WhileOp op) {
    SmallVector<Value> carried;
    for (auto [init, result] : llvm::zip(op.getInits(), op.getResults())) {
      Value buffer = bufferOf(result);
      carried.push_back(buffer);
      copyTo(bufferOf(init), buffer, op.getLoc(), nameOf(op));
    }
    for (Region *region : {&op.getConditionBody(), &op.getBody()})
      for (auto [argument, buffer] : llvm::zip(region->getArguments(), carried))
        buffers[argument] = buffer;
    Type flagType = RankedTensorType::get({}, builder.getI1Type());
    Value flag = makeBuffer(flagType, text("condition"), op.getLoc(), host, 1);
    auto loop = planir::WhileOp::create(builder, op.getLoc(), flag);
    if (failed(lowerRegion(op.getConditionBody(), loop.getConditionBody(),
                           [&](SmallVector<Value> yielded) {
                             copyTo(yielded[0], flag, op.getLoc(), text("condition"));
                           })))
      return failure();
    return lowerRegion(op.getBody(), loop.getBody(), [&](SmallVector<Value> yielded) {
      // All next values must be safe before any carried one is overwritten.
      for (auto [i, value] : llvm::enumerate(yielded))
        if (value != carried[i] && llvm::is_contained(carried, value)) {
          Value safe = makeBuffer(op.getInits()[i].getType(), text("next"), op.getLoc(), host,
                                  byteSize(op.getInits()[i].getType()));
          copyTo(value, safe, op.getLoc(), text("next"));
          value = safe;
        }
      for (auto [value, buffer] : llvm::zip(yielded, carried))
        copyTo(value, buffer, op.getLoc(), nameOf(op));
    });
  }
};

struct LowerToPlan : gantry::impl::LowerToPlanPassBase<LowerToPlan> {
  void runOnOperation() override {
    auto topology = getOperation()->getAttrOfType<TopologyAttr>(kTopologyAttr);
    if (!topology) {
      getOperation().emitError("the module has no topology");
      return signalPassFailure();
    }
    ModuleState state(getOperation());
    state.declareDevices(topology);
    state.declareKernels();
    SmallVector<func::FuncOp> funcs(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp func : funcs)
      if (func.isPublic() && !func.isExternal())
        if (failed(FunctionLowering(state, func).lower()))
          return signalPassFailure();
    // Only now: declarations are inserted in front of the first one.
    for (func::FuncOp func : funcs)
      func.erase();
  }
};
} // namespace
