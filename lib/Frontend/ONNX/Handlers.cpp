// The table of all ops; see Handlers.h.

#include "Handlers.h"
#include "MachineLearning.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

static std::string keyOf(StringRef domain, StringRef op) { return (domain + ":" + op).str(); }

OpTable::Entry &OpTable::add(StringRef op, Handler handler, Arity arity, StringRef domain) {
  Entry &entry = entries[keyOf(domain, op)];
  entry.handler = std::move(handler);
  entry.arity = arity;
  return entry;
}

void OpTable::setRowByRow(ArrayRef<StringRef> ops) {
  for (StringRef op : ops)
    entries.find(keyOf("", op))->second.isRowByRow = true;
}

void OpTable::refuse(StringRef op, StringRef why, StringRef domain) {
  entries[keyOf(domain, op)].refusal = why.str();
}

const OpTable::Entry *OpTable::find(StringRef domain, StringRef op) const {
  auto it = entries.find(keyOf(domain, op));
  return it == entries.end() ? nullptr : &it->second;
}

std::vector<std::string> OpTable::supported() const {
  std::vector<std::string> names;
  for (const auto &entry : entries)
    if (entry.second.handler)
      names.push_back(entry.first().starts_with(":") ? entry.first().drop_front().str()
                                                     : entry.first().str());
  llvm::sort(names);
  return names;
}

std::string gantry::onnx::describeDataShape(ArrayRef<std::string_view> before) {
  std::string text = "the shape of its output depends on data, and shapes are fixed when compiling";
  if (!before.empty())
    text += "; --outputs=" + llvm::join(before, ",") + " ends the graph before it";
  return text;
}

const OpTable &gantry::onnx::getOpTable() {
  static const OpTable table = [] {
    OpTable made;
    for (auto add : {addElementwiseOps, addShapeOps,
                     addContractionOps, addPoolingOps,
                     addReductionOps,   addNormalizationOps,
                     addIndexingOps,    addEinsumOp,
                     addImageOps,       addQuantizedOps,
                     addPackedOps,      addRecurrentOps,
                     addLossOps,        addGeneratorOps,
                     addControlFlowOps, addTrainingOps,
                     addSignalOps,      addSamplingOps,
                     addAttentionOps,   addMicrosoftAttentionOps,
                     addMicrosoftOps,   addMicrosoftQuantizedOps,
                     addFusedOps,       addMachineLearningOps,
                     addDetectionOps,   addSelectingOps,
                     addGradientOps,    addRefusedOps})
      add(made);
    return made;
  }();
  return table;
}
