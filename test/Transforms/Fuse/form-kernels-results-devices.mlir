// Kernels with several results are of one device, and of targets that make such.
// RUN: gantry-opt %s --gantry-form-kernels | FileCheck %s --enable-var-scope

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#cpu1 = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:1">
#gpu = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

module attributes {gantry.topology = #gantry.topology<[#cpu, #cpu1, #gpu], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}, {driver = "cuda", name = "/physical_device:GPU:0"}],
    logical = [{physical = 0, limit = 1048576}, {physical = 0, limit = 1048576}, {physical = 1}]}>} {
  // CHECK-LABEL: func.func @apart(
  // CHECK: gantry.launch @kernels_cpu::@exp_0({{.*}}CPU:0
  // CHECK: gantry.launch @kernels_cpu::@neg_0({{.*}}CPU:1
  func.func @apart(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = gantry.exp %x {gantry.device = #cpu} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = gantry.neg %x {gantry.device = #cpu1} : (tensor<4xf32>) -> tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
  // CHECK-LABEL: func.func @gpu(
  // CHECK: gantry.launch @kernels_cuda::@exp_{{[0-9]}}(
  // CHECK: gantry.launch @kernels_cuda::@neg_{{[0-9]}}(
  func.func @gpu(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = gantry.exp %x {gantry.device = #gpu} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = gantry.neg %x {gantry.device = #gpu} : (tensor<4xf32>) -> tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
  // CHECK-LABEL: func.func @together(
  // CHECK: gantry.launch @kernels_cpu::@exp_neg_0(
  func.func @together(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = gantry.exp %x {gantry.device = #cpu1} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = gantry.neg %x {gantry.device = #cpu1} : (tensor<4xf32>) -> tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
}
