// RUN: gantry-opt %s -split-input-file --gantry-check-copy-budget=max-copy=h2d:64 -verify-diagnostics

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// Each direction has its own limit; the copies of one that is exceeded are listed, largest first.
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0]>} {
  // expected-error @below {{'@x4_exceeded' copies 20 bytes per run d2h, the budget is 0 bytes; place their ends on one device, or raise --max-copy}}
  func.func @x4_exceeded(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) attributes {gantry.max_copy = "h2d:1KiB,d2h:0"} {
    %in = gantry.copy %x to "/job:localhost/replica:0/task:0/device:GPU:0" : tensor<4xf32>
    %a = gantry.relu %in {gantry.device = #gpu0, gantry.name = "a"} : (tensor<4xf32>) -> tensor<4xf32>
    %s = gantry.reduce_sum %a {axes = array<i64: 0>, gantry.device = #gpu0, gantry.name = "s"} : (tensor<4xf32>) -> tensor<f32>
    // expected-note @below {{4 bytes from GPU:0 to CPU:0: the result of Sum 's', for result 1}}
    %small = gantry.copy %s to "/job:localhost/replica:0/task:0/device:CPU:0" {cause = "result 1"} : tensor<f32>
    // expected-note @below {{16 bytes from GPU:0 to CPU:0: the result of Relu 'a'}}
    %large = gantry.copy %a to "/job:localhost/replica:0/task:0/device:CPU:0" : tensor<4xf32>
    return %large, %small : tensor<4xf32>, tensor<f32>
  }
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// The pass's option is for functions without a budget of their own.
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0]>} {
  // expected-error @below {{'@from_option' copies 400 bytes per run h2d, the budget is 64 bytes; place their ends on one device, or raise --max-copy}}
  func.func @from_option(%x: tensor<100xf32>) -> (tensor<100xf32> {gantry.device = #gpu0}) {
    // expected-note @below {{400 bytes from CPU:0 to GPU:0: argument 0}}
    %in = gantry.copy %x to "/job:localhost/replica:0/task:0/device:GPU:0" : tensor<100xf32>
    return %in : tensor<100xf32>
  }
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// What is inside of the budget passes.
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0]>} {
  func.func @inside(%x: tensor<16xf32>) -> (tensor<16xf32> {gantry.device = #gpu0}) {
    %in = gantry.copy %x to "/job:localhost/replica:0/task:0/device:GPU:0" : tensor<16xf32>
    return %in : tensor<16xf32>
  }
}

// -----

// expected-error @below {{copy budget 'h2d:1MiB,up:3', column 10: 'up:3' is not DIRECTION:BYTES; the directions are h2d, d2h, d2d}}
func.func @unknown_direction() attributes {gantry.max_copy = "h2d:1MiB,up:3"} {
  return
}

// -----

// expected-error @below {{copy budget 'h2d:1,h2d:2', column 7: h2d is given twice}}
func.func @given_twice() attributes {gantry.max_copy = "h2d:1,h2d:2"} {
  return
}

// -----

// expected-error @below {{copy budget 'd2d:many', column 1: }}
func.func @not_bytes() attributes {gantry.max_copy = "d2d:many"} {
  return
}
