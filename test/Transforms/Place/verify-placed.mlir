// RUN: gantry-opt %s --gantry-verify-placed -split-input-file -verify-diagnostics

// What Place gives.
module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">]>} {
  func.func @placed(%x: tensor<4xf32>) {
    %0 = gantry.relu %x {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">]>} {
  // An op that was forgotten.
  func.func @forgotten(%x: tensor<4xf32>) {
    // expected-error @below {{'gantry.relu' op has no device of the topology after Place}}
    %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">]>} {
  // A request is not a device yet.
  func.func @request(%x: tensor<4xf32>) {
    // expected-error @below {{'gantry.relu' op has no device of the topology after Place}}
    %0 = gantry.relu %x {gantry.device = #gantry.device<"CPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}
