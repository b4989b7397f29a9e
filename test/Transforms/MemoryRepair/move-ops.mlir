// A row of ops whose weights take as many bytes as are asked for runs on another device.
// RUN: gantry-opt %s --gantry-move-ops="bytes=0,30000,0 to=-1,2,-1" | FileCheck %s
// RUN: gantry-opt %s --gantry-move-ops="bytes=0,200000,0 to=-1,2,-1" | FileCheck %s --check-prefix=NONE
// RUN: gantry-opt %s --gantry-move-ops="bytes=0,30000,0 to=-1,-1,-1" | FileCheck %s --check-prefix=NONE
// NONE-NOT: where there is room

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">
#other = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">
#free = #gantry.decision<"default", "nothing was asked for">
#asked = #gantry.decision<"requested", "asked for">

// Two products of 16 KiB of weights each, next to where the value is narrow; not the first ones, of which one is where it
// was asked to be.
// CHECK-LABEL: func.func @main(
// CHECK: gantry.matmul {{.*}}GPU:0">, gantry.name = "a"
// CHECK: gantry.matmul {{.*}}GPU:0">, gantry.name = "b"
// CHECK: gantry.matmul {{.*}}GPU:1">, gantry.name = "c", gantry.placement = #gantry.decision<"inferred", "where there is room">
// CHECK: gantry.matmul {{.*}}GPU:1">, gantry.name = "d", gantry.placement = #gantry.decision<"inferred", "where there is room">
// CHECK: gantry.matmul {{.*}}GPU:0">, gantry.name = "e"
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu, #other], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}, {driver = "sim", name = "/physical_device:GPU:0"}, {driver = "sim", name = "/physical_device:GPU:1"}],
    logical = [{physical = 0}, {physical = 1}, {physical = 2}]}>} {
  func.func @main(%x: tensor<64x64xf32> {gantry.device = #gpu}) -> (tensor<64x64xf32> {gantry.device = #gpu}) {
    %w0 = gantry.constant dense<1.0> : tensor<64x64xf32>
    %w1 = gantry.constant dense<2.0> : tensor<64x8xf32>
    %w2 = gantry.constant dense<3.0> : tensor<8x512xf32>
    %w3 = gantry.constant dense<4.0> : tensor<512x8xf32>
    %w4 = gantry.constant dense<5.0> : tensor<8x64xf32>
    %a = gantry.matmul %x, %w0 {gantry.device = #gpu, gantry.name = "a", gantry.placement = #asked} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %b = gantry.matmul %a, %w1 {gantry.device = #gpu, gantry.name = "b", gantry.placement = #free} : (tensor<64x64xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
    %c = gantry.matmul %b, %w2 {gantry.device = #gpu, gantry.name = "c", gantry.placement = #free} : (tensor<64x8xf32>, tensor<8x512xf32>) -> tensor<64x512xf32>
    %d = gantry.matmul %c, %w3 {gantry.device = #gpu, gantry.name = "d", gantry.placement = #free} : (tensor<64x512xf32>, tensor<512x8xf32>) -> tensor<64x8xf32>
    %e = gantry.matmul %d, %w4 {gantry.device = #gpu, gantry.name = "e", gantry.placement = #free} : (tensor<64x8xf32>, tensor<8x64xf32>) -> tensor<64x64xf32>
    return %e : tensor<64x64xf32>
  }
}
