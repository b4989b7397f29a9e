#include "gantry/Target/MadeCode.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <gtest/gtest.h>

namespace gantry {
namespace {

/// Counts how often code is made of a module with one function of a name.
class MadeCode : public testing::Test {
protected:
  std::string make(llvm::StringRef function, llvm::StringRef machine, bool fails = false) {
    llvm::LLVMContext context;
    llvm::Module module("made", context);
    auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false);
    llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, function, module);
    auto code = makeCodeOnce(keyOfCode(module, machine), [&]() -> mlir::FailureOr<CodeBytes> {
      ++made;
      if (fails)
        return mlir::failure();
      std::string text = (function + " for " + machine + " as number " + llvm::Twine(made)).str();
      return CodeBytes(text.begin(), text.end());
    });
    return mlir::failed(code) ? "failed" : std::string(code->begin(), code->end());
  }

  int made = 0;
};

TEST_F(MadeCode, isMadeOnceOfEqualModules) {
  EXPECT_EQ(make("once", "a"), "once for a as number 1");
  EXPECT_EQ(make("once", "a"), "once for a as number 1");
  EXPECT_EQ(made, 1);
}

TEST_F(MadeCode, isOfOneModuleAndOneMachine) {
  EXPECT_EQ(make("one", "a"), "one for a as number 1");
  EXPECT_EQ(make("other", "a"), "other for a as number 2");
  EXPECT_EQ(make("one", "b"), "one for b as number 3");
  EXPECT_EQ(make("one", "a"), "one for a as number 1");
}

TEST_F(MadeCode, failuresAreTriedAgain) {
  EXPECT_EQ(make("fails", "a", true), "failed");
  EXPECT_EQ(make("fails", "a"), "fails for a as number 2");
}

TEST_F(MadeCode, theOldestIsForgottenAbove32MiB) {
  auto large = [&](llvm::StringRef name) {
    llvm::LLVMContext context;
    llvm::Module module(name, context);
    auto code = makeCodeOnce(keyOfCode(module, "large"), [&]() -> mlir::FailureOr<CodeBytes> {
      ++made;
      return CodeBytes(size_t(20) << 20, 'x');
    });
    EXPECT_EQ(code->size(), size_t(20) << 20);
  };
  large("first");
  large("first");
  EXPECT_EQ(made, 1);
  large("second");
  large("second");
  EXPECT_EQ(made, 2);
  large("first");
  EXPECT_EQ(made, 3);
}

} // namespace
} // namespace gantry
