// What does nothing but was asked to run somewhere runs there and is logged (spec P1, P9): the first
// op of a scope, whatever it is; a second one with nothing to do has the same request as the first.

// RUN: gantry run %s --devices=CPU:0,GPU:0,GPU:1 --simulate --fill ramp --log-device-placement 2>&1 | FileCheck %s
// Fused or not, the values are those of the input.
// RUN: gantry run %s --devices=CPU:0,GPU:0,GPU:1 --simulate --fill ramp --no-fuse 2>&1 | FileCheck %s --check-prefix=VALUES

// CHECK-DAG: Executing op Cast in device {{.*}}GPU:1
// CHECK-DAG: Executing op Transpose in device {{.*}}GPU:0
// CHECK-DAG: Executing op BroadcastTo in device {{.*}}GPU:1
// CHECK-DAG: Executing op ConcatV2 in device {{.*}}GPU:0
// CHECK-DAG: Executing op StridedSlice in device {{.*}}GPU:1
// CHECK-DAG: Executing op Dropout in device {{.*}}GPU:0
// CHECK-DAG: Executing op Neg in device {{.*}}GPU:1
// CHECK: placed 7 ops: GPU:0 3, GPU:1 4; 0 fall-backs

// VALUES: output0: f32[2,3]
// VALUES-NEXT: {{\[\[}}-0. -1. -2.]
// VALUES-NEXT: {{\[}}-3. -4. -5.]]
func.func @main(%x: tensor<2x3xf32> {gantry.name = "x"}) -> tensor<2x3xf32> {
  %0 = gantry.on "GPU:1" -> (tensor<2x3xf32>) {
    %a = gantry.cast %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %b = gantry.cast %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
    gantry.yield %b : tensor<2x3xf32>
  }
  %1 = gantry.transpose %0 {permutation = array<i64: 0, 1>, gantry.device = #gantry.device<"GPU:0">} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = gantry.broadcast %1 {gantry.device = #gantry.device<"GPU:1">} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = gantry.concat %2 {axis = 1 : i64, gantry.device = #gantry.device<"GPU:0">} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = gantry.slice %3 {starts = array<i64: 0, 0>, sizes = array<i64: 2, 3>, steps = array<i64: 1, 1>, gantry.device = #gantry.device<"GPU:1">} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = gantry.dropout %4 {ratio = 0.5 : f64, gantry.device = #gantry.device<"GPU:0">} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %6 = gantry.neg %5 {gantry.device = #gantry.device<"GPU:1">} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %6 : tensor<2x3xf32>
}
