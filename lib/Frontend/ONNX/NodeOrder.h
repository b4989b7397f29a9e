// What nodes read, and the order in which they are imported.
#pragma once

#include "gantry/Formats/ONNX/Model.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

namespace gantry::onnx {

/// Calls `found` with every name that a node or one of its bodies reads.
void forNamesRead(const Node &node, llvm::function_ref<void(std::string_view)> found);

/// The nodes with every one behind those whose results it or its bodies read. Nodes that stand so
/// already stay as they are; others move no further than they must. ONNX asks for this order in
/// files, but tools that insert nodes append them, and ONNX Runtime takes such files. Nodes that
/// wait for each other stay where they are, and fail as they are imported.
std::vector<const Node *> inOrderOfUse(llvm::ArrayRef<Node> nodes);

/// The nodes that wait for each other, as data would flow, from the maker of `name` on; none when
/// it is in no cycle.
std::vector<const Node *> findCycle(llvm::ArrayRef<Node> nodes, std::string_view name);

} // namespace gantry::onnx
