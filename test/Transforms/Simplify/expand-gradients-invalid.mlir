// RUN: gantry-opt %s --split-input-file --gantry-expand-gradients --verify-diagnostics

// The way is told from the loss on.
func.func @scatter(%x: tensor<4xf32>, %i: tensor<2xi64>, %u: tensor<2xf32>) -> tensor<2xf32> {
  // expected-note @below {{it is differentiated here; the way from the loss to it: gantry.reduce_sum, gantry.exp 'e'}}
  %0:2 = gantry.gradient (%u) : (tensor<2xf32>) -> (tensor<f32>, tensor<2xf32>) {
  ^bb0(%v: tensor<2xf32>):
    // expected-error @below {{'gantry.scatter_elements' op with the reduction 'mul' has no gradient; only 'none' and 'add' have one}}
    %1 = gantry.scatter_elements %x, %i, %v {axis = 0 : i64, reduction = #gantry<reduction mul>} : (tensor<4xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<4xf32>
    %2 = gantry.exp %1 {gantry.name = "e"} : (tensor<4xf32>) -> tensor<4xf32>
    %3 = gantry.reduce_sum %2 {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    gantry.yield %3 : tensor<f32>
  }
  return %0#1 : tensor<2xf32>
}

// -----

func.func @sums(%a: tensor<4x4xf16>, %b: tensor<4x4xf16>) -> tensor<4x4xf16> {
  // expected-note @below {{it is differentiated here; the way from the loss to it: gantry.reduce_sum}}
  %0:2 = gantry.gradient (%a) : (tensor<4x4xf16>) -> (tensor<f32>, tensor<4x4xf16>) {
  ^bb0(%v: tensor<4x4xf16>):
    // expected-error @below {{'gantry.matmul' op with sums of another type than its factors has no gradient}}
    %1 = gantry.matmul %v, %b {accumulate_type = f32} : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf32>
    %2 = gantry.reduce_sum %1 {axes = array<i64: 0, 1>} : (tensor<4x4xf32>) -> tensor<f32>
    gantry.yield %2 : tensor<f32>
  }
  return %0#1 : tensor<4x4xf16>
}

// -----

func.func @loop(%x: tensor<f32>, %n: tensor<i64>) -> tensor<f32> {
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  // expected-note @below {{it is differentiated here; it makes the loss itself}}
  %0:2 = gantry.gradient (%x) : (tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%v: tensor<f32>):
    // expected-error @below {{'gantry.while' op has no gradient: nothing bounds how often it goes round; count its rounds from one constant to another, or give it at_most}}
    %1:2 = gantry.while (%zero, %v) : (tensor<i64>, tensor<f32>) -> (tensor<i64>, tensor<f32>) {
    ^bb0(%i: tensor<i64>, %a: tensor<f32>):
      %c = gantry.compare lt, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
      gantry.yield %c : tensor<i1>
    } do {
    ^bb0(%i: tensor<i64>, %a: tensor<f32>):
      %2 = gantry.exp %a : (tensor<f32>) -> tensor<f32>
      %3 = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
      gantry.yield %3, %2 : tensor<i64>, tensor<f32>
    }
    gantry.yield %1#1 : tensor<f32>
  }
  return %0#1 : tensor<f32>
}

// -----

// Inside of branches the way leads through their ends.
func.func @branch(%x: tensor<4xf32>, %j: tensor<2x1xi64>, %u: tensor<2xf32>, %c: tensor<i1>) -> tensor<2xf32> {
  // expected-note @below {{it is differentiated here; the way from the loss to it: gantry.reduce_sum, gantry.if, gantry.neg}}
  %0:2 = gantry.gradient (%u) : (tensor<2xf32>) -> (tensor<f32>, tensor<2xf32>) {
  ^bb0(%v: tensor<2xf32>):
    %1 = gantry.if %c -> (tensor<4xf32>) {
      // expected-error @below {{'gantry.scatter_nd' op with the reduction 'max' has no gradient; only 'none' and 'add' have one}}
      %2 = gantry.scatter_nd %x, %j, %v {reduction = #gantry<reduction max>} : (tensor<4xf32>, tensor<2x1xi64>, tensor<2xf32>) -> tensor<4xf32>
      %3 = gantry.neg %2 : (tensor<4xf32>) -> tensor<4xf32>
      gantry.yield %3 : tensor<4xf32>
    } else {
      gantry.yield %x : tensor<4xf32>
    } : tensor<i1>
    %4 = gantry.reduce_sum %1 {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    gantry.yield %4 : tensor<f32>
  }
  return %0#1 : tensor<2xf32>
}

// -----

func.func @unused(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{'gantry.gradient' op differentiates with respect to operand 1, which the loss does not depend on; leave it out, or have zeros with allow_unused}}
  %0:3 = gantry.gradient (%x, %y) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    gantry.yield %a : tensor<f32>
  }
  return %0#2 : tensor<f32>
}

// -----

// Floats that are only compared.
func.func @compared(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{'gantry.gradient' op differentiates with respect to operand 1, which the loss depends on by gantry.compare alone, which has no gradient; leave it out, or have zeros with allow_unused}}
  %0:3 = gantry.gradient (%x, %y) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // expected-note @below {{no gradient goes through here}}
    %1 = gantry.compare lt, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = gantry.cast %1 : (tensor<i1>) -> tensor<f32>
    %3 = gantry.mul %2, %a : (tensor<f32>, tensor<f32>) -> tensor<f32>
    gantry.yield %3 : tensor<f32>
  }
  return %0#2 : tensor<f32>
}

// -----

func.func @open(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0:2 = gantry.gradient (%x) : (tensor<?xf32>) -> (tensor<f32>, tensor<?xf32>) {
  ^bb0(%a: tensor<?xf32>):
    // expected-error @below {{'gantry.exp' op has the open shape 'tensor<?xf32>'; shapes must be known when compiling, give sizes with --dim}}
    %1 = gantry.exp %a : (tensor<?xf32>) -> tensor<?xf32>
    %2 = gantry.reduce_sum %1 {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    gantry.yield %2 : tensor<f32>
  }
  return %0#1 : tensor<?xf32>
}

// -----

func.func @foreign(%x: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @below {{it is differentiated here; it makes the loss itself}}
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    // expected-error @below {{'tosa.sub' op has no gradient; GradientOpInterface gives an op one, gantry.custom_gradient a region}}
    %1 = tosa.sub %a, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %1 : tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// -----

// Inside of loops as well.
func.func @in_a_loop(%x: tensor<4xf32>, %i: tensor<2xi64>, %u: tensor<2xf32>) -> tensor<2xf32> {
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %three = gantry.constant dense<3> : tensor<i64>
  // expected-note @below {{it is differentiated here; the way from the loss to it: gantry.reduce_sum, gantry.while}}
  %0:2 = gantry.gradient (%u) : (tensor<2xf32>) -> (tensor<f32>, tensor<2xf32>) {
  ^bb0(%v: tensor<2xf32>):
    %1:2 = gantry.while (%zero, %x) : (tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
    ^bb0(%j: tensor<i64>, %a: tensor<4xf32>):
      %c = gantry.compare lt, %j, %three : (tensor<i64>, tensor<i64>) -> tensor<i1>
      gantry.yield %c : tensor<i1>
    } do {
    ^bb0(%j: tensor<i64>, %a: tensor<4xf32>):
      // expected-error @below {{'gantry.scatter_elements' op with the reduction 'mul' has no gradient; only 'none' and 'add' have one}}
      %2 = gantry.scatter_elements %a, %i, %v {axis = 0 : i64, reduction = #gantry<reduction mul>} : (tensor<4xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<4xf32>
      %3 = gantry.add %j, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
      gantry.yield %3, %2 : tensor<i64>, tensor<4xf32>
    }
    %4 = gantry.reduce_sum %1#1 {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    gantry.yield %4 : tensor<f32>
  }
  return %0#1 : tensor<2xf32>
}

// -----

// A way back may need nothing of the loop, and the loop is gone then.
func.func @beyond(%x: tensor<f32>) -> tensor<f32> {
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %five = gantry.constant dense<5> : tensor<i64>
  // expected-note @below {{it is differentiated here; it makes the loss itself}}
  %0:2 = gantry.gradient (%x) : (tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%v: tensor<f32>):
    // expected-error @below {{'gantry.while' op goes round 5 times and has at_most = 3}}
    %1:2 = gantry.while (%zero, %v) at_most 3 : (tensor<i64>, tensor<f32>) -> (tensor<i64>, tensor<f32>) {
    ^bb0(%j: tensor<i64>, %a: tensor<f32>):
      %c = gantry.compare lt, %j, %five : (tensor<i64>, tensor<i64>) -> tensor<i1>
      gantry.yield %c : tensor<i1>
    } do {
    ^bb0(%j: tensor<i64>, %a: tensor<f32>):
      %2 = gantry.add %a, %a : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %3 = gantry.add %j, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
      gantry.yield %3, %2 : tensor<i64>, tensor<f32>
    }
    gantry.yield %1#1 : tensor<f32>
  }
  return %0#1 : tensor<f32>
}
