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

// -----

module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/device:CPU:0">, #gantry.device<"/device:GPU:0">, #gantry.device<"/device:GPU:1">]>} {
  // Strict, and no kernel: the op, its type, where there are kernels, and what to do. (Ops of another
  // dialect say themselves where they have kernels: tools/gantry-opt/ForeignOps.cpp.)
  func.func @p4_no_kernel(%x: tensor<4xf32>) {
    // expected-error @below {{'TosaSub' is placed on '/job:localhost/replica:0/task:0/device:GPU:0': no kernel for 'TosaSub' of f32 there; there are kernels for CPU; ask for another device, or let it fall back with --soft-placement}}
    %0 = tosa.sub %x, %x {gantry.device = #gantry.device<"GPU:0">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }

  // Ends that ask for what is not there.
  // expected-error @below {{argument 1 is placed on '/job:localhost/replica:0/task:0/device:GPU:4': unknown device; the devices are}}
  func.func @p16_argument(%x: tensor<4xf32>, %y: tensor<4xf32> {gantry.device = #gantry.device<"GPU:4">}) {
    return
  }
  // expected-error @below {{result 0 is placed on '/job:localhost/replica:0/task:0/device:GPU:4': unknown device; the devices are}}
  func.func @p16_result(%x: tensor<4xf32>) -> (tensor<4xf32> {gantry.device = #gantry.device<"GPU:4">}) {
    return %x : tensor<4xf32>
  }
  func.func @p7_constant() {
    // expected-error @below {{'constant' is placed on '/job:localhost/replica:0/task:0/device:GPU:3': unknown device; the devices are}}
    %0 = gantry.constant {gantry.device = #gantry.device<"GPU:3">} dense<1.0> : tensor<2xf32>
    return
  }
}

// -----

module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/device:CPU:0">, #gantry.device<"/device:GPU:0">, #gantry.device<"/device:GPU:1">]>} {
  // What cannot hold together is listed, each thing where it was said; what has no part in it is not.
  func.func @p8_conflict(%x: tensor<4xf32>) {
    // expected-error @below {{'Relu' and what goes with it cannot be placed: 6 things cannot hold together; dropping any one of them resolves it}}
    // expected-note @below {{'Relu' ('first') is requested on '/job:localhost/replica:0/task:0/device:GPU:0'}}
    // expected-note @below {{'Relu' ('first') is in the colocation group 'left'}}
    %0 = gantry.relu %x {gantry.name = "first", gantry.device = #gantry.device<"GPU:0">, gantry.colocate = ["left"]} : (tensor<4xf32>) -> tensor<4xf32>
    // expected-note @below {{'Exp' ('between') is in the colocation group 'left'}}
    // expected-note @below {{'Exp' ('between') is in the colocation group 'right'}}
    %1 = gantry.exp %x {gantry.name = "between", gantry.colocate = ["left", "right"]} : (tensor<4xf32>) -> tensor<4xf32>
    // expected-note @below {{'Neg' ('last') is requested on '/job:localhost/replica:0/task:0/device:CPU:*'}}
    // expected-note @below {{'Neg' ('last') is in the colocation group 'right'}}
    %2 = gantry.neg %x {gantry.name = "last", gantry.device = #gantry.device<"CPU">, gantry.colocate = ["right"]} : (tensor<4xf32>) -> tensor<4xf32>
    %3 = gantry.abs %x {gantry.device = #gantry.device<"/job:localhost">, gantry.colocate = ["right", "more"]} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }

  func.func @p8_conflict_with_kernels(%x: tensor<4xf32>) {
    // expected-error @below {{'Relu' and what goes with it cannot be placed: 4 things cannot hold together; dropping any one of them resolves it}}
    // expected-note @below {{'Relu' is requested on '/job:localhost/replica:0/task:0/device:GPU:1'}}
    // expected-note @below {{'Relu' is in the colocation group 'g'}}
    %0 = gantry.relu %x {gantry.device = #gantry.device<"GPU:1">, gantry.colocate = ["g"]} : (tensor<4xf32>) -> tensor<4xf32>
    // expected-note @below {{'TosaSub' has kernels for CPU only}}
    // expected-note @below {{'TosaSub' is in the colocation group 'g'}}
    %1 = tosa.sub %x, %x {gantry.colocate = ["g"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
}
