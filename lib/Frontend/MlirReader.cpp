// See MlirReader.h. MLIR's parser recurses on nested brackets, so that a file of a million opening
// ones would end in a stack overflow: nesting is counted before parsing, outside strings and
// comments.

#include "MlirReader.h"

#include "ONNX/Tensors.h"
#include "SuggestOps.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Dialect/Gantry/IR/Ports.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

#include <map>

using namespace mlir;
using namespace gantry;

static constexpr int kMaxNesting = 200;
/// Beyond this, text is a mistake: weights belong into ONNX models.
static constexpr size_t kMaxText = size_t(1) << 30;

/// Position where brackets nest too deep, or nothing.
static const char *findDeepNesting(StringRef text) {
  int depth = 0;
  for (const char *at = text.begin(); at != text.end(); ++at) {
    switch (*at) {
    case '"':
      for (++at; at != text.end() && *at != '"' && *at != '\n'; ++at)
        if (*at == '\\' && at + 1 != text.end())
          ++at;
      if (at == text.end())
        return nullptr;
      break;
    case '/':
      if (at + 1 != text.end() && at[1] == '/')
        while (at + 1 != text.end() && at[1] != '\n')
          ++at;
      break;
    case '(':
    case '[':
    case '{':
    case '<':
      if (++depth > kMaxNesting)
        return at;
      break;
    case ')':
    case ']':
    case '}':
      --depth;
      break;
    case '>':
      // Not the end of an arrow.
      if (at == text.begin() || at[-1] != '-')
        --depth;
      break;
    }
  }
  return nullptr;
}

/// MLIR's reader believes the lengths and indices that it reads.
static LogicalResult checkTrust(StringRef name, Bytecode bytecode, MLIRContext *context) {
  if (bytecode == Bytecode::trusted)
    return success();
  return emitError(FileLineColLoc::get(context, name, 0, 0))
         << "this is MLIR bytecode, whose reader does not check what it reads; write the graph as "
            "text (gantry-opt FILE), or say --trust-bytecode of a file of your own";
}

static LogicalResult checkText(StringRef text, StringRef name, MLIRContext *context) {
  if (text.size() > kMaxText)
    return emitError(FileLineColLoc::get(context, name, 0, 0))
           << "the text has " << text.size() << " bytes, at most " << kMaxText
           << " are supported; keep large weights in an ONNX model";
  const char *deep = findDeepNesting(text);
  if (!deep)
    return success();
  StringRef before = text.take_front(deep - text.begin());
  unsigned line = before.count('\n') + 1, column = before.size() - (before.rfind('\n') + 1) + 1;
  return emitError(FileLineColLoc::get(context, name, line, column))
         << "brackets are nested more than " << kMaxNesting << " deep";
}

/// Sizes of tensors are multiplied everywhere after this; here they are known not to overflow.
static LogicalResult checkSizes(ModuleOp module) {
  auto check = [](mlir::Type type, Location loc) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.getElementType().isIntOrFloat())
      return success();
    SmallVector<int64_t> known = llvm::filter_to_vector(
        tensor.getShape(), [](int64_t size) { return !ShapedType::isDynamic(size); });
    auto checked = onnx::makeTensorType(known, tensor.getElementType());
    return checked ? success() : LogicalResult(emitError(loc) << checked.status().message());
  };
  WalkResult walk = module.walk([&](Operation *op) {
    for (mlir::Type type : op->getResultTypes())
      if (failed(check(type, op->getLoc())))
        return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        if (failed(check(argument.getType(), argument.getLoc())))
          return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// A text may name weights that it does not have: that of --stop-after, unless it was asked to.
static LogicalResult checkResources(ModuleOp module) {
  Location at = module.getLoc();
  std::string missing;
  AttrTypeWalker walker;
  walker.addWalk([&](DenseResourceElementsAttr value) {
    if (missing.empty() && !value.getRawHandle().getBlob() && value.getType().getNumElements() != 0)
      missing = value.getRawHandle().getKey();
  });
  module.walk([&](Operation *op) {
    walker.walk(op->getAttrDictionary());
    if (missing.empty())
      return WalkResult::advance();
    at = op->getLoc();
    return WalkResult::interrupt();
  });
  if (missing.empty())
    return success();
  return emitError(at) << "the text has no bytes for the weights '" << missing
                       << "'; write it with `gantry compile --stop-after=PHASE --with-weights`";
}

/// The parser hears what results are called, and forgets it when it is done.
static void noteNames(ModuleOp module, const AsmParserState &parsed, ValueNames &names) {
  module.walk([&](Operation *op) {
    const auto *definition = parsed.getOpDef(op);
    if (!definition)
      return;
    for (auto [i, group] : llvm::enumerate(definition->resultGroups)) {
      const char *begin = group.definition.loc.Start.getPointer();
      StringRef name(begin, group.definition.loc.End.getPointer() - begin);
      name.consume_front("%");
      const unsigned end = i + 1 < definition->resultGroups.size()
                               ? definition->resultGroups[i + 1].startIndex
                               : op->getNumResults();
      for (unsigned result = group.startIndex; result < end; ++result)
        names[op->getResult(result)] =
            end - group.startIndex == 1
                ? name.str()
                : name.str() + "#" + std::to_string(result - group.startIndex);
    }
  });
}

/// A text may lack the module around its functions.
static OwningOpRef<ModuleOp> parseWithNames(const llvm::SourceMgr &sources,
                                            const ParserConfig &config, ValueNames &names) {
  Block block;
  AsmParserState parsed;
  if (failed(parseAsmSourceFile(sources, &block, config, &parsed)))
    return {};
  OwningOpRef<ModuleOp> module = mlir::detail::constructContainerOpForParserIfNecessary<ModuleOp>(
      &block, config.getContext(), UnknownLoc::get(config.getContext()));
  if (module)
    noteNames(*module, parsed, names);
  return module;
}

OwningOpRef<ModuleOp> gantry::readMlir(const std::shared_ptr<llvm::MemoryBuffer> &buffer,
                                       StringRef name, Bytecode bytecode, MLIRContext *context,
                                       ValueNames *names) {
  const bool isBytecode = buffer->getBuffer().starts_with("ML\xefR");
  if (failed(isBytecode ? checkTrust(name, bytecode, context)
                        : checkText(buffer->getBuffer(), name, context)))
    return {};
  auto sources = std::make_shared<llvm::SourceMgr>();
  // The parser's locations are in the file that its buffer is called.
  // Of text it reads on to a terminator, which memory of a caller does not have.
  StringRef bytes = buffer->getBuffer();
  sources->AddNewSourceBuffer(isBytecode ? llvm::MemoryBuffer::getMemBuffer(bytes, name, false)
                                         : llvm::MemoryBuffer::getMemBufferCopy(bytes, name),
                              llvm::SMLoc());
  ParserConfig config(context, /*verifyAfterParse=*/true);
  const SuggestOps suggest(context);
  OwningOpRef<ModuleOp> module = names && !isBytecode ? parseWithNames(*sources, config, *names)
                                                      : parseSourceFile<ModuleOp>(sources, config);
  const bool isSound =
      module && succeeded(checkSizes(*module)) && succeeded(checkResources(*module));
  return isSound ? std::move(module) : nullptr;
}

//===----------------------------------------------------------------------===//
// Description
//===----------------------------------------------------------------------===//

/// The plan and the tools call unsigned types u8, u16, ...
static std::string nameOf(mlir::Type element) {
  std::string text;
  llvm::raw_string_ostream(text) << element;
  return StringRef(text).starts_with("ui") ? "u" + text.substr(2) : text;
}

static GraphPort makePort(std::string name, mlir::Type type) {
  GraphPort port;
  port.name = std::move(name);
  auto tensor = dyn_cast<RankedTensorType>(type);
  port.isTensor = bool(tensor);
  port.kind = nameOf(tensor ? tensor.getElementType() : type);
  if (!tensor)
    return port;
  port.element = elementTypeNamed(port.kind);
  auto &dims = port.dims.emplace();
  for (int64_t size : tensor.getShape())
    dims.push_back(ShapedType::isDynamic(size) ? GraphPort::Dim{std::nullopt}
                                               : GraphPort::Dim{size});
  return port;
}

/// Says under which name an open dimension can be given, and asks for it.
static void nameOpenDim(func::FuncOp function, unsigned i, unsigned d, GraphPort::Dim &dim,
                        std::vector<std::string> &open) {
  if (dim.size)
    return;
  std::string name = dimName(function, i, d);
  if (name != inputName(function, i) + ":" + std::to_string(d))
    dim.name = name;
  if (!llvm::is_contained(open, name))
    open.push_back(std::move(name));
}

void gantry::describeMlir(ModuleOp module, GraphReport &report) {
  std::map<std::string, int64_t> counts;
  module.walk([&](Operation *op) {
    if (isa<KernelOpInterface>(op))
      ++counts[op->getName().getStringRef().str()];
  });
  for (auto &[op, count] : counts)
    report.ops.push_back({op, count, true});
  for (func::FuncOp function : module.getOps<func::FuncOp>()) {
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
      GraphPort port = makePort(inputName(function, i), type);
      for (size_t d = 0; port.dims && d < port.dims->size(); ++d)
        nameOpenDim(function, i, d, (*port.dims)[d], report.openDims);
      report.inputs.push_back(std::move(port));
    }
    for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
      report.outputs.push_back(makePort(outputName(function, i), type));
  }
}
