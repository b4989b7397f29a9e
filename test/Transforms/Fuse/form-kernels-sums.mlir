// Sums on CPUs: elementwise ops in front of them join, and sums over the same elements share a kernel.
// RUN: gantry-opt %s --gantry-form-kernels -split-input-file | FileCheck %s --enable-var-scope

// The gradients of a layer norm's scale and bias, with what is multiplied in front.
// CHECK-LABEL: func.func @columns(
// CHECK: %[[R:.*]]:2 = gantry.launch @kernels_cpu::@sub_mul_mul_reduce_sum_and_1_0(%arg0, %arg1, %arg2, %arg3)
// CHECK-NEXT: return %[[R]]#0, %[[R]]#1
func.func @columns(%x: tensor<4x128x64xf32>, %m: tensor<4x128x1xf32>, %r: tensor<4x128x1xf32>, %d: tensor<4x128x64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %c = gantry.sub %x, %m : (tensor<4x128x64xf32>, tensor<4x128x1xf32>) -> tensor<4x128x64xf32>
  %n = gantry.mul %c, %r : (tensor<4x128x64xf32>, tensor<4x128x1xf32>) -> tensor<4x128x64xf32>
  %p = gantry.mul %d, %n : (tensor<4x128x64xf32>, tensor<4x128x64xf32>) -> tensor<4x128x64xf32>
  %s = gantry.reduce_sum %p {axes = array<i64: 0, 1>} : (tensor<4x128x64xf32>) -> tensor<64xf32>
  %b = gantry.reduce_sum %d {axes = array<i64: 0, 1>} : (tensor<4x128x64xf32>) -> tensor<64xf32>
  return %s, %b : tensor<64xf32>, tensor<64xf32>
}

// -----

// Mean and deviation of a row, which is read twice while it is in the cache.
// CHECK-LABEL: func.func @statistics(
// CHECK: %[[R:.*]]:2 = gantry.launch @kernels_cpu::@reduce_mean_sub_mul_reduce_mean_and_1_0(%arg0)
// CHECK-NEXT: return %[[R]]#0, %[[R]]#1
func.func @statistics(%x: tensor<8x128xf32>) -> (tensor<8x1xf32>, tensor<8x1xf32>) {
  %m = gantry.reduce_mean %x {axes = array<i64: 1>, keep_dims} : (tensor<8x128xf32>) -> tensor<8x1xf32>
  %c = gantry.sub %x, %m : (tensor<8x128xf32>, tensor<8x1xf32>) -> tensor<8x128xf32>
  %q = gantry.mul %c, %c : (tensor<8x128xf32>, tensor<8x128xf32>) -> tensor<8x128xf32>
  %v = gantry.reduce_mean %q {axes = array<i64: 1>, keep_dims} : (tensor<8x128xf32>) -> tensor<8x1xf32>
  %r = gantry.rsqrt %v : (tensor<8x1xf32>) -> tensor<8x1xf32>
  return %m, %r : tensor<8x1xf32>, tensor<8x1xf32>
}

// -----

// Down the columns the mean is known when the last row is read: two passes.
// CHECK-LABEL: func.func @deviation_of_columns(
// CHECK-NEXT: %[[M:.*]] = gantry.launch @kernels_cpu::@reduce_mean_0(%arg0)
// CHECK-NEXT: gantry.launch @kernels_cpu::@sub_mul_reduce_mean_0(%arg0, %[[M]])
func.func @deviation_of_columns(%x: tensor<128x64xf32>) -> tensor<1x64xf32> {
  %m = gantry.reduce_mean %x {axes = array<i64: 0>, keep_dims} : (tensor<128x64xf32>) -> tensor<1x64xf32>
  %c = gantry.sub %x, %m : (tensor<128x64xf32>, tensor<1x64xf32>) -> tensor<128x64xf32>
  %q = gantry.mul %c, %c : (tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
  %v = gantry.reduce_mean %q {axes = array<i64: 0>, keep_dims} : (tensor<128x64xf32>) -> tensor<1x64xf32>
  return %v : tensor<1x64xf32>
}

// -----

// What lies along one of two dimensions that are one loop would keep these apart, and columns that fill no vector or
// rows with a rest would be added up as LLVM likes: other orders of the terms.
// CHECK-LABEL: func.func @other_orders(
// CHECK-NEXT: gantry.launch @kernels_cpu::@mul_0(
// CHECK-NEXT: gantry.launch @kernels_cpu::@reduce_sum_0(
// CHECK-NEXT: gantry.launch @kernels_cpu::@mul_1(
// CHECK-NEXT: gantry.launch @kernels_cpu::@reduce_sum_1(
// CHECK-NEXT: gantry.launch @kernels_cpu::@mul_1(
// CHECK-NEXT: gantry.launch @kernels_cpu::@reduce_sum_2(
func.func @other_orders(%x: tensor<4x128x64xf32>, %w: tensor<128x1xf32>, %y: tensor<16x100xf32>, %z: tensor<16x100xf32>) -> (tensor<64xf32>, tensor<100xf32>, tensor<16xf32>) {
  %a = gantry.mul %x, %w : (tensor<4x128x64xf32>, tensor<128x1xf32>) -> tensor<4x128x64xf32>
  %b = gantry.reduce_sum %a {axes = array<i64: 0, 1>} : (tensor<4x128x64xf32>) -> tensor<64xf32>
  %c = gantry.mul %y, %y : (tensor<16x100xf32>, tensor<16x100xf32>) -> tensor<16x100xf32>
  %d = gantry.reduce_sum %c {axes = array<i64: 0>} : (tensor<16x100xf32>) -> tensor<100xf32>
  %e = gantry.mul %z, %z : (tensor<16x100xf32>, tensor<16x100xf32>) -> tensor<16x100xf32>
  %f = gantry.reduce_sum %e {axes = array<i64: 1>} : (tensor<16x100xf32>) -> tensor<16xf32>
  return %b, %d, %f : tensor<64xf32>, tensor<100xf32>, tensor<16xf32>
}

// -----

// Elements that something else reads, too, are stored; sums in f64 and over other dimensions stay apart.
// CHECK-LABEL: func.func @apart(
// CHECK-DAG: gantry.launch @kernels_cpu::@mul_0(
// CHECK-DAG: gantry.launch @kernels_cpu::@reduce_sum_0(
// CHECK-DAG: gantry.launch @kernels_cpu::@reduce_sum_1(
// CHECK-DAG: gantry.launch @kernels_cpu::@mul_1(
// CHECK-DAG: gantry.launch @kernels_cpu::@reduce_sum_2(
func.func @apart(%x: tensor<128x64xf32>, %y: tensor<128x64xf64>) -> (tensor<128x64xf32>, tensor<64xf32>, tensor<128xf32>, tensor<64xf64>) {
  %a = gantry.mul %x, %x : (tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
  %b = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<128x64xf32>) -> tensor<64xf32>
  %c = gantry.reduce_sum %a {axes = array<i64: 1>} : (tensor<128x64xf32>) -> tensor<128xf32>
  %d = gantry.mul %y, %y : (tensor<128x64xf64>, tensor<128x64xf64>) -> tensor<128x64xf64>
  %e = gantry.reduce_sum %d {axes = array<i64: 0>} : (tensor<128x64xf64>) -> tensor<64xf64>
  return %a, %b, %c, %e : tensor<128x64xf32>, tensor<64xf32>, tensor<128xf32>, tensor<64xf64>
}

// -----

// A sum of products of inputs is no matrix product to those that emit it: products keep their rounding.
// CHECK-LABEL: func.func @products(
// CHECK-NEXT: %[[S:.*]] = gantry.launch @kernels_cpu::@mul_reduce_sum_add_0(%arg0, %arg1, %arg2)
// CHECK-NEXT: return %[[S]]
func.func @products(%x: tensor<2x148x64xf32>, %y: tensor<2x148x64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> {
  %p = gantry.mul %x, %y : (tensor<2x148x64xf32>, tensor<2x148x64xf32>) -> tensor<2x148x64xf32>
  %s = gantry.reduce_sum %p {axes = array<i64: 0, 1>} : (tensor<2x148x64xf32>) -> tensor<64xf32>
  %r = gantry.add %s, %b : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}
