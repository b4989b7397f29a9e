// RUN: gantry-opt %s --gantry-assign-devices -split-input-file -verify-diagnostics

module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">]>} {
  // A device that the topology lacks: full name, and what there is.
  func.func @p4_unknown_device(%x: tensor<2x2xf32>) {
    // expected-error @below {{'MatMul' is placed on '/job:localhost/replica:0/task:0/device:GPU:2': unknown device; the devices are /job:localhost/replica:0/task:0/device:CPU:0}}
    %0 = gantry.matmul %x, %x {gantry.device = #gantry.device<"GPU:2">} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    return
  }
}

// -----

module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">]>} {
  // Another task is another device.
  func.func @p4_unknown_task(%x: tensor<4xf32>) {
    // expected-error @below {{'Relu' is placed on '/job:localhost/replica:0/task:1/device:CPU:0': unknown device; the devices are /job:localhost/replica:0/task:0/device:CPU:0}}
    %0 = gantry.relu %x {gantry.device = #gantry.device<"/task:1/device:CPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

// Nothing to place on.
// expected-error @below {{the module has no topology to place ops on}}
module {
}

// -----

module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">]>} {
  // A copy goes to a device that is there.
  func.func @p1_copy(%x: tensor<4xf32>) {
    // expected-error @below {{'gantry.copy' goes to '/job:localhost/replica:0/task:0/device:GPU:7': unknown device; the devices are /job:localhost/replica:0/task:0/device:CPU:0}}
    %0 = gantry.copy %x to "GPU:7" : tensor<4xf32>
    return
  }
}
