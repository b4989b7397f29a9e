// RUN: gantry-opt %s --gantry-set-targets=math=bf16 --gantry-reduce-precision | FileCheck %s
// RUN: gantry-opt %s --gantry-set-targets=math=f16 --gantry-reduce-precision | FileCheck %s --check-prefix=HALF

// Operands are rounded behind what makes them, on the device of the product; sums stay f32. A
// constant is rounded here: 1.00390625 lies in the middle of two of bf16 and goes to the even one.
// CHECK-LABEL: @product(
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>
// CHECK-DAG: %[[W:.*]] = gantry.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00], [5.000000e+00, 1.015630e+00]]> : tensor<3x2xbf16>
// CHECK-DAG: %[[N:.*]] = gantry.cast %[[X]] {gantry.device = #gantry.device<"GPU:0">} : (tensor<2x3xf32>) -> tensor<2x3xbf16>
// CHECK: gantry.matmul %[[N]], %[[W]] {accumulate_type = f32, gantry.device = #gantry.device<"GPU:0">} : (tensor<2x3xbf16>, tensor<3x2xbf16>) -> tensor<2x2xf32>
// HALF-LABEL: @product(
// HALF: dense<{{\[\[}}1.003910e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00], [5.000000e+00, 1.011720e+00]]> : tensor<3x2xf16>
// HALF: gantry.matmul {{.*}}accumulate_type = f32{{.*}} : (tensor<2x3xf16>, tensor<3x2xf16>) -> tensor<2x2xf32>
func.func @product(%x: tensor<2x3xf32>) -> tensor<2x2xf32> {
  %w = gantry.constant dense<[[1.00390625, 2.0], [3.0, 4.0], [5.0, 1.01171875]]> : tensor<3x2xf32>
  %0 = gantry.matmul %x, %w {gantry.device = #gantry.device<"GPU:0">} : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// A constant that is turned round on the way is a constant, and what two products read one of them.
// CHECK-LABEL: @moved(
// CHECK: %[[W:.*]] = gantry.constant dense<1.000000e+00> : tensor<4x3xbf16>
// CHECK: %[[T:.*]] = gantry.transpose %[[W]] {permutation = array<i64: 1, 0>} : (tensor<4x3xbf16>) -> tensor<3x4xbf16>
// CHECK: gantry.matmul %{{.*}}, %[[T]]
// CHECK-NOT: gantry.transpose
// CHECK: gantry.matmul %{{.*}}, %[[T]]
func.func @moved(%x: tensor<2x3xf32>, %y: tensor<5x3xf32>) -> (tensor<2x4xf32>, tensor<5x4xf32>) {
  %w = gantry.constant dense<1.0> : tensor<4x3xf32>
  %t = gantry.transpose %w {permutation = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %0 = gantry.matmul %x, %t : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = gantry.matmul %y, %t : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  return %0, %1 : tensor<2x4xf32>, tensor<5x4xf32>
}

// Weights in a resource, as models have them.
// CHECK-LABEL: @resource(
// CHECK: gantry.constant dense_resource<[[NAME:.*]]> : tensor<2x2xbf16>
func.func @resource(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = gantry.constant dense_resource<weight> : tensor<2x2xf32>
  %0 = gantry.matmul %x, %w : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// Attention, mask and all, is rounded where a target does that, which CPUs do not to f16; the product behind it is.
// HALF-LABEL: @attention(
// HALF: gantry.matmul %{{[a-z0-9]*}}, %{{[a-z0-9]*}} {transpose_b} : {{.*}} -> tensor<4x4xf32>
// HALF: gantry.softmax
// HALF: %[[A:.*]] = gantry.matmul {{.*}} : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
// HALF: gantry.cast %[[A]]
// HALF: gantry.matmul {{.*}}accumulate_type = f32
// CHECK-LABEL: @attention(
// CHECK-COUNT-3: accumulate_type = f32
func.func @attention(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>, %m: tensor<4x4xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = gantry.matmul %q, %k {transpose_b} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %1 = gantry.add %0, %m : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = gantry.softmax %1 {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = gantry.matmul %2, %v : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = gantry.matmul %3, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// A softmax that no product follows is no attention.
// CHECK-LABEL: @classifier(
// CHECK: gantry.matmul {{.*}}accumulate_type = f32
func.func @classifier(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = gantry.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = gantry.softmax %0 {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// Other element types are what the graph says.
// CHECK-LABEL: @other(
// CHECK-NOT: accumulate_type
func.func @other(%x: tensor<4x8xf64>, %y: tensor<8x8xf64>, %h: tensor<4x8xf16>, %i: tensor<8x8xf16>) -> (tensor<4x8xf64>, tensor<4x8xf16>) {
  %0 = gantry.matmul %x, %y : (tensor<4x8xf64>, tensor<8x8xf64>) -> tensor<4x8xf64>
  %1 = gantry.matmul %h, %i : (tensor<4x8xf16>, tensor<8x8xf16>) -> tensor<4x8xf16>
  return %0, %1 : tensor<4x8xf64>, tensor<4x8xf16>
}

{-# dialect_resources: { builtin: { weight: "0x040000000000803F0000004000004040000080C0" } } #-}
