// RUN: gantry-opt %s -split-input-file --gantry-insert-copies=explicit=true -verify-diagnostics

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">
#gpu1 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">

module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0, #gpu1]>} {
  func.func @p14_mixed_devices(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-note @below {{the result of Relu 'a' is made here}}
    %a = gantry.relu %x {gantry.device = #gpu0, gantry.name = "a"} : (tensor<4xf32>) -> tensor<4xf32>
    %b = gantry.exp %x {gantry.device = #gpu1, gantry.name = "b"} : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error @below {{'AddV2' runs on '/job:localhost/replica:0/task:0/device:GPU:1', and copies are explicit: operand 0 (the result of Relu 'a') is on '/job:localhost/replica:0/task:0/device:GPU:0'; bring it there with gantry.copy, place both on one device, or compile with --copies=auto}}
    %c = gantry.add %a, %b {gantry.device = #gpu1} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %c : tensor<4xf32>
  }
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">
#gpu1 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">

// Ends of functions and explicit copies are no error.
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0, #gpu1]>} {
  func.func @p16_ends(%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = gantry.relu %x {gantry.device = #gpu0} : (tensor<4xf32>) -> tensor<4xf32>
    %there = gantry.copy %a to "/job:localhost/replica:0/task:0/device:GPU:1" : tensor<4xf32>
    %b = gantry.exp %there {gantry.device = #gpu1} : (tensor<4xf32>) -> tensor<4xf32>
    return %b : tensor<4xf32>
  }
}
