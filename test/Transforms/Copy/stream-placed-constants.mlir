// Weights that placement leaves on the host come in by a copy in each run, in front of the first op that needs them, on
// each device that reads them. Those whose views are read on several devices stay.
// RUN: gantry-opt %s --gantry-stream-placed-constants | FileCheck %s

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">
#gpu1 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">

// CHECK-NOT: gantry.search
// CHECK-LABEL: func.func @main(
// CHECK: %[[W:.*]] = gantry.constant {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">, gantry.name = "w"}
// CHECK: %[[V:.*]] = gantry.constant {gantry.name = "v"}
// CHECK: gantry.tanh
// CHECK: %[[W0:.*]] = gantry.copy %[[W]] to "/job:localhost/replica:0/task:0/device:GPU:0" force {cause = "the memory limit"}
// CHECK: gantry.add {{.*}}%[[W0]]
// CHECK: gantry.mul {{.*}}%[[W0]]
// CHECK: %[[W1:.*]] = gantry.copy %[[W]] to "/job:localhost/replica:0/task:0/device:GPU:1" force {cause = "the memory limit"}
// CHECK: gantry.add {{.*}}%[[W1]]
// CHECK-NOT: gantry.copy
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0, #gpu1], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}, {driver = "sim", name = "/physical_device:GPU:0"},
                {driver = "sim", name = "/physical_device:GPU:1"}],
    logical = [{physical = 0}, {physical = 1}, {physical = 2}]}>} {
  func.func @main(%x: tensor<4x4xf32> {gantry.device = #gpu0}, %y: tensor<4x4xf32> {gantry.device = #gpu1})
      -> (tensor<4x4xf32> {gantry.device = #gpu0}, tensor<4x4xf32> {gantry.device = #gpu1}, tensor<16xf32> {gantry.device = #gpu0}, tensor<16xf32> {gantry.device = #gpu1}) {
    %w = gantry.constant {gantry.name = "w", gantry.search = #cpu} dense<1.0> : tensor<4x4xf32>
    %v = gantry.constant {gantry.name = "v", gantry.search = #cpu} dense<2.0> : tensor<4x4xf32>
    %flat = gantry.reshape %v {shape = array<i64: 16>} : (tensor<4x4xf32>) -> tensor<16xf32>
    %a = gantry.tanh %x {gantry.device = #gpu0} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %b = gantry.add %a, %w {gantry.device = #gpu0} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %c = gantry.mul %b, %w {gantry.device = #gpu0} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %d = gantry.add %y, %w {gantry.device = #gpu1} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %e = gantry.sin %flat {gantry.device = #gpu0} : (tensor<16xf32>) -> tensor<16xf32>
    %f = gantry.cos %flat {gantry.device = #gpu1} : (tensor<16xf32>) -> tensor<16xf32>
    return %c, %d, %e, %f : tensor<4x4xf32>, tensor<4x4xf32>, tensor<16xf32>, tensor<16xf32>
  }
}
