// What is concatenated in an output is made there.
#pragma once

#include "gantry/Dialect/Plan/IR/Plan.h"

namespace gantry::schedule {

/// A launch that only joins its operands in an output goes, where nothing else uses the output as a
/// whole: each operand becomes the part of the output that it would be copied to. Only if each has
/// bytes of its own on the output's device, is written by one command and stands once in the join;
/// parts of which kernels are given the address begin at a multiple of 64 bytes.
void joinOutputs(plan::ir::FuncOp func);

} // namespace gantry::schedule
