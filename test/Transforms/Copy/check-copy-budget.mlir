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

// expected-error @below {{copy budget 'd2d:many', column 5: 'many' is not a byte count: it does not start with a digit; write a number and B, KiB, MiB, GiB, TiB, KB, MB, GB or TB}}
func.func @not_bytes() attributes {gantry.max_copy = "d2d:many"} {
  return
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// Of a branch the side that copies more counts: 24 bytes, not 40.
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0]>} {
  // expected-error @below {{'@x4_branch' copies 24 bytes per run h2d, the budget is 23 bytes; place their ends on one device, or raise --max-copy}}
  func.func @x4_branch(%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<6xf32>) attributes {gantry.max_copy = "h2d:23"} {
    gantry.if %c {
      // expected-note @below {{16 bytes from CPU:0 to GPU:0: argument 1}}
      %0 = gantry.copy %x to "/job:localhost/replica:0/task:0/device:GPU:0" : tensor<4xf32>
      gantry.yield
    } else {
      // expected-note @below {{24 bytes from CPU:0 to GPU:0: argument 2}}
      %0 = gantry.copy %y to "/job:localhost/replica:0/task:0/device:GPU:0" : tensor<6xf32>
      gantry.yield
    } : tensor<i1>
    return
  }
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// A loop copies nobody knows how often: no budget of the direction holds, however large.
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0]>} {
  // expected-error @below {{'@x4_loop' copies at least 1 byte per run d2h, the budget is 1 GiB and some copies are in a loop; place their ends on one device, or raise --max-copy}}
  func.func @x4_loop(%x: tensor<i64> {gantry.device = #gpu0}) attributes {gantry.max_copy = "d2h:1GiB"} {
    %y = gantry.while (%x) : (tensor<i64>) -> (tensor<i64>) {
    ^bb0(%i: tensor<i64>):
      %0 = gantry.compare lt, %i, %x {gantry.device = #gpu0} : (tensor<i64>, tensor<i64>) -> tensor<i1>
      // expected-note @below {{1 byte from GPU:0 to CPU:0: the result of Compare, in every pass of a loop}}
      %1 = gantry.copy %0 to "/job:localhost/replica:0/task:0/device:CPU:0" : tensor<i1>
      gantry.yield %1 : tensor<i1>
    } do {
    ^bb0(%i: tensor<i64>):
      gantry.yield %i : tensor<i64>
    } {gantry.homes = [#gpu0]}
    return
  }
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// Long lists are cut.
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0]>} {
  // expected-error @below {{'@x4_many' copies 40 bytes per run h2d, the budget is 0 bytes; place their ends on one device, or raise --max-copy}}
  // expected-note @below {{and 2 smaller ones}}
  func.func @x4_many(%x: tensor<f32>) attributes {gantry.max_copy = "h2d:0"} {
    // expected-note @below {{4 bytes from CPU:0 to GPU:0: argument 0}}
    %0 = gantry.copy %x to "/job:localhost/replica:0/task:0/device:GPU:0" force : tensor<f32>
    // expected-note @below {{4 bytes from CPU:0 to GPU:0: argument 0}}
    %1 = gantry.copy %x to "/job:localhost/replica:0/task:0/device:GPU:0" force : tensor<f32>
    // expected-note @below {{4 bytes from CPU:0 to GPU:0: argument 0}}
    %2 = gantry.copy %x to "/job:localhost/replica:0/task:0/device:GPU:0" force : tensor<f32>
    // expected-note @below {{4 bytes from CPU:0 to GPU:0: argument 0}}
    %3 = gantry.copy %x to "/job:localhost/replica:0/task:0/device:GPU:0" force : tensor<f32>
    // expected-note @below {{4 bytes from CPU:0 to GPU:0: argument 0}}
    %4 = gantry.copy %x to "/job:localhost/replica:0/task:0/device:GPU:0" force : tensor<f32>
    // expected-note @below {{4 bytes from CPU:0 to GPU:0: argument 0}}
    %5 = gantry.copy %x to "/job:localhost/replica:0/task:0/device:GPU:0" force : tensor<f32>
    // expected-note @below {{4 bytes from CPU:0 to GPU:0: argument 0}}
    %6 = gantry.copy %x to "/job:localhost/replica:0/task:0/device:GPU:0" force : tensor<f32>
    // expected-note @below {{4 bytes from CPU:0 to GPU:0: argument 0}}
    %7 = gantry.copy %x to "/job:localhost/replica:0/task:0/device:GPU:0" force : tensor<f32>
    %8 = gantry.copy %x to "/job:localhost/replica:0/task:0/device:GPU:0" force : tensor<f32>
    %9 = gantry.copy %x to "/job:localhost/replica:0/task:0/device:GPU:0" force : tensor<f32>
    return
  }
}

// -----

#cpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#cpu1 = #gantry.device<"/job:localhost/replica:0/task:1/device:CPU:0">

// Between CPUs of two tasks it is d2d; with several tasks devices have their full names.
module attributes {gantry.topology = #gantry.topology<[#cpu0, #cpu1]>} {
  // expected-error @below {{'@x4_tasks' copies 16 bytes per run d2d, the budget is 0 bytes; place their ends on one device, or raise --max-copy}}
  func.func @x4_tasks(%x: tensor<4xf32>) attributes {gantry.max_copy = "d2d:0"} {
    // expected-note @below {{16 bytes from /job:localhost/replica:0/task:0/device:CPU:0 to /job:localhost/replica:0/task:1/device:CPU:0: argument 0}}
    %0 = gantry.copy %x to "/job:localhost/replica:0/task:1/device:CPU:0" : tensor<4xf32>
    return
  }
}
