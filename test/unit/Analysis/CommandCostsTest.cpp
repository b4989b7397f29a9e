// What commands take by the rates of a plan's devices.
#include "gantry/Analysis/Segments.h"
#include "gantry/Dialect/Plan/IR/Plan.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace gantry;

namespace {
/// GPU:0 and GPU:1 of a task are parts of one card; GPU:0 of the other task is a card of its own.
constexpr char text[] = R"(
module {
  plan.device @d0 "/job:w/replica:0/task:0/device:GPU:0" on "sim"
  plan.device @d1 "/job:w/replica:0/task:0/device:GPU:1" on "sim"
  plan.device @d2 "/job:w/replica:0/task:1/device:GPU:0" on "sim"
  plan.func @main inputs [] outputs [] {
    %0 = plan.buffer size 1048576 on @d0 "a" : tensor<262144xf32>
    %1 = plan.buffer size 1048576 on @d1 "b" : tensor<262144xf32>
    %2 = plan.buffer size 1048576 on @d2 "c" : tensor<262144xf32>
    plan.copy %0 to %1 on @d1 "b" at "here"
    plan.copy %0 to %2 on @d2 "c" at "here"
  }
}
)";

TEST(CommandCosts, d4_tasksHaveCardsOfTheirOwn) {
  mlir::MLIRContext context;
  context.loadDialect<GantryDialect, plan::ir::PlanDialect>();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  llvm::SmallVector<plan::ir::CopyOp> copies;
  module->walk([&](plan::ir::CopyOp copy) { copies.push_back(copy); });
  ASSERT_EQ(copies.size(), 2u);
  schedule::CommandCosts costs(*module);
  EXPECT_EQ(costs.latency(copies[0]), 0);
  EXPECT_GT(costs.latency(copies[1]), 0); // down to a host and up again
  EXPECT_GT(costs.seconds(copies[1]), 10 * costs.seconds(copies[0]));
}
} // namespace
