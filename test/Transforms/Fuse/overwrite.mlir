// What a kernel's result may overwrite where that is said by what its ops mean, as for GPUs.
// RUN: gantry-opt %s --gantry-form-kernels | FileCheck %s

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// The result may overwrite what it needs nothing of but the element at its place: not what is
// broadcast, reversed or reduced on the way, nor what it only looks at as a whole; also when another
// use of the argument could be overwritten.
// CHECK-LABEL: @overwrites(
// CHECK: gantry.kernel @add_0 attributes {gantry.work = #gantry.work<in_place = [0]>} {
// CHECK: gantry.kernel @compare_select_0 attributes {gantry.work = #gantry.work<in_place = [0, 1]>} {
// CHECK: gantry.kernel @slice_0 {
// CHECK: gantry.kernel @matmul_add_0 {
// CHECK: gantry.kernel @softmax_0 {
// CHECK: gantry.kernel @cast_0 {
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}, {driver = "cuda", name = "/physical_device:GPU:0"}],
    logical = [{physical = 0}, {physical = 1}]}>} {
  func.func @overwrites(%x: tensor<4x4xf32>, %row: tensor<4xf32>, %n: tensor<4x4xi32>)
      -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
    %0 = gantry.add %x, %row {gantry.device = #gpu} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    %p = gantry.compare gt, %x, %0 {gantry.device = #gpu} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xi1>
    %1 = gantry.select %p, %x, %0 {gantry.device = #gpu} : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = gantry.slice %x {gantry.device = #gpu, starts = array<i64: 3, 0>, sizes = array<i64: 4, 4>, steps = array<i64: -1, 1>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %m = gantry.matmul %x, %1 {gantry.device = #gpu} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = gantry.add %m, %x {gantry.device = #gpu} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = gantry.softmax %x {gantry.device = #gpu, axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = gantry.cast %n {gantry.device = #gpu} : (tensor<4x4xi32>) -> tensor<4x4xf32>
    return %0, %1, %2, %3, %4, %5 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
}
