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

// Ends of functions that name no device, and explicit copies, are no error.
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0, #gpu1]>} {
  func.func @p16_ends(%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = gantry.relu %x {gantry.device = #gpu0} : (tensor<4xf32>) -> tensor<4xf32>
    %there = gantry.copy %a to "/job:localhost/replica:0/task:0/device:GPU:1" : tensor<4xf32>
    %b = gantry.exp %there {gantry.device = #gpu1} : (tensor<4xf32>) -> tensor<4xf32>
    return %b : tensor<4xf32>
  }
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">
#gpu1 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">

// A constant that says where it is counts, as a tensor made on a device does; others go anywhere.
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0, #gpu1]>} {
  func.func @p14_constants() -> tensor<2xf32> {
    %x = gantry.constant {gantry.device = #gpu0, gantry.name = "X"} dense<[1.0, 2.0]> : tensor<2xf32>
    // expected-note @below {{the constant 'Y' is made here}}
    %y = gantry.constant {gantry.device = #gpu1, gantry.name = "Y"} dense<[3.0, 4.0]> : tensor<2xf32>
    %w = gantry.constant dense<[5.0, 6.0]> : tensor<2xf32>
    // expected-error @below {{'AddV2' runs on '/job:localhost/replica:0/task:0/device:GPU:0', and copies are explicit: operand 1 (the constant 'Y') is on '/job:localhost/replica:0/task:0/device:GPU:1'; bring it there with gantry.copy, place both on one device, or compile with --copies=auto}}
    %0 = gantry.add %x, %y {gantry.device = #gpu0} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %there = gantry.copy %y to "/job:localhost/replica:0/task:0/device:GPU:0" : tensor<2xf32>
    %1 = gantry.add %0, %there {gantry.device = #gpu0} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %2 = gantry.add %1, %w {gantry.device = #gpu0} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    return %2 : tensor<2xf32>
  }
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">
#gpu1 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">

// A condition is needed on the host, a loop's values where the loop has them.
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0, #gpu1]>} {
  func.func @p14_control_flow(%x: tensor<i64>, %y: tensor<i64> {gantry.device = #gpu0}) {
    // expected-note @below {{the result of Compare is made here}}
    %more = gantry.compare lt, %y, %y {gantry.device = #gpu0} : (tensor<i64>, tensor<i64>) -> tensor<i1>
    // expected-error @below {{'gantry.if' takes values from other devices, and copies are explicit: operand 0 (the result of Compare) is on '/job:localhost/replica:0/task:0/device:GPU:0' and needed on '/job:localhost/replica:0/task:0/device:CPU:0'; bring it there with gantry.copy, place both on one device, or compile with --copies=auto}}
    gantry.if %more {
      gantry.yield
    } else {
      gantry.yield
    } : tensor<i1>
    // expected-error @below {{'gantry.while' takes values from other devices, and copies are explicit: operand 0 (the result of Neg 'next') is on '/job:localhost/replica:0/task:0/device:GPU:1' and needed on '/job:localhost/replica:0/task:0/device:GPU:0'; bring it there with gantry.copy, place both on one device, or compile with --copies=auto}}
    %z = gantry.while (%x) : (tensor<i64>) -> (tensor<i64>) {
    ^bb0(%i: tensor<i64>):
      %false = gantry.constant dense<false> : tensor<i1>
      gantry.yield %false : tensor<i1>
    } do {
    ^bb0(%i: tensor<i64>):
      %there = gantry.copy %i to "/job:localhost/replica:0/task:0/device:GPU:1" : tensor<i64>
      // expected-note @below {{the result of Neg 'next' is made here}}
      %next = gantry.neg %there {gantry.device = #gpu1, gantry.name = "next"} : (tensor<i64>) -> tensor<i64>
      gantry.yield %next : tensor<i64>
    } {gantry.homes = [#gpu0]}
    return
  }
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">
#gpu1 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">

// What is refused is told ten times.
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0, #gpu1]>} {
  // expected-error @below {{and 2 more ops of '@p14_many' have operands on other devices}}
  func.func @p14_many(%x: tensor<4xf32>) {
    // expected-note @below {{the result of Relu is made here}}
    %a = gantry.relu %x {gantry.device = #gpu0} : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error @below {{and copies are explicit: operand 0 (the result of Relu)}}
    %0 = gantry.exp %a {gantry.device = #gpu1} : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error @below {{and copies are explicit: operand 0 (the result of Relu)}}
    %1 = gantry.exp %a {gantry.device = #gpu1} : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error @below {{and copies are explicit: operand 0 (the result of Relu)}}
    %2 = gantry.exp %a {gantry.device = #gpu1} : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error @below {{and copies are explicit: operand 0 (the result of Relu)}}
    %3 = gantry.exp %a {gantry.device = #gpu1} : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error @below {{and copies are explicit: operand 0 (the result of Relu)}}
    %4 = gantry.exp %a {gantry.device = #gpu1} : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error @below {{and copies are explicit: operand 0 (the result of Relu)}}
    %5 = gantry.exp %a {gantry.device = #gpu1} : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error @below {{and copies are explicit: operand 0 (the result of Relu)}}
    %6 = gantry.exp %a {gantry.device = #gpu1} : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error @below {{and copies are explicit: operand 0 (the result of Relu)}}
    %7 = gantry.exp %a {gantry.device = #gpu1} : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error @below {{and copies are explicit: operand 0 (the result of Relu)}}
    %8 = gantry.exp %a {gantry.device = #gpu1} : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error @below {{and copies are explicit: operand 0 (the result of Relu)}}
    %9 = gantry.exp %a {gantry.device = #gpu1} : (tensor<4xf32>) -> tensor<4xf32>
    %10 = gantry.exp %a {gantry.device = #gpu1} : (tensor<4xf32>) -> tensor<4xf32>
    %11 = gantry.exp %a {gantry.device = #gpu1} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">
#gpu1 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">

// A variable is no end of the function: it is where its declaration put it.
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0, #gpu1]>} {
  gantry.variable @w {gantry.device = #gpu0} = dense<1.0> : tensor<4xf32>
  // expected-note @below {{variable 'w' is made here}}
  func.func @p14_variable(%x: tensor<4xf32>, %w: tensor<4xf32> {gantry.device = #gpu0, gantry.name = "w", gantry.variable = @w}) -> tensor<4xf32> {
    // expected-error @below {{'Mul' runs on '/job:localhost/replica:0/task:0/device:GPU:1', and copies are explicit: operand 1 (variable 'w') is on '/job:localhost/replica:0/task:0/device:GPU:0'; bring it there with gantry.copy, place both on one device, or compile with --copies=auto}}
    %0 = gantry.mul %x, %w {gantry.device = #gpu1} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">
#gpu1 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">

// Of a view, what made its bytes is shown.
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0, #gpu1]>} {
  func.func @p14_view(%x: tensor<4xf32>) -> tensor<2x2xf32> {
    // expected-note @below {{the result of Relu 'a' is made here}}
    %a = gantry.relu %x {gantry.device = #gpu0, gantry.name = "a"} : (tensor<4xf32>) -> tensor<4xf32>
    %v = gantry.reshape %a : (tensor<4xf32>) -> tensor<2x2xf32>
    // expected-error @below {{'Exp' runs on '/job:localhost/replica:0/task:0/device:GPU:1', and copies are explicit: operand 0 (the result of Relu 'a') is on '/job:localhost/replica:0/task:0/device:GPU:0'; bring it there with gantry.copy, place both on one device, or compile with --copies=auto}}
    %0 = gantry.exp %v {gantry.device = #gpu1} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    return %0 : tensor<2x2xf32>
  }
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">
#gpu1 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">

// An argument that names a device is there, as an array that was made on it is; z names none.
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0, #gpu1]>} {
  func.func @p16_named_arguments(%x: tensor<4xf32> {gantry.device = #gpu0, gantry.name = "x"},
                                 // expected-note @below {{'y' is made here}}
                                 %y: tensor<4xf32> {gantry.device = #gpu1, gantry.name = "y"},
                                 %z: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @below {{'AddV2' runs on '/job:localhost/replica:0/task:0/device:GPU:0', and copies are explicit: operand 1 ('y') is on '/job:localhost/replica:0/task:0/device:GPU:1'; bring it there with gantry.copy, place both on one device, or compile with --copies=auto}}
    %0 = gantry.add %x, %y {gantry.device = #gpu0} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = gantry.add %0, %z {gantry.device = #gpu0} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">
#gpu1 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">

// So is a result that names one; the second names none.
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0, #gpu1]>} {
  func.func @p16_named_results(%x: tensor<4xf32>) -> (tensor<4xf32> {gantry.device = #gpu1}, tensor<4xf32>) {
    // expected-note @below {{the result of Relu 'a' is made here}}
    %a = gantry.relu %x {gantry.device = #gpu0, gantry.name = "a"} : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error @below {{'@p16_named_results' gives values on other devices than they are made on, and copies are explicit: operand 0 (the result of Relu 'a') is on '/job:localhost/replica:0/task:0/device:GPU:0' and needed on '/job:localhost/replica:0/task:0/device:GPU:1'; bring it there with gantry.copy, place both on one device, or compile with --copies=auto}}
    return %a, %a : tensor<4xf32>, tensor<4xf32>
  }
}
