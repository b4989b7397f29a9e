// Graphs in MLIR: what parses, and what is refused before it can hurt the parser.

#include "gantry/Frontend/Frontend.h"

#include "mlir/IR/Diagnostics.h"

#include <gtest/gtest.h>

using namespace gantry;

namespace {
struct Read {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string error, location;

  explicit Read(const std::string &text, const ImportOptions &options = {}) {
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
      if (error.empty()) {
        error = diagnostic.str();
        llvm::raw_string_ostream(location) << diagnostic.getLocation();
      }
      return mlir::success();
    });
    module = importGraph({llvm::MemoryBuffer::getMemBufferCopy(text), "folder/g.mlir", "folder"},
                         options, &context);
  }
};

constexpr char relu[] = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
                        "  %y = gantry.relu %x : (tensor<2xf32>) -> tensor<2xf32>\n"
                        "  return %y : tensor<2xf32>\n"
                        "}\n";
} // namespace

TEST(MlirReader, ReadsText) { EXPECT_TRUE(Read(relu).module); }

TEST(MlirReader, EntryMustExist) {
  EXPECT_TRUE(Read(relu, {.entry = "main"}).module);
  EXPECT_EQ(Read(relu, {.entry = "train"}).error,
            "no function is named 'train'; the functions are main");
}

TEST(MlirReader, ErrorsAreLocated) {
  Read broken("func.func @main() {\n  gantry.frobnicate\n}\n");
  EXPECT_FALSE(broken.module);
  EXPECT_TRUE(llvm::StringRef(broken.location).contains(":2:3")) << broken.location;
}

TEST(MlirReader, DeepNestingIsRefused) {
  Read deep(std::string(relu) + std::string(1'000'000, '['));
  EXPECT_EQ(deep.error, "brackets are nested more than 200 deep");
  EXPECT_EQ(deep.location, "loc(\"g.mlir\":5:201)");
  // In comments and strings, brackets are text.
  EXPECT_TRUE(Read("// " + std::string(1000, '[') + "\n" + relu).module);
  EXPECT_TRUE(
      Read("module attributes {gantry.name = \"" + std::string(1000, '(') + "\"} {}").module);
}

TEST(MlirReader, AbsurdSizesAreRefused) {
  Read huge(
      "func.func @f(%x: tensor<4611686018427387904x4611686018427387904xf32>) {\n  return\n}\n");
  EXPECT_FALSE(huge.module);
  EXPECT_EQ(huge.error, "a tensor would be larger than 64 TiB");
}
