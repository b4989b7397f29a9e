// Cheap values are computed again in the kernels that read them, where that reads nothing more.
// RUN: gantry-opt %s --gantry-clone-cheap-ops -split-input-file | FileCheck %s --enable-var-scope
// RUN: gantry-opt %s --gantry-clone-cheap-ops --gantry-form-kernels -split-input-file | FileCheck %s --check-prefix=KERNELS --enable-var-scope

// A normalised image that the forward pass multiplies, and the backward pass once more: only the image without its
// mean is held.
// CHECK-LABEL: func.func @batch_norm(
// CHECK-SAME: %[[X:[a-z0-9]+]]: {{[^,]*}}, %[[R:[a-z0-9]+]]: {{[^,]*}}, %[[S:[a-z0-9]+]]:
// CHECK: %[[C:.*]] = gantry.exp %[[X]]
// CHECK: %[[N:.*]] = gantry.mul %[[C]], %[[R]]
// CHECK: gantry.mul %[[N]], %[[S]]
// CHECK: %[[G:.*]] = gantry.matmul
// CHECK-NEXT: %[[AGAIN:.*]] = gantry.mul %[[C]], %[[R]]
// CHECK-NEXT: gantry.mul %[[G]], %[[AGAIN]]
// KERNELS-LABEL: func.func @batch_norm(
// KERNELS: %[[C:.*]]:2 = gantry.launch @kernels_cpu::@exp_mul_mul_0(
// KERNELS: gantry.launch @kernels_cpu::@matmul_mul_mul_0(%[[C]]#1, %{{[a-z0-9]+}}, %[[C]]#0,
func.func @batch_norm(%x: tensor<64x64xf32>, %r: tensor<64xf32>, %s: tensor<64xf32>, %w: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %c = gantry.exp %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %n = gantry.mul %c, %r : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  %y = gantry.mul %n, %s : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  %g = gantry.matmul %y, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = gantry.mul %g, %n : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %h = gantry.matmul %d, %c : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %h, %d : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// What it is made of would have to be held longer.
// CHECK-LABEL: func.func @longer(
// CHECK: %[[N:.*]] = gantry.mul
// CHECK: %[[G:.*]] = gantry.matmul
// CHECK-NEXT: gantry.mul %[[G]], %[[N]]
func.func @longer(%x: tensor<64x64xf32>, %r: tensor<64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %c = gantry.exp %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %n = gantry.mul %c, %r : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  %y = gantry.neg %n : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %g = gantry.matmul %y, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = gantry.mul %g, %n : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}

// -----

// A product reads it, too: it is stored in any case.
// CHECK-LABEL: func.func @stored(
// CHECK: %[[N:.*]] = gantry.mul
// CHECK: %[[G:.*]] = gantry.matmul %[[N]]
// CHECK-NEXT: gantry.mul %[[G]], %[[N]]
func.func @stored(%x: tensor<64x64xf32>, %r: tensor<64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %n = gantry.mul %x, %r : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  %g = gantry.matmul %n, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = gantry.mul %g, %n : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}

// -----

// A variable has its next value by then.
// CHECK-LABEL: func.func @variable(
// CHECK: %[[N:.*]] = gantry.mul
// CHECK: %[[G:.*]] = gantry.matmul
// CHECK-NEXT: gantry.mul %[[G]], %[[N]]
func.func @variable(%v: tensor<64x64xf32> {gantry.variable = @v}, %r: tensor<64xf32>, %w: tensor<64x64xf32>) -> (tensor<64x64xf32> {gantry.variable = @v}, tensor<64x64xf32>) {
  %n = gantry.mul %v, %r : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  %y = gantry.sub %n, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %u = gantry.update %w : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %g = gantry.matmul %y, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = gantry.mul %g, %n : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %u, %d : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// What takes longer than reading is made once.
// CHECK-LABEL: func.func @exponential(
// CHECK-COUNT-1: gantry.exp
// CHECK-NOT: gantry.exp
func.func @exponential(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %e = gantry.exp %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %n = gantry.neg %e : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %g = gantry.matmul %n, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = gantry.mul %g, %e : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %f = gantry.mul %d, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %d, %f : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// The image without its mean, which others read, is made again of the image; the mean is small, and what is left of its
// kernel.
// CHECK-LABEL: func.func @centred(
// CHECK: %[[X:.*]] = gantry.matmul
// CHECK-NEXT: %[[M:.*]] = gantry.reduce_mean %[[X]]
// CHECK-NEXT: gantry.sub %[[X]], %[[M]]
// CHECK-NEXT: gantry.exp
// CHECK: %[[G:.*]] = gantry.matmul
// CHECK-NEXT: %[[AGAIN:.*]] = gantry.sub %[[X]], %[[M]]
// CHECK-NEXT: gantry.mul %[[G]], %[[AGAIN]]
// CHECK-NOT: gantry.sub
// KERNELS-LABEL: func.func @centred(
// KERNELS: %[[X:.*]] = gantry.launch @kernels_cpu::@matmul_0(
// KERNELS-NEXT: %[[M:.*]] = gantry.launch @kernels_cpu::@reduce_mean_0(%[[X]])
// KERNELS-NEXT: gantry.launch @kernels_cpu::@sub_exp_0(%[[X]], %[[M]])
func.func @centred(%a: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %x = gantry.matmul %a, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %m = gantry.reduce_mean %x {axes = array<i64: 0>, keep_dims} : (tensor<64x64xf32>) -> tensor<1x64xf32>
  %c = gantry.sub %x, %m : (tensor<64x64xf32>, tensor<1x64xf32>) -> tensor<64x64xf32>
  %e = gantry.exp %c : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %g = gantry.matmul %e, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = gantry.mul %g, %c : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}

// -----

// A variable that has its old value where the reader runs.
// CHECK-LABEL: func.func @old(
// CHECK: %[[G:.*]] = gantry.matmul
// CHECK-NEXT: %[[AGAIN:.*]] = gantry.mul %{{.*}}, %arg0
// CHECK-NEXT: gantry.add %[[G]], %[[AGAIN]]
func.func @old(%v: tensor<64xf32> {gantry.variable = @v}, %x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> (tensor<64xf32> {gantry.variable = @v}, tensor<64x64xf32>) {
  %n = gantry.mul %x, %v : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  %y = gantry.exp %n : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %g = gantry.matmul %y, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = gantry.add %g, %n : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %s = gantry.reduce_sum %d {axes = array<i64: 0>} : (tensor<64x64xf32>) -> tensor<64xf32>
  %u = gantry.update %s : (tensor<64xf32>) -> tensor<64xf32>
  return %u, %d : tensor<64xf32>, tensor<64x64xf32>
}
