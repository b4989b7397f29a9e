#include "gantry/Transforms/LoweredKernels.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace gantry {
namespace {

struct LoweredKernelsTest : testing::Test {
  MLIRContext context;
  LoweredKernels known;

  LoweredKernelsTest() {
    context.loadDialect<GantryDialect, func::FuncDialect, memref::MemRefDialect>();
  }

  OwningOpRef<ModuleOp> parse(const std::string &kernels) {
    return parseSourceString<ModuleOp>(
        "module attributes {gantry.target = #gantry.target<\"cpu\">} {\n" + kernels + "}\n",
        &context);
  }

  static std::string kernel(const std::string &name, const std::string &op) {
    return "gantry.kernel @" + name + " {\n^bb0(%x: tensor<4xf32>):\n  %0 = gantry." + op +
           " %x : (tensor<4xf32>) -> tensor<4xf32>\n  gantry.yield %0 : tensor<4xf32>\n}\n";
  }

  /// Stands for what a target does: the function of a kernel reads a table and calls a tile.
  static void lower(ModuleOp module, StringRef name, StringRef table, float value) {
    SymbolTable symbols(module);
    OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
    Location loc = module.getLoc();
    symbols.erase(symbols.lookup(name));
    if (!symbols.lookup("tile"))
      func::FuncOp::create(b, loc, "tile", b.getFunctionType({}, {})).setPrivate();
    auto type = MemRefType::get({2}, b.getF32Type());
    auto values = DenseElementsAttr::get(RankedTensorType::get({2}, b.getF32Type()), value);
    memref::GlobalOp::create(b, loc, table, b.getStringAttr("private"), type, values, true,
                             IntegerAttr());
    auto function = func::FuncOp::create(b, loc, name, b.getFunctionType({}, {}));
    b.setInsertionPointToEnd(function.addEntryBlock());
    memref::GetGlobalOp::create(b, loc, type, table);
    func::CallOp::create(b, loc, "tile", TypeRange());
    func::ReturnOp::create(b, loc);
  }

  static std::vector<std::string> namesIn(ModuleOp module) {
    std::vector<std::string> names;
    for (Operation &op : *module.getBody())
      names.push_back(SymbolTable::getSymbolName(&op).str());
    return names;
  }
};

using Names = std::vector<std::string>;

TEST_F(LoweredKernelsTest, comeBackUnderTheNamesOfToday) {
  OwningOpRef<ModuleOp> first = parse(kernel("neg_0", "neg"));
  auto taken = known.take(*first);
  EXPECT_EQ(namesIn(*first), Names{"neg_0"});
  lower(*first, "neg_0", "table", 1);
  known.putBack(*first, taken);

  OwningOpRef<ModuleOp> second = parse(kernel("abs_0", "abs") + kernel("neg_7", "neg"));
  taken = known.take(*second);
  EXPECT_EQ(namesIn(*second), Names{"abs_0"});
  lower(*second, "abs_0", "table_of_abs", 2);
  known.putBack(*second, taken);
  EXPECT_TRUE(succeeded(verify(*second)));
  EXPECT_EQ(namesIn(*second), (Names{"abs_0", "neg_7", "tile", "table_of_abs", "table"}));
}

TEST_F(LoweredKernelsTest, keepTheirTablesApart) {
  OwningOpRef<ModuleOp> first = parse(kernel("neg_0", "neg"));
  auto taken = known.take(*first);
  lower(*first, "neg_0", "table", 1);
  known.putBack(*first, taken);

  OwningOpRef<ModuleOp> second = parse(kernel("neg_0", "neg") + kernel("abs_0", "abs"));
  taken = known.take(*second);
  lower(*second, "abs_0", "table", 2);
  known.putBack(*second, taken);
  EXPECT_TRUE(succeeded(verify(*second)));
  auto valueReadBy = [&](StringRef name) {
    SymbolTable symbols(*second);
    auto read = *cast<func::FuncOp>(symbols.lookup(name)).getOps<memref::GetGlobalOp>().begin();
    auto table = symbols.lookup<memref::GlobalOp>(read.getName());
    return cast<DenseElementsAttr>(*table.getInitialValue()).getSplatValue<float>();
  };
  EXPECT_EQ(valueReadBy("neg_0"), 1);
  EXPECT_EQ(valueReadBy("abs_0"), 2);
}

TEST_F(LoweredKernelsTest, areOfOneTarget) {
  OwningOpRef<ModuleOp> first = parse(kernel("neg_0", "neg"));
  auto taken = known.take(*first);
  lower(*first, "neg_0", "table", 1);
  known.putBack(*first, taken);

  OwningOpRef<ModuleOp> other = parse(kernel("neg_0", "neg"));
  (*other)->setAttr(kTargetAttr, parseAttribute("#gantry.target<\"cuda\">", &context));
  known.take(*other);
  EXPECT_EQ(namesIn(*other), Names{"neg_0"});
}

} // namespace
} // namespace gantry
