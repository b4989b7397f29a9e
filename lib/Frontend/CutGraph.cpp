#include "CutGraph.h"

#include "WantedNames.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Dialect/Gantry/IR/Ports.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace gantry;

/// The function whose outputs are meant.
static FailureOr<func::FuncOp> findFunction(ModuleOp module, StringRef entry) {
  SmallVector<func::FuncOp> wanted;
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isExternal() && (entry.empty() ? func.isPublic() : func.getSymName() == entry))
      wanted.push_back(func);
  if (wanted.size() == 1 && wanted.front().getBody().hasOneBlock()) {
    if (SymbolTable::symbolKnownUseEmpty(wanted.front(), module))
      return wanted.front();
    return wanted.front().emitError() << "--outputs: function '" << wanted.front().getSymName()
                                      << "' is called by others, which need its own outputs";
  }
  auto error = module.emitError();
  if (wanted.empty())
    error << "--outputs: there is no function" << (entry.empty() ? "" : " '" + entry + "'");
  else
    error << "--outputs is about one function; choose it with --entry: ";
  llvm::interleaveComma(wanted, error, [&](func::FuncOp func) { error << func.getSymName(); });
  return error;
}

/// Whether nothing is missed without the op when nobody reads its results. Of a call that is what
/// the functions behind it do, which may be a chain of any length.
static bool isDispensable(Operation &op) {
  llvm::SetVector<Operation *> called;
  const auto changesNothing = [&](Operation &each) {
    auto call = dyn_cast<func::CallOp>(each);
    if (!call)
      return each.hasTrait<OpTrait::IsTerminator>() || wouldOpBeTriviallyDead(&each);
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
    if (callee)
      called.insert(callee);
    return callee && !callee.isExternal();
  };
  if (!changesNothing(op))
    return false;
  for (size_t i = 0; i < called.size(); ++i)
    if (!llvm::all_of(cast<func::FuncOp>(called[i]).getBody().getOps(), changesNothing))
      return false;
  return true;
}

namespace {
/// The values of a function by their names, the strongest first: ports, the text's, those of ops.
struct Cut {
  func::FuncOp func;
  const ValueNames &names;
  llvm::StringMap<Value> byName;
  llvm::StringMap<unsigned> own; ///< outputs that there are
  llvm::StringSet<> inner;       ///< in the bodies of ops

  Cut(func::FuncOp func, const ValueNames &names) : func(func), names(names) {
    for (unsigned i = 0; i < func.getNumResults(); ++i) {
      own.try_emplace(outputName(func, i), i);
      byName.try_emplace(outputName(func, i), terminator()->getOperand(i));
    }
    for (BlockArgument argument : func.getArguments())
      byName.try_emplace(inputName(func, argument.getArgNumber()), argument);
    func.walk([&](Operation *op) { addText(op); });
    // Several ops may be made of one node: its value is what the last one makes.
    for (Operation &op : llvm::reverse(func.front()))
      if (auto name = op.getAttrOfType<StringAttr>(kNameAttr); name && op.getNumResults() == 1)
        byName.try_emplace(name, op.getResult(0));
  }

  Operation *terminator() { return func.front().getTerminator(); }

  void addText(Operation *op) {
    for (Value value : op->getResults())
      if (auto name = names.find(value); name != names.end()) {
        if (op->getParentOp() == func)
          byName.try_emplace(name->second, value);
        else
          inner.insert(name->second);
      }
  }

  KnownNames known() {
    KnownNames known;
    for (const auto &value : byName)
      known.first.push_back(value.first().str());
    llvm::sort(known.first);
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      known.second.push_back(outputName(func, i));
    return known;
  }

  /// Of an output of its own a function knows more than the name, its device for one.
  DictionaryAttr attributesOf(StringRef name) {
    auto index = own.find(name);
    NamedAttrList attributes(index == own.end() ? DictionaryAttr()
                                                : func.getResultAttrDict(index->second));
    attributes.set(kNameAttr, StringAttr::get(func.getContext(), name));
    return attributes.getDictionary(func.getContext());
  }

  void endAt(ArrayRef<Value> values, ArrayRef<StringRef> wanted) {
    const SmallVector<Attribute> attributes = llvm::map_to_vector(
        wanted, [&](StringRef name) -> Attribute { return attributesOf(name); });
    terminator()->setOperands(values);
    func.setFunctionType(FunctionType::get(func.getContext(), func.getArgumentTypes(),
                                           ValueRange(values).getTypes()));
    func.setResAttrsAttr(ArrayAttr::get(func.getContext(), attributes));
  }

  void eraseDeadOps() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(func.front())))
      if (&op != terminator() && op.use_empty() && isDispensable(op))
        op.erase();
  }

  /// The inputs that are left keep the names that their numbers gave them.
  LogicalResult eraseDeadInputs() {
    llvm::BitVector dead(func.getNumArguments());
    for (BlockArgument argument : func.getArguments()) {
      const unsigned i = argument.getArgNumber();
      dead[i] = argument.use_empty();
      func.setArgAttr(i, kNameAttr, StringAttr::get(func.getContext(), inputName(func, i)));
    }
    return func.eraseArguments(dead);
  }
};
} // namespace

LogicalResult gantry::cutGraph(ModuleOp module, const ValueNames &names,
                               ArrayRef<std::string> outputs, StringRef entry) {
  FailureOr<func::FuncOp> func = findFunction(module, entry);
  if (failed(func))
    return failure();
  Cut cut(*func, names);
  SmallVector<Value> values;
  SmallVector<StringRef> wanted;
  std::string error;
  const auto find = [&](StringRef name) {
    name.consume_front("%");
    auto known = cut.byName.find(name);
    if (known == cut.byName.end()) {
      if (cut.inner.contains(name))
        error =
            "--outputs: '" + name.str() + "' is inside the body of an op; name a result of that op";
      return false;
    }
    values.push_back(known->second);
    wanted.push_back(known->first());
    return true;
  };
  if (!forWantedNames(outputs, find, error, [&] { return cut.known(); }))
    return func->emitError() << error;
  for (auto [i, name] : llvm::enumerate(wanted))
    if (llvm::is_contained(ArrayRef(wanted).take_front(i), name))
      return func->emitError() << "--outputs names '" << name << "' twice";
  for (auto [name, value] : llvm::zip(wanted, values))
    if (!isa<RankedTensorType>(value.getType()))
      return func->emitError() << "--outputs: '" << name << "' is no tensor";
  cut.endAt(values, wanted);
  cut.eraseDeadOps();
  return cut.eraseDeadInputs();
}
