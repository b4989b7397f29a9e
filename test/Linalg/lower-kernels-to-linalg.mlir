// A kernel becomes a private function in its place; other ops stay as they are.

// RUN: gantry-opt --gantry-lower-kernels-to-linalg %s | FileCheck %s

// The kernel's own attributes go along, and unsigned types lose their sign.
// CHECK-LABEL: func.func private @add_0(
// CHECK-SAME:    %[[A:.*]]: tensor<4xi8>, %[[B:.*]]: tensor<4xi8>) -> tensor<4xi8>
// CHECK-SAME:    attributes {gantry.device = #gantry.device<"CPU:0">}
// CHECK:         %[[SUM:.*]] = linalg.generic
// CHECK-SAME:      ins(%[[A]], %[[B]]
// CHECK:         return %[[SUM]] : tensor<4xi8>
gantry.kernel @add_0 attributes {gantry.device = #gantry.device<"/device:CPU:0">} {
^bb0(%a: tensor<4xui8>, %b: tensor<4xui8>):
  %0 = gantry.add %a, %b : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  gantry.yield %0 : tensor<4xui8>
}

// CHECK-LABEL: func.func @main
// CHECK:         gantry.launch @add_0
// CHECK:         gantry.relu
func.func @main(%x: tensor<4xui8>, %y: tensor<?xf32>) -> (tensor<4xui8>, tensor<?xf32>) {
  %0 = gantry.launch @add_0(%x, %x) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %1 = gantry.relu %y : (tensor<?xf32>) -> tensor<?xf32>
  return %0, %1 : tensor<4xui8>, tensor<?xf32>
}

// A result may be an argument, and a constant may have unsigned elements.
// CHECK-LABEL: func.func private @pass(
// CHECK-SAME:    %[[X:.*]]: tensor<2xi1>
// CHECK:         %[[C:.*]] = arith.constant dense<[1, -1]> : tensor<2xi8>
// CHECK:         return %[[X]], %[[C]]
gantry.kernel @pass {
^bb0(%x: tensor<2xi1>):
  %0 = gantry.constant dense<[1, 255]> : tensor<2xui8>
  gantry.yield %x, %0 : tensor<2xi1>, tensor<2xui8>
}
