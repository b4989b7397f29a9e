// Weights that the host keeps come in by a copy in each run.
// RUN: gantry-opt %s --gantry-stream-constants="bytes=0,30000" | FileCheck %s
// RUN: gantry-opt %s --gantry-stream-constants="bytes=0,90000" | FileCheck %s --check-prefix=ALL
// RUN: gantry-opt %s --gantry-stream-constants="bytes=90000,0" | FileCheck %s --check-prefix=NONE

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// Two of four are enough, and lie apart; what is gathered from comes last, what is asked for stays, and so does
// what is too small.
// CHECK-LABEL: func.func @main(
// CHECK-DAG: %[[B:.*]] = gantry.constant {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">, gantry.name = "w1"}
// CHECK-DAG: %[[D:.*]] = gantry.constant {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">, gantry.name = "w3"}
// CHECK-DAG: gantry.copy %[[B]] to "/job:localhost/replica:0/task:0/device:GPU:0" force {cause = "the memory limit"}
// CHECK-DAG: gantry.copy %[[D]] to "/job:localhost/replica:0/task:0/device:GPU:0" force {cause = "the memory limit"}
// CHECK-NOT: gantry.copy
// CHECK: return
// ALL-LABEL: func.func @main(
// ALL-COUNT-5: gantry.copy
// ALL-NOT: gantry.copy
// NONE-NOT: gantry.copy
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}, {driver = "sim", name = "/physical_device:GPU:0"}],
    logical = [{physical = 0}, {physical = 1}]}>} {
  func.func @main(%x: tensor<64x64xf32> {gantry.device = #gpu}, %i: tensor<2xi64> {gantry.device = #gpu}) -> (tensor<64x64xf32> {gantry.device = #gpu}, tensor<2x64xf32> {gantry.device = #gpu}) {
    %w0 = gantry.constant {gantry.name = "w0"} dense<1.0> : tensor<64x64xf32>
    %w1 = gantry.constant {gantry.name = "w1"} dense<2.0> : tensor<64x64xf32>
    %w2 = gantry.constant {gantry.name = "w2"} dense<3.0> : tensor<64x64xf32>
    %w3 = gantry.constant {gantry.name = "w3"} dense<4.0> : tensor<64x64xf32>
    %asked = gantry.constant {gantry.device = #gpu} dense<5.0> : tensor<64x64xf32>
    %table = gantry.constant dense<6.0> : tensor<64x64xf32>
    %small = gantry.constant dense<7.0> : tensor<64xf32>
    %a = gantry.matmul %x, %w0 {gantry.device = #gpu} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %b = gantry.matmul %a, %w1 {gantry.device = #gpu} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %c = gantry.matmul %b, %w2 {gantry.device = #gpu} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %d = gantry.matmul %c, %w3 {gantry.device = #gpu} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %e = gantry.matmul %d, %asked {gantry.device = #gpu} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %f = gantry.add %e, %small {gantry.device = #gpu} : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
    %g = gantry.gather %table, %i {axis = 0 : i64, gantry.device = #gpu} : (tensor<64x64xf32>, tensor<2xi64>) -> tensor<2x64xf32>
    return %f, %g : tensor<64x64xf32>, tensor<2x64xf32>
  }
}
