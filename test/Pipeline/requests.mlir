// Requests survive the whole of Simplify (spec P1, P2).
// RUN: gantry compile %s --devices=CPU:0,GPU:0,GPU:1 --stop-after=place -o - | FileCheck %s

// Constants of one value that are asked for on different devices stay two; so do ops.
// CHECK-LABEL: @p1_constants_of_one_value
// CHECK: gantry.constant {gantry.device = #gantry.device<"{{.*}}CPU:0">
// CHECK: gantry.constant {gantry.device = #gantry.device<"{{.*}}GPU:0">
// CHECK: gantry.abs {{.*}}device:GPU:0">
// CHECK: gantry.abs {{.*}}device:GPU:1">
// CHECK-NOT: gantry.abs
func.func @p1_constants_of_one_value(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %1 = gantry.on "/CPU:0" -> (tensor<3xf32>) {
    %c = gantry.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
    gantry.yield %c : tensor<3xf32>
  }
  %2 = gantry.constant {gantry.device = #gantry.device<"GPU:0">} dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %3 = gantry.add %x, %1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %4 = gantry.mul %x, %2 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %5 = gantry.abs %x {gantry.device = #gantry.device<"GPU:0">} : (tensor<3xf32>) -> tensor<3xf32>
  %6 = gantry.abs %x {gantry.device = #gantry.device<"GPU:1">} : (tensor<3xf32>) -> tensor<3xf32>
  return %3, %4, %5, %6 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// Integer arithmetic on constants is folded, unless somebody asked for it somewhere.
// CHECK-LABEL: @p1_requested_arithmetic_stays
// CHECK: gantry.gather {{.*}}device:GPU:1">
// CHECK: gantry.slice {{.*}}device:GPU:1">
// CHECK: gantry.reduce_prod {{.*}}device:GPU:1">
// CHECK: gantry.concat {{.*}}device:GPU:1">
func.func @p1_requested_arithmetic_stays() -> (tensor<i64>, tensor<3xi64>) {
  %c = gantry.constant dense<[4, 5, 6]> : tensor<3xi64>
  %0, %1 = gantry.on "GPU:1" -> (tensor<i64>, tensor<3xi64>) {
    %i = gantry.constant dense<[0, 2]> : tensor<2xi64>
    %g = gantry.gather %c, %i {axis = 0 : i64} : (tensor<3xi64>, tensor<2xi64>) -> tensor<2xi64>
    %s = gantry.slice %c {starts = array<i64: 1>, sizes = array<i64: 1>, steps = array<i64: 1>} : (tensor<3xi64>) -> tensor<1xi64>
    %p = gantry.reduce_prod %g {axes = array<i64: 0>} : (tensor<2xi64>) -> tensor<i64>
    %q = gantry.concat %g, %s {axis = 0 : i64} : (tensor<2xi64>, tensor<1xi64>) -> tensor<3xi64>
    gantry.yield %p, %q : tensor<i64>, tensor<3xi64>
  }
  return %0, %1 : tensor<i64>, tensor<3xi64>
}
