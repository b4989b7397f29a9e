// gantry-reduce keeps what a script calls interesting and throws away the rest: ops give way to
// their operands or to zeros, scopes to their bodies.

// RUN: gantry-reduce --help | FileCheck %s --check-prefix=HELP
// HELP: MLIR test case reduction tool
// HELP: --reduction-tree

// RUN: gantry-reduce %s --reduction-tree="traversal-mode=0 test=%python test-arg=%S/Inputs/interesting.py test-arg=gantry.cumsum" 2>/dev/null | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.*]]: tensor<4x4xf32>, %[[Y:.*]]: tensor<4xf32>
// CHECK-NEXT: %[[C:.*]] = gantry.cumsum %[[X]]
// CHECK-NEXT: return %[[C]], %[[Y]]
func.func @main(%x: tensor<4x4xf32>, %y: tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>) {
  %0 = gantry.relu %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = gantry.matmul %0, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = gantry.on "CPU:0" -> (tensor<4x4xf32>) {
    %a = gantry.exp %1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %b = gantry.cumsum %a {axis = 0 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    gantry.yield %b : tensor<4x4xf32>
  }
  %3 = gantry.add %2, %y : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %4 = gantry.exp %y : (tensor<4xf32>) -> tensor<4xf32>
  %5 = gantry.sigmoid %4 : (tensor<4xf32>) -> tensor<4xf32>
  return %3, %5 : tensor<4x4xf32>, tensor<4xf32>
}
