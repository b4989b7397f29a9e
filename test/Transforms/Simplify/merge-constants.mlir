// RUN: gantry-opt %s --gantry-merge-constants --mlir-print-local-scope | FileCheck %s

// One constant of a value and request, whatever the names, at the begin of the function.
// CHECK-LABEL: @p1_merge
// CHECK-NEXT: %[[A:.*]] = gantry.constant {gantry.name = "a"} dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[CPU:.*]] = gantry.constant {gantry.device = #gantry.device<"CPU:0">} dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[I:.*]] = gantry.constant dense<1> : tensor<4xi32>
// CHECK-NEXT: %[[GPU:.*]] = gantry.constant {gantry.device = #gantry.device<"GPU:0">} dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: gantry.relu %[[A]]
// CHECK-NEXT: gantry.add %[[A]], %[[CPU]]
// CHECK-NEXT: gantry.add %[[GPU]], %[[CPU]]
// CHECK-NEXT: gantry.if
// CHECK-NEXT: gantry.yield %[[I]]
func.func @p1_merge(%c: tensor<i1>) -> tensor<4xi32> {
  %0 = gantry.constant {gantry.name = "a"} dense<1.0> : tensor<4xf32>
  %1 = gantry.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = gantry.constant {gantry.name = "b"} dense<1.0> : tensor<4xf32>
  %3 = gantry.constant {gantry.device = #gantry.device<"CPU:0">} dense<1.0> : tensor<4xf32>
  %4 = gantry.add %2, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = gantry.constant dense<1> : tensor<4xi32>
  %6 = gantry.constant {gantry.device = #gantry.device<"GPU:0">} dense<1.0> : tensor<4xf32>
  %7 = gantry.constant {gantry.device = #gantry.device<"CPU:0">} dense<1.0> : tensor<4xf32>
  %8 = gantry.add %6, %7 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %9 = gantry.if %c -> (tensor<4xi32>) {
    %10 = gantry.constant dense<1> : tensor<4xi32>
    gantry.yield %10 : tensor<4xi32>
  } else {
    gantry.yield %5 : tensor<4xi32>
  } : tensor<i1>
  return %9 : tensor<4xi32>
}

// Company of different ops is a request, too.
// CHECK-LABEL: @p1_colocated_constants(
// CHECK: gantry.constant {gantry.colocate = ["a"]}
// CHECK: gantry.constant {gantry.colocate = ["b"]}
func.func @p1_colocated_constants() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0 = gantry.constant {gantry.colocate = ["a"]} dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = gantry.constant {gantry.colocate = ["b"]} dense<[1.0, 2.0]> : tensor<2xf32>
  %2 = gantry.constant {gantry.colocate = ["b"]} dense<[1.0, 2.0]> : tensor<2xf32>
  return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
