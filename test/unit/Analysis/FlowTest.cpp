// How values flow through branches and loops, and where they live.

#include "gantry/Analysis/Flow.h"
#include "gantry/Analysis/Homes.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace gantry;

namespace {
constexpr char text[] = R"(
module attributes {gantry.topology = #gantry.topology<[<"/job:localhost/replica:0/task:0/device:CPU:0">, <"/job:localhost/replica:0/task:0/device:GPU:0">]>} {
  func.func @main(%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
    %0 = gantry.if %c -> (tensor<4xf32>) {
      gantry.yield %x : tensor<4xf32>
    } else {
      gantry.yield %y : tensor<4xf32>
    } {gantry.homes = [#gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">]} : tensor<i1>
    %1:2 = gantry.while (%c, %0) : (tensor<i1>, tensor<4xf32>) -> (tensor<i1>, tensor<4xf32>) {
    ^bb0(%flag: tensor<i1>, %carried: tensor<4xf32>):
      gantry.yield %flag : tensor<i1>
    } do {
    ^bb0(%flag: tensor<i1>, %carried: tensor<4xf32>):
      gantry.yield %flag, %y : tensor<i1>, tensor<4xf32>
    } {gantry.homes = [#gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">,
                       #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">]}
    return %1#1 : tensor<4xf32>
  }
}
)";

struct Flow : testing::Test {
  Flow() {
    context.loadDialect<GantryDialect, mlir::func::FuncDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    module->walk(
        [&](mlir::RegionBranchOpInterface op) { (mlir::isa<IfOp>(op) ? branch : loop) = op; });
    func = *module->getOps<mlir::func::FuncOp>().begin();
  }

  mlir::Value argument(unsigned i) { return func.getArgument(i); }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp func;
  mlir::RegionBranchOpInterface branch, loop;
};
} // namespace

TEST_F(Flow, ResultsOfBranchesAreWhatTheRegionsYield) {
  mlir::Value result = branch->getResult(0);
  EXPECT_EQ(initialSource(branch, result), nullptr);
  auto sources = yieldedSources(branch, result);
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[0]->get(), argument(1));
  EXPECT_EQ(sources[1]->get(), argument(2));
  EXPECT_EQ(resultOf(*sources[1]), result);
}

TEST_F(Flow, CarriedValuesAreInitsOrWhatTheBodyYields) {
  for (mlir::Value input :
       {mlir::Value(loop->getRegion(0).getArgument(1)),
        mlir::Value(loop->getRegion(1).getArgument(1)), mlir::Value(loop->getResult(1))}) {
    ASSERT_NE(initialSource(loop, input), nullptr);
    EXPECT_EQ(initialSource(loop, input)->get(), branch->getResult(0));
    auto sources = yieldedSources(loop, input);
    ASSERT_EQ(sources.size(), 1u);
    EXPECT_EQ(sources[0]->get(), argument(2));
  }
  EXPECT_EQ(resultOf(loop->getRegion(0).getArgument(1)), loop->getResult(1));
  EXPECT_EQ(resultOf(loop->getRegion(1).getArgument(0)), loop->getResult(0));
}

TEST_F(Flow, ConditionsSteerAndGoNowhere) {
  EXPECT_EQ(conditionOf(branch), argument(0));
  EXPECT_FALSE(resultOf(branch->getOpOperand(0)));
  EXPECT_EQ(conditionOf(loop), loop->getRegion(0).getArgument(0));
  EXPECT_FALSE(resultOf(loop->getRegion(0).front().getTerminator()->getOpOperand(0)));
}

TEST_F(Flow, RegionsOfLoopsRepeat) {
  EXPECT_TRUE(runsOneRegion(branch));
  EXPECT_FALSE(runsOneRegion(loop));
  EXPECT_FALSE(branch.isRepetitiveRegion(0));
  EXPECT_TRUE(loop.isRepetitiveRegion(0));
  EXPECT_TRUE(loop.isRepetitiveRegion(1));
}

TEST_F(Flow, HomesFollowTheFlow) {
  Homes homes(*module);
  DeviceAttr host = homes.host(), gpu = homes.homeOf(branch->getResult(0));
  EXPECT_EQ(host.getSpelling(), "/job:localhost/replica:0/task:0/device:CPU:0");
  EXPECT_EQ(homes.nameOf(gpu), "GPU:0");
  EXPECT_EQ(homes.homeOf(argument(1)), host);
  EXPECT_EQ(homes.homeOf(loop->getRegion(1).getArgument(0)), host);
  EXPECT_EQ(homes.homeOf(loop->getRegion(1).getArgument(1)), gpu);
  // A condition is needed on the host, everything else where the result lives.
  EXPECT_EQ(homes.neededBy(branch->getOpOperand(0)), host);
  EXPECT_EQ(homes.neededBy(branch->getRegion(0).front().getTerminator()->getOpOperand(0)), gpu);
  EXPECT_EQ(homes.neededBy(loop->getOpOperand(1)), gpu);
  EXPECT_EQ(homes.neededBy(loop->getRegion(0).front().getTerminator()->getOpOperand(0)), host);
  EXPECT_EQ(homes.deviceOf(loop), gpu);
}
