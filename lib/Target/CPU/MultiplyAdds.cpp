// Sums of products that may be contracted, but not reordered, are chains of fused multiply-adds: in
// the plain form of a convolution as in all others. As two operations that may become one they are
// LLVM's to decide on, and where sums in order are cheap (AArch64) its vectoriser multiplies in
// vectors, which rounds each product, and adds one lane after the other. So they are written as one
// operation here. What may be reordered is left to it.

#include "MultiplyAdds.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"

using namespace gantry;
using llvm::Value;

/// Whether `value` is that operation and only contraction may change what it gives.
static bool isContractible(Value *value, unsigned opcode) {
  auto *op = llvm::dyn_cast<llvm::FPMathOperator>(value);
  return op && op->getOpcode() == opcode && op->hasAllowContract() && !op->hasAllowReassoc();
}

/// `instruction` as one operation; null where it is no sum of a product.
static Value *fused(llvm::Instruction &instruction) {
  llvm::IRBuilder<> b(&instruction);
  auto fma = [&](Value *x, Value *y, Value *sum) {
    return b.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {x, y, sum});
  };
  if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
    return call->getIntrinsicID() == llvm::Intrinsic::fmuladd
               ? fma(call->getArgOperand(0), call->getArgOperand(1), call->getArgOperand(2))
               : nullptr;
  if (!isContractible(&instruction, llvm::Instruction::FAdd))
    return nullptr;
  for (unsigned i : {1, 0})
    if (Value *term = instruction.getOperand(i); isContractible(term, llvm::Instruction::FMul)) {
      auto *product = llvm::cast<llvm::Instruction>(term);
      return fma(product->getOperand(0), product->getOperand(1), instruction.getOperand(1 - i));
    }
  return nullptr;
}

void cpu::writeMultiplyAdds(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function)))
      if (Value *one = fused(instruction)) {
        instruction.replaceAllUsesWith(one);
        instruction.eraseFromParent();
      }
}
