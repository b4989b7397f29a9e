#include "Importer.h"
namespace gantry::onnx {
void addIndexingOps(OpTable &) {}
void addEinsumOp(OpTable &) {}
void addImageOps(OpTable &) {}
void addQuantizedOps(OpTable &) {}
void addRecurrentOps(OpTable &) {}
void addLossOps(OpTable &) {}
void addControlFlowOps(OpTable &) {}
void addTrainingOps(OpTable &) {}
void addSignalOps(OpTable &) {}
} // namespace gantry::onnx
