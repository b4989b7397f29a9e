// Chains along rows are one kernel on CPUs.
// RUN: gantry-opt %s --gantry-form-kernels -split-input-file | FileCheck %s

// A layer norm as exporters write it. What stands in front of it stays with the product.
// CHECK-LABEL: @norm(
// CHECK: %[[X:.*]] = gantry.launch @kernels_cpu::@matmul_add_0(
// CHECK: gantry.launch @kernels_cpu::@reduce_mean_sub_pow_reduce_mean_and_5_0(%[[X]], %arg3, %arg4)
// CHECK-NOT: = gantry.launch @
// CHECK: return
func.func @norm(%a: tensor<8x16xf32>, %w: tensor<16x128xf32>, %b: tensor<128xf32>, %gamma: tensor<128xf32>, %beta: tensor<128xf32>) -> tensor<8x128xf32> {
  %two = gantry.constant dense<2.0> : tensor<f32>
  %eps = gantry.constant dense<1.0e-5> : tensor<f32>
  %p = gantry.matmul %a, %w : (tensor<8x16xf32>, tensor<16x128xf32>) -> tensor<8x128xf32>
  %x = gantry.add %p, %b : (tensor<8x128xf32>, tensor<128xf32>) -> tensor<8x128xf32>
  %m = gantry.reduce_mean %x {axes = array<i64: 1>, keep_dims} : (tensor<8x128xf32>) -> tensor<8x1xf32>
  %d = gantry.sub %x, %m : (tensor<8x128xf32>, tensor<8x1xf32>) -> tensor<8x128xf32>
  %s = gantry.pow %d, %two : (tensor<8x128xf32>, tensor<f32>) -> tensor<8x128xf32>
  %v = gantry.reduce_mean %s {axes = array<i64: 1>, keep_dims} : (tensor<8x128xf32>) -> tensor<8x1xf32>
  %e = gantry.add %v, %eps : (tensor<8x1xf32>, tensor<f32>) -> tensor<8x1xf32>
  %r = gantry.sqrt %e : (tensor<8x1xf32>) -> tensor<8x1xf32>
  %n = gantry.div %d, %r : (tensor<8x128xf32>, tensor<8x1xf32>) -> tensor<8x128xf32>
  %g = gantry.mul %n, %gamma : (tensor<8x128xf32>, tensor<128xf32>) -> tensor<8x128xf32>
  %y = gantry.add %g, %beta : (tensor<8x128xf32>, tensor<128xf32>) -> tensor<8x128xf32>
  return %y : tensor<8x128xf32>
}

// -----

// A mean that somebody else reads, too, is a kernel of its own.
// CHECK-LABEL: @shown(
// CHECK: gantry.launch @kernels_cpu::@reduce_mean_0(
// CHECK: gantry.launch @kernels_cpu::@sub_0(
func.func @shown(%x: tensor<8x128xf32>) -> (tensor<8x128xf32>, tensor<8x1xf32>) {
  %m = gantry.reduce_mean %x {axes = array<i64: 1>, keep_dims} : (tensor<8x128xf32>) -> tensor<8x1xf32>
  %d = gantry.sub %x, %m : (tensor<8x128xf32>, tensor<8x1xf32>) -> tensor<8x128xf32>
  return %d, %m : tensor<8x128xf32>, tensor<8x1xf32>
}

// -----

// Factors that rows share stand in front of the second sum: each row is added up by itself, as alone.
// CHECK-LABEL: @weighted(
// CHECK: gantry.launch @kernels_cpu::@reduce_sum_sub_mul_reduce_sum_and_1_0(
// CHECK-NOT: = gantry.launch @
// CHECK: return
func.func @weighted(%x: tensor<8x128xf32>, %w: tensor<128xf32>) -> tensor<8x128xf32> {
  %m = gantry.reduce_sum %x {axes = array<i64: 1>, keep_dims} : (tensor<8x128xf32>) -> tensor<8x1xf32>
  %d = gantry.sub %x, %m : (tensor<8x128xf32>, tensor<8x1xf32>) -> tensor<8x128xf32>
  %f = gantry.mul %d, %w : (tensor<8x128xf32>, tensor<128xf32>) -> tensor<8x128xf32>
  %s = gantry.reduce_sum %f {axes = array<i64: 1>, keep_dims} : (tensor<8x128xf32>) -> tensor<8x1xf32>
  %y = gantry.div %f, %s : (tensor<8x128xf32>, tensor<8x1xf32>) -> tensor<8x128xf32>
  return %y : tensor<8x128xf32>
}

// -----

// The largest of a row would be found in blocks of rows, and of two zeros be the other one.
// CHECK-LABEL: @largest(
// CHECK: gantry.launch @kernels_cpu::@reduce_max_sub_mul_0(
// CHECK: gantry.launch @kernels_cpu::@reduce_max_0(
func.func @largest(%x: tensor<8x128xf32>, %w: tensor<128xf32>) -> tensor<8x128xf32> {
  %m = gantry.reduce_max %x {axes = array<i64: 1>, keep_dims} : (tensor<8x128xf32>) -> tensor<8x1xf32>
  %d = gantry.sub %x, %m : (tensor<8x128xf32>, tensor<8x1xf32>) -> tensor<8x128xf32>
  %f = gantry.mul %d, %w : (tensor<8x128xf32>, tensor<128xf32>) -> tensor<8x128xf32>
  %s = gantry.reduce_max %f {axes = array<i64: 1>, keep_dims} : (tensor<8x128xf32>) -> tensor<8x1xf32>
  %y = gantry.div %f, %s : (tensor<8x128xf32>, tensor<8x1xf32>) -> tensor<8x128xf32>
  return %y : tensor<8x128xf32>
}

// -----

// What stands in front joins where others read what it reads, as in the gradient of a softmax.
// CHECK-LABEL: @softmax_gradient(
// CHECK: gantry.launch @kernels_cpu::@mul_reduce_sum_sub_mul_0(%arg0, %arg1)
// CHECK-NOT: = gantry.launch @
// CHECK: return
func.func @softmax_gradient(%d: tensor<8x128xf32>, %y: tensor<8x128xf32>) -> tensor<8x128xf32> {
  %p = gantry.mul %d, %y : (tensor<8x128xf32>, tensor<8x128xf32>) -> tensor<8x128xf32>
  %s = gantry.reduce_sum %p {axes = array<i64: 1>, keep_dims} : (tensor<8x128xf32>) -> tensor<8x1xf32>
  %c = gantry.sub %d, %s : (tensor<8x128xf32>, tensor<8x1xf32>) -> tensor<8x128xf32>
  %g = gantry.mul %c, %y : (tensor<8x128xf32>, tensor<8x128xf32>) -> tensor<8x128xf32>
  return %g : tensor<8x128xf32>
}

// -----

// Rows that are no whole steps of vectors have a rest, which may be added up in another order next
// to other ops; a mean over other dimensions has no rows.
// CHECK-LABEL: @rest(
// CHECK: gantry.launch @kernels_cpu::@reduce_mean_
// CHECK: gantry.launch @kernels_cpu::@sub_
// CHECK: gantry.launch @kernels_cpu::@reduce_mean_
// CHECK: gantry.launch @kernels_cpu::@sub_
func.func @rest(%x: tensor<8x100xf32>, %z: tensor<128x128xf32>) -> (tensor<8x100xf32>, tensor<128x128xf32>) {
  %m = gantry.reduce_mean %x {axes = array<i64: 1>, keep_dims} : (tensor<8x100xf32>) -> tensor<8x1xf32>
  %d = gantry.sub %x, %m : (tensor<8x100xf32>, tensor<8x1xf32>) -> tensor<8x100xf32>
  %n = gantry.reduce_mean %z {axes = array<i64: 0>, keep_dims} : (tensor<128x128xf32>) -> tensor<1x128xf32>
  %e = gantry.sub %z, %n : (tensor<128x128xf32>, tensor<1x128xf32>) -> tensor<128x128xf32>
  return %d, %e : tensor<8x100xf32>, tensor<128x128xf32>
}
