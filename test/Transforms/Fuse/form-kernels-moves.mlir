// RUN: gantry-opt %s --gantry-form-kernels -split-input-file | FileCheck %s

// Launches say what they only move: a join which operands it puts one behind the other, a cut the bytes at which its
// results begin.
// CHECK-LABEL: @rows(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<2x8xf32>
// CHECK: %[[W:.*]] = gantry.launch @kernels_cpu::@concat_0(%[[X]], %[[Y]]) {{.*}} {{{.*}}gantry.joins = array<i64: 0, 1, 0>}
// CHECK: %[[P:.*]]:2 = gantry.launch @kernels_cpu::@split_0(%[[W]]) {{.*}} {{{.*}}gantry.cuts = array<i64: 0, 96>
// CHECK: gantry.launch @kernels_cpu::@slice_0(%[[P]]#1) {{.*}} {{{.*}}gantry.cuts = array<i64: 64>
func.func @rows(%x: tensor<4x8xf32>, %y: tensor<2x8xf32>) -> (tensor<3x8xf32>, tensor<4x8xf32>) {
  %w = gantry.concat %x, %y, %x {axis = 0 : i64} : (tensor<4x8xf32>, tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<10x8xf32>
  %p:2 = gantry.split %w {axis = 0 : i64, sizes = array<i64: 3, 7>} : (tensor<10x8xf32>) -> (tensor<3x8xf32>, tensor<7x8xf32>)
  %s = gantry.slice %p#1 {starts = array<i64: 2, 0>, sizes = array<i64: 4, 8>, steps = array<i64: 1, 1>} : (tensor<7x8xf32>) -> tensor<4x8xf32>
  return %p#0, %s : tensor<3x8xf32>, tensor<4x8xf32>
}

// -----

// Inner dimensions count where those around are 1.
// CHECK-LABEL: @channels(
// CHECK: gantry.launch @kernels_cpu::@concat_0({{.*}}) {{.*}} {{{.*}}gantry.joins = array<i64: 0, 1>}
// CHECK: gantry.launch @kernels_cpu::@slice_0({{.*}}) {{.*}} {{{.*}}gantry.cuts = array<i64: 20>
func.func @channels(%x: tensor<1x2x4xf32>, %y: tensor<1x3x4xf32>) -> tensor<1x1x2xf32> {
  %w = gantry.concat %x, %y {axis = 1 : i64} : (tensor<1x2x4xf32>, tensor<1x3x4xf32>) -> tensor<1x5x4xf32>
  %s = gantry.slice %w {starts = array<i64: 0, 1, 1>, sizes = array<i64: 1, 1, 2>, steps = array<i64: 1, 1, 1>} : (tensor<1x5x4xf32>) -> tensor<1x1x2xf32>
  return %s : tensor<1x1x2xf32>
}

// -----

// What is between other bytes is no row of them, nor is what comes in another order.
// CHECK-LABEL: @columns(
// CHECK: @concat_0
// CHECK-NOT: gantry.joins
// CHECK-NOT: gantry.cuts
// CHECK: return
func.func @columns(%x: tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x8xf32>, tensor<2x4xf32>) {
  %w = gantry.concat %x, %x {axis = 1 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  %p:2 = gantry.split %w {axis = 1 : i64, sizes = array<i64: 2, 6>} : (tensor<2x8xf32>) -> (tensor<2x2xf32>, tensor<2x6xf32>)
  %s = gantry.slice %w {starts = array<i64: 1, 0>, sizes = array<i64: 2, 8>, steps = array<i64: -1, 1>} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %t = gantry.slice %w {starts = array<i64: 0, 0>, sizes = array<i64: 2, 4>, steps = array<i64: 1, 1>} : (tensor<2x8xf32>) -> tensor<2x4xf32>
  return %p#0, %s, %t : tensor<2x2xf32>, tensor<2x8xf32>, tensor<2x4xf32>
}
