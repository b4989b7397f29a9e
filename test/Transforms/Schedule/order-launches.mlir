// Launches stand in the order that holds the fewest bytes at a time.
// RUN: gantry-opt %s --split-input-file --pass-pipeline="builtin.module(gantry-form-kernels{fuse=false},gantry-lower-kernels,gantry-order-launches)" | FileCheck %s

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">

// The wide value is made when it is read, and not before the narrow ones: they are reduced to little first.
module attributes {gantry.topology = #gantry.topology<[#cpu], {physical = [{driver = "host", name = "/physical_device:CPU:0"}], logical = [{physical = 0}]}>} {
  // CHECK-LABEL: func.func @late(
  // CHECK: gantry.launch @kernels_cpu::@reduce_sum_0(
  // CHECK: gantry.launch @kernels_cpu::@exp_0(
  // CHECK: gantry.launch @kernels_cpu::@add_0(
  func.func @late(%x: tensor<64x64xf32>) -> tensor<64xf32> {
    %wide = gantry.exp %x {gantry.device = #cpu} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %other = gantry.sin %x {gantry.device = #cpu} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %sum = gantry.reduce_sum %other {axes = array<i64: 1>, gantry.device = #cpu} : (tensor<64x64xf32>) -> tensor<64xf32>
    %both = gantry.add %wide, %sum {gantry.device = #cpu} : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
    %all = gantry.reduce_sum %both {axes = array<i64: 1>, gantry.device = #cpu} : (tensor<64x64xf32>) -> tensor<64xf32>
    return %all : tensor<64xf32>
  }

  // Nothing moves for nothing: here every order holds the same.
  // CHECK-LABEL: func.func @equal(
  // CHECK: gantry.launch @kernels_cpu::@exp_0(
  // CHECK: gantry.launch @kernels_cpu::@sin_0(
  // CHECK: gantry.launch @kernels_cpu::@mul_0(
  func.func @equal(%x: tensor<64x64xf32>) -> tensor<64xf32> {
    %a = gantry.exp %x {gantry.device = #cpu} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %b = gantry.sin %x {gantry.device = #cpu} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %c = gantry.mul %a, %b {gantry.device = #cpu} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %d = gantry.reduce_sum %c {axes = array<i64: 1>, gantry.device = #cpu} : (tensor<64x64xf32>) -> tensor<64xf32>
    return %d : tensor<64xf32>
  }
}

// -----

// Views stay in front of what reads them, constants come first.
#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
module attributes {gantry.topology = #gantry.topology<[#cpu], {physical = [{driver = "host", name = "/physical_device:CPU:0"}], logical = [{physical = 0}]}>} {
  // CHECK-LABEL: func.func @views(
  // CHECK-NEXT: %[[C:.*]] = gantry.constant
  // CHECK: gantry.launch @kernels_cpu::@sin_0(
  // CHECK-NEXT: gantry.launch @kernels_cpu::@reduce_sum_0(
  // CHECK-NEXT: %[[WIDE:.*]] = gantry.launch @kernels_cpu::@exp_0(
  // CHECK-NEXT: %[[VIEW:.*]] = gantry.reshape %[[WIDE]]
  // CHECK-NEXT: gantry.launch @kernels_cpu::@reduce_sum_1(%[[VIEW]])
  // CHECK-NEXT: gantry.launch @kernels_cpu::@mul_0({{.*}}%[[C]]
  func.func @views(%x: tensor<64x64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %wide = gantry.exp %x {gantry.device = #cpu} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %view = gantry.reshape %wide : (tensor<64x64xf32>) -> tensor<64x8x8xf32>
    %other = gantry.sin %x {gantry.device = #cpu} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %sum = gantry.reduce_sum %other {axes = array<i64: 1>, gantry.device = #cpu} : (tensor<64x64xf32>) -> tensor<64xf32>
    %c = gantry.constant {gantry.device = #cpu} dense<2.0> : tensor<64xf32>
    %rest = gantry.reduce_sum %view {axes = array<i64: 1, 2>, gantry.device = #cpu} : (tensor<64x8x8xf32>) -> tensor<64xf32>
    %scaled = gantry.mul %rest, %c {gantry.device = #cpu} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %sum, %scaled : tensor<64xf32>, tensor<64xf32>
  }
}

// -----

// Gradients end where they are used up: each update stands behind the last reader of the old value, and in front of the
// next gradient.
#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
module attributes {gantry.topology = #gantry.topology<[#cpu], {physical = [{driver = "host", name = "/physical_device:CPU:0"}], logical = [{physical = 0}]}>} {
  gantry.variable @u = dense<1.0> : tensor<64x64xf32>
  gantry.variable @w = dense<1.0> : tensor<64x64xf32>
  // CHECK-LABEL: func.func @updates(
  // CHECK: gantry.launch @kernels_cpu::@exp_0(
  // CHECK: gantry.launch @kernels_cpu::@mul_0(%{{.*}}, %arg1)
  // CHECK: gantry.launch @kernels_cpu::@sub_0(%arg1,
  // CHECK: gantry.launch @kernels_cpu::@sin_0(
  // CHECK: gantry.launch @kernels_cpu::@sub_0(%arg0,
  func.func @updates(%u: tensor<64x64xf32> {gantry.variable = @u}, %w: tensor<64x64xf32> {gantry.variable = @w}, %x: tensor<64x64xf32>)
      -> (tensor<64x64xf32> {gantry.variable = @u}, tensor<64x64xf32> {gantry.variable = @w}) {
    %a = gantry.exp %x {gantry.device = #cpu} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %d = gantry.mul %a, %w {gantry.device = #cpu} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %e = gantry.sin %d {gantry.device = #cpu} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %u1 = gantry.sub %u, %e {gantry.device = #cpu} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %w1 = gantry.sub %w, %d {gantry.device = #cpu} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %u1, %w1 : tensor<64x64xf32>, tensor<64x64xf32>
  }
}
