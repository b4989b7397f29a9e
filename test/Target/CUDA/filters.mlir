// Constant filters lie with their channels innermost where GPUs read them, all others as they are.
// RUN: gantry-opt %s --gantry-form-kernels --gantry-verify-kernels | FileCheck %s
// RUN: gantry-opt %s --gantry-form-kernels --gantry-lower-kernels --gantry-lower-to-plan | FileCheck %s --check-prefix=PLAN

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}, {driver = "cuda", name = "/physical_device:GPU:0"}],
    logical = [{physical = 0}, {physical = 1}]}>} {

// A constant filter and a given one are two kernels. Windows of one place, and filters of one channel, have one form.
// CHECK: gantry.kernel @conv_0 attributes {gantry.layouts = [unit, {columns = array<i64>, matrices = array<i64>, rows = array<i64: 6, 12, 3, 1, 4, 3>, width = 1 : i64}]}
// CHECK: gantry.kernel @conv_1 {
// CHECK: gantry.kernel @conv_2 {
// CHECK: gantry.kernel @conv_3 {

// PLAN: plan.constant @{{.*}} "w" on @d1 {{.*}}size 288 : tensor<6x4x3xf32> = {{.*}} {gantry.layout = {columns = array<i64>, matrices = array<i64>, rows = array<i64: 6, 12, 3, 1, 4, 3>, width = 1 : i64}}
func.func @main(%x: tensor<1x4x8xf32>, %given: tensor<6x4x3xf32>)
    -> (tensor<1x6x6xf32>, tensor<1x6x6xf32>, tensor<1x6x8xf32>, tensor<1x4x6xf32>) {
  %w = gantry.constant {gantry.name = "w"} dense<1.0> : tensor<6x4x3xf32>
  %place = gantry.constant {gantry.name = "place"} dense<1.0> : tensor<6x4x1xf32>
  %own = gantry.constant {gantry.name = "own"} dense<1.0> : tensor<4x1x3xf32>
  %image = gantry.copy %x to "/job:localhost/replica:0/task:0/device:GPU:0" : tensor<1x4x8xf32>
  %filter = gantry.copy %given to "/job:localhost/replica:0/task:0/device:GPU:0" : tensor<6x4x3xf32>
  %0 = gantry.conv %image, %w {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64, gantry.device = #gpu} : (tensor<1x4x8xf32>, tensor<6x4x3xf32>) -> tensor<1x6x6xf32>
  %1 = gantry.conv %image, %filter {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64, gantry.device = #gpu} : (tensor<1x4x8xf32>, tensor<6x4x3xf32>) -> tensor<1x6x6xf32>
  %2 = gantry.conv %image, %place {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64, gantry.device = #gpu} : (tensor<1x4x8xf32>, tensor<6x4x1xf32>) -> tensor<1x6x8xf32>
  %3 = gantry.conv %image, %own {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 4 : i64, gantry.device = #gpu} : (tensor<1x4x8xf32>, tensor<4x1x3xf32>) -> tensor<1x4x6xf32>
  return %0, %1, %2, %3 : tensor<1x6x6xf32>, tensor<1x6x6xf32>, tensor<1x6x8xf32>, tensor<1x4x6xf32>
}
}
