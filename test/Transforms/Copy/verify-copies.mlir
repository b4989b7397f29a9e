// RUN: gantry-opt %s --gantry-verify-copies -verify-diagnostics

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0]>} {
  func.func @not_brought(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @below {{needs operand 0 on '/job:localhost/replica:0/task:0/device:GPU:0' after Copy, it is on '/job:localhost/replica:0/task:0/device:CPU:0'}}
    %a = gantry.relu %x {gantry.device = #gpu0} : (tensor<4xf32>) -> tensor<4xf32>
    return %a : tensor<4xf32>
  }
}
