// Turns variables into arguments of functions with tied results (docs/Architecture.md).
//
// A walk in program order keeps the value that each variable has at the moment. A read is that
// value; an assignment makes the next one, by an op that is placed and logged like any other.
// Branches yield the variables that they write, loops carry them, replicated regions take and give
// one value for each replica. At the end of the function, what was written is returned.

#include "gantry/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_RESOLVEVARIABLESPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

static bool isWrite(Operation *op) { return isa<AssignOp, AssignAddOp>(op); }

namespace {
/// A variable with its mirrors, itself first.
struct Family {
  SmallVector<VariableOp> members;
};

/// What each variable holds at a point of the program: one value for each member of its family; in
/// a replicated region one, the replica's own.
using Values = DenseMap<StringAttr, SmallVector<Value>>;
using Names = llvm::SetVector<StringAttr>;

struct ResolveVariables : gantry::impl::ResolveVariablesPassBase<ResolveVariables> {
  llvm::MapVector<StringAttr, Family> families;

  void runOnOperation() override {
    families.clear();
    if (failed(checkNesting()) || failed(checkMirrors()))
      return signalPassFailure();
    for (auto variable : getOperation().getOps<VariableOp>())
      if (!variable.getMirrorOf())
        families[variable.getSymNameAttr()].members.push_back(variable);
    if (families.empty())
      return;
    if (failed(mirror()))
      return signalPassFailure();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal() && llvm::hasSingleElement(func.getBody()) && failed(thread(func)))
        return signalPassFailure();
  }

  //===------------------------------------------------------------------===//
  // Mirrors
  //===------------------------------------------------------------------===//

  /// Calls are inlined by now, so that regions in functions that a region calls are seen as well.
  LogicalResult checkNesting() {
    auto result = getOperation().walk([&](ReplicateOp replicate) {
      if (!replicate->getParentOfType<ReplicateOp>())
        return WalkResult::advance();
      replicate.emitOpError("is inside of another gantry.replicate; list all devices on one");
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  /// Mirrors that are there already are of variables, and are not used by name.
  LogicalResult checkMirrors() {
    DenseMap<StringAttr, VariableOp> all;
    for (auto variable : getOperation().getOps<VariableOp>())
      all[variable.getSymNameAttr()] = variable;
    for (auto &[name, variable] : all) {
      FlatSymbolRefAttr original = variable.getMirrorOfAttr();
      if (!original)
        continue;
      VariableOp found = all.lookup(original.getAttr());
      if (!found || found.getMirrorOf() || found.getTensorType() != variable.getTensorType())
        return variable.emitOpError() << "mirrors '" << original << "', which is no variable of "
                                      << variable.getTensorType();
    }
    auto result = getOperation().walk([&](Operation *op) {
      FlatSymbolRefAttr name = getAccessedVariable(op);
      VariableOp variable = name ? all.lookup(name.getAttr()) : VariableOp();
      if (!variable || !variable.getMirrorOf())
        return WalkResult::advance();
      op->emitOpError() << "uses '" << name << "', which mirrors '" << variable.getMirrorOfAttr()
                        << "'; use that one";
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  /// Gives each variable that a replicated region uses a mirror for each device but the first.
  LogicalResult mirror() {
    auto result = getOperation().walk([&](ReplicateOp replicate) {
      for (StringAttr name : namesIn(replicate, /*writesOnly=*/false))
        if (failed(mirror(name, replicate)))
          return WalkResult::interrupt();
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  LogicalResult mirror(StringAttr name, ReplicateOp replicate) {
    Family &family = families[name];
    VariableOp first = family.members.front();
    if (first.getCentral())
      return success();
    ArrayAttr devices = replicate.getDevices();
    auto home = first->getAttrOfType<DeviceAttr>(kDeviceAttr);
    if (home && !home.getName().matches(replicate.getDevice(0).getName().withDefaultTask()))
      return replicate.emitOpError()
             << "mirrors '@" << name.getValue() << "', which asks for '" << home.getSpelling()
             << "', on other devices; ask for '" << replicate.getDevice(0).getSpelling()
             << "', for none, or declare the variable central";
    if (family.members.size() == 1 && failed(addMirrors(family, devices)))
      return failure();
    bool same = family.members.size() == devices.size();
    for (size_t i = 0; same && i < devices.size(); ++i)
      same = family.members[i]->getAttr(kDeviceAttr) == devices[i];
    if (!same)
      return replicate.emitOpError() << "mirrors '@" << name.getValue()
                                     << "' on other devices than another gantry.replicate does";
    return success();
  }

  LogicalResult addMirrors(Family &family, ArrayAttr devices) {
    VariableOp first = family.members.front();
    first->setAttr(kDeviceAttr, devices[0]);
    OpBuilder builder(first->getContext());
    for (size_t i = 1; i < devices.size(); ++i) {
      builder.setInsertionPointAfter(family.members.back());
      std::string name = first.getSymName().str() + "/replica_" + std::to_string(i);
      if (getOperation().lookupSymbol(name))
        return first.emitOpError() << "gets mirrors, and the name of one, '@" << name
                                   << "', is taken; rename what has it";
      auto copy = cast<VariableOp>(builder.clone(*first));
      copy.setSymName(name);
      copy.setMirrorOfAttr(FlatSymbolRefAttr::get(first.getSymNameAttr()));
      copy->setAttr(kDeviceAttr, devices[i]);
      copy->removeAttr(kColocateAttr); // whoever wants to be with the variable means the first
      family.members.push_back(copy);
    }
    return success();
  }

  //===------------------------------------------------------------------===//
  // Functions
  //===------------------------------------------------------------------===//

  /// Variables that are used inside of `op`, in the order of their declarations.
  Names namesIn(Operation *op, bool writesOnly) {
    DenseSet<StringAttr> found;
    op->walk([&](Operation *inner) {
      if (FlatSymbolRefAttr name = getAccessedVariable(inner);
          name && (!writesOnly || isWrite(inner)))
        found.insert(name.getAttr());
    });
    Names ordered;
    for (auto &[name, family] : families)
      if (found.contains(name))
        ordered.insert(name);
    return ordered;
  }

  static DictionaryAttr describe(VariableOp variable) {
    Builder b(variable.getContext());
    SmallVector<NamedAttribute> attrs = {
        b.getNamedAttr(kVariableAttr, FlatSymbolRefAttr::get(variable.getSymNameAttr())),
        b.getNamedAttr(kNameAttr, variable.getSymNameAttr())};
    if (Attribute device = variable->getAttr(kDeviceAttr))
      attrs.push_back(b.getNamedAttr(kDeviceAttr, device));
    return b.getDictionaryAttr(attrs);
  }

  /// Arguments or results of a function that are added together: one at a time would copy all
  /// that there are.
  struct Ports {
    SmallVector<Type> types;
    SmallVector<DictionaryAttr> attributes;
    SmallVector<Location> locations;

    void add(Type type, DictionaryAttr attrs, Location loc) {
      types.push_back(type);
      attributes.push_back(attrs);
      locations.push_back(loc);
    }
  };

  LogicalResult thread(func::FuncOp func) {
    Names used = namesIn(func, false), written = namesIn(func, true);
    Values values;
    Ports read;
    for (StringAttr name : used)
      for (VariableOp member : families[name].members)
        read.add(member.getTensorType(), describe(member), member.getLoc());
    unsigned next = func.getNumArguments();
    if (failed(func.insertArguments(SmallVector<unsigned>(read.types.size(), next), read.types,
                                    read.attributes, read.locations)))
      return failure();
    for (StringAttr name : used)
      for (size_t i = 0; i < families[name].members.size(); ++i)
        values[name].push_back(func.getArgument(next++));
    if (failed(visit(func.getBody().front(), values, nullptr)))
      return failure();
    Operation *end = func.getBody().front().getTerminator();
    Ports made;
    SmallVector<Value> last;
    for (StringAttr name : written)
      for (auto [member, value] : llvm::zip(families[name].members, values[name])) {
        made.add(value.getType(), describe(member), member.getLoc());
        last.push_back(value);
      }
    end->insertOperands(end->getNumOperands(), last);
    return func.insertResults(SmallVector<unsigned>(made.types.size(), func.getNumResults()),
                              made.types, made.attributes);
  }

  //===------------------------------------------------------------------===//
  // Ops
  //===------------------------------------------------------------------===//

  LogicalResult visit(Block &block, Values &values, ReplicateOp replica) {
    for (Operation &op : llvm::make_early_inc_range(block))
      if (failed(visitOp(op, values, replica)))
        return failure();
    return success();
  }

  LogicalResult visitOp(Operation &op, Values &values, ReplicateOp replica) {
    if (auto read = dyn_cast<ReadOp>(op))
      return resolveRead(read, values);
    if (isWrite(&op))
      return resolveWrite(op, values, replica);
    if (auto branch = dyn_cast<IfOp>(op))
      return resolveIf(branch, values, replica);
    if (auto loop = dyn_cast<WhileOp>(op))
      return resolveWhile(loop, values, replica);
    if (auto inner = dyn_cast<ReplicateOp>(op))
      return resolveReplicate(inner, values);
    if (auto gradient = dyn_cast<GradientOp>(op))
      return resolveGradient(gradient, values, replica);
    if (auto checkpoint = dyn_cast<CheckpointOp>(op))
      return resolveCheckpoint(checkpoint, values, replica);
    if (auto custom = dyn_cast<CustomGradientOp>(op))
      return resolveCustom(custom, values, replica);
    return success();
  }

  /// A read that asks for one device is a copy, which is none when the variable lives there (P8).
  LogicalResult resolveRead(ReadOp read, Values &values) {
    Value value = values[read.getVariableAttr().getAttr()].front();
    auto request = read->getAttrOfType<DeviceAttr>(kDeviceAttr);
    if (request && request.getName().type && request.getName().id) {
      OpBuilder builder(read);
      auto copy = CopyOp::create(builder, read.getLoc(), value, request, UnitAttr(), StringAttr());
      for (StringRef attr : {kSoftAttr, kOriginAttr, kNameAttr})
        if (Attribute given = read->getAttr(attr))
          copy->setAttr(attr, given);
      value = copy;
    }
    read.replaceAllUsesWith(value);
    read.erase();
    return success();
  }

  /// Outside of replicas all mirrors are written. Only the first has the request of the op: the
  /// others are where they are.
  LogicalResult resolveWrite(Operation &op, Values &values, ReplicateOp replica) {
    StringAttr name = getAccessedVariable(&op).getAttr();
    Family &family = families[name];
    if (replica && family.members.front().getCentral())
      return op.emitOpError() << "'@" << name.getValue()
                              << "' is central, and every replica would write it; combine the "
                                 "replicas' values and assign outside of gantry.replicate";
    OpBuilder builder(&op);
    for (auto [i, value] : llvm::enumerate(values[name])) {
      Operation *next;
      if (auto add = dyn_cast<AssignAddOp>(op))
        next = UpdateAddOp::create(builder, op.getLoc(), value.getType(), value, add.getValue());
      else
        next = UpdateOp::create(builder, op.getLoc(), value.getType(), op.getOperand(0));
      for (NamedAttribute attr : op.getDiscardableAttrs())
        if (i == 0 || attr.getName() != kDeviceAttr)
          next->setAttr(attr.getName(), attr.getValue());
      if (auto given = op.getAttrOfType<StringAttr>(kNameAttr); given && i)
        next->setAttr(kNameAttr, builder.getStringAttr(given.getValue() + "/replica_" + Twine(i)));
      // Inside of replicas, Replicate will say whose it is.
      next->setAttr(kVariableAttr, FlatSymbolRefAttr::get(family.members[i].getSymNameAttr()));
      value = next->getResult(0);
    }
    op.erase();
    return success();
  }

  static void appendYield(Region &region, const Names &names, Values &values) {
    Operation *yield = region.front().getTerminator();
    for (StringAttr name : names)
      yield->insertOperands(yield->getNumOperands(), values[name]);
  }

  static SmallVector<Value> flatten(const Names &names, Values &values) {
    SmallVector<Value> all;
    for (StringAttr name : names)
      llvm::append_range(all, values[name]);
    return all;
  }

  /// Takes the values of `names` from `source`, in their order.
  static void assign(const Names &names, Values &values, ValueRange source) {
    size_t next = 0;
    for (StringAttr name : names)
      for (Value &value : values[name])
        value = source[next++];
  }

  static void takeRegions(Operation *from, Operation *to) {
    for (auto [source, target] : llvm::zip(from->getRegions(), to->getRegions()))
      target.takeBody(source);
  }

  static void replace(Operation *op, Operation *by) {
    by->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    op->replaceAllUsesWith(by->getResults().take_front(op->getNumResults()));
    op->erase();
  }

  LogicalResult resolveIf(IfOp op, Values &values, ReplicateOp replica) {
    Names written = namesIn(op, true);
    for (Region *region : {&op.getThenBody(), &op.getElseBody()}) {
      Values inside = values;
      if (failed(visit(region->front(), inside, replica)))
        return failure();
      appendYield(*region, written, inside);
    }
    if (written.empty())
      return success();
    SmallVector<Type> types(op.getResultTypes());
    llvm::append_range(types, TypeRange(ValueRange(flatten(written, values))));
    OpBuilder builder(op);
    auto next = IfOp::create(builder, op.getLoc(), types, op.getCondition());
    takeRegions(op, next);
    assign(written, values, next.getResults().drop_front(op.getNumResults()));
    replace(op, next);
    return success();
  }

  LogicalResult resolveWhile(WhileOp op, Values &values, ReplicateOp replica) {
    Operation *bad = nullptr;
    op.getConditionBody().walk([&](Operation *inner) { bad = isWrite(inner) ? inner : bad; });
    if (bad)
      return bad->emitOpError() << "assigns '" << getAccessedVariable(bad)
                                << "' in the condition of a loop; assign it in the body";
    Names written = namesIn(op, true);
    SmallVector<Value> carried = flatten(written, values);
    for (Region *region : {&op.getConditionBody(), &op.getBody()}) {
      Values inside = values;
      unsigned own = region->getNumArguments();
      for (Value value : carried)
        region->addArgument(value.getType(), value.getLoc());
      SmallVector<Value> arguments(region->getArguments().drop_front(own));
      assign(written, inside, arguments);
      if (failed(visit(region->front(), inside, replica)))
        return failure();
      if (region == &op.getBody())
        appendYield(*region, written, inside);
    }
    if (written.empty())
      return success();
    SmallVector<Value> inits(op.getInits());
    llvm::append_range(inits, carried);
    OpBuilder builder(op);
    auto next = WhileOp::create(builder, op.getLoc(), TypeRange(ValueRange(inits)), inits,
                                op.getAtMostAttr());
    takeRegions(op, next);
    assign(written, values, next.getResults().drop_front(op.getNumResults()));
    replace(op, next);
    return success();
  }

  /// Visits a region that runs once; it yields behind its own values what it wrote of `written`.
  LogicalResult visitOnce(Region &region, const Names &written, const Values &values,
                          ReplicateOp replica) {
    Values inside = values;
    if (failed(visit(region.front(), inside, replica)))
      return failure();
    appendYield(region, written, inside);
    return success();
  }

  /// What the region assigns comes in front of the gradients.
  LogicalResult resolveGradient(GradientOp op, Values &values, ReplicateOp replica) {
    Names written = namesIn(op, true);
    if (failed(visitOnce(op.getBody(), written, values, replica)))
      return failure();
    if (written.empty())
      return success();
    unsigned yielded = op.getYielded().size();
    SmallVector<Type> types(op.getYielded().getTypes());
    llvm::append_range(types, TypeRange(ValueRange(flatten(written, values))));
    llvm::append_range(types, op.getGradients().getTypes());
    OpBuilder builder(op);
    auto next = GradientOp::create(builder, op.getLoc(), types, op.getValues(), op.getSeedsAttr(),
                                   op.getAllowUnusedAttr());
    takeRegions(op, next);
    assign(written, values, next.getYielded().drop_front(yielded));
    next->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    SmallVector<Value> results(next.getYielded().take_front(yielded));
    llvm::append_range(results, next.getGradients());
    op->replaceAllUsesWith(results);
    op.erase();
    return success();
  }

  LogicalResult resolveCheckpoint(CheckpointOp op, Values &values, ReplicateOp replica) {
    Names written = namesIn(op, true);
    if (failed(visitOnce(op.getBody(), written, values, replica)))
      return failure();
    if (written.empty())
      return success();
    SmallVector<Type> types(op.getResultTypes());
    llvm::append_range(types, TypeRange(ValueRange(flatten(written, values))));
    OpBuilder builder(op);
    auto next = CheckpointOp::create(builder, op.getLoc(), types);
    takeRegions(op, next);
    assign(written, values, next.getResults().drop_front(op.getNumResults()));
    replace(op, next);
    return success();
  }

  /// What its results are is said by both of its regions, so that nothing can be added to them.
  LogicalResult resolveCustom(CustomGradientOp op, Values &values, ReplicateOp replica) {
    Operation *write = nullptr;
    op->walk([&](Operation *inner) { write = isWrite(inner) ? inner : write; });
    if (write)
      return write->emitOpError() << "assigns '" << getAccessedVariable(write)
                                  << "' inside of gantry.custom_gradient; give the value as a "
                                     "result of it, and assign that";
    for (Region &region : op->getRegions())
      if (failed(visitOnce(region, {}, values, replica)))
        return failure();
    return success();
  }

  /// Mirrors go in and come out one for each replica; a central variable is read from outside.
  LogicalResult resolveReplicate(ReplicateOp op, Values &values) {
    Names used, written;
    for (StringAttr name : namesIn(op, false))
      if (!families[name].members.front().getCentral())
        used.insert(name);
    for (StringAttr name : namesIn(op, true))
      if (used.contains(name))
        written.insert(name);
    Builder b(op.getContext());
    auto perReplica = ReplicaModeAttr::get(op.getContext(), ReplicaKind::PerReplica);
    Values inside = values;
    for (StringAttr name : used) {
      Value first = values[name].front();
      inside[name] = {op.getBody().addArgument(first.getType(), first.getLoc())};
    }
    if (failed(visit(op.getBody().front(), inside, op)))
      return failure();
    appendYield(op.getBody(), written, inside);

    SmallVector<Attribute> inputs(op.getInputs().getValue()), outputs(op.getOutputs().getValue());
    inputs.append(used.size(), perReplica);
    outputs.append(written.size(), perReplica);
    SmallVector<Value> operands(op.getValues());
    llvm::append_range(operands, flatten(used, values));
    SmallVector<Type> types(op.getResultTypes());
    llvm::append_range(types, TypeRange(ValueRange(flatten(written, values))));
    OpBuilder builder(op);
    auto next = ReplicateOp::create(builder, op.getLoc(), types, operands, op.getDevices(),
                                    op.getWeightsAttr(), op.getPartsAttr(), b.getArrayAttr(inputs),
                                    b.getArrayAttr(outputs));
    takeRegions(op, next);
    assign(written, values, next.getResults().drop_front(op.getNumResults()));
    replace(op, next);
    return success();
  }
};
} // namespace
