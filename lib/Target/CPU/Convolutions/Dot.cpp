// Of bytes with VNNI an instruction, else pairs of 16-bit numbers: the even bytes and the odd ones,
// whose products are added in i32. (pmaddubsw would add them in i16, which saturates.) Of bf16 with
// AVX512-BF16 an instruction, else two fused multiply-adds of what the halves are as f32.

#include "Dot.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"

using namespace gantry;

static constexpr llvm::StringLiteral kBytes = "gantry_dot_ui8_i8_", kPairs = "gantry_dot_bf16_";

static std::string symbolFor(int64_t lanes, bool isPairs) {
  return ((isPairs ? kPairs : kBytes) + llvm::Twine(lanes)).str();
}

mlir::Value gantry::cpu::callDot(mlir::ImplicitLocOpBuilder &b, mlir::ModuleOp module,
                                 mlir::Value left, mlir::Value right, mlir::Value accumulators) {
  auto type = llvm::cast<mlir::VectorType>(accumulators.getType());
  std::string symbol = symbolFor(type.getDimSize(0), type.getElementType().isF32());
  auto declared = module.lookupSymbol<mlir::func::FuncOp>(symbol);
  if (!declared) {
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(module.getBody());
    declared = mlir::func::FuncOp::create(
        b, module.getLoc(), symbol,
        b.getFunctionType({left.getType(), right.getType(), type}, {type}));
    declared.setPrivate();
  }
  return mlir::func::CallOp::create(b, declared, mlir::ValueRange{left, right, accumulators})
      .getResult(0);
}

llvm::Value *gantry::cpu::callDot(llvm::IRBuilder<> &b, llvm::Value *left, llvm::Value *right,
                                  llvm::Value *accumulators) {
  auto *type = llvm::cast<llvm::FixedVectorType>(accumulators->getType());
  auto function = b.GetInsertBlock()->getModule()->getOrInsertFunction(
      symbolFor(type->getNumElements(), type->isFPOrFPVectorTy()),
      llvm::FunctionType::get(type, {left->getType(), right->getType(), type}, false));
  return b.CreateCall(function, {left, right, accumulators});
}

int64_t gantry::cpu::registersOfBytes(int64_t vectors, const Registers &registers) {
  if (registers.mostByteLanes)
    return vectors + 1;
  return registers.pairLanes ? 2 * vectors + 6 : 4 * vectors + 3;
}

namespace {
class DotEmitter {
public:
  using Value = llvm::Value;

  DotEmitter(llvm::Function &function, const Registers &registers)
      : b(llvm::BasicBlock::Create(function.getContext(), "", &function)), registers(registers) {}

  void emit(llvm::Function &function) {
    b.CreateRet(dot(function.getArg(0), function.getArg(1), function.getArg(2)));
  }

private:
  static unsigned lanesOf(Value *vector) {
    return llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
  }

  /// Some lanes of a vector; those beyond its end have no value.
  Value *part(Value *vector, unsigned first, unsigned count) {
    llvm::SmallVector<int> lanes;
    for (unsigned i = first; i < first + count; ++i)
      lanes.push_back(i < lanesOf(vector) ? int(i) : -1);
    return b.CreateShuffleVector(vector, lanes);
  }

  Value *dot(Value *left, Value *right, Value *accumulators) {
    const int64_t lanes = lanesOf(accumulators);
    if (lanes < 4)
      return part(dot(part(left, 0, 4), part(right, 0, 4), part(accumulators, 0, 4)), 0, lanes);
    if (accumulators->getType()->isFPOrFPVectorTy())
      return registers.dotBF16 ? instructionOfPairs(left, right, accumulators)
                               : multiplyAdds(left, right, accumulators);
    if (lanes <= registers.mostByteLanes && lanes >= registers.leastByteLanes)
      return instruction(left, right, accumulators);
    const int64_t most = std::max({registers.mostByteLanes, registers.pairLanes, int64_t(4)});
    if (lanes > most && lanes % 2 == 0)
      return halves(left, right, accumulators);
    return registers.pairLanes ? pairs(left, right, accumulators)
                               : bytes(left, right, accumulators);
  }

  Value *halves(Value *left, Value *right, Value *accumulators) {
    const unsigned half = lanesOf(accumulators) / 2;
    auto at = [&](unsigned first) {
      return dot(part(left, first, half), part(right, first, half),
                 part(accumulators, first, half));
    };
    llvm::SmallVector<int> all;
    for (unsigned i = 0; i < 2 * half; ++i)
      all.push_back(int(i));
    return b.CreateShuffleVector(at(0), at(half), all);
  }

  Value *instruction(Value *left, Value *right, Value *accumulators) {
    const unsigned lanes = lanesOf(accumulators);
    auto id = lanes == 16  ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
              : lanes == 8 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                           : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
    auto *type = llvm::FixedVectorType::get(b.getInt8Ty(), 4 * lanes);
    return b.CreateIntrinsic(
        id, {}, {accumulators, b.CreateBitCast(left, type), b.CreateBitCast(right, type)});
  }

  /// The channel comes from memory most of the time: it is the factor that the instruction reads
  /// there.
  Value *instructionOfPairs(Value *left, Value *right, Value *accumulators) {
    const unsigned lanes = lanesOf(accumulators);
    auto id = lanes == 16  ? llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512
              : lanes == 8 ? llvm::Intrinsic::x86_avx512bf16_dpbf16ps_256
                           : llvm::Intrinsic::x86_avx512bf16_dpbf16ps_128;
    auto *type = llvm::FixedVectorType::get(b.getBFloatTy(), 2 * lanes);
    return b.CreateIntrinsic(
        id, {}, {accumulators, b.CreateBitCast(right, type), b.CreateBitCast(left, type)});
  }

  /// The odd factor is in the upper half of a word, and an f32 when the other one is gone.
  Value *multiplyAdds(Value *left, Value *right, Value *accumulators) {
    auto odd = [&](Value *words) {
      auto *mask = llvm::ConstantInt::get(words->getType(), 0xffff0000);
      return b.CreateBitCast(b.CreateAnd(words, mask), accumulators->getType());
    };
    auto even = [&](Value *words) {
      return b.CreateBitCast(b.CreateShl(words, 16), accumulators->getType());
    };
    auto add = [&](Value *x, Value *y) {
      accumulators =
          b.CreateIntrinsic(llvm::Intrinsic::fma, {accumulators->getType()}, {x, y, accumulators});
    };
    add(odd(left), odd(right));
    add(even(left), even(right));
    return accumulators;
  }

  Value *pairs(Value *left, Value *right, Value *accumulators) {
    const unsigned lanes = lanesOf(accumulators);
    auto *type = llvm::FixedVectorType::get(b.getInt16Ty(), 2 * lanes);
    auto id = lanes == 16  ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
              : lanes == 8 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                           : llvm::Intrinsic::x86_sse2_pmadd_wd;
    Value *x = b.CreateBitCast(left, type), *y = b.CreateBitCast(right, type);
    auto of = [&](unsigned bits) { return llvm::ConstantInt::get(type, bits); };
    Value *even = b.CreateIntrinsic(
        id, {}, {b.CreateAnd(x, of(255)), b.CreateAShr(b.CreateShl(y, of(8)), of(8))});
    Value *odd = b.CreateIntrinsic(id, {}, {b.CreateLShr(x, of(8)), b.CreateAShr(y, of(8))});
    return b.CreateAdd(accumulators, b.CreateAdd(even, odd));
  }

  Value *bytes(Value *left, Value *right, Value *accumulators) {
    auto of = [&](unsigned bits) { return llvm::ConstantInt::get(accumulators->getType(), bits); };
    for (unsigned bit = 0; bit < 32; bit += 8) {
      Value *x = b.CreateAnd(b.CreateLShr(left, of(bit)), of(255));
      Value *y = b.CreateAShr(b.CreateShl(right, of(24 - bit)), of(24));
      accumulators = b.CreateAdd(accumulators, b.CreateMul(x, y));
    }
    return accumulators;
  }

  llvm::IRBuilder<> b;
  const Registers &registers;
};
} // namespace

void gantry::cpu::defineDots(llvm::Module &module, const Registers &registers) {
  for (llvm::Function &function : module)
    if ((function.getName().starts_with(kBytes) || function.getName().starts_with(kPairs)) &&
        function.isDeclaration()) {
      DotEmitter(function, registers).emit(function);
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
      function.addFnAttr(llvm::Attribute::AlwaysInline);
    }
}
